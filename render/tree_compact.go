package render

import (
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// What the compact tree shows of what is long.
const (
	maxElements = 20   // elements of an array
	maxValue    = 64   // bytes of a value
	maxMessage  = 1024 // bytes of what a broker says about an error
)

// compact appends the message with what repeats folded: the size stands in the message's line, the header on one
// line, the body's fields directly below the message.
func (t *Tree) compact(b []byte) []byte {
	body := t.m.Body()
	for i := 0; i < len(t.tape); i = int(t.tape[i].Next) {
		n := &t.tape[i]
		last := int(n.Next) == len(t.tape)
		switch {
		case n.Kind == dissect.SizeNode:
		case n.Kind == dissect.LeadNode:
			b = t.lead(b, n)
		case t.withholds(i):
			return t.withholdRest(b, n)
		case n.Kind == dissect.StructNode && i == body:
			t.chooseLayout(i)
			p := pass{last: t.lastMember(uint32(i), false), more: !last}
			b = t.members(b, uint32(i), 0, &p)
		case n.Kind == dissect.StructNode:
			b = t.compactHeader(b, uint32(i), last)
		default:
			b = t.surplus(b, i, last)
		}
	}
	return b
}

// compactHeader appends the header on one line. Only tagged fields have lines of their own.
func (t *Tree) compactHeader(b []byte, at uint32, last bool) []byte {
	n := &t.tape[at]
	t.chooseLayout(int(at))
	b = t.headerTitle(t.beginLine(b, last, false), n)
	if t.m.Kind == schema.Request && t.m.Header.Known {
		b = t.appendAPI(b)
	}
	op := 1
	for i := at + 1; i < n.Next; i = t.tape[i].Next {
		c := &t.tape[i]
		if name := c.Op.Name; c.Kind == dissect.ValueNode && name != "RequestApiKey" && name != "RequestApiVersion" {
			b = t.inlineMember(b, i, op)
		}
		op = int(c.Op.Next)
	}
	b = t.placeLine(b, n)
	b = t.notes(b, n.Next, last)
	p := pass{last: t.lastMember(at, true), folded: true}
	t.enter(last)
	b = t.members(b, at, 0, &p)
	t.leave()
	return b
}

// appendAPI appends name, key and version of the API that is called.
func (t *Tree) appendAPI(b []byte) []byte {
	h := &t.m.Header
	b = append(b, " api="...)
	b = append(b, t.colors.text.on...)
	if t.m.API != nil {
		b = append(b, t.m.API.Name...)
	}
	b = append(b, '(')
	b = appendInt(b, int64(h.APIKey))
	b = append(b, ") v"...)
	b = appendInt(b, int64(h.Version))
	return append(b, t.colors.text.off...)
}

// A pass goes over what a structure contains.
type pass struct {
	last   uint32 // index of the last node that gets a line of its own
	more   bool   // a sibling follows behind it
	folded bool   // what fits on the structure's line stands there
}

// lastMember returns the index of the last node in a group that gets a line of its own, 0 when none does.
func (t *Tree) lastMember(at uint32, folded bool) (last uint32) {
	for i := at + 1; i < t.tape[at].Next; i = t.tape[i].Next {
		switch t.tape[i].Kind {
		case dissect.PresenceNode, dissect.TagCountNode, dissect.TagHeadNode:
		case dissect.TagsNode, dissect.TagNode:
			if inner := t.lastMember(i, folded); inner > 0 {
				last = inner
			}
		default:
			if !folded || !t.inlines(i) {
				last = i
			}
		}
	}
	return last
}

// members appends what a group contains, a field a line. Tagged fields stand among the others. op is the index of the group's Op.
func (t *Tree) members(b []byte, at uint32, op int, p *pass) []byte {
	next := op + 1
	for i := at + 1; i < t.tape[at].Next; i = t.tape[i].Next {
		n := &t.tape[i]
		switch n.Kind {
		case dissect.PresenceNode, dissect.TagCountNode, dissect.TagHeadNode:
			continue
		case dissect.TagsNode:
			b = t.members(b, i, next, p)
		case dissect.TagNode:
			b = t.members(b, i, t.layout.tagged(op, n.Op)-1, p)
			continue
		default:
			if !p.folded || !t.inlines(i) {
				b = t.member(b, i, next, i == p.last && !p.more)
			}
			if n.Op == nil {
				continue
			}
		}
		next = int(n.Op.Next)
	}
	return b
}

// member appends a node that has a line of its own, with all that it contains.
func (t *Tree) member(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	switch n.Kind {
	case dissect.ValueNode:
		return t.compactValue(b, at, op, last)
	case dissect.ArrayNode:
		switch {
		case t.scalars(at):
			return t.scalarArray(b, at, op, last)
		case t.listsAPIs(at):
			return t.apiList(b, at, op, last)
		}
		return t.compactArray(b, at, op, last)
	case dissect.StructNode:
		return t.compactStruct(b, at, op, last)
	}
	return t.surplus(b, int(at), last)
}

// compactValue appends a primitive, its explanation where the field occurs first.
func (t *Tree) compactValue(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	b = t.start(t.beginLine(b, last, t.opens(at)), l, n.Count)
	b = t.appendCut(b, l, n)
	b = append(b, l.off...)
	b = t.appendTagNote(b, at)
	b = t.placeWrapped(b, n)
	if l.kind == errorCode && !n.Null && t.v.Int(n) != 0 {
		b = t.explainLine(b, t.seen.explainError(int16(t.v.Int(n))))
	} else {
		b = t.explainLine(b, t.seen.explain(l))
	}
	return t.below(b, at, last)
}

// appendCut appends the value of a primitive, of a long one the beginning.
func (t *Tree) appendCut(b []byte, l *label, n *dissect.Node) []byte {
	switch {
	case n.Prefix == 0 && l.kind != batches:
		return t.appendFixed(b, l, t.v.Raw(n))
	case n.Op.Role == schema.ErrorMessage:
		return t.appendVariable(b, l, n, maxMessage)
	}
	return t.appendVariable(b, l, n, t.limit)
}

// appendTagNote appends the tag of a field that is a tagged one.
func (t *Tree) appendTagNote(b []byte, at uint32) []byte {
	if n := &t.tape[at]; n.Op.Tag < 0 || n.Op.Element {
		return b
	}
	b = append(b, " (tag "...)
	b = appendInt(b, int64(t.tape[at].Op.Tag))
	if t.tape[at-2].Hidden {
		b = append(b, ", superseded by a later one"...)
	}
	return append(b, ')')
}

// scalarArray appends an array of primitives on one line.
func (t *Tree) scalarArray(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	about := t.seen.explain(l)
	b = t.start(t.beginLine(b, last, false), l, n.Count)
	b = t.appendScalars(b, at, op)
	b = t.appendTagNote(b, at)
	b = t.place(b, n)
	b = t.explainLine(b, about)
	return t.notes(b, n.Next, last)
}

// appendScalars appends the elements of an array of primitives: [0, 1, 2].
func (t *Tree) appendScalars(b []byte, at uint32, op int) []byte {
	n := &t.tape[at]
	if n.Null {
		return append(b, "null"...)
	}
	b = append(b, '[')
	if n.Count > 0 && at+2 < n.Next {
		first := &t.tape[at+2]
		l := t.label(op+1, first.Op)
		style := t.valueStyle(l.kind)
		b = append(b, style.on...)
		if first.Kind == dissect.ElementsNode {
			b = t.appendFixedElements(b, l, first)
		} else {
			b = t.appendVariableElements(b, l, at)
		}
		b = append(b, style.off...)
	}
	return append(b, ']')
}

func (t *Tree) appendFixedElements(b []byte, l *label, n *dissect.Node) []byte {
	all, width := t.v.Raw(n), int(n.Op.Fixed)
	for i := range min(int(n.Count), maxElements) {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = t.appendFixed(b, l, all[i*width:(i+1)*width])
	}
	return appendLeftOut(b, int(n.Count)-maxElements)
}

func (t *Tree) appendVariableElements(b []byte, l *label, at uint32) []byte {
	array := &t.tape[at]
	shown := 0
	for i := at + 2; i < array.Next && shown < maxElements; i = t.tape[i].Next {
		if shown > 0 {
			mark := len(b)
			b = append(b, ", "...)
			b = t.appendCut(b, l, &t.tape[i])
			b = t.wrap(b, mark+1)
		} else {
			b = t.appendCut(b, l, &t.tape[i])
		}
		shown++
	}
	return appendLeftOut(b, int(array.Count)-shown)
}

// appendLeftOut says how many elements are not shown.
func appendLeftOut(b []byte, n int) []byte {
	if n <= 0 {
		return b
	}
	b = append(b, ", ... "...)
	b = appendInt(b, int64(n))
	return append(b, " more"...)
}

// compactArray appends an array of structures: the first elements, and those that an error or a finding is in.
func (t *Tree) compactArray(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	b = t.start(t.beginLine(b, last, n.Count > 0), l, n.Count)
	b = t.appendElements(b, at)
	b = t.appendTagNote(b, at)
	b = t.place(b, n)
	b = t.explainLine(b, t.seen.explain(l))
	b = t.notes(b, at+2, last)
	t.enter(last)
	left, from := 0, uint32(0)
	for i := at + 2; i < n.Next; i = t.tape[i].Next {
		e := &t.tape[i]
		if e.Count >= maxElements && !t.notable(i) {
			if left++; left == 1 {
				from = e.Offset
			}
			continue
		}
		b = t.leftOut(b, left, from, e.Offset, false)
		left = 0
		b = t.member(b, i, op+1, e.Next == n.Next)
	}
	b = t.leftOut(b, left, from, n.Offset+n.Length, true)
	t.leave()
	return t.notes(b, n.Next, last)
}

// leftOut appends how many elements of an array are not shown, if any.
func (t *Tree) leftOut(b []byte, n int, from, to uint32, last bool) []byte {
	if n == 0 {
		return b
	}
	b = t.branch(b)
	b = appendMore(b, n, "element")
	return t.spanLine(b, "", t.base+from, to-from, "")
}

// notable tells whether a node must not be cut away: an error code that is not 0 is in it, a finding, or damaged records.
func (t *Tree) notable(at uint32) bool {
	end := t.tape[at].Next
	for i := at; i < end; i++ {
		if t.failed(&t.tape[i]) {
			return true
		}
	}
	return t.findings.inside(at, end) || t.damaged(at, end)
}

// failed tells whether a node is an error code that is not 0.
func (t *Tree) failed(n *dissect.Node) bool {
	return isError(n) && t.v.Int(n) != 0
}

// compactStruct appends a structure. What is short in it stands on its line once all of that has been explained.
func (t *Tree) compactStruct(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	folded := t.folds(at)
	p := pass{last: t.lastMember(at, folded), folded: folded}
	b = t.beginLine(b, last, p.last > 0)
	l := t.label(op, n.Op)
	if folded {
		b = t.foldedLine(b, at, op)
	} else {
		b = t.start(b, l, n.Count)
		if n.Null {
			b = append(b, "null"...)
		} else {
			b = append(b, "struct"...)
		}
		b = t.appendTagNote(b, at)
		b = t.place(b, n)
		b = t.explainLine(b, t.seen.explain(l))
	}
	b = t.notes(b, at+1, last)
	t.enter(last)
	b = t.members(b, at, op, &p)
	t.leave()
	return t.notes(b, n.Next, last)
}

// folds tells whether what is short in a structure stands on its line: there is some, and it needs no explanation.
func (t *Tree) folds(at uint32) bool {
	any := false
	for i := at + 1; i < t.tape[at].Next; i = t.tape[i].Next {
		n := &t.tape[i]
		if n.Kind == dissect.PresenceNode || n.Kind == dissect.TagsNode || !t.inlines(i) {
			continue
		}
		if !t.seen.explained(n.Op) {
			return false
		}
		any = true
	}
	return any
}

// foldedLine appends a structure with all that is short in it: `name a=1 b="x"`, or as an element `[3] a=1 b="x"`.
func (t *Tree) foldedLine(b []byte, at uint32, op int) []byte {
	n := &t.tape[at]
	b = t.branch(b)
	b = append(b, t.colors.name.on...)
	if n.Op.Element {
		b = strconv.AppendUint(append(b, '['), uint64(n.Count), 10)
		b = append(b, ']')
	} else {
		b = append(b, n.Op.Name...)
	}
	b = append(b, t.colors.name.off...)
	b = t.appendTagNote(b, at)
	b = t.inlineMembers(b, at, op)
	return t.placeLine(b, n)
}

// inlineMembers appends what is short in a group to the line.
func (t *Tree) inlineMembers(b []byte, at uint32, op int) []byte {
	next := op + 1
	for i := at + 1; i < t.tape[at].Next; i = t.tape[i].Next {
		n := &t.tape[i]
		switch n.Kind {
		case dissect.PresenceNode, dissect.TagCountNode, dissect.TagHeadNode:
			continue
		case dissect.TagsNode:
			b = t.inlineMembers(b, i, next)
		case dissect.TagNode:
			b = t.inlineMembers(b, i, t.layout.tagged(op, n.Op)-1)
			continue
		case dissect.ValueNode, dissect.ArrayNode, dissect.StructNode:
			if t.inlines(i) {
				b = t.inlineMember(b, i, next)
			}
		default:
			continue
		}
		next = int(n.Op.Next)
	}
	return b
}

// inlineMember appends one field to the line: ` name=value`.
func (t *Tree) inlineMember(b []byte, at uint32, op int) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	mark := len(b)
	b = append(b, l.inline...)
	switch {
	case n.Kind == dissect.StructNode:
		b = append(b, "null"...)
	case n.Kind == dissect.ArrayNode:
		b = t.appendScalars(b, at, op)
		return t.wrap(b, mark)
	default:
		b = t.appendCut(b, l, n)
	}
	b = append(b, l.off...)
	return t.wrap(b, mark)
}

// inlines tells whether a node is short enough for the line of the structure that it is in. An error code that is not 0
// and what a finding is in keep a line of their own.
func (t *Tree) inlines(at uint32) bool {
	n := &t.tape[at]
	if t.findings.inside(at, n.Next) {
		return false
	}
	switch n.Kind {
	case dissect.ValueNode:
		long := n.Op.Code == schema.OpBytes || n.Op.Code == schema.OpRecords
		return !t.failed(n) && (!long || n.Length == uint32(n.Prefix))
	case dissect.ArrayNode:
		return n.Null || n.Count == 0 || t.scalars(at) && n.Count <= maxElements && n.Length <= 2*maxValue
	case dissect.StructNode:
		return n.Null
	}
	return false
}

// scalars tells whether an array is one of primitives.
func (t *Tree) scalars(at uint32) bool {
	return t.tape[at].Op.Field.Type.Base != schema.StructType
}
