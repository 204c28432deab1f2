package schema

import "slices"

// A Plan is a message at one version, compiled: a flat list of the operations that walk its
// bytes, in the order of the bytes. Ops[0] is the message's own structure; what an Op contains
// follows it directly and ends before Ops[op.Next].
type Plan struct {
	Message     *Message
	Version     int16
	Flexible    bool
	Header      *Plan // of the header in front of a request or response, nil for everything else
	NamesTopics bool  // some structure of the message has the name of a topic and its id
	HasRecords  bool
	Ops         []Op
	Outline     *Step // the first step of an outline, for those who want nothing but values with a Role
}

// An OpCode says what stands on the wire.
type OpCode uint8

// The codes up to OpRecords are the primitive types, in the order of Base.
const (
	OpBool OpCode = iota
	OpInt8
	OpInt16
	OpUint16
	OpInt32
	OpUint32
	OpInt64
	OpFloat64
	OpUUID
	OpString
	OpBytes
	OpRecords
	OpStruct // the fields follow, the last of them an OpTags in a flexible version
	OpArray  // one Op for the element follows
	OpTags   // tagged fields section: the known ones follow, each with its Tag
)

// An Op is one operation of a Plan.
type Op struct {
	Code     OpCode
	Compact  bool // lengths and counts are unsigned varints and one too large, 0 is null
	Nullable bool
	Element  bool   // the element of the array before it
	Quiet    bool   // neither it nor anything inside has a Role
	Role     Role   // what the value means wherever it occurs
	Tag      int32  // of a known tagged field, -1 for everything else
	Next     int32  // index of the first Op behind this one and all that it contains
	Parent   int32  // index of the structure that it stands in
	Fixed    int32  // encoded size in bytes where it is the same for every value, else 0
	Run      int32  // how many primitives of fixed size stand in a row from here on, in one structure; 0 for everything else
	RunSize  int32  // in bytes, all of them
	Name     string // of the field as the schema has it; of an element, its type
	JSON     string // name in Kafka's JSON
	Key      string // the same with quotes and colon
	Field    *Field // nil for OpTags and for the message itself
	plan     *Plan
}

// TypeName is the type of the Op's value as schemas write it.
func (op *Op) TypeName() string {
	switch {
	case op.Field == nil:
		return "struct"
	case op.Element && op.Field.Type.Base == StructType:
		return op.Field.Type.Struct
	case op.Element:
		return op.Field.Type.Base.String()
	}
	return op.Field.Type.String()
}

// Message is the message that the Op belongs to.
func (op *Op) Message() *Message { return op.plan.Message }

// compile makes the Plan of a message at a version that it has.
func compile(m *Message, version int16) *Plan {
	p := &Plan{Message: m, Version: version, Flexible: m.Flexible.Contains(version)}
	c := compiler{plan: p}
	c.structure(Op{Code: OpStruct, Tag: -1, Name: m.Name}, m.Fields)
	for i := range p.Ops {
		p.Ops[i].plan = p
	}
	p.findRuns()
	for i := range p.Ops {
		op := &p.Ops[i]
		op.Quiet = isQuiet(p.Ops[i:op.Next])
		p.NamesTopics = p.NamesTopics || op.Role == TopicID && p.isNamed(i)
		p.HasRecords = p.HasRecords || op.Code == OpRecords
	}
	p.Outline = outline(p.Ops, 0, int32(len(p.Ops)))
	return p
}

// findRuns counts the primitives of fixed size that follow each other. A tagged field stands alone, and so does the element of an array.
func (p *Plan) findRuns() {
	for i := len(p.Ops) - 1; i >= 0; i-- {
		op := &p.Ops[i]
		if op.Code >= OpString || op.Tag >= 0 || op.Element {
			continue
		}
		op.Run, op.RunSize = 1, op.Fixed
		if i+1 < len(p.Ops) && p.Ops[i+1].Parent == op.Parent {
			op.Run, op.RunSize = 1+p.Ops[i+1].Run, op.Fixed+p.Ops[i+1].RunSize
		}
	}
}

