package render

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/dissect"
)

// The parts of records, each on a line of its own: what the full tree shows.

// compressedBlock appends the line of the compressed block. In a message of older magic it is the value, and key and length are in front.
func (t *Tree) compressedBlock(b []byte, at, size int) []byte {
	p := &t.records
	if p.batch.Magic < 2 {
		b = t.wrapperKey(b, at)
		b = t.numberPart(b, "value_length", "int32", int64(size), at-4, 4, "bytes of the compressed messages")
	}
	b = append(append(t.branch(b), t.colors.name.on...), "records"...)
	b = append(append(b, t.colors.name.off...), " compressed ("...)
	b = append(append(b, p.batch.Codec().String()...), ") "...)
	b = appendQuantity(b, size, "byte")
	b = appendQuantity(append(b, " -> "...), len(p.set.Unpacked), "byte")
	return t.spanLine(b, "", uint32(at), uint32(size), "")
}

// wrapperKey appends the key of a compressed message of older magic, which is null as a rule. Its value begins at an offset.
func (t *Tree) wrapperKey(b []byte, value int) []byte {
	at := t.records.batch.At + headerLen(&t.records.batch)
	key := t.frameBytes(at+4, value-at-8)
	if int32(binary.BigEndian.Uint32(t.frameBytes(at, 4))) < 0 {
		key = nil
	}
	b = t.leafHead(b, "key", "bytes")
	b = appendPartLength(t.appendPayload(b, key), key, true)
	return t.spanLine(b, "", uint32(at), uint32(value-at-4), "")
}

// messageParts appends key and value of a message of older magic that is not compressed.
func (t *Tree) messageParts(b []byte) []byte {
	findings := len(t.m.Findings)
	for r := range t.records.set.Each {
		t.decodeRecord(r)
		b = t.keyPart(b, r, r.KeyAt, r.ValueAt, false)
		b = t.valuePart(b, r, r.ValueAt, r.At+r.Size, true)
	}
	return t.freshNotes(b, findings, "")
}

// fullRecord appends a record with each of its parts.
func (t *Tree) fullRecord(b []byte, r *dissect.Record, last bool) []byte {
	l := &t.leaves.record.title
	b = t.recordTitle(t.leaf(b, l), r)
	if t.records.batch.Control() {
		b = appendControlType(append(b, ' '), r)
	}
	b = t.endLeaf(b, l, uint32(r.At), uint32(r.Size))
	t.enter(last)
	if r.Message != nil {
		b = t.headerFields(b, r.Message)
		b = t.keyPart(b, r, r.KeyAt, r.ValueAt, false)
		b = t.valuePart(b, r, r.ValueAt, r.At+r.Size, true)
	} else {
		b = t.recordFields(b, r)
		b = t.keyPart(b, r, r.KeyAt, r.ValueAt, false)
		b = t.valuePart(b, r, r.ValueAt, r.HeadersAt, false)
		b = t.headersPart(b, r)
	}
	t.leave()
	return b
}

// recordTitle appends index, offset and time of a record, as recordHead does, where lines are not broken.
func (t *Tree) recordTitle(b []byte, r *dissect.Record) []byte {
	labels := &t.leaves.record
	b = append(appendInt(b, int64(t.records.index)), labels.offset...)
	b = appendInt(b, r.Offset)
	if r.HasTimestamp {
		b = t.appendTime(append(b, labels.time...), r.Timestamp)
	}
	return append(b, t.colors.number.off...)
}

// recordFields appends what stands in front of the key of a record of magic 2.
func (t *Tree) recordFields(b []byte, r *dissect.Record) []byte {
	labels, base := &t.leaves.record, t.records.batch.BaseTimestamp
	raw := t.recordBytes(r.At, r.KeyAt-r.At)
	if len(raw) < r.KeyAt-r.At {
		return b
	}
	b = t.varintPart(b, &labels.length, raw[:r.AttributesAt-r.At], r.At)
	b = t.numberLine(b, &labels.attributes, int64(int8(raw[r.AttributesAt-r.At])), uint32(r.AttributesAt), 1)
	delta, width := binary.Varint(raw[r.TimestampAt-r.At : r.OffsetAt-r.At])
	b = appendInt(t.leaf(b, &labels.timestampDelta), delta)
	b = append(t.appendDate(append(b, " ("...), base+delta), ')')
	b = t.endLeaf(b, &labels.timestampDelta, uint32(r.TimestampAt), uint32(width))
	return t.varintPart(b, &labels.offsetDelta, raw[r.OffsetAt-r.At:], r.OffsetAt)
}

