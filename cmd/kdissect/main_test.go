package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
// testdata. With -update the text is rewritten. A command may end with `| only N...`, which picks messages out of a long output: see only.
func TestTranscripts(t *testing.T) {
	captures, err := filepath.Abs(testdata)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(testdata, "script"),
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"$": transcribe, "head": head, "split": split},
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
		ts.Fatalf("usage: $ command [argument...] [| only message...]")
	}
	command, picked := args, []string(nil)
	if i := slices.Index(args, "|"); i >= 0 {
		if len(args) < i+3 || args[i+1] != "only" {
			ts.Fatalf("what follows | is not `only message...`")
		}
		command, picked = args[:i], args[i+2:]
	}
	status := 0
	if err := ts.Exec(command[0], command[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n%s", strings.Join(args, " "), only(ts.ReadFile("stdout"), picked))
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		b.WriteString("stderr: " + line)
	}
	if status != 0 {
		fmt.Fprintf(&b, "[exit status %d]\n", status)
	}
	ts.Check(appendFile(ts.MkAbs("transcript"), b.String()))
}

// only picks messages by their numbers out of a tree or out of JSON, and the findings that stand between messages
// where the word findings is among the numbers.
func only(output string, picked []string) string {
	if len(picked) == 0 {
		return output
	}
	between := slices.Contains(picked, "findings")
	var b strings.Builder
	shown := between
	for line := range strings.Lines(output) {
		number, message := strings.CutPrefix(line, "#")
		if !message {
			number, message = strings.CutPrefix(line, `{"kind":"message","v":1,"number":`)
		}
		if message {
			shown = slices.Contains(picked, number[:strings.IndexAny(number, " ,")])
		} else if line[0] == '{' {
			shown = between
		}
		if shown && !strings.HasPrefix(line, "== ") && !strings.HasPrefix(line, `{"kind":"connection"`) {
			b.WriteString(line)
		}
		if line == "\n" {
			shown = between
		}
	}
	return b.String()
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
