package render

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Most messages are plain: their bodies are written straight from the bytes, along a script. That takes half the time of a tape and a walk over it.
// What these find out besides is not there to be found in a plain message, and both write the same, which tests hold them to.

// A plain writes the body of one message. Its methods return false for what they leave to the tape: all that is out of the ordinary.
type plain struct {
	json  *JSON
	m     *dissect.Message
	data  []byte // the frame
	at    int    // how far it is read
	b     []byte // what is written
	topic []byte // what records belong to that come, as far as it is known
}

// appendPlain appends the body of a plain message. It returns false, and nothing is changed, for any other message.
func (j *JSON) appendPlain(b []byte, m *dissect.Message) ([]byte, bool) {
	plan, frame, at := m.Plain()
	if plan == nil || j.options.Layout || m.Kind == schema.Request && !validText(m.Header.ClientID) {
		return b, false
	}
	first := j.script(plan)
	if first == nil {
		return b, false
	}
	before, found := len(b), len(m.Findings)
	j.whole = true
	p := plain{json: j, m: m, data: frame, at: at, b: b}
	plain := p.walk(first) && p.at == len(frame)
	j.whole = false
	if !plain {
		m.Findings = m.Findings[:found] // those of batches come again
		return p.b[:before], false
	}
	return p.b, true
}

// validText tells whether text is valid UTF-8; there is a finding for what is not.
func validText(s string) bool { return plainLength(s) == len(s) || utf8.ValidString(s) }

// walk takes a step and those that are linked to it.
func (p *plain) walk(s *scriptStep) bool {
	for ; s != nil; s = s.next {
		done := true
		p.text(s)
		switch s.code {
		case schema.OpInt16, schema.OpInt32, schema.OpInt64:
			done = p.number(s)
		case schema.OpString, schema.OpBytes:
			done = p.bytes(s)
		case schema.OpArray:
			done = p.array(s)
		case schema.OpStruct:
			done = p.structure(s)
		case schema.OpTags:
			done = p.tags(s)
		case schema.OpRecords:
			done = p.records(s)
		case noValue:
		default:
			done = p.fixed(s)
		}
		if !done {
			return false
		}
	}
	return true
}

// text writes what stands in front of a value. Most of it is short: always copying as much saves 20 of 50 instructions.
func (p *plain) text(s *scriptStep) {
	n := len(p.b)
	if len(s.text) > len(s.short) || cap(p.b)-n < len(s.short) {
		p.b = append(p.b, s.text...)
		return
	}
	*(*[len(s.short)]byte)(p.b[n:cap(p.b)]) = s.short
	p.b = p.b[:n+len(s.text)]
}

// take returns bytes and goes on behind them; they are nil where not as many are left.
func (p *plain) take(n int) []byte {
	end := p.at + n
	if end > len(p.data) {
		return nil
	}
	value := p.data[p.at:end]
	p.at = end
	return value
}

func (p *plain) number(s *scriptStep) bool {
	rest, n := p.data[p.at:], int64(0)
	if len(rest) < int(s.size) {
		return false
	}
	p.at += int(s.size)
	switch s.size {
	case 2:
		n = int64(int16(binary.BigEndian.Uint16(rest)))
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(rest)))
	default:
		p.b = p.json.appendInt64(p.b, int64(binary.BigEndian.Uint64(rest)))
		return true
	}
	p.b = appendInt(p.b, n)
	return n == 0 || !s.zero
}

// fixed writes any other value of fixed size.
func (p *plain) fixed(s *scriptStep) bool {
	value := p.take(int(s.size))
	if value == nil {
		return false
	}
	if s.topic {
		p.topic = p.m.NameOf(value)
	}
	p.b = p.json.appendPrimitive(p.b, s.code, value)
	return true
}

func (p *plain) bytes(s *scriptStep) bool {
	n := p.length(s)
	if n < 0 {
		return p.null(s, n)
	}
	if n > len(p.data)-p.at {
		return false
	}
	value := p.take(n)
	if s.code == schema.OpBytes {
		p.b = appendBase64(p.b, value)
		return true
	}
	if s.topic {
		p.topic = value
	}
	plain := plainLength(value)
	p.b = appendStringFrom(p.b, value, plain)
	return plain == n || utf8.Valid(value[plain:]) // else there is a finding for it
}

