package encode

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/kdissect/kdissect/schema"
)

// records encodes a records field: its bytes in base64, or its batches.
func (e *encoder) records(op *schema.Op, v any) error {
	list, ok := v.([]any)
	if !ok {
		if _, ok := v.(string); !ok {
			return e.wrong("base64 or an array of batches", v)
		}
		return e.bytes(op, v)
	}
	start := len(e.out)
	err := e.elements(list, "a batch", func(o *object) error { return e.batch(o) })
	if err == nil {
		e.prefix(start, op)
	}
	return err
}

// Bits of a batch's attributes.
const (
	codecBits        = 7
	logAppendTimeBit = 1 << 3
	transactionalBit = 1 << 4
	controlBit       = 1 << 5
)

const newestMagic = 2

// A batchHeader is what stands in front of the records of a batch of magic 2, less length and checksum.
type batchHeader struct {
	baseOffset      int64
	leaderEpoch     int32
	attributes      int16
	lastOffsetDelta int32
	baseTimestamp   int64
	maxTimestamp    int64
	producerID      int64
	producerEpoch   int16
	baseSequence    int32
	count           int32
}

// A record is one record, or one message of magic 0 or 1.
type record struct {
	offset, timestamp int64
	key, value        []byte // nil is null
	headers           []recordHeader
}

type recordHeader struct{ key, value []byte }

// batch encodes an entry of a records field.
func (e *encoder) batch(o *object) error {
	if o.has("partial") && o.boolean("partial") {
		return o.fail("the batch is cut, so its bytes are not all here; leave it out")
	}
	magic := o.integer("magic", 0, newestMagic, newestMagic)
	records, err := e.batchRecords(o)
	if err != nil || o.err != nil {
		return cmp.Or(o.err, err)
	}
	if magic < newestMagic {
		return e.oldMessage(o, int8(magic), records)
	}
	return e.newBatch(o, records)
}

// batchRecords reads the records of a batch. Without any the batch must not say that it has some.
func (e *encoder) batchRecords(o *object) ([]record, error) {
	v, there := o.fields["records"]
	o.use("records")
	if !there && o.integer("count", 0, math.MaxInt32, 0) == 0 && o.integer("magic", 0, newestMagic, newestMagic) == newestMagic {
		return nil, o.err
	}
	list, ok := v.([]any)
	switch {
	case !there:
		return nil, o.fail("the batch has no records; full JSON has them (kdissect read -o json --records full)")
	case v == nil:
		return nil, o.fail("records are null: what could not be decompressed cannot be encoded")
	case !ok:
		return nil, o.fail("records: an array is wanted here, not %s", describe(v))
	}
	base := o.integer("baseOffset", math.MinInt64, math.MaxInt64, 0)
	first := o.integer("baseTimestamp", math.MinInt64, math.MaxInt64, 0)
	records := make([]record, 0, len(list))
	mark := len(e.path)
	e.path = append(e.path, ".records"...)
	err := e.elements(list, "a record", func(r *object) error {
		records = append(records, readRecord(r, base+int64(len(records)), first))
		return r.err
	})
	e.path = e.path[:mark]
	return records, cmp.Or(err, o.err)
}

// readRecord reads one record. What was decoded of key and value is not looked at, they themselves are.
func readRecord(o *object, offset, timestamp int64) record {
	r := record{
		offset:    o.integer("offset", math.MinInt64, math.MaxInt64, offset),
		timestamp: o.integer("timestamp", math.MinInt64, math.MaxInt64, timestamp),
		key:       o.text("key"),
		value:     o.text("value"),
	}
	if o.has("valueWithheld") {
		o.fail("the value is withheld; --show-secrets shows it")
	}
	o.use("keyDecoded", "valueDecoded", "control")
	for i, v := range o.array("headers") {
		fields, ok := v.(map[string]any)
		if !ok {
			o.fail("headers[%d]: an object is wanted here, not %s", i, describe(v))
			break
		}
		h := object{encoder: o.encoder, fields: fields}
		header := recordHeader{h.text("key"), h.text("value")}
		h.finish()
		if h.err == nil && header.key == nil {
			h.fail("the key of a header cannot be null")
		}
		if h.err != nil {
			o.err = h.err
			break
		}
		r.headers = append(r.headers, header)
	}
	o.finish()
	return r
}

