package render

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
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

// What was said of a topic is said again where it would be put together the same way, and nowhere else.
func TestTopicTexts(t *testing.T) {
	var said topicTexts
	a, b, none := []byte("a"), []byte("b"), &dissect.Facts{}
	offset := dissect.TopicFacts{Name: a, Partitions: []int32{0}, Offset: 7, HasOffset: true}
	for i, c := range []struct {
		topic    dissect.TopicFacts
		request  *dissect.Facts
		answered bool
		want     string
	}{
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}}, none, false, "a/0"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}}, none, false, "a/0"},
		{dissect.TopicFacts{Name: b, Partitions: []int32{0}}, none, false, "b/0"},
		{dissect.TopicFacts{Name: b, Partitions: []int32{16}}, none, false, "b/16"},
		{dissect.TopicFacts{Name: b, Partitions: []int32{-16}}, none, false, "b/-16"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}}, none, false, "a/0"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0, 1}}, none, false, "a/0,1"},
		{dissect.TopicFacts{Name: a}, none, false, "a"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}, Records: 3}, none, true, "a/0+3"},
		{offset, none, false, "a/0@7"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}}, &dissect.Facts{Topics: []dissect.TopicFacts{{Name: b}, offset}}, false, "a/0@7"},
		{dissect.TopicFacts{ID: []byte("0123456789abcdef"), Partitions: []int32{1}}, none, false, "MDEyMzQ1Njc4OWFiY2RlZg/1"},
		{dissect.TopicFacts{ID: []byte("0123456789abcdeg"), Partitions: []int32{1}}, none, false, "MDEyMzQ1Njc4OWFiY2RlZw/1"},
		{dissect.TopicFacts{Name: a, Partitions: []int32{0}}, none, false, "a/0"},
	} {
		if got := said.append([]byte("> "), &c.topic, c.request, c.answered); string(got) != "> "+c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
	said.append(nil, &dissect.TopicFacts{Name: bytes.Repeat(a, 300), Partitions: []int32{2}}, none, false)
	if len(said[2].text) > 0 {
		t.Errorf("%d bytes are kept of a topic that no broker has", len(said[2].text))
	}
}
