package render

import (
	"strconv"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
)

// appendRecords appends the batches of a records field, and their records if they are asked for.
func (j *JSON) appendRecords(b []byte, m *dissect.Message, n *dissect.Node) []byte {
	b = append(b, '[')
	first := true
	for batch := range m.Batches(n) {
		if !first {
			b = append(b, ',')
		}
		first = false
		valid, known := m.Verify(batch)
		b = append(b, '{')
		if batch.Partial {
			b = append(b, `"partial":true,"size":`...)
			b = strconv.AppendInt(b, int64(batch.Size), 10)
		}
		b = appendBatchHeader(b, batch, valid, known)
		if j.options.Records == RecordsFull && !batch.Partial {
			b = j.appendOpened(b, m, batch)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendBatchHeader appends what the header says, as far as it is there. What a magic does not have is absent.
func appendBatchHeader(b []byte, batch *dissect.Batch, valid, known bool) []byte {
	old := batch.Magic < 2
	field := func(end int, name string, n int64) {
		if batch.Header >= end {
			b = appendNumber(b, name, n)
		}
	}
	if !old || batch.Codec() == 0 {
		field(8, "baseOffset", batch.BaseOffset)
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
			b = appendNumber(b, "lastOffset", batch.BaseOffset)
		}
		return b
	}
	b = strconv.AppendBool(appendName(b, "isTransactional"), batch.Transactional())
	b = strconv.AppendBool(appendName(b, "isControl"), batch.Control())
	field(27, "lastOffset", batch.LastOffset())
	field(35, "baseTimestamp", batch.BaseTimestamp)
	field(43, "maxTimestamp", batch.MaxTimestamp)
	field(51, "producerId", batch.ProducerID)
	field(53, "producerEpoch", int64(batch.ProducerEpoch))
	field(57, "baseSequence", int64(batch.BaseSequence))
	field(61, "count", int64(batch.Count))
	return b
}

func timestampType(batch *dissect.Batch) string {
	if batch.LogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// appendOpened appends the records of a batch. A compressed message of older magic gets its base offset only here: it is that of the first
// message inside.
func (j *JSON) appendOpened(b []byte, m *dissect.Message, batch *dissect.Batch) []byte {
	set := m.Open(batch)
	if set == nil {
		return append(appendName(b, "records"), `null`...)
	}
	b = append(appendName(b, "records"), '[')
	count, base := 0, int64(0)
	for r := range set.Each {
		if count == 0 {
			base = r.Offset
		} else {
			b = append(b, ',')
		}
		count++
		b = j.appendRecord(b, r)
	}
	b = append(b, ']')
	if batch.Magic < 2 && batch.Codec() != 0 && count > 0 {
		b = appendNumber(b, "baseOffset", base)
	}
	return b
}

func (j *JSON) appendRecord(b []byte, r *dissect.Record) []byte {
	b = append(b, `{"offset":`...)
	b = strconv.AppendInt(b, r.Offset, 10)
	if r.HasTimestamp {
		b = appendNumber(b, "timestamp", r.Timestamp)
	}
	b = appendTextOrBase64(b, "key", r.Key)
	b = appendTextOrBase64(b, "value", r.Value)
	if r.Message == nil {
		b = append(b, `,"headers":[`...)
		first := true
		for key, value := range r.Headers {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, '{')
			b = appendTextOrBase64(b, "key", key)
			b = appendTextOrBase64(b, "value", value)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendTextOrBase64 appends bytes as text where they are that, else as base64 under another name.
func appendTextOrBase64(b []byte, name string, value []byte) []byte {
	b = appendName(b, name)
	switch {
	case value == nil:
		return append(b, `null`...)
	case utf8.Valid(value):
		return appendString(b, value)
	}
	b = append(b[:len(b)-2], `Base64":`...)
	return appendBase64(b, value)
}
