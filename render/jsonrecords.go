package render

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
)

// appendRecords appends the batches of a records field, and their records if they are asked for.
func (j *JSON) appendRecords(b []byte, m *dissect.Message, field int) []byte {
	topic := ""
	if j.options.Records == RecordsFull {
		topic = m.TopicOf(field)
	}
	return j.appendBatches(b, m, &m.Nodes[field], topic)
}

// appendBatches appends the batches of a records field that belongs to a topic.
func (j *JSON) appendBatches(b []byte, m *dissect.Message, field *dissect.Node, topic string) []byte {
	b = append(b, '[')
	first := true
	for batch := range m.Batches(field) {
		if j.tooLarge(b) {
			break
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		valid, known := m.Verify(batch)
		b = append(b, '{')
		if batch.Partial {
			b = append(b, `"partial":true,"size":`...)
			b = appendInt(b, int64(batch.Size))
		}
		b = j.appendBatchHeader(b, batch, valid, known)
		if j.options.Records == RecordsFull && !batch.Partial {
			b = j.appendOpened(b, m, topic, batch)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendBatchHeader appends what the header says, as far as it is there. What a magic does not have is absent.
func (j *JSON) appendBatchHeader(b []byte, batch *dissect.Batch, valid, known bool) []byte {
	if batch.Magic == 2 && batch.Header >= 61 && known {
		return j.appendNewestHeader(b, batch, valid)
	}
	old := batch.Magic < 2
	field := func(end int, name string, n int64) {
		if batch.Header >= end {
			b = appendNumber(b, name, n)
		}
	}
	long := func(end int, name string, n int64) {
		if batch.Header >= end {
			b = j.appendLong(b, name, n)
		}
	}
	if !old || batch.Codec() == 0 {
		long(8, "baseOffset", batch.BaseOffset)
	}
	field(12, "batchLength", int64(batch.Length))
	if !old {
		field(16, "partitionLeaderEpoch", int64(batch.LeaderEpoch))
	}
	if batch.Magic < 0 {
		return b
	}
	field(17, "magic", int64(batch.Magic))
	crcEnd, attributesEnd := 21, 23
	if old {
		crcEnd, attributesEnd = 16, 18
	}
	field(crcEnd, "crc", int64(batch.CRC))
	if known {
		b = strconv.AppendBool(appendName(b, "crcValid"), valid)
	}
	if batch.Header < attributesEnd || !batch.KnownMagic() {
		return b
	}
	b = appendNumber(b, "attributes", int64(batch.Attributes))
	b = appendString(appendName(b, "compression"), batch.Codec().String())
	if batch.Magic > 0 {
		b = appendString(appendName(b, "timestampType"), timestampType(batch))
	}
	if old {
		if batch.Codec() != 0 {
			b = j.appendLong(b, "lastOffset", batch.BaseOffset)
		}
		return b
	}
	b = strconv.AppendBool(appendName(b, "isTransactional"), batch.Transactional())
	b = strconv.AppendBool(appendName(b, "isControl"), batch.Control())
	long(27, "lastOffset", batch.LastOffset())
	long(35, "baseTimestamp", batch.BaseTimestamp)
	long(43, "maxTimestamp", batch.MaxTimestamp)
	long(51, "producerId", batch.ProducerID)
	field(53, "producerEpoch", int64(batch.ProducerEpoch))
	field(57, "baseSequence", int64(batch.BaseSequence))
	field(61, "count", int64(batch.Count))
	return b
}

// appendNewestHeader appends a whole header of magic 2, as most are, of a batch whose CRC is known. It takes half the instructions.
func (j *JSON) appendNewestHeader(b []byte, batch *dissect.Batch, valid bool) []byte {
	b = j.appendLong(b, "baseOffset", batch.BaseOffset)
	b = appendInt(append(b, `,"batchLength":`...), int64(batch.Length))
	b = appendInt(append(b, `,"partitionLeaderEpoch":`...), int64(batch.LeaderEpoch))
	b = appendInt(append(b, `,"magic":2,"crc":`...), int64(batch.CRC))
	b = strconv.AppendBool(append(b, `,"crcValid":`...), valid)
	b = appendInt(append(b, `,"attributes":`...), int64(batch.Attributes))
	b = append(append(b, `,"compression":"`...), batch.Codec().String()...)
	b = append(append(b, `","timestampType":"`...), timestampType(batch)...)
	b = strconv.AppendBool(append(b, `","isTransactional":`...), batch.Transactional())
	b = strconv.AppendBool(append(b, `,"isControl":`...), batch.Control())
	b = j.appendInt64(append(b, `,"lastOffset":`...), batch.LastOffset())
	b = j.appendInt64(append(b, `,"baseTimestamp":`...), batch.BaseTimestamp)
	b = j.appendInt64(append(b, `,"maxTimestamp":`...), batch.MaxTimestamp)
	b = j.appendInt64(append(b, `,"producerId":`...), batch.ProducerID)
	b = appendInt(append(b, `,"producerEpoch":`...), int64(batch.ProducerEpoch))
	b = appendInt(append(b, `,"baseSequence":`...), int64(batch.BaseSequence))
	return appendInt(append(b, `,"count":`...), int64(batch.Count))
}

func timestampType(batch *dissect.Batch) string {
	if batch.LogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// appendOpened appends the records of a batch. A compressed message of older magic gets its base offset only here: it is that of the first
// message inside.
func (j *JSON) appendOpened(b []byte, m *dissect.Message, topic string, batch *dissect.Batch) []byte {
	set := m.Open(batch)
	if set == nil {
		return append(appendName(b, "records"), `null`...)
	}
	b = append(appendName(b, "records"), '[')
	count, base, decoded := 0, int64(0), m.DecodesRecords(topic, batch)
	for r := range set.Each {
		if count == 0 {
			base = r.Offset
		} else {
			b = append(b, ',')
		}
		count++
		b = j.appendRecord(b, m, topic, batch, r, decoded)
		if j.tooLarge(b) {
			break
		}
		if !j.whole {
			b = j.spill(b)
		}
	}
	b = append(b, ']')
	if batch.Magic < 2 && batch.Codec() != 0 && count > 0 {
		b = j.appendLong(b, "baseOffset", base)
	}
	return b
}

// maxWhole is how much of a message is held that may be taken back.
const maxWhole = 1 << 20

// tooLarge tells whether what must not be spilled has grown to more than is held.
func (j *JSON) tooLarge(b []byte) bool { return j.whole && len(b) >= maxWhole }

// appendRecord appends a record. decoded says whether its key or value may be a structure.
func (j *JSON) appendRecord(b []byte, m *dissect.Message, topic string, batch *dissect.Batch, r *dissect.Record, decoded bool) []byte {
	b = j.appendInt64(append(b, `{"offset":`...), r.Offset)
	if r.HasTimestamp {
		b = j.appendInt64(append(b, `,"timestamp":`...), r.Timestamp)
	}
	b = j.appendTextOrBase64(b, "key", r.Key)
	var key, value *dissect.Nested
	if decoded {
		key = m.DecodeKey(topic, batch, r)
	}
	if key != nil {
		b = j.appendDecoded(b, m, "keyDecoded", key)
	}
	if decoded {
		value = m.DecodeValue(topic, batch, r)
	}
	withheld := m.WithholdsValue(topic, r, value) && !j.options.ShowSecrets
	if withheld {
		b = append(b, `,"value":null,"valueWithheld":"credential-bearing record"`...)
	} else {
		b = j.appendTextOrBase64(b, "value", r.Value)
	}
	if value != nil && (!value.Credentials || j.options.ShowSecrets) {
		b = j.appendDecoded(b, m, "valueDecoded", value)
	}
	if batch.Control() {
		b = appendString(appendName(b, "control"), r.ControlType())
	}
	if r.Message == nil && !withheld {
		b = j.appendRecordHeaders(b, r)
	}
	return append(b, '}')
}

func (j *JSON) appendRecordHeaders(b []byte, r *dissect.Record) []byte {
	b = append(b, `,"headers":[`...)
	first := true
	for key, value := range r.Headers {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '{')
		b = j.appendTextOrBase64(b, "key", key)
		b = j.appendTextOrBase64(b, "value", value)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendDecoded appends what a key or value was decoded to, and what is inside that.
func (j *JSON) appendDecoded(b []byte, m *dissect.Message, name string, n *dissect.Nested) []byte {
	b = append(appendName(b, name), `{"name":`...)
	b = appendString(b, n.Name)
	b = appendNumber(b, "version", int64(n.Version))
	b = append(b, `,"value":`...)
	b = j.appendValue(b, &n.View, nil, n.Body())
	first := true
	m.NestedIn(n, func(inner *dissect.Nested) bool {
		b = beginNested(b, &first)
		b = n.AppendPath(b, inner.Field)
		b = j.endNested(b, inner)
		return true
	})
	if !first {
		b = append(b, ']')
	}
	return append(b, '}')
}

// beginNested begins an entry of a list of nested structures, and the list with the first one.
func beginNested(b []byte, first *bool) []byte {
	if *first {
		b = append(b, `,"nested":[`...)
	} else {
		b = append(b, ',')
	}
	*first = false
	return append(b, `{"path":"`...)
}

// endNested appends what comes behind the path of a nested structure.
func (j *JSON) endNested(b []byte, n *dissect.Nested) []byte {
	b = append(b, `","name":`...)
	b = appendString(b, n.Name)
	b = appendNumber(b, "version", int64(n.Version))
	if n.Header >= 0 {
		b = j.appendValue(append(b, `,"header":`...), &n.View, nil, n.Header)
	}
	b = append(b, `,"value":`...)
	if n.JSON != nil {
		b = append(b, n.JSON...)
	} else {
		b = j.appendValue(b, &n.View, nil, n.Body())
	}
	return append(b, '}')
}

// appendNested appends the structures inside bytes fields.
func (j *JSON) appendNested(b []byte, m *dissect.Message) []byte {
	first := true
	for n := range m.Nested {
		b = append(beginNested(b, &first), `payload.`...)
		b = m.AppendPath(b, n.Field)
		if n.Tail != "" {
			b = append(append(b, '.'), n.Tail...)
		}
		b = j.endNested(b, n)
	}
	if first {
		return b
	}
	return append(b, ']')
}

// appendTextOrBase64 appends bytes as text where they are that, else as base64 under another name.
func (j *JSON) appendTextOrBase64(b []byte, name string, value []byte) []byte {
	b = appendName(b, name)
	if value == nil {
		return append(b, `null`...)
	}
	plain := plainLength(value)
	text := plain == len(value) || utf8.Valid(value[plain:])
	if !text {
		b = append(b[:len(b)-2], `Base64":`...)
	}
	switch {
	case len(value) > pieceSize:
		return j.appendPieces(b, value, text)
	case text:
		return appendStringFrom(b, value, plain)
	}
	return appendBase64(b, value)
}

// appendPieces appends a large value without holding all of it. What is taken back, since it is too large to be held until it is whole, ends anywhere.
func (j *JSON) appendPieces(b, value []byte, text bool) []byte {
	b = append(b, '"')
	for piece := range pieces(value, text) {
		switch {
		case j.tooLarge(b):
			return b
		case text:
			b = appendStringText(b, piece, 0)
		default:
			b = base64.StdEncoding.AppendEncode(b, piece)
		}
		if !j.whole {
			b = j.spill(b)
		}
	}
	return append(b, '"')
}
