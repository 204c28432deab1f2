package dissect

import "bytes"

// Most of what somebody searches for stands in few records or in none. That it is in none is told here from the bytes of all records of a message at once,
// without walking them and without a tape, which saves more than half of what such a search takes.

// MayCarry tells whether some record of the message may have part in its key, its value or a header. Where it says no, none has. unpack allows to decompress
// batches; without it those that are compressed may have anything.
func (m *Message) MayCarry(part []byte, unpack bool) bool {
	if m.plan == nil || !m.plan.HasRecords {
		return false
	}
	fields, ordinary := m.recordFields()
	if !ordinary {
		return true
	}
	for _, field := range fields {
		if holds(m.slice(field.from, field.to-field.from), part) {
			return true
		}
		for b := range batches(space{view: &m.View}, field.from, field.to) {
			if b.isPacked() && (!unpack || m.unpacksTo(b, part)) {
				return true
			}
		}
	}
	return false
}

// recordFields returns where the records are in a message whose facts can be read without its tape; ordinary is false for others.
func (m *Message) recordFields() (fields []stretch, ordinary bool) {
	if m.decoded {
		return nil, false
	}
	if m.own.fields == nil { // from now on they are listed
		m.own.fields = &[]stretch{}
		m.known, m.resolved = false, false
	}
	if !m.known {
		m.known = m.quickFacts()
	}
	return *m.own.fields, m.known
}

// isPacked tells whether the batch is compressed, and worth decompressing.
func (b *Batch) isPacked() bool { return !b.Partial && b.KnownMagic() && b.Codec() != 0 }

// unpacksTo tells whether a compressed batch may have part in what is inside. What is wrong with it is left to Open to tell.
func (m *Message) unpacksTo(b *Batch, part []byte) bool {
	switch {
	case b.Magic < newestMagic:
		return true // what is inside may be compressed again
	case b.Size < batchHeaderLen:
		return false
	}
	data, err := m.inflate(b, b.space.slice(b.At+batchHeaderLen, b.Size-batchHeaderLen))
	return err == nil && holds(data, part)
}

// Bounds of the search for a byte that is rare.
const (
	sampleSize = 1 << 10 // of how many bytes in front it is told what is rare
	worthRare  = 4 * sampleSize
	denseHits  = 16 // a byte is not rare that is found more often than once in so many
)

// holds tells whether data has part in it. In a long run it looks for the byte of part that is the rarest: bytes.Contains looks for the first one, which
// in text is there every fifty bytes or so, and takes five times as many instructions.
func holds(data, part []byte) bool {
	if len(data) < worthRare || len(part) == 0 {
		return bytes.Contains(data, part)
	}
	at := rarest(data[:sampleSize], part)
	last := len(data) - len(part) // where it can begin
	for begin, hits := 0, 0; begin <= last; hits++ {
		if hits > sampleSize+begin/denseHits {
			return bytes.Contains(data[begin:], part)
		}
		next := bytes.IndexByte(data[begin+at:last+at+1], part[at])
		if next < 0 {
			return false
		}
		if begin += next; bytes.HasPrefix(data[begin:], part) {
			return true
		}
		begin++
	}
	return false
}

// rarest returns the index of the byte of part that is the rarest in a sample.
func rarest(sample, part []byte) int {
	rare, fewest := 0, len(sample)+1
	for i := range part {
		if n := bytes.Count(sample, part[i:i+1]); n < fewest {
			rare, fewest = i, n
		}
	}
	return rare
}
