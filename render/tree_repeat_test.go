package render

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// An apartChecker holds the tree of each message against the one that it has when none was printed before.
type apartChecker struct {
	*Tree
	t   *testing.T
	out *bytes.Buffer
}

func newApartChecker(t *testing.T, o Options) *apartChecker {
	var out bytes.Buffer
	return &apartChecker{NewTree(&out, o), t, &out}
}

func (c *apartChecker) Message(m *dissect.Message) {
	m.Tape()
	findings := slices.Clone(m.Findings)
	c.Flush() // what stands between the messages
	c.out.Reset()
	c.Tree.Message(m)
	c.Flush()
	m.Findings = findings
	var alone bytes.Buffer
	fresh := NewTree(&alone, c.options)
	fresh.Message(m)
	fresh.Flush()
	wantLines(c.t, c.out.String(), alone.String())
}

// patternsKept is how many trees are kept.
func (c *apartChecker) patternsKept() (n int) {
	for _, l := range c.layouts {
		if len(l.pattern.tape) > 0 {
			n++
		}
	}
	return n
}

func TestTreesOfCapturesDoNotDependOnThoseBefore(t *testing.T) {
	kept := 0
	for _, name := range append(captures(t), capturesIn(t, casesDir)...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for _, o := range []Options{{Full: true}, {Full: true, Records: RecordsFull, Color: true}, {Full: true, Records: RecordsBatches, ShowSecrets: true}} {
				c := newApartChecker(t, o)
				readCapture(t, name, c)
				kept += c.patternsKept()
			}
		})
	}
	if kept < 50 {
		t.Errorf("%d trees were kept", kept)
	}
}

// A message that differs from the one before in any byte has the tree that it has alone.
func TestTreesOfAlteredMessages(t *testing.T) {
	ask, answer := coordinators(t)
	frames := [][]byte{ask.frame, produce(t, 0).frame, unhex(t, alterDirsRequest),
		produceTo(t, "t", recordBatch(t, 0, 1, unhex(t, twoRecords))).frame,
		produceTo(t, "__consumer_offsets", recordBatch(t, 0, 1, unhex(t, offsetCommit))).frame,
		produceTo(t, "t", message(t, 3, 1, []byte("abc"))).frame}
	for _, o := range []Options{{Full: true, Records: RecordsFull}, {Full: true, Color: true}} {
		for i, frame := range frames {
			c := newApartChecker(t, o)
			for range 3 {
				converse(c, request(frame))
			}
			if c.patternsKept() == 0 {
				t.Errorf("frame %d: its tree was not kept", i)
			}
			for at := range frame {
				for _, flip := range []byte{0x01, 0x80} {
					altered := slices.Clone(frame)
					altered[at] ^= flip
					converse(c, request(altered))
					converse(c, request(frame))
				}
			}
		}
		c := newApartChecker(t, o)
		for range 3 {
			converse(c, ask, answer)
		}
		for at := 8; at < len(answer.frame); at++ {
			altered := answer
			altered.frame = slices.Clone(answer.frame)
			altered.frame[at] ^= 1
			converse(c, ask, altered)
		}
	}
}
