package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// Messages of a plan are much alike: a body mostly has the lengths, counts and names of one before, at the same offsets, and only some numbers in it are
// others. That is a form. The facts of a message that has it are those of the one that it was learned of but for these numbers, and forms are compared eight
// bytes at a time, so that takes a third of the instructions that the way along the outline does.

// A form is what the messages of a plan have in common that are like one of them, with facts of their own.
type form struct {
	plan    *schema.Plan // nil when there is none
	facts   Facts        // of the message that had it last
	front   []byte       // of the message that it was learned of, from formLead bytes in front of the body on; names and ids are in there
	size    int          // of the body, or of what is in front of the length of its records
	words   []formWord
	values  []formValue
	records bool
	prefix  schema.Prefix // of their length
	tail    int           // how many empty sections of tagged fields follow them

	wait  int // messages until another one is learned
	waits int // how many that will be after the next time, unless a message has the form by then
}

// A formWord is eight bytes of which those with ones in the mask are the same in all messages of the form.
type formWord struct {
	at         int // from formLead bytes in front of the body
	mask, want uint64
}

// A formValue is a value that changes from message to message, and where it goes.
type formValue struct {
	role  schema.Role
	at    int    // from formLead bytes in front of the body
	index int    // of the topic or partition
	name  []byte // of a topic with an id, as the form has it: none or an empty one, mostly
}

// formLead is how far in front of the body words may begin, so that there is one in the shortest body. No header is shorter, with the size in front.
const formLead = 8

// maxForm bounds the bytes of a body, less its records. A long one takes long to learn, and is less likely to come again.
const maxForm = 512

// maxFormWait bounds for how many messages no form is learned where those that were did not come again.
const maxFormWait = 63

// forms are those that were learned of late, by kind and by what is made of API key and version.
type forms struct {
	known [2][64]*form
	last  [2]struct { // the message of each kind that was the last to have none
		plan *schema.Plan
		size int
	}
}

// of returns the place of a message's form.
func (f *forms) of(m *Message) **form {
	return &f.known[m.Kind&1][uint16(m.Header.APIKey*5+m.Header.Version)%64]
}

// hasForm tells whether the message, whose body begins at an offset, has the form of its plan. Its facts are there then.
func (m *Message) hasForm(at int) bool {
	o := *m.tools.forms.of(m)
	if o == nil || o.plan != m.plan {
		return false
	}
	front := m.data[at-formLead:]
	if !o.isBegunBy(front) {
		return false
	}
	n, end := 0, at+o.size
	if o.records {
		n, end = o.recordsAt(m.data, end)
	}
	if end != len(m.data)-o.tail {
		return false
	}
	f := &o.facts
	f.setValues(o.values, front)
	if f.fields = m.own.fields; f.fields != nil {
		*f.fields = (*f.fields)[:0]
	}
	if o.records {
		f.forgetRecords()
		f.takeRecords(&m.View, end-n, end)
	}
	m.facts = f
	o.wait, o.waits = 0, 0
	return true
}

// isBegunBy tells whether the body of a message is like that of the form, up to the records.
func (o *form) isBegunBy(front []byte) bool {
	for i := range o.words {
		w := &o.words[i]
		// No place is negative: that is asked for the compiler, which then leaves out its own checks of the slice.
		if at := w.at; at < 0 || at > len(front)-8 || (binary.LittleEndian.Uint64(front[at:at+8])^w.want)&w.mask != 0 {
			return false
		}
	}
	return true
}

// recordsAt returns how many bytes of records there are behind a length at an offset, and where they end: 0 where they do not end as the form has it.
func (o *form) recordsAt(data []byte, at int) (n, end int) {
	n, from := lengthAt(data, o.prefix, at)
	if n < 0 || n != len(data)-from-o.tail {
		return 0, 0
	}
	end = from + n
	for _, b := range data[end:] {
		if b != 0 {
			return 0, 0
		}
	}
	return n, end
}

// setValues takes in the values of a message of the form.
func (f *Facts) setValues(values []formValue, front []byte) {
	for i := range values {
		v := &values[i]
		switch at := v.at; v.role {
		case schema.Partition:
			f.partitions[v.index] = int32(binary.BigEndian.Uint32(front[at : at+4]))
		case schema.Offset:
			f.Topics[v.index].Offset = int64(binary.BigEndian.Uint64(front[at : at+8]))
		case schema.ProducerID:
			f.ProducerID = int64(binary.BigEndian.Uint64(front[at : at+8]))
		case schema.SessionEpoch:
			f.SessionEpoch = int64(int32(binary.BigEndian.Uint32(front[at : at+4])))
		case schema.TopicID:
			t := &f.Topics[v.index]
			if copy(t.ID, front[at:]); t.Resolved { // the message may come before the one that tells the name
				t.Name, t.Resolved = v.name, false
			}
		}
	}
}

// forgetRecords forgets the records of the message before, which were those of the last topic.
func (f *Facts) forgetRecords() {
	f.Batches, f.Records, f.RecordBytes = 0, 0, 0
	if t := f.lastTopic(); t != nil {
		t.Records, t.Bytes = 0, 0
	}
}

// note takes note of an ordinary message without tagged fields whose form is not known. It is learned if it looks as if it came again, and those of the plan do.
func (f *forms) note(m *Message, at int) {
	last := &f.last[m.Kind&1]
	if last.plan != m.plan || last.size != len(m.data) && !m.plan.HasRecords {
		last.plan, last.size = m.plan, len(m.data)
		return
	}
	to := f.of(m)
	if *to == nil {
		*to = &form{}
	}
	if o := *to; o.wait > 0 {
		o.wait--
	} else {
		o.learn(m, at)
		o.waits = min(2*o.waits+1, maxFormWait)
		o.wait = o.waits
	}
}

