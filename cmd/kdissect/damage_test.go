package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/schema"
)

// Damage of a file is told behind what was found in the packets in front of it and before what was found behind it, by as many workers as there may be.
func TestDamageIsToldInItsPlace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	path := filepath.Join(testdata, "odd-frames.pcap")
	capture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for processors := range 4 {
		runtime.GOMAXPROCS(processors + 1)
		source, err := pcaps.NewSource(bytes.NewReader(append(capture, "damage"...)), path)
		if err != nil {
			t.Fatal(err)
		}
		var out, log bytes.Buffer
		f := newReadFlags()
		f.output.value, f.catalog, f.out, f.log = "requestlog", schema.Embedded(), &out, &log
		f.settle([]string{path})
		f.pipeline([]string{path}, source, f.format()).dissectAll() // that the input is damaged is no matter
		source.Close()
		before, _, damaged := strings.Cut(log.String(), "kdissect: ")
		if n := strings.Count(before, "\nwarn "); !damaged || n < 10 {
			t.Errorf("%d processors: %d findings in front of damage", processors+1, n)
		}
		if want == "" {
			want = log.String()
		} else if got := log.String(); got != want {
			t.Errorf("%d processors log %s\nwant %s", processors+1, got, want)
		}
	}
}
