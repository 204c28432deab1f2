package render

import (
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// topNodes appends every node of the message.
func (t *Tree) topNodes(b []byte) []byte {
	for i := 0; i < len(t.tape); i = int(t.tape[i].Next) {
		n := &t.tape[i]
		last := int(n.Next) == len(t.tape)
		switch {
		case n.Kind == dissect.SizeNode:
			b = t.frame(b, n, last)
		case n.Kind == dissect.LeadNode:
			b = t.lead(b, n)
		case t.withholds(i):
			return t.withholdRest(b, n)
		case n.Kind == dissect.StructNode:
			t.chooseLayout(i)
			b = t.topLine(b, i, last)
			b = t.fields(b, i, 0, last)
		default:
			b = t.node(b, uint32(i), 0, last)
		}
	}
	return b
}

// frame appends the size prefix.
func (t *Tree) frame(b []byte, n *dissect.Node, last bool) []byte {
	l := &t.leaves.frame
	b = t.endLeaf(t.leaf(b, l), l, n.Offset, n.Length)
	t.enter(last)
	b = t.numberLine(b, &t.leaves.size, int64(t.m.Size-4), n.Offset, n.Length)
	b = t.notes(b, 1, true)
	t.leave()
	return b
}

// lead appends what stands in front of a structure that is a message of its own.
func (t *Tree) lead(b []byte, n *dissect.Node) []byte {
	return t.leadParts(b, t.m.Plan().Message.Kind, t.v.Raw(n), int(n.Offset))
}

func (t *Tree) headerTitle(b []byte, n *dissect.Node) []byte {
	b = append(b, "+-- "...)
	b = append(b, t.colors.name.on...)
	b = append(b, n.Op.Name...)
	b = append(b, t.colors.name.off...)
	b = append(b, " v"...)
	return appendInt(b, int64(n.Op.Version()))
}

// topLine appends the line of the header or the body.
func (t *Tree) topLine(b []byte, at int, last bool) []byte {
	n := &t.tape[at]
	var l *leafLabel
	if t.layout != nil {
		l = &t.layout.top
	} else {
		odd := t.newTopLabel(n.Op)
		l = &odd
	}
	b = t.endLeaf(t.leaf(b, l), l, n.Offset, n.Length)
	return t.notes(b, uint32(at)+1, last)
}

// chooseLayout chooses the layout of the header or the body.
func (t *Tree) chooseLayout(at int) {
	plan := t.m.Plan()
	if plan != nil && at != t.m.Body() {
		plan = plan.Header
	}
	t.layout = t.layoutOf(plan)
}

// fields appends what a structure contains. op is the index of its own Op in the plan.
func (t *Tree) fields(b []byte, at, op int, last bool) []byte {
	end := t.tape[at].Next
	t.enter(last)
	op++
	for i := uint32(at) + 1; i < end; {
		n := &t.tape[i]
		b = t.node(b, i, op, n.Next == end)
		if n.Kind != dissect.PresenceNode {
			op = int(n.Op.Next)
		}
		i = n.Next
	}
	t.leave()
	return b
}

// node appends a node and all that it contains.
func (t *Tree) node(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	switch n.Kind {
	case dissect.StructNode:
		return t.structure(b, at, op, last)
	case dissect.ArrayNode:
		return t.array(b, at, op, last)
	case dissect.TagsNode:
		return t.tags(b, at, op, last)
	}
	from := len(b)
	b = t.leafLines(b, at, op, last)
	if t.learning != nil && !t.nested {
		t.learnLeaf(from, len(b), at, op, last)
	}
	return b
}

// leafLines appends the lines of a leaf.
func (t *Tree) leafLines(b []byte, at uint32, op int, last bool) []byte {
	switch t.tape[at].Kind {
	case dissect.ValueNode:
		return t.value(b, at, op, last)
	case dissect.LengthNode:
		return t.length(b, at, last)
	case dissect.ElementsNode:
		return t.elements(b, at, op)
	case dissect.PresenceNode:
		return t.presence(b, at, last)
	case dissect.TagHeadNode:
		return t.tagHead(b, at, last)
	}
	return t.surplus(b, int(at), last)
}

// start begins the line of a field or element.
func (t *Tree) start(b []byte, l *label, index uint32) []byte {
	b = t.leaf(b, &l.leafLabel)
	if l.op.Element {
		b = appendInt(b, int64(index))
		b = append(b, l.middle...)
	}
	return b
}

// finish ends the line, behind the value.
func (t *Tree) finish(b []byte, l *label, n *dissect.Node) []byte {
	return t.endLeaf(b, &l.leafLabel, n.Offset+t.base, n.Length)
}

// endVariable ends the line behind a value that has its own length in front, and how that is written.
func (t *Tree) endVariable(b []byte, l *label, n *dissect.Node) []byte {
	if len(t.unpacked) > 0 {
		return t.spanLine(b, "", n.Offset+t.base, n.Length, l.about)
	}
	return l.ending.append(b, t.placeOn, l.tail, n.Offset+t.base, n.Length)
}

func (t *Tree) structure(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	b = t.start(b, l, n.Count)
	if n.Null {
		b = append(b, "null"...)
	} else {
		b = append(b, "struct"...)
	}
	b = t.finish(b, l, n)
	b = t.notes(b, at+1, last)
	return t.fields(b, int(at), op, last)
}

func (t *Tree) array(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	b = t.start(b, l, n.Count)
	b = t.appendElements(b, at)
	b = t.finish(b, l, n)
	b = t.notes(b, at+1, last)
	t.enter(last)
	for i := at + 1; i < n.Next; {
		c := &t.tape[i]
		b = t.node(b, i, op+1, c.Next == n.Next)
		i = c.Next
	}
	t.leave()
	return b
}

// appendElements appends how many elements an array has, and how many of them were decoded where that is not all.
func (t *Tree) appendElements(b []byte, at uint32) []byte {
	n := &t.tape[at]
	if n.Null {
		return append(b, "null"...)
	}
	b = appendQuantity(b, int(n.Count), "element")
	if !t.nested && int(n.Next) == len(t.tape)-1 && t.m.Undecoded() != nil {
		decoded := 0
		for i := at + 2; i < n.Next; i = t.tape[i].Next {
			decoded++
		}
		b = appendInt(append(b, ", "...), int64(decoded))
		b = append(b, " of them decoded"...)
	}
	return b
}

// length appends the element count of an array as it stands on the wire.
func (t *Tree) length(b []byte, at uint32, last bool) []byte {
	n := &t.tape[at]
	array := &t.tape[at-1]
	labels, count, compact := &t.leaves.length, int64(array.Count), 0
	if array.Null {
		labels, count = &t.leaves.nullLength, -1
	}
	if n.Op.Compact {
		compact = 1
	}
	b = t.numberLine(b, &labels[compact], count+int64(compact), n.Offset+t.base, n.Length)
	return t.notes(b, at+1, last)
}

// elements appends primitives of fixed width, each on a line of its own.
func (t *Tree) elements(b []byte, at uint32, op int) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	width := uint32(n.Op.Fixed)
	all := t.v.Raw(n)
	for i := range n.Count {
		b = t.start(b, l, i)
		b = t.appendFixed(b, l, all[i*width:(i+1)*width])
		b = t.endLeaf(b, &l.leafLabel, n.Offset+t.base+i*width, width)
	}
	return t.notes(b, at+1, true)
}

