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
	b = appendPartLength(t.appendPayload(b, key), int32Length, key)
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
	switch {
	case r.Message != nil:
		return t.oldRecord(b, r, last)
	case t.isPlainRecord(r):
		return t.plainRecord(b, r, last)
	}
	return t.newRecord(b, r, last)
}

// newRecord appends a record of magic 2.
func (t *Tree) newRecord(b []byte, r *dissect.Record, last bool) []byte {
	l := &t.leaves.record.title
	t.records.notes.parts = 0
	b = t.recordTitle(t.leaf(b, l), r)
	if t.records.batch.Control() {
		b = appendControlType(append(b, ' '), r)
	}
	b = t.endPart(b, l, r.At, r.Size, recordSize)
	t.enter(last)
	b = t.recordFields(b, r)
	b = t.keyPart(b, r, r.KeyAt, r.ValueAt, false)
	b = t.valuePart(b, r, r.ValueAt, r.HeadersAt, false)
	b = t.headersPart(b, r)
	t.leave()
	return b
}

// oldRecord appends a record that is a message of older magic.
func (t *Tree) oldRecord(b []byte, r *dissect.Record, last bool) []byte {
	l := &t.leaves.record.title
	b = t.recordTitle(t.leaf(b, l), r)
	b = t.endLeaf(b, l, uint32(r.At), uint32(r.Size))
	t.enter(last)
	b = t.headerFields(b, r.Message)
	b = t.keyPart(b, r, r.KeyAt, r.ValueAt, false)
	b = t.valuePart(b, r, r.ValueAt, r.At+r.Size, true)
	t.leave()
	return b
}

// recordTitle appends index, offset and time of a record, as recordHead does, where lines are not broken.
func (t *Tree) recordTitle(b []byte, r *dissect.Record) []byte {
	labels := &t.leaves.record
	b = t.noteNumber(b, recordIndex, int64(t.records.index))
	b = t.noteNumber(append(b, labels.offset...), recordOffset, r.Offset)
	if r.HasTimestamp {
		b = t.noteNumber(append(b, labels.time...), recordTime, r.Timestamp)
	}
	return append(b, t.colors.number.off...)
}

// recordFields appends what stands in front of the key of a record of magic 2.
func (t *Tree) recordFields(b []byte, r *dissect.Record) []byte {
	labels := &t.leaves.record
	if len(t.recordBytes(r.At, r.KeyAt-r.At)) < r.KeyAt-r.At {
		return b
	}
	values := t.recordNumbers(r)
	b = t.noteNumber(t.leaf(b, &labels.length), recordLength, values[recordLength])
	b = t.endPart(b, &labels.length, r.At, r.AttributesAt-r.At, -1)
	b = t.noteNumber(t.leaf(b, &labels.attributes), recordAttributes, values[recordAttributes])
	b = t.endPart(b, &labels.attributes, r.AttributesAt, 1, -1)
	b = t.noteNumber(t.leaf(b, &labels.timestampDelta), recordTimestampDelta, values[recordTimestampDelta])
	b = t.endPart(b, &labels.timestampDelta, r.TimestampAt, r.OffsetAt-r.TimestampAt, -1)
	b = t.noteNumber(t.leaf(b, &labels.offsetDelta), recordOffsetDelta, values[recordOffsetDelta])
	return t.endPart(b, &labels.offsetDelta, r.OffsetAt, r.KeyAt-r.OffsetAt, -1)
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
	b = t.leaf(b, l)
	p.notes.key[0] = len(b)
	b = t.appendPayload(b, r.Key)
	p.notes.key[1] = len(b)
	b = t.partEnd(b, l, r, r.Key, from, to, recordKeyLength)
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
	p.notes.value[0] = len(b)
	if t.withholdsValue(r) {
		b = append(b, "withheld (credential-bearing record; --show-secrets prints it)"...)
	} else {
		b = t.appendPayload(b, r.Value)
	}
	p.notes.value[1] = len(b)
	b = t.partEnd(b, l, r, r.Value, from, to, recordValueLength)
	if !t.showsDecoded() {
		return b
	}
	t.enter(last)
	b = t.fullNested(b, &p.value, valueStart(r), len(r.Value))
	t.leave()
	return b
}

// partEnd appends how long a part of a record says it is, and where it stands. number is that of the length.
func (t *Tree) partEnd(b []byte, l *leafLabel, r *dissect.Record, value []byte, from, to, number int) []byte {
	if r.Message != nil {
		b = appendPartLength(b, int32Length, value)
		return t.endLeaf(b, l, uint32(from), uint32(to-from))
	}
	b = t.noteNumber(append(b, varintLength...), number, partLength(value))
	return t.endPart(append(b, ')'), l, from, to-from, number+1)
}

const int32Length, varintLength = " (int32 len=", " (varint len="

func appendPartLength(b []byte, kind string, value []byte) []byte {
	return append(appendInt(append(b, kind...), partLength(value)), ')')
}

// headersPart appends the headers of a record of magic 2, each with key and value.
func (t *Tree) headersPart(b []byte, r *dissect.Record) []byte {
	at, end := r.HeadersAt, r.At+r.Size
	labels, raw := &t.leaves.record, t.recordBytes(at, end-at)
	_, width := binary.Varint(raw)
	b = appendQuantity(t.leaf(b, &labels.headers), r.HeaderCount, "element")
	b = t.endPart(b, &labels.headers, at, end-at, -1)
	t.enter(true)
	b = appendInt(t.leaf(b, &labels.headerCount), int64(r.HeaderCount))
	b = t.endPart(b, &labels.headerCount, at, width, -1)
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
	b = appendPartLength(t.appendPayload(t.leaf(b, l), value), varintLength, value)
	return t.endLeaf(b, l, uint32(from), uint32(to-from))
}

// varintWidth is how many bytes the varint at an offset takes.
func (t *Tree) varintWidth(at int) int {
	_, width := binary.Varint(t.recordBytes(at, min(binary.MaxVarintLen64, t.records.end-at)))
	return max(0, width)
}
