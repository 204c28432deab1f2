package render

import (
	"encoding/binary"
	"sort"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// nestedFields are the structures inside the bytes fields of a message or of another structure, in the order of the fields. They are kept because
// they are handed over before the tree is printed.
type nestedFields struct {
	all  []dissect.Nested
	used int
}

// collect opens the bytes fields of a message. The bytes of one that has a secret inside are as secret as that.
func (f *nestedFields) collect(m *dissect.Message) {
	f.used = 0
	for n := range m.Nested {
		f.add(n)
		if n.Secret {
			m.Nodes[n.Field].Secret = true
		}
	}
}

// add keeps a structure that is handed over, and asks for the next one.
func (f *nestedFields) add(n *dissect.Nested) bool {
	if f.used == len(f.all) {
		f.all = append(f.all, dissect.Nested{})
	}
	keep(&f.all[f.used], n)
	f.used++
	return true
}

// keep copies a structure that is valid only while it is handed over. The bytes are the message's.
func keep(to, n *dissect.Nested) {
	nodes := append(to.Nodes[:0], n.Nodes...)
	*to = *n
	to.Nodes = nodes
}

// of returns the structures inside the field at an index.
func (f *nestedFields) of(field uint32) []dissect.Nested {
	all := f.all[:f.used]
	from := sort.Search(len(all), func(i int) bool { return all[i].Field >= int(field) })
	to := from
	for to < len(all) && all[to].Field == int(field) {
		to++
	}
	return all[from:to]
}

// has tells whether a structure is inside the field at an index.
func (f *nestedFields) has(field uint32) bool { return f != nil && f.used > 0 && len(f.of(field)) > 0 }

// nestedStructures appends what is inside a bytes field, below its line.
func (t *Tree) nestedStructures(b []byte, field uint32, last bool) []byte {
	found, at, base := t.inside.of(field), &t.tape[field], t.base
	t.enter(last)
	for i := range found {
		n, last := &found[i], i == len(found)-1
		switch {
		case n.JSON != nil:
			b = t.metrics(b, n.JSON)
		case t.options.Full:
			b = t.fullField(b, n, at, base, last)
		default:
			if n.Header >= 0 {
				b = t.nestedHeader(b, n, base)
			}
			b = t.compactNested(b, n.Tail, n, base, t.nested, last)
		}
	}
	t.leave()
	return b
}

// fullField appends a structure inside a bytes field. One inside another structure has no bytes of the field to itself.
func (t *Tree) fullField(b []byte, n *dissect.Nested, field *dissect.Node, base uint32, last bool) []byte {
	if n.Tail != "" {
		return t.fullStructure(b, n, n.Body(), base, last)
	}
	from := field.Offset + uint32(field.Prefix)
	return t.fullParts(b, n, from, base, field.Offset+field.Length, last)
}

// nestedHeader appends the header of a request or response inside a message on one line.
func (t *Tree) nestedHeader(b []byte, n *dissect.Nested, base uint32) []byte {
	outer := t.enterNested(n, base)
	at := uint32(n.Header)
	t.chooseNestedLayout(n.Header)
	b = t.beginLine(b, false, false)
	b = t.nestedTitle(b, "", n, n.Header)
	b = t.inlineMembers(b, at, 0)
	b = t.placeLine(b, &t.tape[at])
	t.scope = outer
	return b
}

// compactNested appends a structure: what is short in it on its line, once that has been explained or if it is to be folded. role says what it is
// of the record that it stands in. base is what its offsets count from.
func (t *Tree) compactNested(b []byte, role string, n *dissect.Nested, base uint32, fold, last bool) []byte {
	outer := t.enterNested(n, base)
	at := uint32(n.Body())
	t.chooseNestedLayout(n.Body())
	fold = fold || t.folds(at)
	p := pass{last: t.lastMember(at, fold), folded: fold}
	b = t.beginLine(b, last, p.last > 0)
	b = t.nestedTitle(b, role, n, n.Body())
	if fold {
		b = t.inlineMembers(b, at, 0)
	}
	b = t.placeLine(b, &t.tape[at])
	t.enter(last)
	b = t.members(b, at, 0, &p)
	t.leave()
	t.scope = outer
	return b
}

// nestedTitle begins the line of a structure: its name, and its version unless it is a key, which has none.
func (t *Tree) nestedTitle(b []byte, role string, n *dissect.Nested, at int) []byte {
	op := t.tape[at].Op
	b = t.branch(b)
	if role != "" {
		b = append(append(b, role...), ' ')
	}
	b = append(append(b, t.colors.name.on...), op.Name...)
	b = append(b, t.colors.name.off...)
	if op.Message().Kind == schema.CoordinatorKey {
		return b
	}
	version := op.Version()
	if at == n.Body() {
		version = n.Version
	}
	return appendInt(append(b, " v"...), int64(version))
}

// fullNested appends the structure that a key or value of a record was decoded to, with what stands around it there. start is where key or value
// begins, size how many bytes it has.
func (t *Tree) fullNested(b []byte, n *dissect.Nested, start uint32, size int) []byte {
	return t.fullParts(b, n, 0, start, uint32(size), true)
}

// fullParts appends a structure with what stands in front of it and behind it, between two offsets in its scope.
func (t *Tree) fullParts(b []byte, n *dissect.Nested, from, base, end uint32, last bool) []byte {
	body := &n.Nodes[n.Body()]
	behind := body.Offset + body.Length
	first := body
	if n.Header >= 0 {
		first = &n.Nodes[n.Header]
	}
	outer := t.enterNested(n, base)
	b = t.fullPrefix(b, n, from, first.Offset)
	t.scope = outer
	if n.Header >= 0 {
		b = t.fullStructure(b, n, n.Header, base, false)
	}
	b = t.fullStructure(b, n, n.Body(), base, last && behind == end)
	if behind < end {
		b = t.leafHead(b, "trailing", "bytes")
		b = append(appendQuantity(b, int(end-behind), "byte"), " that the structure does not have"...)
		b = t.spanLine(b, "", base+behind, end-behind, "")
	}
	return b
}

// fullPrefix appends what stands in front of a structure and says what it is: an int16, or three unsigned varints.
func (t *Tree) fullPrefix(b []byte, n *dissect.Nested, from, to uint32) []byte {
	raw := t.v.Raw(&dissect.Node{Offset: from, Length: to - from})
	return t.leadParts(b, n.Nodes[n.Body()].Op.Message().Kind, raw, int(t.base+from))
}

// leadParts appends the parts of what stands in front of a structure, which begins at an offset.
func (t *Tree) leadParts(b []byte, kind schema.Kind, raw []byte, at int) []byte {
	name, about := "version", "version of the structure that follows"
	if kind == schema.CoordinatorKey {
		name, about = "type", "what the record is about"
	}
	switch {
	case len(raw) == 2:
		return t.numberPart(b, name, "int16", int64(int16(uint16(raw[0])<<8|uint16(raw[1]))), at, 2, about)
	case len(raw) >= 3:
		return t.metadataPrefix(b, raw, at)
	}
	return b
}

// metadataPrefix appends what stands in front of a record of the cluster metadata or the remote log metadata.
func (t *Tree) metadataPrefix(b, raw []byte, at int) []byte {
	for _, part := range [...]struct{ name, about string }{
		{"frame_version", "version of these three numbers"},
		{"type", "what the record is about"},
		{"version", "version of the structure that follows"},
	} {
		v, width := binary.Uvarint(raw)
		b = t.numberPart(b, part.name, "uvarint", int64(v), at, width, part.about)
		raw, at = raw[width:], at+width
	}
	return b
}

// fullStructure appends every node of a structure.
func (t *Tree) fullStructure(b []byte, n *dissect.Nested, at int, base uint32, last bool) []byte {
	outer := t.enterNested(n, base)
	t.chooseNestedLayout(at)
	b = t.nestedTitle(b, n.Tail, n, at)
	b = append(t.place(b, &t.tape[at]), '\n')
	b = t.fields(b, at, 0, last)
	t.scope = outer
	return b
}
