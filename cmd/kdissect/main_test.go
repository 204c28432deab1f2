package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testdata holds the captures and golden files of the whole program.
const testdata = "../../testdata"

// shared holds captures and checks that are too large for the project; tests that need it are skipped where it is
// not beside the checkout.
const shared = "../../../shared"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kdissect": main})
}

// needShared returns a path below shared, and skips the test where it is absent; where KDISSECT_REQUIRE_SHARED is set, that is a failure.
func needShared(t *testing.T, path string) string {
	t.Helper()
	path = filepath.Join(shared, path)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// The scripts in testdata/script are transcripts. A line `$ kdissect ...` runs a command; it, what it prints and its exit
// status are appended to the file transcript, which is then compared with the text at the end of the script. Captures are those of
// testdata. With -update the text is rewritten.
func TestTranscripts(t *testing.T) {
	captures, err := filepath.Abs(testdata)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(testdata, "script"),
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"$": transcribe, "head": head},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			return linkCaptures(captures, e.WorkDir)
		},
	})
}

// linkCaptures puts the captures into the directory of a script.
func linkCaptures(from, to string) error {
	paths, err := filepath.Glob(filepath.Join(from, "*.pcap*"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
	}
	return err
}

// transcribe runs a command. Standard output comes first in the transcript, then standard error, each of its lines behind `stderr: `.
func transcribe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: $ command [argument...]")
	}
	status := 0
	if err := ts.Exec(args[0], args[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n%s", strings.Join(args, " "), ts.ReadFile("stdout"))
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		b.WriteString("stderr: " + line)
	}
	if status != 0 {
		fmt.Fprintf(&b, "[exit status %d]\n", status)
	}
	ts.Check(appendFile(ts.MkAbs("transcript"), b.String()))
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// head copies the first bytes of a file: head BYTES FROM TO.
func head(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: head bytes from to")
	}
	var n int
	_, err := fmt.Sscan(args[0], &n)
	ts.Check(err)
	data := ts.ReadFile(args[1])
	if n > len(data) {
		ts.Fatalf("%s has %d bytes only", args[1], len(data))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(data[:n]), 0o644))
}
