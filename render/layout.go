package render

import (
	"strconv"

	"github.com/kdissect/kdissect/dissect"
)

// A walker goes over the leaves of a tape in the order of the bytes and keeps the path to where it is.
type walker struct {
	m    *dissect.Message
	tape []dissect.Node
	path []byte
	leaf func(path []byte, offset, size int, n *dissect.Node)
}

// A Leaf is a place in a message that holds one value, or the length of one.
type Leaf struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
}

// Leaves returns the leaves of a message in the order of the bytes.
func Leaves(m *dissect.Message) []Leaf {
	var leaves []Leaf
	w := walker{m: m, tape: m.Tape(), leaf: func(path []byte, offset, size int, _ *dissect.Node) {
		leaves = append(leaves, Leaf{string(path), offset, size})
	}}
	w.all()
	return leaves
}

// appendLayout appends the leaves with their paths, offsets and sizes.
func (j *JSON) appendLayout(b []byte, m *dissect.Message) []byte {
	b = append(b, `,"layout":[`...)
	first := true
	w := walker{m: m, tape: m.Tape(), path: j.path[:0], leaf: func(path []byte, offset, size int, _ *dissect.Node) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, `{"path":`...)
		b = appendString(b, path)
		b = append(b, `,"offset":`...)
		b = strconv.AppendInt(b, int64(offset), 10)
		b = append(b, `,"size":`...)
		b = strconv.AppendInt(b, int64(size), 10)
		b = append(b, '}')
	}}
	w.all()
	j.path = w.path[:0]
	return append(b, ']')
}

func (w *walker) all() {
	for i := 0; i < len(w.tape); i = int(w.tape[i].Next) {
		w.top(i)
	}
}

// top walks the frame's size, header, body, or what is behind them.
func (w *walker) top(at int) {
	n := &w.tape[at]
	w.path = w.path[:0]
	switch {
	case n.Kind == dissect.StructNode && at == w.m.Body():
		w.path = append(w.path, "payload"...)
		w.inside(at)
	case n.Kind == dissect.StructNode:
		w.path = append(w.path, "header"...)
		w.inside(at)
	default:
		w.node(at)
	}
}

func (w *walker) inside(at int) {
	for i := at + 1; i < int(w.tape[at].Next); i = int(w.tape[i].Next) {
		w.node(i)
	}
}

// node walks one node. The path is that of what it stands in.
func (w *walker) node(at int) {
	n := &w.tape[at]
	mark := len(w.path)
	switch n.Kind {
	case dissect.TagsNode:
		w.inside(at)
	case dissect.TagNode:
		if n.Op == nil {
			w.add("tag", int(n.Count))
		}
		w.inside(at)
	case dissect.StructNode, dissect.ArrayNode:
		w.name(n)
		w.inside(at)
	case dissect.ElementsNode:
		w.elements(n)
	case dissect.LeadNode:
		if n.Length > 0 {
			w.add("lead", -1)
			w.leaf(w.path, int(n.Offset), int(n.Length), n)
		}
	default:
		w.leafName(n)
		w.leaf(w.path, int(n.Offset), int(n.Length), n)
	}
	w.path = w.path[:mark]
}

func (w *walker) elements(n *dissect.Node) {
	width := int(n.Op.Fixed)
	for i := range int(n.Count) {
		mark := len(w.path)
		w.index(i)
		w.leaf(w.path, int(n.Offset)+i*width, width, n)
		w.path = w.path[:mark]
	}
}

// name appends a field's name, or the index of an element.
func (w *walker) name(n *dissect.Node) {
	if n.Op.Element {
		w.index(int(n.Count))
		return
	}
	w.add(n.Op.JSON, -1)
}

func (w *walker) leafName(n *dissect.Node) {
	switch n.Kind {
	case dissect.SizeNode:
		w.add("size", -1)
	case dissect.ValueNode:
		w.name(n)
	case dissect.LengthNode:
		w.add("length", -1)
	case dissect.PresenceNode:
		w.add("presence", -1)
	case dissect.TagCountNode:
		w.add("taggedFields", -1)
	case dissect.TagHeadNode:
		w.add("tagHead", -1)
	case dissect.UnknownNode:
		w.add("value", -1)
	case dissect.TrailingNode:
		w.add("trailing", -1)
	case dissect.TokenNode:
		w.add("payload.token", -1)
	default:
		w.add("undecoded", -1)
	}
}

func (w *walker) add(name string, number int) {
	if len(w.path) > 0 {
		w.path = append(w.path, '.')
	}
	w.path = append(w.path, name...)
	if number >= 0 {
		w.path = strconv.AppendInt(w.path, int64(number), 10)
	}
}

func (w *walker) index(i int) {
	w.path = append(w.path, '[')
	w.path = strconv.AppendInt(w.path, int64(i), 10)
	w.path = append(w.path, ']')
}

// appendUnknownTags appends the tagged fields that no schema knows, with the path of the structure they stand in.
func (j *JSON) appendUnknownTags(b []byte, m *dissect.Message) []byte {
	tape := m.Tape()
	first := true
	for i := range tape {
		if tape[i].Kind != dissect.UnknownNode {
			continue
		}
		if first {
			b = append(b, `,"unknownTags":[`...)
		} else {
			b = append(b, ',')
		}
		first = false
		b = append(b, `{"path":`...)
		j.path = m.AppendPath(j.path[:0], i)
		b = appendString(b, j.path)
		b = append(b, `,"tag":`...)
		b = strconv.AppendUint(b, uint64(tape[i].Count), 10)
		if m.Guarded() && !j.options.ShowSecrets {
			b = append(b, `,"hex":null}`...)
			continue
		}
		b = append(b, `,"hex":"`...)
		for _, c := range m.Raw(&tape[i]) {
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
		}
		b = append(b, '"', '}')
	}
	if first {
		return b
	}
	return append(b, ']')
}