// varintPart appends a number of variable width.
func (t *Tree) varintPart(b []byte, l *leafLabel, raw []byte, at int) []byte {
	v, _ := binary.Varint(raw)
	return t.numberLine(b, l, v, uint32(at), uint32(len(raw)))
}

func (t *Tree) numberPart(b []byte, name, typ string, v int64, at, size int, about string) []byte {
	b = t.leafHead(b, name, typ)
	b = append(b, t.colors.number.on...)
	b = appendInt(b, v)
	return t.spanLine(b, t.colors.number.off, uint32(at), uint32(size), about)
}

// keyPart appends the key of a record, and what it was decoded to.
func (t *Tree) keyPart(b []byte, r *dissect.Record, from, to int, last bool) []byte {
	p, l := &t.records, &t.leaves.record.key
	b = t.appendPayload(t.leaf(b, l), r.Key)
	b = t.partEnd(b, l, r, r.Key, from, to)
	if !p.hasKey {
		return b
	}
	t.enter(last)
	b = t.fullNested(b, &p.key, keyStart(r), len(r.Key))
	t.leave()
	return b
}

// valuePart appends the value of a record, and what it was decoded to.
func (t *Tree) valuePart(b []byte, r *dissect.Record, from, to int, last bool) []byte {
	p, l := &t.records, &t.leaves.record.value
	b = t.leaf(b, l)
	if t.withholdsValue(r) {
		b = append(b, "withheld (credential-bearing record; --show-secrets prints it)"...)
	} else {
		b = t.appendPayload(b, r.Value)
	}
	b = t.partEnd(b, l, r, r.Value, from, to)
	if !t.showsDecoded() {
		return b
	}
	t.enter(last)
	b = t.fullNested(b, &p.value, valueStart(r), len(r.Value))
	t.leave()
	return b
}

// partEnd appends how long a part of a record says it is, and where it stands.
func (t *Tree) partEnd(b []byte, l *leafLabel, r *dissect.Record, value []byte, from, to int) []byte {
	return t.endLeaf(appendPartLength(b, value, r.Message != nil), l, uint32(from), uint32(to-from))
}

func appendPartLength(b, value []byte, old bool) []byte {
	length := len(value)
	if value == nil {
		length = -1
	}
	if old {
		b = append(b, " (int32 len="...)
	} else {
		b = append(b, " (varint len="...)
	}
	return append(appendInt(b, int64(length)), ')')
}

// headersPart appends the headers of a record of magic 2, each with key and value.
func (t *Tree) headersPart(b []byte, r *dissect.Record) []byte {
	at, end := r.HeadersAt, r.At+r.Size
	labels, raw := &t.leaves.record, t.recordBytes(at, end-at)
	_, width := binary.Varint(raw)
	b = appendQuantity(t.leaf(b, &labels.headers), r.HeaderCount, "element")
	b = t.endLeaf(b, &labels.headers, uint32(at), uint32(end-at))
	t.enter(true)
	b = t.numberLine(b, &labels.headerCount, int64(r.HeaderCount), uint32(at), uint32(width))
	at += width
	index := 0
	for key, value := range r.Headers {
		keyEnd := at + t.varintWidth(at) + len(key)
		valueEnd := keyEnd + t.varintWidth(keyEnd) + len(value)
		b = append(append(t.branch(b), t.colors.name.on...), "header["...)
		b = append(append(appendInt(b, int64(index)), ']'), t.colors.name.off...)
		b = t.spanLine(b, "", uint32(at), uint32(valueEnd-at), "")
		t.enter(valueEnd == end)
		b = t.headerPart(b, &labels.headerKey, r, key, at, keyEnd)
		b = t.headerPart(b, &labels.value, r, value, keyEnd, valueEnd)
		t.leave()
		at = valueEnd
		index++
	}
	t.leave()
	return b
}

func (t *Tree) headerPart(b []byte, l *leafLabel, r *dissect.Record, value []byte, from, to int) []byte {
	b = t.appendPayload(t.leaf(b, l), value)
	return t.partEnd(b, l, r, value, from, to)
}

// varintWidth is how many bytes the varint at an offset takes.
func (t *Tree) varintWidth(at int) int {
	_, width := binary.Varint(t.recordBytes(at, min(binary.MaxVarintLen64, t.records.end-at)))
	return max(0, width)
}
