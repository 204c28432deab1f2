package render

import (
	"encoding/binary"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
)

// A recordPrinter is what the tree knows of the batch that it is printing.
type recordPrinter struct {
	topic  string        // that the records field belongs to, if it is an internal one
	number int           // of the batch in its field
	batch  dissect.Batch // a copy: the one that is handed over does not live on
	set    *dissect.RecordSet
	at     int // where the next record is expected, in the address space of the records
	end    int // where the records end
	index  int // of the next record in the batch
	left   int // how many records were left out
	from   int // where the first of those is
	deep   wrapped

	attributes attributes
	header     headerText
	notes      recordNotes

	hasKey, hasValue bool // the record's key or value was decoded
	key, value       dissect.Nested
	fields           nestedFields // inside the value
}

// attributes are those that were printed last, spelled out: those of one producer are the same.
type attributes struct {
	magic int8
	bits  int16
	text  []byte
}

// batch appends the batch of a records field that the printer is at, with its records if they are shown.
func (t *Tree) batch(b []byte, at uint32, last bool) []byte {
	p := &t.records
	findings := len(t.m.Findings)
	p.open(t)
	b = t.beginLine(b, last, t.options.Full || p.set != nil)
	if shown, done := t.plainMessage(b); done {
		b = shown
	} else {
		b = t.digestLine(b)
	}
	branch := branchBelow(last)
	b = t.notesBefore(b, at, p.batch.At+p.batch.Size, branch)
	b = t.freshNotes(b, findings, branch)
	t.enter(last)
	if t.options.Full {
		b = t.headerFields(b, &p.batch)
	}
	b = t.batchContent(b)
	t.leave()
	return b
}

// open opens the records of the batch, if they are to be shown.
func (p *recordPrinter) open(t *Tree) {
	p.set = nil
	if t.options.Records == RecordsFull && !p.batch.Partial {
		p.set = t.m.Open(&p.batch)
	}
}

// digestLine appends what the header of the batch says.
func (t *Tree) digestLine(b []byte) []byte {
	p := &t.records
	batch := &p.batch
	b = append(t.branch(b), t.colors.name.on...)
	b = appendInt(append(b, "batch "...), int64(p.number))
	b = append(append(b, t.colors.name.off...), ':')
	switch {
	case batch.Partial:
		b = t.partialDigest(b)
	case !batch.KnownMagic():
		b = appendInt(append(b, " of unknown magic "...), int64(batch.Magic))
	case batch.Magic < 2:
		b = appendInt(append(b, " message of magic "...), int64(batch.Magic))
		b = appendInt(append(t.piece(b, ","), "offset "...), batch.BaseOffset)
		b = t.appendCodec(t.piece(b, ","))
		b = t.appendBatchTime(b)
		b = appendCRC(t.piece(b, ","), batch)
	default:
		b = t.appendDigest(b)
	}
	return t.spanWrapped(b, batch.At, batch.Size)
}

// partialDigest appends what is there of a batch that is cut.
func (t *Tree) partialDigest(b []byte) []byte {
	batch := &t.records.batch
	b = append(b, " partial"...)
	if batch.Header >= 8 {
		b = appendInt(append(t.piece(b, ","), "offset "...), batch.BaseOffset)
	}
	b = appendInt(t.piece(b, ","), int64(batch.Size))
	if batch.Header >= lengthEnd && batch.Length > 0 {
		b = appendInt(append(b, " of "...), int64(batch.Length)+lengthEnd)
	}
	return append(b, " bytes"...)
}

// appendDigest appends what the header of a batch of magic 2 says.
func (t *Tree) appendDigest(b []byte) []byte {
	batch := &t.records.batch
	b = appendInt(append(b, " offsets "...), batch.BaseOffset)
	b = appendInt(append(b, ".."...), batch.LastOffset())
	b = appendQuantity(t.piece(b, ","), int(batch.Count), "record")
	b = t.appendCodec(t.piece(b, ","))
	if batch.ProducerID >= 0 {
		b = appendProducer(t.piece(b, ","), batch)
	}
	if batch.Transactional() {
		b = append(t.piece(b, ","), "transactional"...)
	}
	if batch.Control() {
		b = append(t.piece(b, ","), "control"...)
	}
	if batch.DeleteHorizon() {
		b = append(t.piece(b, ","), "delete horizon "...)
		b = t.appendDate(b, batch.BaseTimestamp)
	}
	b = t.appendBatchTime(b)
	b = appendCRC(t.piece(b, ","), batch)
	return appendInt(append(t.piece(b, ","), "leader epoch "...), int64(batch.LeaderEpoch))
}

