package render

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/kdissect/kdissect/schema"
)

// A label is what the lines of one Op have in common, put together once: in full a line is the branches of the tree, head, the value,
// open, offset and size of the value, tail. Of an element, the head is `+-- name[`.
type label struct {
	leafLabel
	op     *schema.Op
	kind   valueKind
	middle string // of an element, behind its index: `] type = `
	inline string // begins the field on the line of the structure that it is folded into: ` name=`
	told   bool   // the field needs no explanation any more
}

// A layout holds the labels of a plan's Ops, each from its first use on.
type layout struct {
	plan    *schema.Plan
	top     leafLabel // of the line of the header or the body
	labels  []label
	pattern pattern // of messages with this body
}

// layoutOf returns the layout of a plan, nil for none.
func (t *Tree) layoutOf(plan *schema.Plan) *layout {
	if plan == nil {
		return nil
	}
	l := t.layouts[plan]
	if l == nil {
		l = &layout{plan: plan, top: t.newTopLabel(&plan.Ops[0]), labels: make([]label, len(plan.Ops))}
		t.layouts[plan] = l
	}
	return l
}

// newTopLabel returns the label of a header or a body.
func (t *Tree) newTopLabel(op *schema.Op) leafLabel {
	version := strconv.Itoa(int(op.Version()))
	head, behind, about := "+-- "+t.colors.name.paint(op.Name), " struct", "message body, version "+version
	if op.Message().Kind == schema.Header {
		behind, about = " v"+version, "common header of every "+t.m.Kind.String()
	}
	return leafLabel{head: head + behind, open: t.placeOn, tail: t.tail(about)}
}

// label returns the label of an Op by its index in the plan. It is valid until the next call.
func (t *Tree) label(at int, op *schema.Op) *label {
	if t.layout == nil {
		t.odd = t.newLabel(op)
		return &t.odd
	}
	l := &t.layout.labels[at]
	if l.op == nil {
		*l = t.newLabel(op)
	}
	return l
}

// tagged returns the index of a known tagged field of the section at an index.
func (l *layout) tagged(section int, op *schema.Op) int {
	if l == nil {
		return 0
	}
	ops := l.plan.Ops
	for i := section + 1; i < int(ops[section].Next); i = int(ops[i].Next) {
		if &ops[i] == op {
			return i
		}
	}
	return 0
}

func (t *Tree) newLabel(op *schema.Op) label {
	l := label{op: op, kind: valueKindOf(op)}
	name, typ := op.Name, op.TypeName()
	if op.Message().Kind == schema.Header {
		name, typ = snakeCase(name), headerType(op, typ)
	}
	var value style
	if op.Code < schema.OpStruct {
		value = t.valueStyle(l.kind)
	}
	behind := " " + t.colors.dim.paint(typ) + " = " + value.on
	l.head = "+-- " + t.colors.name.paint(name)
	if op.Element {
		l.head, l.middle = l.head+"[", "]"+behind
	} else {
		l.head += behind
	}
	l.inline = " " + t.colors.name.paint(name) + "=" + value.on
	l.about = string(appendEscaped(nil, op.About(), false))
	l.off, l.open, l.tail = value.off, value.off+t.placeOn, t.tail(l.about)
	return l
}

// tail ends the place of a node and the line.
func (t *Tree) tail(about string) string {
	if about == "" {
		return t.placeOff + "\n"
	}
	return t.placeOff + " " + t.colors.dim.paint(about) + "\n"
}

// A leafLabel is what the lines of one kind of leaf have in common.
type leafLabel struct {
	head  string // `+-- name type = `
	off   string // ends the value: its colour, the encoding of some
	open  string // off, and what begins the place
	tail  string // ends the place: the explanation and a newline
	about string // the explanation alone, "" when there is none

	leads  leads
	ending ending
}

// leafLabels are the labels of such leaves.
type leafLabels struct {
	frame, size                 leafLabel
	length, nullLength          [2]leafLabel // [1] where lengths are compact
	tags, tagCount              leafLabel
	present, absent             leafLabel
	taggedPresent, taggedAbsent leafLabel

	batch, old []leafLabel // of batchFields and oldFields
	record     recordLabels
}

