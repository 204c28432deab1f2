package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs the program on a terminal and returns what appears there, with the exit status. set are variables beside those of the test.
func onTerminal(t *testing.T, set []string, args ...string) (screen string, status int) {
	t.Helper()
	cmd := exec.Command("kdissect", args...)
	cmd.Env = append(os.Environ(), append([]string{"TERM=xterm", "NO_COLOR=", "PAGER="}, set...)...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var out bytes.Buffer
	io.Copy(&out, terminal) // ends with an error when the last program leaves the terminal
	cmd.Wait()
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

// On a terminal a tree goes through the pager, in colours, and a pager that is left early is no error.
func TestPagerOnATerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pagers here are for a Unix shell")
	}
	capture := filepath.Join(testdata, "sample.pcap")
	for _, test := range []struct {
		name   string
		pager  string
		args   []string
		begins string
		lines  int // 0 for many
		status int
	}{
		{"a pager left early", "sed 's/^/paged /;2q'", []string{capture}, "paged ", 2, 0},
		{"a page of an API", "sed 's/^/paged /'", []string{"explain", "Fetch"}, "paged \x1b[1mFetch v", 0, 0},
		{"none", "cat", []string{capture}, "\x1b[", 0, 0},
		{"no tree", "sed 's/^/paged /'", []string{"-o", "summary", capture}, "   NUM ", 0, 0},
		{"no such pager", "kdissect-has-no-such-pager 2>/dev/null", []string{capture},
			"kdissect: the pager \"kdissect-has-no-such-pager 2>/dev/null\" cannot be run; see KDISSECT_PAGER and PAGER in kdissect --help\n", 1, 2},
		{"nothing to show", "sed 's/^/paged /'", []string{"no-such.pcap"}, "kdissect: no-such.pcap: no such file or directory\n", 1, 2},
	} {
		screen, status := onTerminal(t, []string{"KDISSECT_PAGER=" + test.pager}, test.args...)
		lines := strings.Count(screen, "\n")
		if !strings.HasPrefix(screen, test.begins) || status != test.status || test.lines != 0 && lines != test.lines || test.lines == 0 && lines < 20 {
			t.Errorf("%s: exit status %d, %d lines: %.300q", test.name, status, lines, screen)
		}
	}
	if screen, _ := onTerminal(t, []string{"KDISSECT_PAGER=sed 's/^/paged /'"}, capture); !strings.Contains(screen, "paged ") || !strings.Contains(screen, "\x1b[") {
		t.Errorf("no colours through the pager: %.300q", screen)
	}
}
