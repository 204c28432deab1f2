package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var exchanged = regexp.MustCompile(`(?m)^(\d+) exchanges?, `)

// Blocks of any length have together what a summary has: each exchange once, and the errors.
func TestIntervalsAddUp(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "*.pcap"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	errors := regexp.MustCompile(`(?m)^\d+ exchanges?, [0-9./s-]+, (\d+) answers? with `)
	for _, file := range files {
		summary := exec.Command("kdissect", "-o", "summary", file)
		var log strings.Builder
		summary.Stderr = &log
		lines, _ := summary.Output()
		want := max(0, strings.Count(string(lines), "\n")-1)
		told := regexp.MustCompile(`(\d+) answers? with`).FindStringSubmatch(log.String())
		if told == nil {
			t.Fatalf("%s: %s", file, log.String())
		}
		for _, every := range []string{"100ms", "300ms", "1000h"} {
			blocks, _ := exec.Command("kdissect", "--every", every, file).Output()
			if got := total(string(blocks), exchanged); got != want {
				t.Errorf("%s every %s: %d exchanges, the summary has %d", file, every, got, want)
			}
			if got := total(string(blocks), errors); strconv.Itoa(got) != told[1] {
				t.Errorf("%s every %s: %d errors, the summary has %s", file, every, got, told[1])
			}
		}
	}
}

// total adds up what a pattern finds.
func total(text string, pattern *regexp.Regexp) (all int) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		all += n
	}
	return all
}
