package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func everyCommand() []*cobra.Command {
	root := newRoot()
	return append(root.Commands(), root)
}

// Help reads well in 80 columns; what is shown as it is, examples above all, may be as wide as 100.
func TestHelpFits(t *testing.T) {
	for _, cmd := range everyCommand() {
		var out bytes.Buffer
		cmd.SetOut(&out)
		printHelp(cmd, nil)
		asItIs := strings.Split(cmd.Long+"\n"+cmd.Example, "\n")
		for line := range strings.Lines(out.String()) {
			line = strings.TrimRight(line, "\n")
			most := 80
			if slices.Contains(asItIs, line) {
				most = 100
			}
			if width := utf8.RuneCountInString(line); width > most {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), width, line)
			}
		}
	}
}

// Every flag of a command is in its help and in its page of the manual, and where flags stand under headings each stands under one.
func TestEveryFlagIsTold(t *testing.T) {
	for _, cmd := range everyCommand() {
		var out bytes.Buffer
		cmd.SetOut(&out)
		printHelp(cmd, nil)
		page := string(manualPage(cmd))
		told := 0
		for _, s := range sections(cmd) {
			told += len(s.flags)
			for _, f := range s.flags {
				if !strings.Contains(out.String(), "--"+f.Name) || !strings.Contains(page, roff("--"+f.Name)) {
					t.Errorf("%s: --%s is not told", cmd.CommandPath(), f.Name)
				}
				if s.title == "Other flags" && f.Name != "help" {
					t.Errorf("%s: --%s stands under no heading; put it under one in help.go", cmd.CommandPath(), f.Name)
				}
			}
		}
		have := 0
		cmd.Flags().VisitAll(func(*pflag.Flag) { have++ })
		if cmd.HasParent() && told != have {
			t.Errorf("%s: %d of %d flags are told", cmd.CommandPath(), told, have)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"a verylongword b", 5, []string{"a", "verylongword", "b"}},
		{"  spaces\nand lines  ", 20, []string{"spaces and lines"}},
	} {
		if got := wrap(test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d columns: got %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// What roff takes for a command of its own is text, and hyphens can be copied.
func TestRoff(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          "plain",
		"--max-bytes":    `\-\-max\-bytes`,
		`a \x00 b`:       `a \ex00 b`,
		".hidden\n'q' .": `\&.hidden` + "\n" + `\&'q' .`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