// attributes reads a batch's attributes: the number, or what it means, which must agree where both are there.
func (o *object) attributes() int16 {
	n := o.integer("attributes", math.MinInt16, math.MaxInt16, 0)
	given := o.has("attributes")
	set := func(name string, bits, value int64) {
		if !o.has(name) {
			return
		}
		if given && n&bits != value {
			o.fail("%s does not agree with attributes %d", name, n)
		}
		n = n&^bits | value
	}
	compression := o.name("compression", codecNames[:])
	set("compression", codecBits, int64(compression))
	set("timestampType", logAppendTimeBit, int64(o.name("timestampType", []string{"CreateTime", "LogAppendTime"}))*logAppendTimeBit)
	set("isTransactional", transactionalBit, boolean(o.boolean("isTransactional"))*transactionalBit)
	set("isControl", controlBit, boolean(o.boolean("isControl"))*controlBit)
	return int16(n)
}

// newBatch encodes a batch of magic 2.
func (e *encoder) newBatch(o *object, records []record) error {
	first, latest, last := int64(-1), int64(-1), int64(0)
	h := batchHeader{
		baseOffset:    o.integer("baseOffset", math.MinInt64, math.MaxInt64, 0),
		leaderEpoch:   int32(o.integer("partitionLeaderEpoch", math.MinInt32, math.MaxInt32, -1)),
		attributes:    o.attributes(),
		producerID:    o.integer("producerId", math.MinInt64, math.MaxInt64, -1),
		producerEpoch: int16(o.integer("producerEpoch", math.MinInt16, math.MaxInt16, -1)),
		baseSequence:  int32(o.integer("baseSequence", math.MinInt32, math.MaxInt32, -1)),
		count:         int32(len(records)),
	}
	if len(records) > 0 {
		first, last = records[0].timestamp, records[len(records)-1].offset-h.baseOffset
		latest = records[0].timestamp
		for i := range records {
			latest = max(latest, records[i].timestamp)
		}
	}
	h.baseTimestamp = o.integer("baseTimestamp", math.MinInt64, math.MaxInt64, first)
	h.maxTimestamp = o.integer("maxTimestamp", math.MinInt64, math.MaxInt64, latest)
	last = o.integer("lastOffset", math.MinInt64, math.MaxInt64, h.baseOffset+last) - h.baseOffset
	if count := o.integer("count", math.MinInt32, math.MaxInt32, int64(len(records))); count != int64(len(records)) {
		o.fail("count is %d, but there are %d records", count, len(records))
	}
	if last < math.MinInt32 || last > math.MaxInt32 {
		o.fail("lastOffset is further from baseOffset than an int32 can say")
	}
	h.lastOffsetDelta = int32(last)
	o.use("batchLength", "crc", "crcValid")
	o.finish()
	if o.err != nil {
		return o.err
	}
	data, err := e.newRecords(&h, records)
	if err != nil {
		return err
	}
	if data, err = compress(int(h.attributes&codecBits), data); err != nil {
		return o.fail("%v", err)
	}
	e.out = appendBatch(e.out, &h, data)
	return nil
}

// newRecords encodes the records of a batch of magic 2, uncompressed.
func (e *encoder) newRecords(h *batchHeader, records []record) ([]byte, error) {
	var all, one []byte
	for i := range records {
		r := &records[i]
		delta := r.offset - h.baseOffset
		if delta < math.MinInt32 || delta > math.MaxInt32 {
			return nil, e.fail("records[%d].offset is further from baseOffset than an int32 can say", i)
		}
		one = append(one[:0], 0) // attributes, of which none is in use
		one = binary.AppendVarint(one, r.timestamp-h.baseTimestamp)
		one = binary.AppendVarint(one, delta)
		one = appendPart(one, r.key)
		one = appendPart(one, r.value)
		one = binary.AppendVarint(one, int64(len(r.headers)))
		for _, header := range r.headers {
			one = appendPart(appendPart(one, header.key), header.value)
		}
		all = binary.AppendVarint(all, int64(len(one)))
		all = append(all, one...)
	}
	return all, nil
}