// null writes a value of a length below 0 where it may be one.
func (p *plain) null(s *scriptStep, n int) bool {
	p.b = append(p.b, `null`...)
	return n == -1 && s.nullable
}

func (p *plain) array(s *scriptStep) bool {
	n := p.length(s)
	if n < 0 {
		return p.null(s, n)
	}
	p.b = append(p.b, '[')
	for k := range n {
		if k > 0 {
			p.b = append(p.b, ',')
		}
		before := p.at
		if !p.walk(s.inside) || p.at == before { // every element takes a byte at least
			return false
		}
	}
	p.b = append(p.b, ']')
	return true
}

// structure writes one that may be null.
func (p *plain) structure(s *scriptStep) bool {
	switch present := p.take(1); {
	case present == nil:
		return false
	case int8(present[0]) < 0:
		p.b = append(p.b, `null`...)
		return true
	}
	return p.walk(s.inside)
}

// tags writes the fields of a section of tagged fields. They ascend, are known, and fill their sizes.
func (p *plain) tags(section *scriptStep) bool {
	if p.at < len(p.data) && p.data[p.at] == 0 { // as most are
		p.at++
		return true
	}
	last := -1
	for n := p.varint(); n != 0; n-- {
		tag, size := p.varint(), p.varint()
		field := section.field(tag)
		if tag <= last || field == nil || !p.tagged(field, size) {
			return false
		}
		last = tag
	}
	return true
}

// field returns the field of a section with a tag, nil where none is known.
func (s *scriptStep) field(tag int) *scriptStep {
	for field := s.inside; field != nil; field = field.next {
		if int(field.op.Tag) == tag {
			return field
		}
	}
	return nil
}

// tagged writes a tagged field of a size.
func (p *plain) tagged(field *scriptStep, size int) bool {
	if p.b[len(p.b)-1] != '{' {
		p.b = append(p.b, ',')
	}
	p.b = append(p.b, field.text...)
	end := p.at + size
	return p.walk(field.inside) && p.at == end
}

// records writes a records field. Its name depends on what is written.
func (p *plain) records(s *scriptStep) bool {
	from := p.at
	n := p.length(s)
	field := dissect.Node{Op: s.op, Kind: dissect.ValueNode, Offset: uint32(from), Prefix: uint8(p.at - from)}
	if n > len(p.data)-p.at {
		return false
	}
	p.at += max(0, n)
	field.Length = uint32(p.at - from)
	switch mode := p.json.options.Records; {
	case mode == RecordsNone:
		return n >= 0 || n == -1 && s.nullable
	case n < 0:
		p.b = append(p.b, s.op.Key...)
		return p.null(s, n)
	case mode == RecordsSize:
		p.b = appendInt(append(p.b, s.sizeKey...), int64(n))
	default:
		p.b = p.json.appendBatches(append(p.b, s.op.Key...), p.m, &field, string(p.topic))
		return !p.json.tooLarge(p.b)
	}
	return true
}

// length reads a length or count: -1 for null, less for none.
func (p *plain) length(s *scriptStep) int {
	rest := p.data[p.at:]
	switch {
	case s.prefix == schema.CompactPrefix:
		return p.varint() - 1
	case s.prefix == schema.ShortPrefix && len(rest) >= 2:
		p.at += 2
		return int(int16(binary.BigEndian.Uint16(rest)))
	case s.prefix == schema.IntPrefix && len(rest) >= 4:
		p.at += 4
		return int(int32(binary.BigEndian.Uint32(rest)))
	}
	return noLength
}

// varint reads an unsigned varint, which is negative where there is none.
func (p *plain) varint() int {
	rest := p.data[p.at:]
	if len(rest) > 0 && rest[0] < 0x80 {
		p.at++
		return int(rest[0])
	}
	v, width := binary.Uvarint(rest)
	if width <= 0 || width > binary.MaxVarintLen32 || v > math.MaxInt32 {
		return noLength + 1
	}
	p.at += width
	return int(v)
}

// noLength stands for a length that is not there, or is none.
const noLength = -2
