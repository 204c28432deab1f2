package render

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Messages of one kind are much alike: a heartbeat, an empty fetch, a broker's list of APIs has the fields of the one before it at the same offsets, and
// most of their values. So the full tree of a message is kept, and of the next one with the same tape only the lines of the leaves with other bytes are
// made; what stands between them is copied.

// A pattern is the full tree of a message of a plan, with the tape and the bytes that it was made of.
type pattern struct {
	size, nodes int // of the last message of the plan: a tree is kept when the next one is of the same size, so what does not repeat costs nothing
	tape        []dissect.Node
	frame       []byte // less the leaves that are always made anew
	text        []byte // so is this
	leaves      []patternLeaf
	pieces      []patternPiece
	anew        []int32 // the leaves of a message that have to be made anew
}

// A patternLeaf is a leaf that has lines of its own, and all that is needed to make them anew.
type patternLeaf struct {
	layout   *layout
	indent   *indent
	from, to int // its lines in the text
	node     uint32
	op       int32
	last     bool
	fresh    bool // always made anew: its lines say more than its own bytes do
	free     bool // whatever its bytes are, the tape is the same
}

// A patternPiece is bytes of the frame without a leaf that is always made anew.
type patternPiece struct {
	from, to uint32
	behind   int32 // the leaf behind it, -1 for none
}

// How much of one message is kept, and of all messages together.
const (
	maxPatternText = 64 << 10
	maxPatternSize = 8 << 10
	maxPatterns    = 8 << 20
)

// full appends every node of the message.
func (t *Tree) full(b []byte) []byte {
	if t.known != nil {
		return t.repeat(b, t.known)
	}
	p := t.pattern()
	switch {
	case p == nil:
		return t.topNodes(b)
	case slices.Equal(p.tape, t.tape) && p.compare(t.v):
		return t.repeat(b, p)
	case p.size != t.m.Size || p.nodes != len(t.tape):
		p.size, p.nodes = t.m.Size, len(t.tape)
		return t.topNodes(b)
	}
	return t.learn(b, p)
}

// pattern returns the one of the message's plan, nil when the tree depends on more than tape and bytes: on findings between its lines, or on what is withheld.
func (t *Tree) pattern() *pattern {
	if t.withheld || len(t.findings.placed) > 0 || t.m.Undecoded() != nil || t.m.Size > maxPatternSize {
		return nil
	}
	l := t.layoutOf(t.plan)
	if l == nil {
		return nil
	}
	return &l.pattern
}

// repeat appends the tree of a message that was compared with the pattern.
func (t *Tree) repeat(b []byte, p *pattern) []byte {
	from := 0
	for _, i := range p.anew {
		l := &p.leaves[i]
		b = append(b, p.text[from:l.from]...)
		t.layout, t.indent = l.layout, l.indent
		b = t.leafLines(b, l.node, int(l.op), l.last)
		from = l.to
	}
	t.indent = &t.top
	return append(b, p.text[from:]...)
}

// compare finds the leaves that have to be made anew. It is false when bytes differ that are in none.
func (p *pattern) compare(v *dissect.View) bool {
	p.anew = p.anew[:0]
	next := 0 // among the leaves
	for _, piece := range p.pieces {
		have, want := v.Raw(&dissect.Node{Offset: piece.from, Length: piece.to - piece.from}), p.frame[piece.from:piece.to]
		if len(have) != len(want) {
			return false
		}
		for at := differAt(have, want, 0); at < len(have); at = differAt(have, want, at) {
			offset := piece.from + uint32(at)
			for next < len(p.leaves) && p.end(next) <= offset {
				next++
			}
			if next == len(p.leaves) || p.leaves[next].fresh || p.tape[p.leaves[next].node].Offset > offset {
				return false
			}
			p.anew = append(p.anew, int32(next))
			at = int(p.end(next) - piece.from)
		}
		if piece.behind >= 0 {
			p.anew = append(p.anew, piece.behind)
		}
	}
	return true
}

// end is the offset behind a leaf.
func (p *pattern) end(leaf int) uint32 {
	n := &p.tape[p.leaves[leaf].node]
	return n.Offset + n.Length
}

