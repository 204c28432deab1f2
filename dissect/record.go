package dissect

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Record is one record. Key, Value and headers are valid during the call that hands it over. Positions count from the first byte of
// the address space that its RecordSet is in.
type Record struct {
	At, Size     int
	Offset       int64
	Timestamp    int64  // milliseconds since the epoch
	HasTimestamp bool   // magic 0 has none
	Key, Value   []byte // nil when null
	HeaderCount  int
	Message      *Batch // of older magics: the record's own header

	// Where its parts begin, each with its own length in front, in the order of the bytes. Magic 2: attributes, timestamp delta,
	// offset delta, key, value, header count. Older magics have key and value only.
	AttributesAt, TimestampAt, OffsetAt, KeyAt, ValueAt, HeadersAt int

	headers []byte
}

// Headers calls yield for each header, in the order of the bytes. value is nil when null.
func (r *Record) Headers(yield func(key, value []byte) bool) {
	c := cursor{data: r.headers}
	for range r.HeaderCount {
		key, value := c.bytes(), c.bytes()
		if c.failed || !yield(key, value) {
			return
		}
	}
}

// A RecordSet is the records of one batch: in the frame, or unpacked into an address space of their own.
type RecordSet struct {
	Unpacked []byte // the bytes that the batch was decompressed to, valid until the next batch is opened; nil when it is not compressed
	batch    *Batch
	space    space
	from, to int // where the records are in the space
	message  *Message
	record   Record // that is handed over
}

// Open returns the records of a batch, decompressed if need be. It returns nil, and notes why, when they cannot be read. The records are valid
// until another batch of the same message is opened.
func (m *Message) Open(b *Batch) *RecordSet {
	set := &m.tools.sets[b.space.deep]
	*set = RecordSet{batch: b, space: b.space, from: b.At + batchHeaderLen, to: b.At + b.Size, message: m}
	if !b.KnownMagic() {
		m.note(BadRecord, Warn, b, "a batch of magic %d, which is unknown", b.Magic)
		return nil
	}
	switch {
	case b.Magic < newestMagic:
		set.from = b.At
	case set.from > set.to:
		m.note(BadRecord, Warn, b, "a batch of %d bytes, which ends in its header", b.Size)
		return nil
	}
	if b.Codec() == 0 {
		return set
	}
	packed := b.space.slice(set.from, set.to-set.from)
	if b.Magic < newestMagic {
		r, reason := parseMessage(b)
		if packed = r.Value; reason != "" {
			m.note(BadRecord, Warn, b, "the compressed message %s", reason)
			return nil
		}
	}
	data, err := m.inflate(b, packed)
	if err != nil {
		m.note(Decompression, Warn, b, "%s: %v", b.Codec(), err)
		return nil
	}
	if set.Unpacked = data; data == nil {
		set.Unpacked = []byte{}
	}
	set.space = space{data: data, deep: b.space.deep + 1}
	set.from, set.to = 0, len(data)
	return set
}

// note adds a finding about a batch. What is inside unpacked bytes has no place in the frame.
func (m *Message) note(code Code, severity Severity, b *Batch, format string, args ...any) {
	at := b.At
	if b.space.view == nil {
		at = -1
	}
	m.Findings = addFinding(m.Findings, finding(code, severity, at, format, args...))
}

// Each calls yield for each record. Damage is noted as a finding and ends the batch's records; what came before it stays.
func (s *RecordSet) Each(yield func(*Record) bool) {
	switch {
	case s.batch.Magic == newestMagic:
		s.eachV2(yield)
	case s.Unpacked == nil:
		s.single(yield)
	default:
		s.eachInner(yield)
	}
}

// eachV2 walks the records of a batch of magic 2.
func (s *RecordSet) eachV2(yield func(*Record) bool) {
	b := s.batch
	c := cursor{data: s.space.slice(s.from, s.to-s.from), base: s.from}
	r := &s.record
	for i := int32(0); i < b.Count; i++ {
		if c.done() {
			s.bad("the batch ends after %d of %d records", i, b.Count)
			return
		}
		if reason := r.parse(&c, b); reason != "" {
			s.bad("record %d %s", i, reason)
			return
		}
		if !yield(r) {
			return
		}
	}
	if left := len(c.data) - c.at; left > 0 {
		s.bad("%d bytes behind the last record", left)
	}
}

func (s *RecordSet) bad(format string, args ...any) {
	s.message.note(BadRecord, Warn, s.batch, "%s", fmt.Sprintf(format, args...))
}

