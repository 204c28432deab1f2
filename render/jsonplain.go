package render

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Most messages are plain: their bodies are written straight from the bytes, along the plan. That takes half the time of a tape and a walk over it.
// What these find out besides is not there to be found in a plain message, and both write the same, which tests hold them to.

// maxPlainDepth is how deep structures nest in a body that is written so. The deepest of Kafka has 7 levels.
const maxPlainDepth = 16

// A plain writes the body of one message. Its methods return the offset behind what they have written, or less than 0 for what they leave to the tape.
type plain struct {
	json *JSON
	m    *dissect.Message
	ops  []schema.Op
	data []byte
}

const leave = -1

// appendPlain appends the payload of a plain message and what stands beside it. It returns false for any other message.
func (j *JSON) appendPlain(b []byte, m *dissect.Message) ([]byte, bool) {
	if j.options.Layout || !utf8.ValidString(m.Header.ClientID) { // there is a finding for it
		return b, false
	}
	plan, frame, at := m.Plain()
	if plan == nil || plan.HasRecords && j.options.Records == RecordsFull {
		return b, false
	}
	before, found := len(b), len(m.Findings)
	p := plain{json: j, m: m, ops: plan.Ops, data: frame}
	if b, at = p.structure(append(b, `,"payload":`...), 0, at, 0); at < 0 {
		m.Findings = m.Findings[:found] // those of batches come again
		return b[:before], false
	}
	j.namelessTopics(m)
	b = j.appendFacts(b, m)
	return j.appendTopicNames(b, m), true
}

func (p *plain) structure(b []byte, i int32, at, depth int) ([]byte, int) {
	op := &p.ops[i]
	if op.Nullable {
		at++
		if int8(p.data[at-1]) < 0 {
			return append(b, `null`...), at
		}
	}
	if depth == maxPlainDepth {
		return b, leave
	}
	b = append(b, '{')
	for f := i + 1; f < op.Next && at >= 0; {
		field := &p.ops[f]
		switch field.Code {
		case schema.OpTags:
			at++ // there are none
		case schema.OpRecords:
			b, at = p.records(b, field, at)
		default:
			b, at = p.value(appendKey(b, field), f, at, depth)
		}
		f = field.Next
	}
	return append(b, '}'), at
}

// appendKey appends the name of a field, with a comma unless it is the first of its object.
func appendKey(b []byte, op *schema.Op) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(b, op.Key...)
}

func (p *plain) value(b []byte, i int32, at, depth int) ([]byte, int) {
	op := &p.ops[i]
	switch op.Code {
	case schema.OpInt16:
		return strconv.AppendInt(b, int64(int16(binary.BigEndian.Uint16(p.data[at:]))), 10), at + 2
	case schema.OpInt32:
		return strconv.AppendInt(b, int64(int32(binary.BigEndian.Uint32(p.data[at:]))), 10), at + 4
	case schema.OpInt64:
		return p.json.appendInt64(b, int64(binary.BigEndian.Uint64(p.data[at:]))), at + 8
	case schema.OpStruct:
		return p.structure(b, i, at, depth+1)
	case schema.OpArray:
		return p.array(b, i, at, depth)
	case schema.OpString, schema.OpBytes:
		return p.text(b, op, at)
	}
	end := at + int(op.Fixed)
	return p.json.appendPrimitive(b, op.Code, p.data[at:end]), end
}

func (p *plain) array(b []byte, i int32, at, depth int) ([]byte, int) {
	n, at := p.length(&p.ops[i], at)
	if n < 0 {
		return append(b, `null`...), at
	}
	b = append(b, '[')
	for k := 0; k < n && at >= 0; k++ {
		if k > 0 {
			b = append(b, ',')
		}
		b, at = p.value(b, i+1, at, depth)
	}
	return append(b, ']'), at
}

func (p *plain) text(b []byte, op *schema.Op, at int) ([]byte, int) {
	n, at := p.length(op, at)
	if n < 0 {
		return append(b, `null`...), at
	}
	value := p.data[at : at+n]
	switch {
	case op.Code == schema.OpBytes:
		return appendBase64(b, value), at + n
	case !utf8.Valid(value):
		return b, leave // there is a finding for it
	}
	return appendString(b, value), at + n
}

// records writes a records field with its name.
func (p *plain) records(b []byte, op *schema.Op, at int) ([]byte, int) {
	n, from := p.length(op, at)
	end := from + max(0, n)
	switch {
	case p.json.options.Records == RecordsNone:
	case n < 0:
		b = append(appendKey(b, op), `null`...)
	case p.json.options.Records == RecordsSize:
		b = appendNumber(b, op.JSON+sizeSuffix, int64(n))
	default:
		node := dissect.Node{Op: op, Kind: dissect.ValueNode, Offset: uint32(at), Prefix: uint8(from - at), Length: uint32(end - at)}
		b = p.json.appendBatches(appendKey(b, op), p.m, &node, "")
	}
	return b, end
}

// length reads a length or count, -1 for null, and returns the offset behind it.
func (p *plain) length(op *schema.Op, at int) (n, end int) {
	switch {
	case op.Compact:
		v, width := binary.Uvarint(p.data[at:])
		return int(v) - 1, at + width
	case op.Code == schema.OpString:
		return int(int16(binary.BigEndian.Uint16(p.data[at:]))), at + 2
	}
	return int(int32(binary.BigEndian.Uint32(p.data[at:]))), at + 4
}