// value appends a primitive.
func (t *Tree) value(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	l := t.label(op, n.Op)
	b = t.start(b, l, n.Count)
	switch {
	case n.Prefix > 0 || l.kind == batches:
		b = t.appendVariable(b, l, n, 0)
		b = append(b, l.off...)
		if n.Prefix > 0 {
			b = appendEncoding(b, n)
		}
		b = t.endVariable(b, l, n)
	case l.kind == errorCode && t.v.Int(n) != 0:
		b = t.errorValue(b, l, n)
	default:
		b = t.appendFixed(b, l, t.v.Raw(n))
		b = t.finish(b, l, n)
	}
	return t.below(b, at, last)
}

// errorValue appends an error code that is not 0, and what that error is rather than what the field is.
func (t *Tree) errorValue(b []byte, l *label, n *dissect.Node) []byte {
	code := t.v.Int(n)
	b = t.appendError(b, code)
	e := schema.ErrorByCode(int16(code))
	if e == nil {
		return t.finish(b, l, n)
	}
	b = append(b, l.off...)
	b = t.place(b, n)
	return t.dim(b, e.Text)
}

// appendVariable appends a value that has its own length in front. limit is how many bytes of it are shown, 0 for all.
func (t *Tree) appendVariable(b []byte, l *label, n *dissect.Node, limit int) []byte {
	switch {
	case n.Null:
		return append(b, "null"...)
	case n.Secret && !t.options.ShowSecrets:
		return append(b, "withheld (--show-secrets prints it)"...)
	case l.kind == text:
		return appendTextValue(b, t.v.Bytes(n), limit)
	case l.kind == batches:
		return t.appendBatchCount(b, n)
	}
	return appendBlob(b, t.v.Bytes(n), limit)
}

