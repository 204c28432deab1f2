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
	if m.plan == nil || m.wrapping != inFrame || m.cut != nil || len(m.holes) > 0 || m.Header.Token {
		return false
	}
	at := m.plainHeader()
	if at == 0 {
		return false
	}
	m.facts.reset()
	q := quick{data: m.data, ops: m.plan.Ops, view: &m.View, facts: &m.facts}
	if q.value(0, at) != len(m.data) || len(m.facts.Errors) > 0 || m.facts.ThrottleMs > 0 {
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

// A quick reads facts along a plan. Its methods return the offset behind what they read, or -1 for what they leave to others.
type quick struct {
	data  []byte
	ops   []schema.Op
	view  *View
	facts *Facts
}

const leave = -1

// value reads what one Op stands for, from an offset of the frame on.
func (q *quick) value(i int32, at int) int {
	op := &q.ops[i]
	switch op.Code {
	case schema.OpStruct:
		return q.structure(i, op, at)
	case schema.OpArray:
		return q.array(i, op, at)
	case schema.OpTags:
		if at >= len(q.data) || q.data[at] != 0 {
			return leave
		}
		return at + 1
	case schema.OpString, schema.OpBytes, schema.OpRecords:
		return q.text(op, at)
	}
	end := at + int(op.Fixed)
	if end > len(q.data) {
		return leave
	}
	if op.Role != schema.NoRole {
		q.facts.collect(op, q.view, at, end, 0)
	}
	return end
}

func (q *quick) structure(i int32, op *schema.Op, at int) int {
	if op.Quiet && op.Fixed > 0 {
		return q.skip(at, int(op.Fixed))
	}
	if op.Nullable {
		if at >= len(q.data) || op.Tag >= 0 {
			return leave
		}
		at++
		if int8(q.data[at-1]) < 0 {
			return at
		}
	}
	for field := i + 1; field < op.Next; field = q.ops[field].Next {
		if at = q.value(field, at); at < 0 {
			return leave
		}
	}
	return at
}

func (q *quick) skip(at, n int) int {
	if n > len(q.data)-at {
		return leave
	}
	return at + n
}

func (q *quick) array(i int32, op *schema.Op, at int) int {
	n, at := q.length(op, at)
	if n < 0 {
		return q.null(op, n, at)
	}
	element := &q.ops[i+1]
	if element.Quiet && element.Fixed > 0 {
		if n > (len(q.data)-at)/int(element.Fixed) {
			return leave
		}
		return at + n*int(element.Fixed)
	}
	for ; n > 0; n-- {
		before := at
		if at = q.value(i+1, at); at <= before {
			return leave
		}
	}
	return at
}

func (q *quick) text(op *schema.Op, at int) int {
	n, at := q.length(op, at)
	if n < 0 {
		return q.null(op, n, at)
	}
	if n > len(q.data)-at {
		return leave
	}
	if op.Role != schema.NoRole {
		q.facts.collect(op, q.view, at, at+n, 0)
	}
	return at + n
}

// null goes on behind a length of -1 where that is allowed.
func (q *quick) null(op *schema.Op, n, at int) int {
	if n != -1 || !op.Nullable {
		return leave
	}
	return at
}

// length reads a length or count, and returns the offset behind it. It returns a length below -1 where there is none.
func (q *quick) length(op *schema.Op, at int) (n, end int) {
	const none = -2
	if op.Compact {
		v, width := uvarint(q.data[min(at, len(q.data)):])
		if width <= 0 || v > math.MaxInt32 {
			return none, at
		}
		return int(v) - 1, at + width
	}
	if op.Code == schema.OpString {
		if len(q.data)-at < 2 {
			return none, at
		}
		return int(int16(binary.BigEndian.Uint16(q.data[at:]))), at + 2
	}
	if len(q.data)-at < 4 {
		return none, at
	}
	return int(int32(binary.BigEndian.Uint32(q.data[at:]))), at + 4
}
