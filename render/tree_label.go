package render

import (
	"strings"
	"unicode"

	"github.com/kdissect/kdissect/schema"
)

// A label is what the lines of one Op have in common, put together once.
type label struct {
	op       *schema.Op
	head     string // the line's begin: `+-- name type = `, of an element `+-- name[`
	middle   string // of an element, behind its index: `] type = `
	tail     string // its end: the explanation and a newline
	inline   string // its begin on the line of the structure that it is folded into: ` name=`
	about    string // the explanation alone, "" when there is none
	valueOff string // ends the colour that head or middle begin
	kind     valueKind
}

// A layout holds the labels of a plan's Ops, each from its first use on.
type layout struct {
	plan   *schema.Plan
	labels []label
}

// layoutOf returns the layout of a plan, nil for none.
func (t *Tree) layoutOf(plan *schema.Plan) *layout {
	if plan == nil {
		return nil
	}
	l := t.layouts[plan]
	if l == nil {
		l = &layout{plan: plan, labels: make([]label, len(plan.Ops))}
		t.layouts[plan] = l
	}
	return l
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
	l := label{op: op, kind: valueKindOf(op), tail: "\n"}
	name, typ := op.Name, op.TypeName()
	if op.Message().Kind == schema.Header {
		name, typ = snakeCase(name), headerType(op, typ)
	}
	value := t.valueStyle(l.kind)
	if op.Code >= schema.OpStruct {
		value = style{}
	}
	l.valueOff = value.off
	behind := " " + t.colors.dim.paint(typ) + " = " + value.on
	l.head = "+-- " + t.colors.name.paint(name)
	if op.Element {
		l.head, l.middle = l.head+"[", "]"+behind
	} else {
		l.head += behind
	}
	l.inline = " " + t.colors.name.paint(name) + "=" + value.on
	if l.about = op.About(); l.about != "" {
		l.about = string(appendEscaped(nil, l.about, false))
		l.tail = " " + t.colors.dim.paint(l.about) + "\n"
	}
	return l
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
