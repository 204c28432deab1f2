package schema

// An outline is a Plan for those who want nothing but the values with a Role: it has no steps for what they pass over but the number of bytes, so that a
// message has about half as many of them as it has operations.

// A StepCode says what to do with the next bytes.
type StepCode uint8

const (
	SkipStep      StepCode = iota // nothing but to pass over Skip
	PartitionStep                 // the number of a partition, an int32
	OffsetStep                    // an offset, an int64
	ErrorStep                     // an error code, an int16
	ThrottleStep                  // the time of throttling, an int32
	ValueStep                     // any other value of fixed size with a Role
	ShortStep                     // a length or count as its Prefix says, then what Holds says
	IntStep
	CompactStep
	LoopStep    // the end of an element: on with the next one, if there is one
	PresentStep // a byte that is negative where there is no structure
	TagsStep    // a section of tagged fields
	TagStep     // a tagged field whose steps Jump leads to; Next is another one of its section
	EndStep     // the end of the message, or of a tagged field
)

// A Holding is what stands behind a length or count.
type Holding uint8

const (
	Quiet      Holding = iota // text, bytes or records without a Role
	Text                      // the same with one
	Batches                   // records with one
	Span                      // elements of Bytes bytes each and nothing of interest
	TaggedSpan                // the same with an empty section of tagged fields behind each
	Elements                  // elements of the steps up to a LoopStep
)

// A Prefix is how a length or count is written.
type Prefix uint8

const (
	ShortPrefix   Prefix = iota // int16
	IntPrefix                   // int32
	CompactPrefix               // unsigned varint, one too large
)

// A Step is one step of an outline. Steps are linked: an index into a list of them takes more instructions.
type Step struct {
	Code     StepCode
	Holds    Holding
	Role     Role  // of the value or text
	Nullable bool  // a length of -1 is null
	Depth    uint8 // Elements, LoopStep: how many arrays there are around this one, less than MaxNesting
	Skip     int32 // bytes to pass over in front of it
	Bytes    int32 // of the value; Span, TaggedSpan: of an element
	Op       *Op   // of the value or text
	Next     *Step // the one that follows, nil behind the last
	Jump     *Step // Elements, PresentStep: the one behind all that is inside; LoopStep: the first of the element; TagsStep: the first TagStep
	Tag      uint32
}

// IsValue tells whether the step is a value of fixed size.
func (c StepCode) IsValue() bool { return c >= PartitionStep && c <= ValueStep }

// HasPrefix tells whether the step begins with a length or count.
func (c StepCode) HasPrefix() bool { return c >= ShortStep && c <= CompactStep }

// Prefix is how the length or count is written that the step begins with.
func (c StepCode) Prefix() Prefix { return Prefix(c - ShortStep) }

// MaxNesting is how deep the arrays of an outline may stand in each other; those of Kafka go four deep.
const MaxNesting = 8

// outline makes the steps of the operations from one index up to another and returns the first. There are none where arrays nest too deep or their
// elements may have no bytes.
func outline(ops []Op, i, end int32) *Step {
	first := new(Step)
	o := outliner{ops: ops, last: first}
	o.fields(i, end)
	o.add(Step{Code: EndStep})
	if o.odd {
		return nil
	}
	return first.Next
}

// tags makes the steps of the known fields of a tagged section, less those that have no outline, and those of structures that may be null: whether one is
// there is written in another way here.
func tags(ops []Op, section int32) (first *Step) {
	last := &first
	for i := section + 1; i < ops[section].Next; i = ops[i].Next {
		if inside := outline(ops, i, ops[i].Next); inside != nil && !(ops[i].Code == OpStruct && ops[i].Nullable) {
			*last = &Step{Code: TagStep, Tag: uint32(ops[i].Tag), Jump: inside}
			last = &(*last).Next
		}
	}
	return first
}

type outliner struct {
	ops   []Op
	last  *Step
	jumps []*Step // steps that jump to the next one
	skip  int32   // bytes to pass over in front of the next step
	depth int     // of arrays
	odd   bool    // it is not one that an outline can be made of
}

// fields adds the operations from one index up to another.
func (o *outliner) fields(i, end int32) {
	for i < end {
		op := &o.ops[i]
		next := op.Next
		switch {
		case op.Code == OpTags:
			o.add(Step{Code: TagsStep}).Jump = tags(o.ops, i)
		case op.Code == OpArray:
			o.array(i)
		case op.Fixed > 0 && op.Quiet:
			o.skip += op.Fixed
		case op.Code == OpStruct && op.Nullable:
			present := o.add(Step{Code: PresentStep})
			o.fields(i+1, next)
			if o.skip > 0 { // not to be passed over where the structure is null
				o.add(Step{})
			}
			o.jumps = append(o.jumps, present)
		case op.Code == OpStruct:
			next = i + 1 // its fields follow
		case op.Fixed > 0:
			o.add(Step{Code: op.valueStep(), Role: op.Role, Op: op, Bytes: op.Fixed})
		default:
			o.add(Step{Code: op.lengthStep(), Holds: op.holding(), Role: op.Role, Nullable: op.Nullable, Op: op})
		}
		i = next
	}
}

func (o *outliner) array(i int32) {
	op, element := &o.ops[i], &o.ops[i+1]
	step := Step{Code: op.lengthStep(), Nullable: op.Nullable}
	if element.Quiet && element.Fixed > 0 {
		step.Holds, step.Bytes = Span, element.Fixed
		o.add(step)
		return
	}
	step.Holds, step.Depth = Elements, uint8(o.depth)
	array := o.add(step)
	o.depth++
	o.fields(i+1, op.Next)
	o.depth--
	o.odd = o.odd || o.depth >= MaxNesting || o.last == array && o.skip == 0
	if first := array.Next; first == o.last && first.Code == TagsStep && first.Jump == nil && o.skip == 0 {
		array.Holds, array.Bytes, array.Next, o.last = TaggedSpan, first.Skip, nil, array
		return
	}
	loop := o.add(Step{Code: LoopStep, Depth: array.Depth})
	loop.Jump = array.Next
	o.jumps = append(o.jumps, array)
}

// valueStep is the step of a value of fixed size. Those of a code of their own have the type that fits their Role.
func (op *Op) valueStep() StepCode {
	switch op.Role {
	case Partition:
		return PartitionStep
	case Offset:
		return OffsetStep
	case ErrorCode:
		return ErrorStep
	case ThrottleTime:
		return ThrottleStep
	}
	return ValueStep
}

func (op *Op) lengthStep() StepCode { return ShortStep + StepCode(op.Prefix()) }

func (op *Op) holding() Holding {
	switch op.Role {
	case NoRole:
		return Quiet
	case RecordData:
		return Batches
	}
	return Text
}

// add adds a step.
func (o *outliner) add(step Step) *Step {
	added := &step
	added.Skip, o.skip = o.skip, 0
	o.last.Next, o.last = added, added
	for _, step := range o.jumps {
		step.Jump = added
	}
	o.jumps = o.jumps[:0]
	return added
}

// Prefix is how the length or count of the Op's value is written, where it has one.
func (op *Op) Prefix() Prefix {
	switch {
	case op.Compact:
		return CompactPrefix
	case op.Code == OpString:
		return ShortPrefix
	}
	return IntPrefix
}
