package dissect

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/kdissect/kdissect/schema"
)

// Most messages are whole, hold no error, and no tagged fields that the schema does not know. The facts of such a message are read straight out of its
// bytes, along the plan, in a sixth of the instructions that a tape takes. Whatever is out of the ordinary is left to the tape, which tells what it is.

// quickFacts reads the facts of an ordinary message. It returns false, and what it has read so far is void, when the message is not one.
func (m *Message) quickFacts() bool {
	if !m.straight() {
		return false
	}
	at := m.plainHeader()
	if at == 0 {
		return false
	}
	if m.hasForm(at) {
		return true
	}
	m.facts = &m.own
	m.facts.reset()
	ok := m.walk(m.plan.Outline, at, len(m.data))
	if !ok && m.facts.tagged && (m.Kind == schema.Response || utf8.Valid(clientIDOf(m.data))) { // text has to be looked at, too
		m.facts.reset()
		m.facts.tagged = true
		ok = m.walk(m.plan.Outline, at, len(m.data))
	}
	if ok {
		m.facts.slicePartitions()
	}
	if ok && !m.facts.tagged {
		m.tools.forms.note(m, at)
	}
	return ok
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

// walk takes in the values of a body, or of a tagged field in it, along an outline, from an offset of the frame on and up to another. It returns false where
// the message is none of the ordinary ones. It is one loop that calls little: with a call for each array and each value it takes 900 instructions of 2,100 more.
func (m *Message) walk(s *schema.Step, at, end int) bool {
	data, f := m.data[:end], m.facts
	var left [schema.MaxNesting]int // elements still to come of each array that is open, the present one included
	var next *schema.Step
	for ; s != nil; s = next {
		if at += int(s.Skip); uint(at) > uint(len(data)) {
			return false
		}
		next = s.Next
		n := 0
		switch s.Code {
		case schema.PartitionStep:
			if at > len(data)-4 {
				return false
			}
			f.partition(int32(binary.BigEndian.Uint32(data[at : at+4])))
			at += 4
			continue
		case schema.OffsetStep:
			if at > len(data)-8 {
				return false
			}
			f.offset(int64(binary.BigEndian.Uint64(data[at : at+8])))
			at += 8
			continue
		case schema.ErrorStep:
			if at > len(data)-2 || binary.BigEndian.Uint16(data[at:at+2]) != 0 {
				return false
			}
			at += 2
			continue
		case schema.ThrottleStep:
			if at > len(data)-4 || binary.BigEndian.Uint32(data[at:at+4]) != 0 {
				return false
			}
			at += 4
			continue
		case schema.ValueStep:
			from := at
			if at += int(s.Bytes); at > len(data) {
				return false
			}
			f.take(s.Op, data[from:at], 0)
			continue
		case schema.LoopStep:
			open := &left[s.Depth%schema.MaxNesting]
			if *open--; *open > 0 {
				next = s.Jump
			}
			continue
		case schema.PresentStep:
			if at >= len(data) {
				return false
			}
			if int8(data[at]) < 0 {
				next = s.Jump
			}
			at++
			continue
		case schema.TagsStep:
			if at < len(data) && data[at] == 0 {
				at++
			} else {
				at = m.tags(s, at, len(data))
			}
			continue
		case schema.SkipStep:
			continue
		case schema.EndStep:
			return at == len(data)
		case schema.ShortStep:
			if at > len(data)-2 {
				return false
			}
			n = int(int16(binary.BigEndian.Uint16(data[at : at+2])))
			at += 2
		case schema.IntStep:
			if at > len(data)-4 {
				return false
			}
			n = int(int32(binary.BigEndian.Uint32(data[at : at+4])))
			at += 4
		case schema.CompactStep:
			if at < len(data) && data[at] < 0x80 {
				n = int(data[at]) - 1
				at++
			} else if n, at = lengthAt(data, schema.CompactPrefix, at); n == noLength {
				return false
			}
		}
		if s.Holds == schema.Elements {
			if n > len(data)-at || n < -1 || n < 0 && !s.Nullable {
				return false
			}
			if left[s.Depth%schema.MaxNesting] = n; n <= 0 {
				next = s.Jump
			}
			continue
		}
		at = m.held(s, n, at, len(data))
	}
	return false
}

// leave is an offset that is none, however much is added to it.
const leave = math.MinInt

// held takes in what stands behind a length of n, and returns where it ends: leave where it cannot be there.
func (m *Message) held(s *schema.Step, n, at, end int) int {
	switch {
	case n > end-at, n < -1, n < 0 && !s.Nullable:
		return leave
	case n < 0:
		return at
	case m.facts.tagged && s.Op != nil && s.Op.Code == schema.OpString && !utf8.Valid(m.data[at:at+n]):
		return leave // see tags
	}
	switch s.Holds {
	case schema.Text:
		var value []byte
		if at < len(m.data) { // as View.slice, which saves less
			value = m.data[at : at+n]
		}
		if s.Role == schema.TopicName { // asked for first: saves 50 of 1,250 instructions
			m.facts.topic(s.Op).Name = value
		} else {
			m.facts.take(s.Op, value, 0)
		}
	case schema.Batches:
		m.facts.takeRecords(&m.View, at, at+n)
	case schema.Span:
		n *= int(s.Bytes)
	case schema.TaggedSpan:
		return passTagged(m.data[:end], at, int(s.Bytes), n)
	}
	return at + n
}

// passTagged passes over n elements of a size with an empty section of tagged fields behind each. ApiVersions answers, with which most connections begin,
// are little else.
func passTagged(data []byte, at, size, n int) int {
	for ; n > 0; n-- {
		at += size
		if at >= len(data) || data[at] != 0 {
			return leave
		}
		at++
	}
	return at
}

// tags takes in the fields of a section that has some, and returns where it ends: leave where one is not known, or not in its place. Of a message with tagged
// fields it has always been told when text in it is not valid, so the message is begun again and its text looked at.
func (m *Message) tags(section *schema.Step, at, end int) int {
	if !m.facts.tagged {
		m.facts.tagged = true
		return leave
	}
	data := m.data[:end]
	n, at := numberAt(data, at)
	if n < 0 {
		return leave
	}
	for field := section.Jump; n > 0; n-- {
		var tag, size int
		tag, at = numberAt(data, at)
		if size, at = numberAt(data, at); size < 0 || size > end-at {
			return leave
		}
		for field != nil && int(field.Tag) != tag { // they ascend
			field = field.Next
		}
		if field == nil || !m.walk(field.Jump, at, at+size) {
			return leave
		}
		at, field = at+size, field.Next
	}
	return at
}

// numberAt reads an unsigned varint, which is negative where there is none, and returns the offset behind it.
func numberAt(data []byte, at int) (n, end int) {
	n, end = lengthAt(data, schema.CompactPrefix, at)
	return n + 1, end
}

// seek follows an outline up to the first value or text with one of two roles and returns where it stands; of an array it looks into the first element. There
// is no step where it finds none.
func seek(s *schema.Step, data []byte, at int, one, other schema.Role) (found *schema.Step, from, end int) {
	for ; s != nil; s = s.Next {
		at += int(s.Skip)
		n := int(s.Bytes)
		switch {
		case s.Code.IsValue(), s.Code == schema.SkipStep:
		case s.Code.HasPrefix():
			if n, at = lengthAt(data, s.Code.Prefix(), at); n < -1 {
				return nil, 0, 0
			}
			switch n = max(0, n); s.Holds {
			case schema.Elements:
				if n == 0 {
					return nil, 0, 0
				}
				continue
			case schema.TaggedSpan:
				return nil, 0, 0
			case schema.Span:
				if n <= len(data)-at {
					n *= int(s.Bytes)
				}
			}
		default:
			return nil, 0, 0
		}
		if n > len(data)-at {
			return nil, 0, 0
		}
		if s.Role == one || s.Role == other {
			return s, at, at + n
		}
		at += n
	}
	return nil, 0, 0
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
