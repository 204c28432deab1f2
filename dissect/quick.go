package dissect

import (
	"encoding/binary"
	"math"

	"github.com/kdissect/kdissect/schema"
)

// Most messages are whole, hold no tagged fields and no error. The facts of such a message are read straight out of its bytes, along the plan,
// in a third of the time that a tape takes. Whatever is out of the ordinary is left to the tape, which tells what it is.

// quickFacts reads the facts of an ordinary message. It returns false, and what it has read so far is void, when the message is not one.
func (m *Message) quickFacts() bool {
	if !m.straight() {
		return false
	}
	at := m.plainHeader()
	if at == 0 {
		return false
	}
	m.facts.reset()
	q := quick{data: m.data, ops: m.plan.Ops, steps: m.plan.Outline, view: &m.View, facts: &m.facts}
	if q.walk(0, int32(len(q.steps)), at) != len(m.data) {
		return false
	}
	m.facts.slicePartitions()
	return true
}

// plainHeader returns where a header without tagged fields ends, 0 when it has some.
func (m *Message) plainHeader() int {
	end := 8
	if m.Kind == schema.Request {
		end = 4 + requestHeaderLen
		if m.plan.Header.Version > 0 {
			if !m.saysClientID() {
				return 0
			}
			end += 2 + len(m.Header.ClientID)
		}
	}
	if m.plan.Header.Flexible {
		end++
	}
	if end > len(m.data) || m.plan.Header.Flexible && m.data[end-1] != 0 {
		return 0
	}
	return end
}

// saysClientID tells whether the length in front of the client id is what was made of it.
func (m *Message) saysClientID() bool {
	const at = 4 + requestHeaderLen
	if len(m.data) < at+2 {
		return false
	}
	n := int(int16(binary.BigEndian.Uint16(m.data[at:])))
	return n == len(m.Header.ClientID) || n == -1 && m.Header.ClientIDNull
}

// A quick reads facts along the outline of a plan. Its methods return the offset behind what they read, or leave for what they leave to others.
type quick struct {
	data  []byte
	ops   []schema.Op
	steps []schema.Step
	view  *View
	facts *Facts
}

const leave = -1

// walk takes the steps from one index up to another, from an offset of the frame on.
func (q *quick) walk(i, end int32, at int) int {
	for i < end {
		s := &q.steps[i]
		switch s.Code {
		case schema.SkipStep:
			at += int(s.Bytes)
		case schema.ValueStep:
			from := at
			if at += int(s.Bytes); at > len(q.data) || !q.value(s, q.data[from:at]) {
				return leave
			}
		case schema.TextStep:
			at = q.text(s, at)
		case schema.ArrayStep:
			at = q.array(i, s, at)
		case schema.PresentStep:
			if at >= len(q.data) {
				return leave
			}
			at++
			if int8(q.data[at-1]) >= 0 {
				at = q.walk(i+1, s.Next, at)
			}
		case schema.TagsStep:
			if at >= len(q.data) || q.data[at] != 0 {
				return leave
			}
			at++
		}
		if uint(at) > uint(len(q.data)) { // leave as well
			return leave
		}
		i = s.Next
	}
	return at
}

// value takes in a value of fixed size. It returns false where the message is none of the ordinary ones.
func (q *quick) value(s *schema.Step, value []byte) bool {
	switch s.Role {
	case schema.ErrorCode, schema.ThrottleTime:
		for _, b := range value {
			if b != 0 {
				return false
			}
		}
	default:
		q.facts.take(&q.ops[s.Op], value, 0)
	}
	return true
}

func (q *quick) array(i int32, s *schema.Step, at int) int {
	n, at := lengthAt(q.data, s.Prefix, at)
	switch {
	case n < 0:
		return nullAt(s, n, at)
	case s.Bytes > 0:
		if n > (len(q.data)-at)/int(s.Bytes) {
			return leave
		}
		return at + n*int(s.Bytes)
	}
	for ; n > 0; n-- {
		before := at
		if at = q.walk(i+1, s.Next, at); at <= before {
			return leave
		}
	}
	return at
}

func (q *quick) text(s *schema.Step, at int) int {
	n, at := lengthAt(q.data, s.Prefix, at)
	if n < 0 {
		return nullAt(s, n, at)
	}
	if n > len(q.data)-at {
		return leave
	}
	end := at + n
	switch s.Role {
	case schema.NoRole:
	case schema.RecordData:
		q.facts.takeRecords(q.view, at, end)
	default:
		q.facts.take(&q.ops[s.Op], q.view.slice(at, n), 0)
	}
	return end
}

// valueAt returns where the bytes of a step begin and end that is a value, or several to be passed over; null is none. The end is leave where it is another
// kind of step, or not all is there.
func valueAt(data []byte, s *schema.Step, at int) (from, end int) {
	n := int(s.Bytes)
	switch s.Code {
	case schema.SkipStep, schema.ValueStep:
	case schema.TextStep:
		if n, at = lengthAt(data, s.Prefix, at); n < -1 {
			return at, leave
		}
		n = max(0, n)
	default:
		return at, leave
	}
	if n > len(data)-at {
		return at, leave
	}
	return at, at + n
}

// nullAt goes on behind a length of -1 where that is allowed.
func nullAt(s *schema.Step, n, at int) int {
	if n != -1 || !s.Nullable {
		return leave
	}
	return at
}

// noLength stands for a length that is not there, or is none.
const noLength = -2

// lengthAt reads a length or count at an offset of data, and returns the offset behind it.
func lengthAt(data []byte, prefix schema.Prefix, at int) (n, end int) {
	switch prefix {
	case schema.CompactPrefix:
		if at < len(data) && data[at] < 0x80 {
			return int(data[at]) - 1, at + 1
		}
		v, width := uvarint(data[min(at, len(data)):])
		if width <= 0 || v > math.MaxInt32 {
			return noLength, at
		}
		return int(v) - 1, at + width
	case schema.ShortPrefix:
		if len(data)-at < 2 {
			return noLength, at
		}
		return int(int16(binary.BigEndian.Uint16(data[at:]))), at + 2
	}
	if len(data)-at < 4 {
		return noLength, at
	}
	return int(int32(binary.BigEndian.Uint32(data[at:]))), at + 4
}
