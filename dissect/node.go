package dissect

import "github.com/kdissect/kdissect/schema"

// A NodeKind says what a node of the tape stands for. The kinds before leafKinds are groups:
// their bytes are those of the nodes inside them. The others are leaves, and the leaves tile the frame.
type NodeKind uint8

const (
	StructNode NodeKind = iota // header, body, or a structure inside it
	ArrayNode                  // LengthNode first, then the elements
	TagsNode                   // tagged fields section: TagCountNode first, then the fields
	TagNode                    // a tagged field: TagHeadNode first, then its value

	SizeNode      // the frame's size prefix
	ValueNode     // a primitive value, with its own length in front where it has one
	ElementsNode  // all elements of an array of fixed-width primitives, Count of them
	LengthNode    // the element count of an array
	PresenceNode  // the byte that says whether a nullable structure is there
	TagCountNode  // how many tagged fields follow
	TagHeadNode   // number and size of a tagged field
	UnknownNode   // the value of a tagged field that the schema does not know
	TrailingNode  // surplus bytes behind the last field
	UndecodedNode // bytes that could not be decoded, from the fault on
	TokenNode     // a raw SASL token, the whole frame behind its size
	LeadNode      // what stands in front of a structure that is no request or response: its version or record type

	leafKinds = SizeNode
)

// Leaf tells whether nodes of this kind have bytes of their own and no node inside.
func (k NodeKind) Leaf() bool { return k >= leafKinds }

// A Node is one node of a Message's tape. Nodes are in preorder: what a group contains follows
// it directly and ends before Next.
type Node struct {
	Op     *schema.Op // what the schema says of it; nil for kinds that belong to no field
	Offset uint32     // of its first byte, from the first byte of the frame's size prefix
	Length uint32     // in bytes
	Next   uint32     // index of the first node behind this one and all that it contains
	Count  uint32     // elements of an array or tagged fields of a section; the index of an element; the tag of TagNode and UnknownNode
	Kind   NodeKind
	Prefix uint8 // bytes of the value's own length in front of the value
	Null   bool
	Hidden bool // superseded by a later tagged field with the same tag
	Secret bool // a value that no output may show unless asked to
}