// appendCodec appends how the records are compressed, and to what size where they were opened.
func (t *Tree) appendCodec(b []byte) []byte {
	p := &t.records
	if p.batch.Codec() == 0 {
		return append(b, "uncompressed"...)
	}
	b = append(append(b, p.batch.Codec().String()...), ' ')
	_, packed := t.packed()
	if p.set == nil {
		return appendQuantity(b, packed, "byte")
	}
	unpacked := len(p.set.Unpacked)
	b = appendInt(b, int64(packed))
	b = appendQuantity(append(b, " -> "...), unpacked, "byte")
	if packed > 0 {
		b = strconv.AppendFloat(append(b, " ("...), float64(unpacked)/float64(packed), 'f', 1, 64)
		b = append(b, "x)"...)
	}
	return b
}

// appendProducer appends who wrote a batch: id, epoch, and the number of its first record.
func appendProducer(b []byte, batch *dissect.Batch) []byte {
	b = appendInt(append(b, "producer "...), batch.ProducerID)
	b = appendInt(append(b, '/'), int64(batch.ProducerEpoch))
	if batch.BaseSequence >= 0 {
		b = appendInt(append(b, " seq "...), int64(batch.BaseSequence))
	}
	return b
}

// appendBatchTime appends who has set the timestamps and the latest of them.
func (t *Tree) appendBatchTime(b []byte) []byte {
	batch := &t.records.batch
	if batch.Magic < 1 {
		return b
	}
	b = append(append(t.piece(b, ","), timestampType(batch)...), ' ')
	if batch.Magic == 1 {
		return t.appendDate(b, batch.Timestamp)
	}
	return t.appendDate(b, batch.MaxTimestamp)
}

// appendDate appends a timestamp as date and time in UTC, or as the number it is where it cannot be one.
func (t *Tree) appendDate(b []byte, ms int64) []byte {
	if ms < firstTime || ms > lastTime {
		return appendInt(b, ms)
	}
	return t.stamps.appendDateMillis(b, ms)
}

// appendCRC appends whether the CRC of a batch is right.
func appendCRC(b []byte, batch *dissect.Batch) []byte {
	b = append(b, "CRC "...)
	computed, known := batch.ComputeCRC()
	switch {
	case !known:
		return append(b, "not checked"...)
	case computed == batch.CRC:
		return append(b, "ok"...)
	}
	b = appendHex32(b, batch.CRC)
	b = appendHex32(append(b, " stored, "...), computed)
	return append(b, " computed"...)
}

func appendHex32(b []byte, v uint32) []byte {
	b = append(b, '0', 'x')
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[v>>shift&15])
	}
	return b
}

// A batchField is a field of the header of a batch, or of a message of older magic.
type batchField struct {
	name, typ string
	at, size  int
	form      fieldForm
	value     func(*dissect.Batch) int64
	about     string
}

// A fieldForm says how the value of such a field is printed.
type fieldForm uint8

const (
	asNumber fieldForm = iota
	asTime
	asChecksum
	asAttributes
)

var batchFields = [...]batchField{
	{"base_offset", "int64", 0, 8, asNumber, func(b *dissect.Batch) int64 { return b.BaseOffset }, "offset of the first record in the partition; producers send 0"},
	{"batch_length", "int32", 8, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.Length) }, "bytes that follow in this batch"},
	{"partition_leader_epoch", "int32", 12, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.LeaderEpoch) }, "set by the leader that appended it; outside the CRC"},
	{"magic", "int8", 16, 1, asNumber, func(b *dissect.Batch) int64 { return int64(b.Magic) }, "version of the batch format"},
	{"crc", "uint32", 17, 4, asChecksum, func(b *dissect.Batch) int64 { return int64(b.CRC) }, "CRC-32C of all that follows in the batch"},
	{"attributes", "int16", 21, 2, asAttributes, func(b *dissect.Batch) int64 { return int64(b.Attributes) }, "bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon"},
	{"last_offset_delta", "int32", 23, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.LastOffsetDelta) }, "offset of the last record less base_offset, kept by compaction"},
	{"base_timestamp", "int64", 27, 8, asTime, func(b *dissect.Batch) int64 { return b.BaseTimestamp }, "ms since the epoch that timestamp deltas count from"},
	{"max_timestamp", "int64", 35, 8, asTime, func(b *dissect.Batch) int64 { return b.MaxTimestamp }, "latest timestamp in the batch, or when the broker appended it"},
	{"producer_id", "int64", 43, 8, asNumber, func(b *dissect.Batch) int64 { return b.ProducerID }, "of an idempotent or transactional producer, -1 = none"},
	{"producer_epoch", "int16", 51, 2, asNumber, func(b *dissect.Batch) int64 { return int64(b.ProducerEpoch) }, "fences earlier instances of the producer, -1 = none"},
	{"base_sequence", "int32", 53, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.BaseSequence) }, "number of the first record among the producer's, -1 = none"},
	{"record_count", "int32", 57, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.Count) }, "how many records follow"},
}

