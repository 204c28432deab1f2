// Package netlab makes networks for tests and measurements of live captures. They are namespaces of the Linux kernel: nothing in them meets
// the rest of the machine, and they are gone when the last who uses them ends.
package netlab

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// NeedRoot skips a test that starts programs as another user.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, errors.New("starts programs as another user, which wants root"))
	}
}

// NeedProgram skips a test where a program is not installed, and returns its path.
func NeedProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, err)
	}
	return path
}

// missing skips a test for want of what the machine should have. Where KDISSECT_REQUIRE_LIVE is set, that is a failure.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("KDISSECT_REQUIRE_LIVE") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}