// appendEncoding says how the length in front of a value is written, and what is written there.
func appendEncoding(b []byte, n *dissect.Node) []byte {
	length := int64(n.Length) - int64(n.Prefix)
	if n.Null {
		length = -1
	}
	switch {
	case n.Op.Compact:
		b = append(b, " (compact, len+1="...)
		length++
	case n.Op.Code == schema.OpString:
		b = append(b, " (int16 len="...)
	default:
		b = append(b, " (int32 len="...)
	}
	b = appendInt(b, length)
	return append(b, ')')
}

// presence appends the byte that says whether a nullable structure is there.
func (t *Tree) presence(b []byte, at uint32, last bool) []byte {
	n, raw := &t.tape[at], t.v.Raw(&t.tape[at])[0]
	l, value := &t.leaves.present, int64(int8(raw))
	null := t.tape[at-1].Null
	switch {
	case n.Op.Tag >= 0 && null:
		l, value = &t.leaves.taggedAbsent, int64(raw)
	case n.Op.Tag >= 0:
		l, value = &t.leaves.taggedPresent, int64(raw)
	case null:
		l = &t.leaves.absent
	}
	return t.notes(t.numberLine(b, l, value, n.Offset+t.base, n.Length), at+1, last)
}

// tags appends a section of tagged fields. An empty one is its count alone.
func (t *Tree) tags(b []byte, at uint32, op int, last bool) []byte {
	n := &t.tape[at]
	b = t.numberLine(b, &t.leaves.tags, int64(n.Count), n.Offset+t.base, n.Length)
	if n.Next == at+2 {
		return t.notes(b, at+2, last)
	}
	b = t.notes(b, at+1, last)
	t.enter(last)
	for i := at + 1; i < n.Next; {
		c := &t.tape[i]
		if c.Kind == dissect.TagCountNode {
			b = t.notes(t.numberLine(b, &t.leaves.tagCount, int64(n.Count), c.Offset+t.base, c.Length), i+1, false)
		} else {
			b = t.tag(b, i, op, c.Next == n.Next)
		}
		i = c.Next
	}
	t.leave()
	return b
}

// tag appends one tagged field: its tag and size, and its value.
func (t *Tree) tag(b []byte, at uint32, section int, last bool) []byte {
	n := &t.tape[at]
	b = t.leafHead(b, "tag", "tagged_field")
	b = t.appendTagName(b, n)
	b = t.place(b, n)
	b = t.notes(append(b, '\n'), at+1, last)
	op := 0
	if n.Op != nil {
		op = t.layout.tagged(section, n.Op)
	}
	t.enter(last)
	for i := at + 1; i < n.Next; {
		c := &t.tape[i]
		b = t.node(b, i, op, c.Next == n.Next)
		i = c.Next
	}
	t.leave()
	return b
}

// appendTagName appends the tag and the name of the field that it stands for.
func (t *Tree) appendTagName(b []byte, n *dissect.Node) []byte {
	b = strconv.AppendUint(b, uint64(n.Count), 10)
	switch {
	case n.Op == nil:
		b = append(b, " (unknown)"...)
	case n.Hidden:
		b = append(append(append(b, " ("...), n.Op.Name...), ", superseded by a later one)"...)
	default:
		b = append(append(append(b, " ("...), n.Op.Name...), ')')
	}
	return b
}

