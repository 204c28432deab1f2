package render

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/dissect"
)

// A recordText is the lines of the record of magic 2 that was printed last at one place of the tree, less its key and value. The next one is written over it: most
// numbers are the same or have as many digits, so that takes a fifth of the instructions of nine lines that are put together.
type recordText struct {
	shape      recordShape
	at         int // of the record, in the same 64 KiB as the next one
	dates      batchDates
	lines      []byte
	key, value int // where in the lines these are left out
	numbers    [recordNumbers]numberSpot
	gaps       [recordParts]int // where in the lines the last digits of offsets are
}

// A recordShape is what two records must have in common, besides how many digits their numbers have.
type recordShape struct {
	unpacked                                 int // number of the batch that is unpacked, -1 in the frame
	lengthWidth, timestampWidth, offsetWidth int // how many bytes the parts take that are numbers
}

// The batchDates are what the dates of a record depend on besides its own timestamp.
type batchDates struct{ base, latest int64 }

// The numbers in the lines of a record, in their order.
const (
	recordIndex = iota
	recordOffset
	recordTime
	recordSize
	recordLength
	recordAttributes
	recordTimestampDelta
	recordOffsetDelta
	recordKeyLength
	recordKeySize
	recordValueLength
	recordValueSize
	recordNumbers
)

// recordParts is how many lines a record without headers has.
const recordParts = 9

// A numberSpot is where in the lines a number is, with what is written behind it because of it.
type numberSpot struct {
	value    int64
	from, to int
}

// recordNotes are where numbers, offsets, key and value of the record that was printed last are in the buffer.
type recordNotes struct {
	numbers [recordNumbers]numberSpot
	gaps    [recordParts]int
	parts   int // that were printed
	key     [2]int
	value   [2]int
}

// plainRecord appends a record of magic 2 that has no lines but those that each has: over the text of the one before, or by making it the text.
func (t *Tree) plainRecord(b []byte, r *dissect.Record, last bool) []byte {
	in := t.indent.below(last)
	x := in.record
	if x == nil {
		x = &recordText{}
		in.record = x
	}
	if len(x.lines) > 0 && x.at>>16 == r.At>>16 && x.shape == t.recordShape(r) && t.updateRecord(x, r) {
		b = t.appendPayload(append(b, x.lines[:x.key]...), r.Key)
		b = t.appendPayload(append(b, x.lines[x.key:x.value]...), r.Value)
		return append(b, x.lines[x.value:]...)
	}
	from := len(b)
	b = t.newRecord(b, r, last)
	x.shape, x.at, x.dates = t.recordShape(r), r.At, t.records.dates()
	x.learn(b, from, &t.records.notes)
	return b
}

// isPlainRecord tells whether a record has no lines but those that each has, all bytes, and its offsets in the same 64 KiB.
func (t *Tree) isPlainRecord(r *dissect.Record) bool {
	p := &t.records
	return p.topic == "" && !p.batch.Control() && r.HeadersAt+1 == r.At+r.Size && r.At>>16 == r.HeadersAt>>16 && len(t.recordBytes(r.At, r.Size)) == r.Size
}

func (t *Tree) recordShape(r *dissect.Record) recordShape {
	s := recordShape{-1, r.AttributesAt - r.At, r.OffsetAt - r.TimestampAt, r.KeyAt - r.OffsetAt}
	if len(t.unpacked) > 0 {
		s.unpacked = t.records.number
	}
	return s
}

func (p *recordPrinter) dates() batchDates {
	return batchDates{p.batch.BaseTimestamp, p.batch.MaxTimestamp}
}

// updateRecord writes a record over the one before. It is false when a number takes more room than that of the one before, or less: the text is void then.
func (t *Tree) updateRecord(x *recordText, r *dissect.Record) bool {
	values, dates := t.recordNumbers(r), t.records.dates()
	for i := range x.numbers {
		spot := &x.numbers[i]
		if values[i] == spot.value && (x.dates == dates || i != recordTime && i != recordTimestampDelta) {
			continue
		}
		t.scratch = t.appendRecordNumber(t.scratch[:0], i, values[i])
		if len(t.scratch) != spot.to-spot.from {
			return false
		}
		copy(x.lines[spot.from:], t.scratch)
		spot.value = values[i]
	}
	for i, at := range [recordParts]int{r.At, r.At, r.AttributesAt, r.TimestampAt, r.OffsetAt, r.KeyAt, r.ValueAt, r.HeadersAt, r.HeadersAt} {
		putOffset(x.lines[x.gaps[i]:], uint32(at))
	}
	x.at, x.dates = r.At, dates
	return true
}

