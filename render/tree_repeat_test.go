package render

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// An apart keeps the tree of each message: as one Tree writes them all, or each by a Tree of its own.
type apart struct {
	*Tree
	own   bool
	out   bytes.Buffer
	trees []string
}

func newApart(o Options, own bool) *apart {
	a := &apart{own: own}
	a.Tree = NewTree(&a.out, o)
	return a
}

func (a *apart) Message(m *dissect.Message) {
	a.Flush()
	a.out.Reset() // what stands between the messages
	if a.own {
		a.Tree = NewTree(&a.out, a.options)
	}
	a.Tree.Message(m)
	a.Flush()
	a.trees = append(a.trees, a.out.String())
}

// kept is how many patterns there are.
func (a *apart) kept() (n int) {
	for _, l := range a.layouts {
		if len(l.pattern.tape) > 0 {
			n++
		}
	}
	return n
}

// wantSame wants one Tree to write what many do. feed hands over the messages.
func wantSame(t *testing.T, o Options, feed func(Format)) (kept int) {
	t.Helper()
	one, many := newApart(o, false), newApart(o, true)
	feed(one)
	feed(many)
	wantLines(t, strings.Join(one.trees, ""), strings.Join(many.trees, ""))
	return one.kept()
}

func TestTreesOfCapturesDoNotDependOnThoseBefore(t *testing.T) {
	kept := 0
	for _, name := range append(captures(t), capturesIn(t, casesDir)...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for _, o := range []Options{{Full: true, Records: RecordsFull}, {Full: true, Records: RecordsBatches, ShowSecrets: true}} {
				kept += wantSame(t, o, func(f Format) { readCapture(t, name, f) })
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
			kept := wantSame(t, o, func(f Format) {
				for range 3 {
					converse(f, request(frame))
				}
			})
			if kept == 0 {
				t.Errorf("frame %d: its tree was not kept", i)
			}
			wantSame(t, o, func(f Format) {
				for at := range frame {
					altered := slices.Clone(frame)
					altered[at] ^= 1 << (at % 8)
					converse(f, request(frame))
					converse(f, request(altered))
				}
			})
		}
		wantSame(t, o, func(f Format) {
			for at := 8; at < len(answer.frame); at++ {
				altered := answer
				altered.frame = slices.Clone(answer.frame)
				altered.frame[at] ^= 1
				converse(f, ask, answer)
				converse(f, ask, altered)
			}
		})
	}
}

// A message of the same size has its own tree where lengths differ and all else is in order.
func TestTreesOfMovedFields(t *testing.T) {
	const head = `000a 0004 00000001 0000 00  00 03 `
	here, there := request(frame(unhex(t, head+`03 6162 02 63 00`))), request(frame(unhex(t, head+`02 61 03 6263 00`)))
	wantSame(t, Options{Full: true}, func(f Format) {
		for _, m := range []step{here, here, here, there, there, here} {
			converse(f, m) // a connection each: none has the correlation id of an open request
		}
	})
}

// All trees that are kept take no more than a bound, also where small ones are kept first and larger ones of the same messages come then.
func TestKeptTreesAreBounded(t *testing.T) {
	tree := newApart(Options{Full: true}, false)
	small := produce(t, 0).frame
	for range 3 {
		converse(tree, request(small))
	}
	if tree.kept() != 1 {
		t.Fatalf("%d trees were kept", tree.kept())
	}
	tree.patterns = maxPatterns
	large := produceTo(t, "a topic with a long name", recordBatch(t, 0, 1, unhex(t, twoRecords))).frame
	for range 3 {
		converse(tree, request(large))
	}
	if tree.kept() != 0 || tree.patterns > maxPatterns {
		t.Errorf("%d trees are kept, %d bytes are counted", tree.kept(), tree.patterns)
	}
}
