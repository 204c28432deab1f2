package dissect

import (
	"encoding/binary"
	"iter"
	"math"
	"sort"

	"github.com/kdissect/kdissect/schema"
)

// A View is nodes and the bytes they stand for: of a whole frame, or of a structure inside one.
type View struct {
	Nodes []Node // in preorder
	data  []byte // less the holes
	holes []hole
	body  int // index of the body's node, 0 when there is none

	summed summed
}

// Bytes returns the bytes of a leaf's value, without its own length in front. They are part of
// the frame and valid as long as the message is. Of a records field that was passed over only the part in front of the
// first hole is there.
func (v *View) Bytes(n *Node) []byte {
	return v.slice(int(n.Offset)+int(n.Prefix), int(n.Length)-int(n.Prefix))
}

// Raw returns the bytes of a node, with its own length in front.
func (v *View) Raw(n *Node) []byte { return v.slice(int(n.Offset), int(n.Length)) }

// slice returns n bytes of the frame from an offset on, or as many of them as are there.
func (v *View) slice(offset, n int) []byte {
	at := offset
	if len(v.holes) > 0 {
		i := sort.Search(len(v.holes), func(i int) bool { return v.holes[i].offset+v.holes[i].length > offset })
		if i == len(v.holes) {
			last := &v.holes[i-1]
			at -= last.before + last.length
		} else {
			h := &v.holes[i]
			if h.offset <= offset {
				return nil
			}
			at -= h.before
			n = min(n, h.offset-offset)
		}
	}
	if at >= len(v.data) {
		return nil
	}
	return v.data[at:min(at+n, len(v.data))]
}

// Fields yields the index of each field of a structure in the order of the bytes. Of a tagged field it is that of the value; those that the schema
// does not know, and those that a later one with the same tag supersedes, are left out.
func (v *View) Fields(at int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, end := at+1, int(v.Nodes[at].Next); i < end; {
			n, field := &v.Nodes[i], i
			switch i = int(n.Next); n.Kind {
			case TagsNode:
				i = field + 1 // its fields are those of the structure
				continue
			case TagNode:
				if field += 2; n.Op == nil || n.Hidden || field >= int(n.Next) { // behind the tag's head
					continue
				}
			}
			switch value := &v.Nodes[field]; value.Kind {
			case StructNode, ArrayNode, ValueNode:
				if value.Op != nil && !yield(field) {
					return
				}
			}
		}
	}
}

// Int returns the value of an integer or bool leaf.
func (v *View) Int(n *Node) int64 { return Int(n.Op.Code, v.Bytes(n)) }

// Element returns the bytes of the i-th element of an ElementsNode.
func (v *View) Element(n *Node, i int) []byte {
	return v.slice(int(n.Offset)+i*int(n.Op.Fixed), int(n.Op.Fixed))
}

// Int returns the value of an integer or bool out of its bytes.
func Int(code schema.OpCode, b []byte) int64 {
	switch code {
	case schema.OpBool, schema.OpInt8:
		return int64(int8(b[0]))
	case schema.OpInt16:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case schema.OpUint16:
		return int64(binary.BigEndian.Uint16(b))
	case schema.OpInt32:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case schema.OpUint32:
		return int64(binary.BigEndian.Uint32(b))
	case schema.OpInt64:
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Float returns the value of a float64 out of its bytes.
func Float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