var oldFields = [...]batchField{
	{"offset", "int64", 0, 8, asNumber, func(b *dissect.Batch) int64 { return b.BaseOffset }, "offset in the partition; inside a compressed message of magic 1 relative, of a compressed message that of its last one"},
	{"message_size", "int32", 8, 4, asNumber, func(b *dissect.Batch) int64 { return int64(b.Length) }, "bytes that follow in this message"},
	{"crc", "uint32", 12, 4, asChecksum, func(b *dissect.Batch) int64 { return int64(b.CRC) }, "CRC-32 of all that follows in the message"},
	{"magic", "int8", 16, 1, asNumber, func(b *dissect.Batch) int64 { return int64(b.Magic) }, "version of the message format"},
	{"attributes", "int8", 17, 1, asAttributes, func(b *dissect.Batch) int64 { return int64(b.Attributes) }, "bits 0-2 codec, 3 timestamp type"},
	{"timestamp", "int64", 18, 8, asTime, func(b *dissect.Batch) int64 { return b.Timestamp }, "ms since the epoch"},
}

// lengthEnd is the end of the length, which counts what is behind it. It is common to all magics.
const lengthEnd = 12

// fieldsOf returns the fields that the header of a batch has. Of an unknown magic only those up to the magic are certain.
func fieldsOf(b *dissect.Batch) []batchField {
	switch {
	case b.Magic == 2:
		return batchFields[:]
	case b.Magic == 1:
		return oldFields[:]
	case b.Magic == 0:
		return oldFields[:5]
	}
	return batchFields[:2]
}

// headerLen is the size of the header of a batch, as far as it is there.
func headerLen(b *dissect.Batch) int {
	fields := fieldsOf(b)
	for i := len(fields) - 1; i >= 0; i-- {
		if end := fields[i].at + fields[i].size; end <= b.Header && end <= b.Size {
			return end
		}
	}
	return 0
}

func (t *Tree) appendBatchField(b []byte, f *batchField, batch *dissect.Batch) []byte {
	v := f.value(batch)
	switch f.form {
	case asTime:
		return t.appendTimestamp(b, v)
	case asChecksum:
		b = append(appendHex32(b, batch.CRC), " ("...)
		return append(appendCRC(b, batch), ')')
	case asAttributes:
		if a := &t.records.attributes; a.text == nil || a.magic != batch.Magic || a.bits != batch.Attributes {
			a.magic, a.bits, a.text = batch.Magic, batch.Attributes, appendAttributes(a.text[:0], batch)
		}
		return append(b, t.records.attributes.text...)
	}
	return appendInt(b, v)
}

// appendAttributes appends the bits of the attributes, spelled out.
func appendAttributes(b []byte, batch *dissect.Batch) []byte {
	b = append(b, '0', 'x')
	if batch.Magic == 2 {
		b = append(b, hexDigits[batch.Attributes>>12&15], hexDigits[batch.Attributes>>8&15])
	}
	b = append(b, hexDigits[batch.Attributes>>4&15], hexDigits[batch.Attributes&15])
	b = append(append(b, " (codec="...), batch.Codec().String()...)
	if batch.Magic > 0 {
		b = append(append(b, " timestamp_type="...), timestampType(batch)...)
	}
	if batch.Magic == 2 {
		b = strconv.AppendBool(append(b, " transactional="...), batch.Transactional())
		b = strconv.AppendBool(append(b, " control="...), batch.Control())
		b = strconv.AppendBool(append(b, " delete_horizon="...), batch.DeleteHorizon())
	}
	return append(b, ')')
}

// packed returns where the records of the batch are, compressed or not, and how many bytes they take. Of a message of older magic they are
// its value.
func (t *Tree) packed() (at, size int) {
	batch := &t.records.batch
	at = batch.At + headerLen(batch)
	if batch.Magic < 2 {
		for range 2 { // the key, then the value
			at += max(0, size)
			length := t.frameBytes(at, 4)
			if len(length) < 4 {
				return at, max(0, batch.At+batch.Size-at)
			}
			at += 4
			size = int(int32(binary.BigEndian.Uint32(length)))
		}
		return at, max(0, size)
	}
	return at, max(0, batch.At+batch.Size-at)
}

// frameBytes returns bytes of the frame, as many of them as are there.
func (t *Tree) frameBytes(at, size int) []byte {
	return t.m.Raw(&dissect.Node{Offset: uint32(at), Length: uint32(size)})
}