// appendPart appends a key or value with its varint length.
func appendPart(b, part []byte) []byte {
	if part == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(part))), part...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBatch appends a batch of magic 2 whose records are encoded already. Its CRC covers what follows it.
func appendBatch(b []byte, h *batchHeader, records []byte) []byte {
	const behindLength, headerLen = 12, 61
	b = binary.BigEndian.AppendUint64(b, uint64(h.baseOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(headerLen-behindLength+len(records)))
	b = binary.BigEndian.AppendUint32(b, uint32(h.leaderEpoch))
	b = append(b, newestMagic)
	crcAt := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(h.attributes))
	b = binary.BigEndian.AppendUint32(b, uint32(h.lastOffsetDelta))
	b = binary.BigEndian.AppendUint64(b, uint64(h.baseTimestamp))
	b = binary.BigEndian.AppendUint64(b, uint64(h.maxTimestamp))
	b = binary.BigEndian.AppendUint64(b, uint64(h.producerID))
	b = binary.BigEndian.AppendUint16(b, uint16(h.producerEpoch))
	b = binary.BigEndian.AppendUint32(b, uint32(h.baseSequence))
	b = binary.BigEndian.AppendUint32(b, uint32(h.count))
	b = append(b, records...)
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[crcAt+4:], castagnoli))
	return b
}

// oldMessage encodes an entry of magic 0 or 1: a message, or a compressed one with messages inside.
func (e *encoder) oldMessage(o *object, magic int8, records []record) error {
	attributes := o.attributes()
	codec := int(attributes & codecBits)
	o.use("baseOffset", "batchLength", "crc", "crcValid")
	last := o.integer("lastOffset", math.MinInt64, math.MaxInt64, math.MinInt64)
	o.finish()
	switch {
	case o.err != nil:
		return o.err
	case len(records) == 0 || codec == 0 && len(records) > 1:
		return o.fail("a message of magic %d holds one record, not %d", magic, len(records))
	case codec == 0:
		e.out = appendMessage(e.out, magic, attributes, &records[0])
		return nil
	}
	wrapper := records[len(records)-1]
	var inner []byte
	for i := range records {
		r := records[i]
		wrapper.timestamp = max(wrapper.timestamp, r.timestamp)
		if magic == 1 {
			r.offset -= records[0].offset // inside, offsets count from the first
		}
		inner = appendMessage(inner, magic, attributes&^codecBits, &r)
	}
	if last != math.MinInt64 {
		wrapper.offset = last
	}
	packed, err := compress(codec, inner)
	if err != nil {
		return o.fail("%v", err)
	}
	wrapper.key, wrapper.value = nil, packed
	e.out = appendMessage(e.out, magic, attributes, &wrapper)
	return nil
}

// appendMessage appends a message of magic 0 or 1. Its CRC covers what follows it.
func appendMessage(b []byte, magic int8, attributes int16, r *record) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(r.offset))
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // size and CRC
	b = append(b, byte(magic), byte(attributes))
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(r.timestamp))
	}
	b = appendLongPart(appendLongPart(b, r.key), r.value)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	binary.BigEndian.PutUint32(b[start+4:], crc32.ChecksumIEEE(b[start+8:]))
	return b
}

// appendLongPart appends a key or value with its int32 length.
func appendLongPart(b, part []byte) []byte {
	if part == nil {
		return binary.BigEndian.AppendUint32(b, math.MaxUint32)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
}

// text reads bytes that are text, or base64 under a name that says so. It returns nil for null and what is not there.
func (o *object) text(name string) []byte {
	packed := name + "Base64"
	o.use(name, packed)
	switch v := o.fields[packed].(type) {
	case nil:
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			o.fail("%s: %s is not base64 with padding: %v", packed, describe(v), err)
		}
		return b
	default:
		o.fail("%s: base64 is wanted here, not %s", packed, describe(v))
	}
	switch v := o.fields[name].(type) {
	case nil:
	case string:
		return []byte(v)
	default:
		o.fail("%s: a string or null is wanted here, not %s", name, describe(v))
	}
	return nil
}