// isNamed tells whether the name of the topic stands in the same structure as its id, which is the Op at an index.
func (p *Plan) isNamed(id int) bool {
	parent := p.Ops[id].Parent
	return !p.Ops[id].Element && slices.ContainsFunc(p.Ops[parent:p.Ops[parent].Next], func(op Op) bool {
		return op.Role == TopicName && op.Parent == parent && !op.Element
	})
}

func isQuiet(ops []Op) bool {
	for i := range ops {
		if ops[i].Role != NoRole {
			return false
		}
	}
	return true
}

type compiler struct {
	plan   *Plan
	parent int32
}

// structure adds a structure and its fields.
func (c *compiler) structure(op Op, fields []*Field) {
	at := len(c.plan.Ops)
	c.plan.Ops = append(c.plan.Ops, op)
	outer := c.parent
	c.parent = int32(at)
	defer func() { c.parent = outer }()
	fixed, constant := int32(0), !op.Nullable
	for _, f := range fields {
		if f.Versions.Contains(c.plan.Version) && !c.isTagged(f) {
			first := len(c.plan.Ops)
			c.field(f, -1)
			size := c.plan.Ops[first].Fixed
			fixed, constant = fixed+size, constant && size > 0
		}
	}
	if c.plan.Flexible {
		c.tags(fields)
		constant = false
	}
	c.plan.Ops[at].Next = int32(len(c.plan.Ops))
	if constant {
		c.plan.Ops[at].Fixed = fixed
	}
}

func (c *compiler) isTagged(f *Field) bool {
	return f.Tag >= 0 && c.plan.Flexible && f.Tagged.Contains(c.plan.Version)
}

// tags adds the section of tagged fields, with those that the version knows.
func (c *compiler) tags(fields []*Field) {
	at := len(c.plan.Ops)
	c.plan.Ops = append(c.plan.Ops, Op{Code: OpTags, Tag: -1, Compact: true, Name: "tagged_fields"})
	for _, f := range fields {
		if f.Versions.Contains(c.plan.Version) && c.isTagged(f) {
			c.field(f, int32(f.Tag))
		}
	}
	c.plan.Ops[at].Next = int32(len(c.plan.Ops))
}

// field adds one field: a primitive, a structure, or an array with its element.
func (c *compiler) field(f *Field, tag int32) {
	compact := c.plan.Flexible
	if f.Flexible != nil {
		compact = f.Flexible.Contains(c.plan.Version)
	}
	op := Op{Compact: compact, Nullable: f.Nullable.Contains(c.plan.Version), Tag: tag,
		Name: f.Name, JSON: f.JSONName(), Key: `"` + f.JSONName() + `":`, Field: f, Role: roleOf(c.plan.Message, f), Parent: c.parent}
	if !f.Type.Array {
		c.value(op, f)
		return
	}
	op.Code = OpArray
	at := len(c.plan.Ops)
	c.plan.Ops = append(c.plan.Ops, op)
	element := Op{Compact: compact, Element: true, Tag: -1, Name: f.Type.Base.String(), Field: f, Role: op.Role, Parent: c.parent}
	if f.Type.Base == StructType {
		element.Name = f.Type.Struct
	}
	c.value(element, f)
	c.plan.Ops[at].Next = int32(len(c.plan.Ops))
}

// value adds a structure or a primitive.
func (c *compiler) value(op Op, f *Field) {
	if f.Type.Base == StructType {
		op.Code = OpStruct
		c.structure(op, c.plan.Message.StructFields(f))
		return
	}
	op.Code = OpCode(f.Type.Base)
	op.Fixed = int32(f.Type.Base.Width())
	op.Next = int32(len(c.plan.Ops)) + 1
	c.plan.Ops = append(c.plan.Ops, op)
}

// Version is the version of the message that the Op belongs to.
func (op *Op) Version() int16 { return op.plan.Version }

// Fields are the fields of the structure that the Op stands for, or whose array it is, those of other versions included.
func (op *Op) Fields() []*Field {
	if op.Field == nil {
		return op.Message().Fields
	}
	return op.Message().StructFields(op.Field)
}
