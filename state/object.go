package state

import (
	"iter"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// An object is a structure of a message. Its fields are asked for by their names in the schema; those that a version does not have give the
// value that stands for none.
type object struct {
	message *dissect.Message
	view    *dissect.View
	at      int
}

// body returns the body of a message; it has no fields where there is none that is known.
func body(m *dissect.Message) object { return object{m, &m.View, m.Body()} }

// whole tells whether all of the message could be decoded.
func whole(m *dissect.Message) bool { return m.Body() != 0 && m.Undecoded() == nil }

// maxText is how many bytes of a text are kept: names of topics have up to 249.
const maxText = 512

// kept returns a copy of a text that came from the wire, as long as may be kept.
func kept[T string | []byte](text T) string {
	return strings.Clone(string(text[:min(len(text), maxText)]))
}

// fields yields the index of each field.
func (o object) fields() iter.Seq[int] {
	if o.at == 0 && o.view == &o.message.View || o.at >= len(o.view.Nodes) {
		return func(func(int) bool) {}
	}
	return o.view.Fields(o.at)
}

// field returns the index of a field, -1 when there is none or it is null.
func (o object) field(name string) int {
	for i := range o.fields() {
		if n := &o.view.Nodes[i]; n.Op.Name == name {
			if n.Null {
				return -1
			}
			return i
		}
	}
	return -1
}

// bytes returns the bytes of a field, nil when there is none or it is null.
func (o object) bytes(name string) []byte {
	if i := o.field(name); i >= 0 && o.view.Nodes[i].Kind == dissect.ValueNode {
		return o.view.Bytes(&o.view.Nodes[i])
	}
	return nil
}

// text returns a text, "" when there is none.
func (o object) text(name string) string { return kept(o.bytes(name)) }

// int returns a number, or what stands for none.
func (o object) int(name string, none int64) int64 {
	i := o.field(name)
	if i < 0 {
		return none
	}
	n := &o.view.Nodes[i]
	if b := o.view.Bytes(n); n.Kind == dissect.ValueNode && n.Op.Fixed > 0 && len(b) == int(n.Op.Fixed) {
		return dissect.Int(n.Op.Code, b)
	}
	return none
}

// code returns an error code; one that is not there is none.
func (o object) code(name string) int16 { return int16(o.int(name, 0)) }

// has tells whether a field is there and not null.
func (o object) has(name string) bool { return o.field(name) >= 0 }

// object returns the structure in a field, one without fields where there is none.
func (o object) object(name string) object {
	if i := o.field(name); i >= 0 {
		return object{o.message, o.view, i}
	}
	return object{o.message, o.view, len(o.view.Nodes)}
}

// list yields the structures of an array.
func (o object) list(name string) func(func(object) bool) {
	return func(yield func(object) bool) {
		array := o.field(name)
		if array < 0 {
			return
		}
		tape := o.view.Nodes
		for i := array + 1; i < int(tape[array].Next); i = int(tape[i].Next) {
			if tape[i].Kind == dissect.StructNode && !tape[i].Null && !yield(object{o.message, o.view, i}) {
				return
			}
		}
	}
}

// texts returns the elements of an array of strings, up to a number of them.
func (o object) texts(name string, most int) []string {
	array := o.field(name)
	if array < 0 {
		return nil
	}
	all := []string{}
	tape := o.view.Nodes
	for i := array + 1; i < int(tape[array].Next) && len(all) < most; i = int(tape[i].Next) {
		if n := &tape[i]; n.Kind == dissect.ValueNode && !n.Null {
			all = append(all, kept(o.view.Bytes(n)))
		}
	}
	return all
}

// numbers returns the elements of an array of int32, up to a number of them.
func (o object) numbers(name string, most int) []int32 {
	array := o.field(name)
	if array < 0 {
		return nil
	}
	var all []int32
	tape := o.view.Nodes
	for i := array + 1; i < int(tape[array].Next); i = int(tape[i].Next) {
		n := &tape[i]
		if n.Kind != dissect.ElementsNode || n.Op.Code != schema.OpInt32 {
			continue
		}
		for k := range int(n.Count) {
			b := o.view.Element(n, k)
			if len(b) < int(n.Op.Fixed) || len(all) >= most {
				return all
			}
			all = append(all, int32(dissect.Int(n.Op.Code, b)))
		}
	}
	return all
}

// topic returns the topic that the object is about, by the name or the id in it. The name is looked up where there is only the id.
func (o object) topic(name string) Topic {
	var t Topic
	t.Name = o.text(name)
	id := o.bytes("TopicId")
	copy(t.ID[:], id)
	if t.Name == "" && t.ID != (TopicID{}) {
		t.Name = kept(o.message.NameOf(id))
	}
	return t
}