func (t *Tree) tagHead(b []byte, at uint32, last bool) []byte {
	n := &t.tape[at]
	field := &t.tape[at-1]
	b = t.leafHead(b, "head", "uvarint+uvarint")
	b = append(b, t.colors.number.on...)
	b = append(b, "tag "...)
	b = strconv.AppendUint(b, uint64(field.Count), 10)
	b = append(b, ", size "...)
	b = strconv.AppendUint(b, uint64(field.Length-n.Length), 10)
	b = append(b, t.colors.number.off...)
	b = t.place(b, n)
	b = append(b, '\n')
	return t.notes(b, at+1, last)
}

// surplus appends a leaf that no field accounts for.
func (t *Tree) surplus(b []byte, at int, last bool) []byte {
	n := &t.tape[at]
	b = t.beginLine(b, last, false)
	if n.Kind == dissect.UnknownNode && !t.options.Full {
		b = t.leafHead(b, "tagged_field", "bytes")
		b = strconv.AppendUint(append(b, "tag "...), uint64(n.Count), 10)
		b = append(b, " (unknown), "...)
	} else {
		b = t.leafHead(b, surplusNames[n.Kind], "bytes")
	}
	b = t.appendSurplus(b, n)
	b = t.place(b, n)
	if reason := t.reason(n); reason != "" {
		b = t.explainLine(b, reason)
	} else {
		b = append(b, '\n')
	}
	return t.notes(b, uint32(at)+1, last)
}

// reason says why a leaf was not decoded, unless a finding says it.
func (t *Tree) reason(n *dissect.Node) string {
	rest := t.m.Undecoded()
	if rest == nil || n.Kind != dissect.UndecodedNode || rest.Offset != int(n.Offset) || t.findings.says(rest.Reason) {
		return ""
	}
	return string(appendEscaped(nil, rest.Reason, false))
}

var surplusNames = [...]string{
	dissect.UnknownNode:   "value",
	dissect.TrailingNode:  "trailing",
	dissect.UndecodedNode: "undecoded",
	dissect.TokenNode:     "token",
}

// appendSurplus appends the bytes of a leaf without a field, as far as they are in the capture.
func (t *Tree) appendSurplus(b []byte, n *dissect.Node) []byte {
	raw := t.v.Raw(n)
	b = append(b, t.colors.bytes.on...)
	b = appendQuantity(b, int(n.Length), "byte")
	if missing := int(n.Length) - len(raw); missing > 0 {
		b = appendInt(append(b, ", "...), int64(missing))
		b = append(b, " of them not captured"...)
		if t.guarded {
			b = append(b, ',')
		}
	}
	if t.guarded {
		b = append(b, " withheld (--show-secrets prints them)"...)
	} else {
		b = appendContent(b, raw, t.limit)
	}
	return append(b, t.colors.bytes.off...)
}

// leafHead begins the line of a leaf that belongs to no field.
func (t *Tree) leafHead(b []byte, name, typ string) []byte {
	b = t.branch(b)
	b = append(b, t.colors.name.on...)
	b = append(b, name...)
	b = append(b, t.colors.name.off...)
	b = append(b, ' ')
	b = append(b, t.colors.dim.on...)
	b = append(b, typ...)
	b = append(b, t.colors.dim.off...)
	return append(b, " = "...)
}

// numberLine appends a leaf that is a number.
func (t *Tree) numberLine(b []byte, l *leafLabel, value int64, offset, size uint32) []byte {
	return t.endLeaf(appendInt(t.leaf(b, l), value), l, offset, size)
}

// leaf begins the line of a leaf.
func (t *Tree) leaf(b []byte, l *leafLabel) []byte {
	return append(b, l.leads.at(t.indent, l.head)...)
}

// endLeaf ends the line, behind the value.
func (t *Tree) endLeaf(b []byte, l *leafLabel, offset, size uint32) []byte {
	if len(t.unpacked) > 0 {
		return t.spanLine(b, l.off, offset, size, l.about)
	}
	return l.ending.append(b, l.open, l.tail, offset, size)
}
