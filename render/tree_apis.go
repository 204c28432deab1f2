package render

import (
	"bytes"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Most connections begin with what the broker offers. It is printed whole, on few lines: `Produce 0-13, Fetch 4-18`. Where
// it is what another message said before, that is all that is said.
type offer struct {
	bytes   []byte // of the array
	message int64  // the message that it was printed with
}

// listsAPIs tells whether an array is the one of the APIs that a broker offers, and nothing odd is in it.
func (t *Tree) listsAPIs(at uint32) bool {
	n := &t.tape[at]
	if n.Op.Name != "ApiKeys" || n.Op.Message().Name != "ApiVersionsResponse" || n.Count == 0 || t.findings.inside(at, n.Next) {
		return false
	}
	elements := 0
	for i := at + 2; i < n.Next; i = t.tape[i].Next {
		if !t.plainRange(i) {
			return false
		}
		elements++
	}
	return elements == int(n.Count)
}

// plainRange tells whether a structure is three numbers, and an empty section of tagged fields if any.
func (t *Tree) plainRange(at uint32) bool {
	n := &t.tape[at]
	if n.Next < at+4 {
		return false
	}
	for i := at + 1; i < at+4; i++ {
		if c := &t.tape[i]; c.Kind != dissect.ValueNode || c.Op.Code != schema.OpInt16 {
			return false
		}
	}
	return n.Next == at+4 || t.tape[at+4].Kind == dissect.TagsNode && t.tape[at+4].Count == 0 && t.tape[at+4].Next == n.Next
}

// apiList appends the APIs with the versions of each.
func (t *Tree) apiList(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	if about := t.seen.explain(l); about != "" { // no list was printed before this one
		t.seen.all.offer.set(t.v.Raw(n), t.m.Number)
		b = t.place(t.appendAPIs(t.start(t.beginLine(b, last, false), l, n.Count), at), n)
		return t.notes(t.explainLine(b, about), n.Next, last)
	}
	b = t.insert(b, t.offering(at, l, last).append)
	return t.notes(b, n.Next, last)
}

// An offering is a list that may be the one that was printed last, which is found out when it is written.
type offering struct {
	last          *offer
	bytes         []byte
	message       int64
	whole         []byte // the lines of the list
	again, behind []byte // the line that says that it is the same, up to the number of the other message and behind that
}

// offering prepares the list at an index. What it holds is its own.
func (t *Tree) offering(at uint32, l *label, last bool) *offering {
	n := &t.tape[at]
	o := &offering{last: &t.seen.all.offer, bytes: bytes.Clone(t.v.Raw(n)), message: t.m.Number}
	o.again = t.appendElements(t.start(nil, l, n.Count), at)
	o.again = append(o.again, ", the same as in #"...)
	o.behind = append(t.place(nil, n), '\n')
	o.whole = t.appendAPIs(t.start(t.beginLine(nil, last, false), l, n.Count), at)
	o.whole = append(o.whole, o.behind...)
	return o
}

func (o *offering) append(b []byte) []byte {
	if bytes.Equal(o.bytes, o.last.bytes) {
		b = appendInt(append(b, o.again...), o.last.message)
		return append(b, o.behind...)
	}
	o.last.set(o.bytes, o.message)
	return append(b, o.whole...)
}

func (o *offer) set(list []byte, message int64) {
	o.bytes, o.message = append(o.bytes[:0], list...), message
}

func (t *Tree) appendAPIs(b []byte, at uint32) []byte {
	n := &t.tape[at]
	b = append(b, '[')
	for i := at + 2; i < n.Next; i = t.tape[i].Next {
		mark := len(b)
		if i > at+2 {
			b = append(b, ' ')
		}
		b = t.apiRange(b, i)
		if t.tape[i].Next < n.Next {
			b = append(b, ',')
		}
		if i > at+2 {
			b = t.wrap(b, mark)
		}
	}
	return append(b, ']')
}

func (t *Tree) apiRange(b []byte, at uint32) []byte {
	key, low, high := t.v.Int(&t.tape[at+1]), t.v.Int(&t.tape[at+2]), t.v.Int(&t.tape[at+3])
	if api := t.m.Catalog().API(int16(key)); api != nil {
		b = append(b, api.Name...)
	} else {
		b = appendInt(append(b, "key "...), key)
	}
	b = append(b, ' ')
	b = append(b, t.colors.number.on...)
	b = appendInt(b, low)
	if high != low {
		b = appendInt(append(b, '-'), high)
	}
	return append(b, t.colors.number.off...)
}
