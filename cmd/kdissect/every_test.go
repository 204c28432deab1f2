package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// A capture whose times lie far apart, or have none, or go back, has a block for each time there is something, not for those between. What is
// only mixed up belongs to the interval that goes on, and a capture without any time is one.
func TestIntervalsOfOddTimes(t *testing.T) {
	for _, c := range []struct {
		seconds []uint32
		want    []string
	}{
		{[]uint32{0, 1, 2, 4_000_000_000, 3, 4_000_000_000}, []string{"1970-01-01 00:00:01.000  0.5 s", "1970-01-01 00:00:02.000  0.5 s", "2096-10-02 07:06:40.000  0.0 s",
			"1970-01-01 00:00:03.000  0.5 s", "2096-10-02 07:06:40.000  0.0 s"}},
		{[]uint32{4_000_000_000, 3, 5}, []string{"2096-10-02 07:06:40.000  0.0 s", "1970-01-01 00:00:03.000  0.5 s", "1970-01-01 00:00:05.000  0.0 s"}},
		{[]uint32{100, 90, 100}, []string{"1970-01-01 00:01:40.000  0.0 s"}},
		{[]uint32{0, 0}, []string{"1970-01-01 00:00:00.000  0.0 s"}},
	} {
		if begun := blocksOf(t, c.seconds); !slices.Equal(begun, c.want) {
			t.Errorf("packets at %d: %q, want %q", c.seconds, begun, c.want)
		}
	}
}

// blocksOf returns when the blocks begin, and how long they are, of a capture with packets at these seconds.
func blocksOf(t *testing.T, packets []uint32) (begun []string) {
	capture := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	for _, n := range []uint32{4<<16 | 2, 0, 0, 65535, 101} { // version 2.4, raw IP
		capture = binary.LittleEndian.AppendUint32(capture, n)
	}
	for _, seconds := range packets {
		for _, n := range []uint32{seconds, 0, 20, 20} {
			capture = binary.LittleEndian.AppendUint32(capture, n)
		}
		capture = append(capture, make([]byte, 20)...)
	}
	file := filepath.Join(t.TempDir(), "odd.pcap")
	if err := os.WriteFile(file, capture, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("kdissect", "--every", "500ms", "--time", "utc", file).Output()
	for line := range strings.Lines(string(out)) {
		if strings.HasSuffix(line, "odd.pcap\n") {
			begun = append(begun, line[:len("1970-01-01 00:00:00.000  0.5 s")])
		}
	}
	return begun
}
