package schema

import (
	"slices"
	"testing"
)

func layoutsOf(name string) (list []Layout) {
	for _, l := range Embedded().ResponseLayouts() {
		if l.API.Name == name {
			list = append(list, l)
		}
	}
	return list
}

// The release notes of the versions: Fetch 1 brings the throttle time, 4 transactions, 5 the log start offset, 7 sessions, 11 the preferred replica (KIP-392), 12 is
// flexible (KIP-482), 13 has topic ids (KIP-516), and 16 says the new leader's address in a tagged field (KIP-951). Heartbeat 1 brings the throttle time, 4 is flexible.
func TestResponseLayouts(t *testing.T) {
	for name, want := range map[string][]string{
		"Fetch":     {"0", "1-3", "4", "5-6", "7-10", "11", "12", "13-15", "16-18"},
		"Heartbeat": {"0", "1-3", "4"},
	} {
		var got []string
		for _, l := range layoutsOf(name) {
			got = append(got, l.Versions.String())
			if l.Plan.Version != l.Versions.High || l.Plan.Message.Name != name+"Response" {
				t.Errorf("%s v%s has the plan of %s v%d", name, l.Versions, l.Plan.Message.Name, l.Plan.Version)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestLayoutsResemble(t *testing.T) {
	fetch, heartbeat := layoutsOf("Fetch"), layoutsOf("Heartbeat")
	for i := 1; i < len(fetch); i++ {
		if want := fetch[i].Versions.Low == 16; fetch[i].Resembles(&fetch[i-1]) != want { // they differ in a tagged field alone
			t.Errorf("Fetch v%s and v%s: %t", fetch[i].Versions, fetch[i-1].Versions, !want)
		}
	}
	if heartbeat[0].Resembles(&fetch[0]) {
		t.Error("layouts of two APIs resemble each other")
	}
}

// Every version of every response is in one layout.
func TestLayoutsAreComplete(t *testing.T) {
	layouts := Embedded().ResponseLayouts()
	for api := range Embedded().APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			n := 0
			for _, l := range layouts {
				if l.API == api && l.Versions.Contains(v) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s v%d is in %d layouts", api.Name, v, n)
			}
		}
	}
}
