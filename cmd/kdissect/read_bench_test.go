package main

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkRead reads captures as the command line does, in the formats that people use. KDISSECT_CAPTURES names the captures, separated by
// spaces; bench/profile makes the profile for a build from it.
func BenchmarkRead(b *testing.B) {
	captures := strings.Fields(os.Getenv("KDISSECT_CAPTURES"))
	if len(captures) == 0 {
		captures = []string{"../../testdata/sample.pcap"}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for _, flags := range []string{"-o summary", "-o json", "-o json --records full", "-o requestlog", "-o tree", "-o tree --full"} {
		b.Run(strings.ReplaceAll(flags, " ", "_"), func(b *testing.B) {
			os.Stdout, os.Stderr = null, null
			defer func() { os.Stdout, os.Stderr = stdout, stderr }()
			for b.Loop() {
				for _, capture := range captures {
					if status := run(append(strings.Fields(flags), capture)); status != statusOK {
						b.Fatalf("status %d of %s", status, capture)
					}
				}
			}
		})
	}
}
