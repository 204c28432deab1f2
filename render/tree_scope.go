package render

import (
	"math/bits"

	"github.com/kdissect/kdissect/dissect"
)

// A scope is what of a message is being printed: the nodes of its frame, or those of a structure inside one of its values or records.
type scope struct {
	v        *dissect.View
	tape     []dissect.Node
	layout   *layout // of the structure that is being printed, nil when it is unknown
	findings placement
	inside   *nestedFields // structures inside its bytes fields, nil for none
	base     uint32        // what the offsets of the nodes count from
	nested   bool          // a structure inside a value
}

// enterNested makes a structure inside a value the scope, and returns the scope that it stands in. base is what its offsets count from.
func (t *Tree) enterNested(n *dissect.Nested, base uint32) (outer scope) {
	outer = t.scope
	t.scope = scope{v: &n.View, tape: n.Nodes, base: base, nested: true}
	if n == &t.records.value {
		t.scope.inside = &t.records.fields
	}
	return outer
}

// chooseNestedLayout chooses the layout of a structure of a nested scope.
func (t *Tree) chooseNestedLayout(at int) {
	op := t.tape[at].Op
	plan := t.m.Catalog().PlanByName(op.Message().Name, op.Version())
	if plan != nil && &plan.Ops[0] != op { // of the same name, out of another catalog
		plan = nil
	}
	t.layout = t.layoutOf(plan)
}

// place appends where the bytes of a node stand: [0x0004, 11B].
func (t *Tree) place(b []byte, n *dissect.Node) []byte {
	return t.span(b, n.Offset+t.base, n.Length)
}

// span appends where bytes stand: [0x0004, 11B] in the frame, [+0x0004, 11B in batch 0] in what a batch was unpacked to.
func (t *Tree) span(b []byte, offset, size uint32) []byte {
	if len(t.unpacked) == 0 {
		b = append(b, t.placeOn...)
		b = appendSpan(b, offset, size)
		return append(b, t.placeOff...)
	}
	b = append(b, t.unpackedOn...)
	b = appendSpan(b, offset, size)
	b = append(b, "B in batch "...)
	b = append(b, t.unpacked...)
	b = append(b, ']')
	return append(b, t.colors.dim.off...)
}

// spanLine appends where bytes stand and what they are, and ends the line. off ends what stands in front.
func (t *Tree) spanLine(b []byte, off string, offset, size uint32, about string) []byte {
	b = append(b, off...)
	b = t.span(b, offset, size)
	if about == "" {
		return append(b, '\n')
	}
	return t.dim(b, about)
}

// appendSpan appends offset and size.
func appendSpan(b []byte, offset, size uint32) []byte {
	b = appendOffset(b, offset)
	b = append(b, ',', ' ')
	return appendInt(b, int64(size))
}

// appendOffset appends an offset in hex, four digits or as many as it takes.
func appendOffset(b []byte, offset uint32) []byte {
	for shift := 28; shift >= 16; shift -= 4 {
		if offset>>shift > 0 {
			b = append(b, hexDigits[offset>>shift&15])
		}
	}
	return append(b, hexDigits[offset>>12&15], hexDigits[offset>>8&15], hexDigits[offset>>4&15], hexDigits[offset&15])
}

// offsetDigits is how many digits appendOffset appends.
func offsetDigits(offset uint32) int { return max(lastDigits, (bits.Len32(offset)+3)/4) }
