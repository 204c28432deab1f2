package schema

import "testing"

func TestModuleOfJar(t *testing.T) {
	for name, want := range map[string]string{
		"kafka-group-coordinator-4.4.0.jar": "group-coordinator",
		"kafka-clients-4.4.0.jar":           "clients",
		"kafka-clients-4.4.0-rc1.jar":       "clients",
		"kafka-clients.jar":                 "clients",
		"clients.jar":                       "clients",
	} {
		if got := moduleOfJar(name); got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
}