// parse reads the record at the cursor. It returns what is wrong with it, "" when nothing is.
func (r *Record) parse(c *cursor, b *Batch) (reason string) {
	*r = Record{At: c.base + c.at}
	size := c.varint()
	if c.failed || size < 0 || size > int64(len(c.data)-c.at) {
		return fmt.Sprintf("says %d bytes, %d are left", size, len(c.data)-c.at)
	}
	end := c.at + int(size)
	in := cursor{data: c.data[:end], at: c.at, base: c.base}
	r.AttributesAt = in.place()
	in.skip(1)
	r.TimestampAt = in.place()
	timestampDelta := in.varint()
	r.OffsetAt = in.place()
	offsetDelta := in.varint()
	r.KeyAt = in.place()
	r.Key = in.bytes()
	r.ValueAt = in.place()
	r.Value = in.bytes()
	r.HeadersAt = in.place()
	count := in.varint()
	if in.failed || count < 0 || count > int64(end-in.at) {
		return "has a part that is longer than the record"
	}
	r.headers, r.HeaderCount = c.data[in.at:end], int(count)
	for range r.HeaderCount {
		in.bytes()
		in.bytes()
	}
	if in.failed {
		return "has a header that is longer than the record"
	}
	if in.at != end {
		return fmt.Sprintf("has %d bytes behind its last header", end-in.at)
	}
	r.Size = c.base + end - r.At
	r.Offset, r.Timestamp, r.HasTimestamp = b.BaseOffset+offsetDelta, b.BaseTimestamp+timestampDelta, true
	if b.LogAppendTime() {
		r.Timestamp = b.MaxTimestamp
	}
	c.at = end
	return ""
}

// single hands over the one record of a message of magic 0 or 1.
func (s *RecordSet) single(yield func(*Record) bool) {
	r, reason := parseMessage(s.batch)
	if reason != "" {
		s.bad("the message %s", reason)
		return
	}
	yield(&r)
}

// parseMessage reads key and value of a message of magic 0 or 1. It returns what is wrong with it, "" when nothing is.
func parseMessage(b *Batch) (r Record, reason string) {
	c := cursor{data: b.space.slice(b.At, b.Size), base: b.At, at: oldHeaderLen}
	if b.Magic == 1 {
		c.at += 8
	}
	if c.at > len(c.data) {
		return r, "ends in its header"
	}
	r = Record{At: b.At, Size: b.Size, Offset: b.BaseOffset, Timestamp: b.Timestamp, HasTimestamp: b.Magic == 1, Message: b}
	r.KeyAt = c.place()
	r.Key = c.longBytes()
	r.ValueAt = c.place()
	r.Value = c.longBytes()
	if c.failed {
		return r, "has a part that is longer than the message"
	}
	return r, ""
}

// eachInner hands over the messages inside a compressed message of magic 0 or 1. Offsets inside magic 1 are relative, and the
// wrapper has that of the last one; inside magic 0 they are absolute. Some producers leave the wrapper's offset at 0.
func (s *RecordSet) eachInner(yield func(*Record) bool) {
	wrapper := s.batch
	base := int64(0)
	if wrapper.Magic == 1 && wrapper.BaseOffset != 0 {
		last := int64(0)
		for b := range batches(s.space, s.from, s.to) {
			if !b.Partial {
				last = b.BaseOffset
			}
		}
		base = wrapper.BaseOffset - last
	}
	for b := range batches(s.space, s.from, s.to) {
		if b.Partial {
			s.bad("the compressed messages end inside one")
			return
		}
		if !s.inner(b, base, yield) {
			return
		}
	}
}

// inner hands over one message inside a wrapper, or what is inside it if it is compressed itself.
func (s *RecordSet) inner(b *Batch, base int64, yield func(*Record) bool) bool {
	set := s.message.Open(b)
	if set == nil {
		return !s.message.tools.inflater.exhausted()
	}
	more := true
	set.Each(func(r *Record) bool {
		r.Offset += base
		if s.batch.LogAppendTime() {
			r.Timestamp, r.HasTimestamp = s.batch.Timestamp, true
		}
		more = yield(r)
		return more
	})
	return more
}

// A cursor reads the parts of records. Its failure sticks.
type cursor struct {
	data   []byte
	at     int
	base   int // position of data[0] in its address space
	failed bool
}

func (c *cursor) done() bool { return c.at >= len(c.data) }

func (c *cursor) place() int { return c.base + c.at }

func (c *cursor) skip(n int) {
	if n > len(c.data)-c.at {
		c.failed = true
		return
	}
	c.at += n
}

// varint reads a zigzag varint of up to 64 bits: lengths are 32 bits wide, timestamp deltas 64.
func (c *cursor) varint() int64 {
	if c.failed {
		return 0
	}
	if c.at < len(c.data) && c.data[c.at] < 0x80 {
		v := uint64(c.data[c.at])
		c.at++
		return int64(v>>1) ^ -int64(v&1)
	}
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.failed = true
		return 0
	}
	c.at += n
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a varint length and as many bytes; nil for length -1.
func (c *cursor) bytes() []byte { return c.take(c.varint()) }

// longBytes reads an int32 length and as many bytes; nil for length -1.
func (c *cursor) longBytes() []byte {
	if c.failed || len(c.data)-c.at < 4 {
		c.failed = true
		return nil
	}
	n := int32(binary.BigEndian.Uint32(c.data[c.at:]))
	c.at += 4
	return c.take(int64(n))
}

func (c *cursor) take(n int64) []byte {
	if c.failed || n == -1 {
		return nil
	}
	if n < 0 || n > int64(len(c.data)-c.at) || n > math.MaxInt32 {
		c.failed = true
		return nil
	}
	b := c.data[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b
}