// recordLabels are the labels of the parts of a record.
type recordLabels struct {
	title        leafLabel
	offset, time string // in the title, behind the index and behind the offset

	length, attributes, timestampDelta, offsetDelta leafLabel
	key, value, headerKey                           leafLabel
	headers, headerCount                            leafLabel
}

func (t *Tree) newLeafLabels() leafLabels {
	const howMany, none = "how many elements follow", "null, not even an empty array"
	const there, absent = "the structure follows", "the structure is null"
	const tags = "number of tagged fields here"
	return leafLabels{
		frame:         leafLabel{head: "+-- " + t.colors.name.paint("Frame"), open: t.placeOn, tail: t.tail("where the message ends in the stream")},
		size:          t.newLeafLabel("size", "int32", "", "number of bytes that follow"),
		length:        [2]leafLabel{t.newLeafLabel("length", "int32", " (int32 n)", howMany), t.newLeafLabel("length", "uvarint", " (compact, n+1)", howMany)},
		nullLength:    [2]leafLabel{t.newLeafLabel("length", "int32", " (int32 n)", none), t.newLeafLabel("length", "uvarint", " (compact, n+1)", none)},
		tags:          t.newLeafLabel("tagged_fields", "uvarint", "", tags),
		tagCount:      t.newLeafLabel("count", "uvarint", "", ""),
		present:       t.newLeafLabel("presence", "int8", "", there),
		absent:        t.newLeafLabel("presence", "int8", "", absent),
		taggedPresent: t.newLeafLabel("presence", "uvarint", "", there),
		taggedAbsent:  t.newLeafLabel("presence", "uvarint", "", absent),
		batch:         t.newBatchLabels(batchFields[:]),
		old:           t.newBatchLabels(oldFields[:]),
		record:        t.newRecordLabels(),
	}
}

func (t *Tree) newRecordLabels() recordLabels {
	name, number := t.colors.name, t.colors.number
	return recordLabels{
		title:  leafLabel{head: "+-- " + name.on + "record" + name.on + "[", open: t.placeOn, tail: t.tail("")},
		offset: "]" + name.off + " " + name.paint("offset") + "=" + number.on,
		time:   number.off + " " + name.paint("time") + "=" + number.on,

		length:         t.newLeafLabel("length", "varint", "", "bytes that follow in this record"),
		attributes:     t.newLeafLabel("attributes", "int8", "", "unused"),
		timestampDelta: t.newLeafLabel("timestamp_delta", "varlong", "", "ms since base_timestamp"),
		offsetDelta:    t.newLeafLabel("offset_delta", "varint", "", "offset less base_offset"),
		key:            t.newPartLabel("key", "bytes"),
		value:          t.newPartLabel("value", "bytes"),
		headers:        t.newPartLabel("headers", "[]header"),
		headerCount:    t.newLeafLabel("count", "varint", "", "how many headers follow"),
		headerKey:      t.newPartLabel("key", "string"),
	}
}

func (t *Tree) newBatchLabels(fields []batchField) []leafLabel {
	labels := make([]leafLabel, len(fields))
	for i := range fields {
		labels[i] = t.newLeafLabel(fields[i].name, fields[i].typ, "", fields[i].about)
	}
	return labels
}

// newPartLabel returns the label of a leaf that is no number.
func (t *Tree) newPartLabel(name, typ string) leafLabel {
	return leafLabel{
		head: "+-- " + t.colors.name.paint(name) + " " + t.colors.dim.paint(typ) + " = ",
		open: t.placeOn,
		tail: t.tail(""),
	}
}

func (t *Tree) newLeafLabel(name, typ, encoding, about string) leafLabel {
	off := t.colors.number.off + encoding
	return leafLabel{
		head:  "+-- " + t.colors.name.paint(name) + " " + t.colors.dim.paint(typ) + " = " + t.colors.number.on,
		off:   off,
		open:  off + t.placeOn,
		tail:  t.tail(about),
		about: about,
	}
}

// headerType is the type of a field of a request or response header, the way Kafka's protocol guide writes it.
func headerType(op *schema.Op, typ string) string {
	if op.Nullable {
		return "nullable_" + typ
	}
	return typ
}

// snakeCase turns RequestApiKey into request_api_key.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
