package render

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// The result of an answer with error 15 (COORDINATOR_NOT_AVAILABLE) twice and 16 (NOT_COORDINATOR) once: what is there twice is not all there is.
func TestResultCountsEachErrorForItself(t *testing.T) {
	ask := request(unhex(t, `00000014 000a 0004 00000001 0000 00  00 04 02 61 02 62 02 63 00`))
	answer := response(frame(unhex(t, `00000001 00  00000000 04
		02 61 00000000 01 00000000 000f 00 00
		02 62 00000000 01 00000000 0010 00 00
		02 63 00000000 01 00000000 000f 00 00  00`)))
	var out bytes.Buffer
	summary := NewSummary(&out, io.Discard, Options{})
	converse(summary, ask, answer)
	summary.Flush()
	if want := "\tCOORDINATOR_NOT_AVAILABLE x2 +1\t"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %q", want, out.String())
	}
}

// wantAligned wants the lines of a summary on a terminal to be those of one in a pipe, with each column but the last as wide as it has to be.
// It returns the latter.
func wantAligned(t *testing.T, write func(Format)) string {
	t.Helper()
	var plain, aligned, want bytes.Buffer
	write(NewSummary(&plain, io.Discard, Options{}))
	write(NewSummary(&aligned, io.Discard, Options{Aligned: true}))
	for line := range strings.Lines(plain.String()) {
		cells := strings.Split(line, "\t")
		if len(cells) != len(summaryColumns) {
			t.Fatalf("%d columns in %q", len(cells), line)
		}
		for i, cell := range cells[:len(cells)-1] {
			fmt.Fprintf(&want, "%*s ", -summaryColumns[i].width, cell)
		}
		want.WriteString(cells[len(cells)-1])
	}
	if aligned.String() != want.String() {
		t.Errorf("\n%s, want\n%s", aligned.String(), want.String())
	}
	return plain.String()
}

func TestSummaryAligned(t *testing.T) {
	for _, name := range captures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			wantAligned(t, func(f Format) {
				readCapture(t, name, f)
				f.Flush()
			})
		})
	}
}

// A tab from the wire is none in the output: here that of the client id "a<tab>\u00e9".
func TestSummaryTabOfClient(t *testing.T) {
	lines := wantAligned(t, func(f Format) {
		converse(f, request(unhex(t, `0000000e 0012 0000 00000001 0004 61 09 c3 a9`)))
	})
	if want := "\ta\\t\u00e9@"; !strings.Contains(lines, want) {
		t.Errorf("no %q in %q", want, lines)
	}
}
