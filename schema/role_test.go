package schema

import "testing"

// A role that no field has would leave what is read by it empty.
func TestEveryRoleIsSomewhere(t *testing.T) {
	var seen [MaxRole]bool
	for api := range Embedded().APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			for _, kind := range []Kind{Request, Response} {
				if plan := Embedded().Plan(api.Key, v, kind); plan != nil {
					for i := range plan.Ops {
						seen[plan.Ops[i].Role] = true
					}
				}
			}
		}
	}
	for role, there := range seen {
		if !there {
			t.Errorf("no field has role %d", role)
		}
	}
}
