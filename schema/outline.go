package schema

// An outline is a Plan for those who want nothing but the values with a Role: what they pass over stands in one Step where it can, so that a
// message has about half as many of them as it has operations. Tagged fields are left out: where there are some, the whole Plan is wanted.

// A StepCode says what to do with the next bytes.
type StepCode uint8

const (
	SkipStep    StepCode = iota // pass over Bytes
	ValueStep                   // a value of Bytes bytes, with a Role
	TextStep                    // a string, bytes or records behind their length, with a Role or without
	ArrayStep                   // a count, then the steps up to Next as often; where Bytes is not 0 each element has that size and nothing of interest
	PresentStep                 // a byte that is negative where the structure of the steps up to Next is null
	TagsStep                    // a section of tagged fields
)

// A Prefix is how a length or count is written.
type Prefix uint8

const (
	ShortPrefix   Prefix = iota // int16
	IntPrefix                   // int32
	CompactPrefix               // unsigned varint, one too large
)

// A Step is one step of an outline.
type Step struct {
	Code     StepCode
	Role     Role
	Prefix   Prefix // TextStep, ArrayStep
	Nullable bool   // TextStep, ArrayStep: a length of -1 is null
	Op       int32  // index of the Op that it stands for, of those that were joined the last
	Bytes    int32
	Next     int32 // index of the first Step behind this one and all inside
}

// outline makes the steps of a plan.
func outline(ops []Op) []Step {
	o := outliner{ops: ops}
	o.fields(0, int32(len(ops)))
	return o.steps
}

type outliner struct {
	ops   []Op
	steps []Step
	first int // of the steps that a skip may be joined to
}

// fields adds the operations from one index up to another.
func (o *outliner) fields(i, end int32) {
	o.first = len(o.steps)
	for i < end {
		op := &o.ops[i]
		step := Step{Nullable: op.Nullable, Op: i, Bytes: op.Fixed}
		switch {
		case op.Code == OpTags:
			step.Code, step.Bytes = TagsStep, 0
			o.add(step)
		case op.Code == OpArray:
			step.Code, step.Prefix, step.Bytes = ArrayStep, op.Prefix(), 0
			if element := &o.ops[i+1]; element.Quiet {
				step.Bytes = element.Fixed
			}
			o.inside(step, i+1, op.Next)
		case op.Fixed > 0 && op.Quiet:
			o.skip(step)
		case op.Code == OpStruct && op.Nullable:
			step.Code = PresentStep
			o.inside(step, i+1, op.Next)
		case op.Code == OpStruct:
			i++ // its fields follow
			continue
		case op.Fixed > 0:
			step.Code, step.Role = ValueStep, op.Role
			o.add(step)
		default:
			step.Code, step.Role, step.Prefix = TextStep, op.Role, op.Prefix()
			o.add(step)
		}
		i = op.Next
	}
}

// inside adds a step that contains the operations from one index up to another.
func (o *outliner) inside(step Step, i, end int32) {
	at := len(o.steps)
	o.add(step)
	o.fields(i, end)
	o.steps[at].Next = int32(len(o.steps))
	o.first = len(o.steps)
}

func (o *outliner) add(step Step) {
	step.Next = int32(len(o.steps)) + 1
	o.steps = append(o.steps, step)
}

// skip adds bytes to pass over, to the step before where that does the same.
func (o *outliner) skip(step Step) {
	if last := len(o.steps) - 1; last >= o.first && o.steps[last].Code == SkipStep {
		o.steps[last].Bytes += step.Bytes
		o.steps[last].Op = step.Op
		return
	}
	step.Code = SkipStep
	o.add(step)
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