// recordNumbers returns the numbers of a record, whose bytes are all there.
func (t *Tree) recordNumbers(r *dissect.Record) [recordNumbers]int64 {
	raw := t.recordBytes(r.At, r.KeyAt-r.At)
	delta, _ := binary.Varint(raw[r.TimestampAt-r.At:])
	return [recordNumbers]int64{
		recordIndex:          int64(t.records.index),
		recordOffset:         r.Offset,
		recordTime:           r.Timestamp,
		recordSize:           int64(r.Size),
		recordLength:         int64(r.At + r.Size - r.AttributesAt),
		recordAttributes:     int64(int8(raw[r.AttributesAt-r.At])),
		recordTimestampDelta: delta,
		recordOffsetDelta:    r.Offset - t.records.batch.BaseOffset,
		recordKeyLength:      partLength(r.Key),
		recordKeySize:        int64(r.ValueAt - r.KeyAt),
		recordValueLength:    partLength(r.Value),
		recordValueSize:      int64(r.HeadersAt - r.ValueAt),
	}
}

// partLength is how long a part of a record says it is.
func partLength(value []byte) int64 {
	if value == nil {
		return -1
	}
	return int64(len(value))
}

// appendRecordNumber appends one of the numbers of a record.
func (t *Tree) appendRecordNumber(b []byte, i int, v int64) []byte {
	switch i {
	case recordTime:
		return t.appendTime(b, v)
	case recordTimestampDelta:
		b = append(appendInt(b, v), " ("...)
		return append(t.appendDate(b, t.records.batch.BaseTimestamp+v), ')')
	}
	return appendInt(b, v)
}

// noteNumber appends one of the numbers of a record and notes where it is.
func (t *Tree) noteNumber(b []byte, i int, v int64) []byte {
	from := len(b)
	b = t.appendRecordNumber(b, i, v)
	t.records.notes.numbers[i] = numberSpot{v, from, len(b)}
	return b
}

// endPart ends the line of a part of a record, and notes where the last digits of its offset and its size are. size is the number of the size, -1 for one that is
// always the same.
func (t *Tree) endPart(b []byte, l *leafLabel, at, size, number int) []byte {
	n := &t.records.notes
	gap := len(b) + offsetDigits(uint32(at)) - lastDigits
	if len(t.unpacked) > 0 {
		gap += len(l.off) + len(t.unpackedOn)
	} else {
		gap += len(l.open)
	}
	if n.parts < recordParts {
		n.gaps[n.parts] = gap
		n.parts++
	}
	b = t.endLeaf(b, l, uint32(at), uint32(size))
	if number >= 0 {
		from := gap + lastDigits + len(", ")
		t.scratch = appendInt(t.scratch[:0], int64(size))
		n.numbers[number] = numberSpot{int64(size), from, from + len(t.scratch)}
	}
	return b
}

// learn makes the record that was printed last the text. Its lines stand in a buffer from an index on.
func (x *recordText) learn(b []byte, from int, n *recordNotes) {
	place := func(at int) int { // in the lines
		switch key, value := n.key[1]-n.key[0], n.value[1]-n.value[0]; {
		case at >= n.value[1]:
			at -= key + value
		case at >= n.key[1]:
			at -= key
		}
		return at - from
	}
	x.lines = append(append(append(x.lines[:0], b[from:n.key[0]]...), b[n.key[1]:n.value[0]]...), b[n.value[1]:]...)
	x.key, x.value = place(n.key[0]), place(n.value[0])
	for i, spot := range n.numbers {
		x.numbers[i] = numberSpot{spot.value, place(spot.from), place(spot.to)}
	}
	for i, gap := range n.gaps {
		x.gaps[i] = place(gap)
	}
}
