package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every code of a finding has its line in docs/json.md.
func TestFindingCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("../../dissect/finding.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code = "([a-z0-9-]+)"`).FindAllSubmatch(source, -1)
	if len(codes) < 30 {
		t.Fatalf("%d codes found", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(string(page), "\n| `"+string(code[1])+"` |") {
			t.Errorf("docs/json.md lacks %s", code[1])
		}
	}
}

// The examples of the README and of docs print what they say. An example is an indented line that begins with `$ `, its continuation lines
// included, and the indented lines behind it are what it prints on standard output; a line `...` stands for any number of lines.
func TestExamplesOfTheDocuments(t *testing.T) {
	for _, tool := range []string{"sh", "jq", "column", "sed", "sort", "awk", "cut"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examplesIn(string(text)) {
			examples++
			cmd := exec.Command("sh", "-c", e.command)
			cmd.Dir = "../.."
			got, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: %s: %v", page, e.command, err)
			}
			if !sameLines(strings.Split(string(bytes.TrimRight(got, "\n")), "\n"), e.want) {
				t.Errorf("%s: $ %s\n%s\nbut the page has\n%s", page, e.command, got, strings.Join(e.want, "\n"))
			}
		}
	}
	if examples < 10 {
		t.Errorf("%d examples found", examples)
	}
}

type docExample struct {
	command string
	want    []string
}

// examplesIn returns the examples of a page.
func examplesIn(page string) []docExample {
	var all []docExample
	open, continued := false, false
	for line := range strings.Lines(page) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, " \n"), "    ")
		command, isCommand := strings.CutPrefix(text, "$ ")
		switch {
		case !indented && text != "":
			open = false
			continue
		case isCommand:
			all, open = append(all, docExample{command: command}), true
		case !open:
			continue
		case continued:
			last := &all[len(all)-1]
			last.command += "\n" + text
		default:
			last := &all[len(all)-1]
			last.want = append(last.want, text)
		}
		continued = (isCommand || continued) && (strings.HasSuffix(text, "|") || strings.HasSuffix(text, `\`))
	}
	for i := range all {
		for n := len(all[i].want); n > 0 && all[i].want[n-1] == ""; n-- {
			all[i].want = all[i].want[:n-1]
		}
	}
	return all
}

// sameLines compares lines less the spaces at their ends.
func sameLines(got, want []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "...":
		for i := range len(got) + 1 {
			if sameLines(got[i:], want[1:]) {
				return true
			}
		}
		return false
	case len(got) == 0 || strings.TrimRight(got[0], " ") != want[0]:
		return false
	}
	return sameLines(got[1:], want[1:])
}