// differAt returns where, from an index on, the next byte is that two slices of one length do not have in common: their length if there is none.
func differAt(a, b []byte, i int) int {
	for ; len(a)-i >= 8; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

// learn appends the tree of a message and makes it the pattern.
func (t *Tree) learn(b []byte, p *pattern) []byte {
	from, memory := len(b), p.memory()
	p.tape, p.leaves = p.tape[:0], p.leaves[:0]
	if memory == 0 && t.patterns >= maxPatterns {
		return t.topNodes(b)
	}
	t.learning = p
	b = t.topNodes(b)
	if t.learning != nil {
		p.keep(t.v, t.tape, b, from)
	}
	t.learning = nil
	if t.patterns += p.memory() - memory; t.patterns > maxPatterns {
		t.patterns -= p.memory()
		*p = pattern{size: p.size, nodes: p.nodes}
	}
	return b
}

// learnLeaf notes where the lines of a leaf are in the buffer.
func (t *Tree) learnLeaf(from, to int, at uint32, op int, last bool) {
	n := &t.tape[at]
	fresh := n.Kind == dissect.ValueNode && n.Op.Code >= schema.OpBytes || // records or a structure may stand below its line
		n.Op != nil && n.Op.Role == schema.TopicID // another message may tell the topic's name
	t.learning.leaves = append(t.learning.leaves, patternLeaf{t.layout, t.indent, from, to, at, int32(op), last, fresh, isFree(n)})
}

// isFree tells whether a leaf is a number or an id, or records, which the decoder passes over.
func isFree(n *dissect.Node) bool {
	return n.Kind == dissect.ValueNode && (n.Op.Code < schema.OpString && n.Op.Code != schema.OpBool || n.Op.Code == schema.OpRecords)
}

// recognise finds out without decoding it that a message has the tape of the pattern, which is so when nothing in it is out of the ordinary and only bytes
// of free leaves differ. It begins the message then. Of small messages a decoded one takes a third of all instructions.
func (t *Tree) recognise(m *dissect.Message) bool {
	t.known = nil
	if !t.options.Full || t.options.Hex || len(m.Findings) > 0 {
		return false
	}
	plan, frame, _ := m.Plain()
	if plan == nil || t.layouts[plan] == nil {
		return false
	}
	p := &t.layouts[plan].pattern
	if len(p.tape) == 0 || len(p.frame) != len(frame) || !p.compare(&m.View) || !p.differsFreely() || !isOrdinary(m) {
		return false
	}
	if t.showsBatches() {
		verify(m, p.tape)
	}
	if len(m.Findings) > 0 {
		m.Findings = m.Findings[:0] // they come up again, and have to be placed
		return false
	}
	t.scope = scope{v: &m.View, tape: p.tape, inside: &t.opened, findings: t.findings}
	t.plan, t.known, t.withheld, t.guarded, t.opened.used = plan, p, false, false, 0
	t.findings.place(nil, t.tape, false)
	return true
}

// isOrdinary tells whether a plain message has no findings: its facts can be read without decoding it.
func isOrdinary(m *dissect.Message) bool {
	m.Facts()
	plan, _, _ := m.Plain()
	return plan != nil
}

// differsFreely tells whether the leaves that have to be made anew leave the tape as it is.
func (p *pattern) differsFreely() bool {
	for _, i := range p.anew {
		if !p.leaves[i].free {
			return false
		}
	}
	return true
}

// spill does what it does for other formats. Of a tree that is written before it is whole there is no pattern.
func (t *Tree) spill(b []byte) []byte {
	if len(b) >= spillSize {
		t.learning = nil
	}
	return t.sink.spill(b)
}

// keep makes a message the pattern whose leaves were noted. Its tree stands in a buffer from an index on.
func (p *pattern) keep(v *dissect.View, tape []dissect.Node, b []byte, from int) {
	if !p.cut(v, tape) || !p.keepText(b, from) {
		return
	}
	p.tape = append(p.tape, tape...)
}

// cut cuts the frame at the leaves that are always made anew and keeps the pieces. It is false when not all of their bytes are there.
func (p *pattern) cut(v *dissect.View, tape []dissect.Node) bool {
	p.pieces, p.frame = p.pieces[:0], slices.Grow(p.frame[:0], p.size)[:p.size]
	from := uint32(0)
	for i := range p.leaves {
		if l := &p.leaves[i]; l.fresh {
			n := &tape[l.node]
			p.pieces = append(p.pieces, patternPiece{from, n.Offset + uint32(n.Prefix), int32(i)})
			from = n.Offset + n.Length
		}
	}
	p.pieces = append(p.pieces, patternPiece{from, uint32(p.size), -1})
	for _, piece := range p.pieces {
		have := v.Raw(&dissect.Node{Offset: piece.from, Length: piece.to - piece.from})
		if copy(p.frame[piece.from:piece.to], have) < int(piece.to-piece.from) {
			return false
		}
	}
	return true
}

// keepText keeps the tree without the lines of leaves that are always made anew, unless it is too long.
func (p *pattern) keepText(b []byte, from int) bool {
	p.text = p.text[:0]
	for i := range p.leaves {
		l := &p.leaves[i]
		to := l.to
		if len(p.text)+l.to-from > maxPatternText+l.to-l.from {
			return false
		}
		p.text = append(p.text, b[from:l.from]...)
		l.from, from = len(p.text), l.from
		if l.fresh {
			from = to
		}
		l.to = l.from + to - from
	}
	if len(p.text)+len(b)-from > maxPatternText {
		return false
	}
	p.text = append(p.text, b[from:]...)
	return true
}

// memory is how many bytes the pattern takes.
func (p *pattern) memory() int {
	const nodeSize, leafSize = 40, 56
	return cap(p.tape)*nodeSize + cap(p.leaves)*leafSize + cap(p.frame) + cap(p.text)
}
