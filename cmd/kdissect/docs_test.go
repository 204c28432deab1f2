package main

import (
	"os"
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