// A former learns the form of a message.
type former struct {
	*form
	at    int
	fixed [formLead + maxForm]byte // 0xff where a byte is part of the form
	left  [schema.MaxNesting]int   // as in walk
	odd   bool                     // it is none that others can be compared with
}

// learn makes the form that of a message, unless it is one that others cannot be compared with.
func (o *form) learn(m *Message, at int) {
	f := former{form: o, at: formLead}
	front := m.data[at-formLead:]
	o.front = append(o.front[:0], front[:min(len(front), len(f.fixed))]...)
	o.plan, o.words, o.values, o.records, o.tail = nil, o.words[:0], o.values[:0], false, 0
	o.facts.fields = nil
	o.facts.reset()
	for s := m.plan.Outline; s != nil && !f.odd; {
		s = f.step(s)
	}
	if f.odd {
		return
	}
	if o.facts.HasRecords = o.records; !o.records {
		o.size = f.at - formLead
	}
	for i := range o.values {
		if v := &o.values[i]; v.role == schema.TopicID {
			v.name = o.facts.Topics[v.index].Name
		}
	}
	o.facts.slicePartitions()
	f.keepWords()
	o.plan = m.plan
}

// step takes one step of the outline and returns the next one.
func (f *former) step(s *schema.Step) (next *schema.Step) {
	if f.records {
		return f.behindRecords(s)
	}
	f.pass(int(s.Skip))
	switch {
	case f.odd, s.Code == schema.EndStep:
	case s.Code == schema.LoopStep:
		open := &f.left[s.Depth]
		if *open--; *open > 0 {
			return s.Jump
		}
	case s.Code == schema.TagsStep:
		f.fix(1)
	case s.Code == schema.PresentStep:
		if f.fix(1); int8(f.front[f.at-1]) < 0 {
			return s.Jump
		}
	case s.Code.IsValue():
		f.value(s.Op, int(s.Bytes))
	case s.Code.HasPrefix():
		return f.prefixed(s)
	}
	return s.Next
}

// behindRecords takes a step behind records, where the form may have nothing but empty sections of tagged fields.
func (f *former) behindRecords(s *schema.Step) (next *schema.Step) {
	switch {
	case s.Skip > 0:
		f.odd = true
	case s.Code == schema.LoopStep:
		f.odd = f.left[s.Depth] > 1
	case s.Code == schema.TagsStep:
		f.tail++
	default:
		f.odd = s.Code != schema.EndStep
	}
	return s.Next
}

// prefixed takes in a length or count, and what it is of.
func (f *former) prefixed(s *schema.Step) (next *schema.Step) {
	n, end := lengthAt(f.front, s.Code.Prefix(), f.at)
	if s.Holds == schema.Batches && n >= 0 {
		f.records, f.prefix, f.size = true, s.Code.Prefix(), f.at-formLead
		return s.Next
	}
	f.fix(end - f.at)
	switch {
	case s.Holds == schema.Elements && n <= 0:
		return s.Jump
	case s.Holds == schema.Elements:
		f.left[s.Depth] = n
	case s.Holds == schema.TaggedSpan && n > 0: // has a loop of its own, see passTagged
		f.odd = true
	case s.Holds == schema.Text && n >= 0:
		f.value(s.Op, n)
	case s.Holds == schema.Span:
		f.pass(max(0, n) * int(s.Bytes))
	default:
		f.pass(max(0, n))
	}
	return s.Next
}

// pass passes over bytes that may be others in a message of the form.
func (f *former) pass(n int) {
	if n >= len(f.fixed)-f.at || n > len(f.front)-f.at {
		f.odd = true
		return
	}
	f.at += n
}

// fix makes the next bytes part of the form.
func (f *former) fix(n int) {
	from := f.at
	f.pass(n)
	for i := from; i < f.at; i++ {
		f.fixed[i] = 0xff
	}
}

// value takes in a value that has a role. It is part of the form, unless it is one of those that change from message to message.
func (f *former) value(op *schema.Op, n int) {
	from := f.at
	if f.pass(n); f.odd {
		return
	}
	var value []byte
	if from < len(f.front) { // as in held
		value = f.front[from:f.at]
	}
	t := f.facts.lastTopic()
	counts := op.Role != schema.Partition && op.Role != schema.Offset || t != nil && !(op.Role == schema.Offset && t.HasOffset)
	f.facts.take(op, value, 0)
	v := formValue{role: op.Role, at: from}
	switch op.Role {
	case schema.Partition:
		v.index = len(f.facts.partitions) - 1
	case schema.Offset, schema.TopicID:
		v.index = len(f.facts.Topics) - 1
	case schema.ProducerID, schema.SessionEpoch:
	default:
		f.at = from
		f.fix(n)
		return
	}
	if counts {
		f.values = append(f.values, v)
	}
}

// keepWords keeps what is part of the form, in as few words as may be.
func (f *former) keepWords() {
	for at := formLead; at < formLead+f.size; at++ {
		if f.fixed[at] == 0 {
			continue
		}
		at = min(at, f.size) // the last one ends where the form does
		mask := binary.LittleEndian.Uint64(f.fixed[at:])
		f.words = append(f.words, formWord{at, mask, binary.LittleEndian.Uint64(f.front[at:]) & mask})
		at += 7
	}
}
