package dissect

import "encoding/binary"

// A Batch is the header of a record batch, or of a message of magic 0 or 1, in a records field. Offsets in the log are
// in Kafka's sense: places of records in a partition.
type Batch struct {
	At         int  // of its first byte, from the frame's size prefix on
	Size       int  // in bytes, header included; what is there of it when Partial
	Partial    bool // the records field ends inside it
	Magic      int8
	BaseOffset int64
	Length     int32 // as on the wire: what follows base offset and length
	CRC        uint32
	Attributes int16

	// Magic 2 only.
	LeaderEpoch     int32
	LastOffsetDelta int32
	BaseTimestamp   int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

// magicOffset is where all magics have theirs: behind base offset, length, and leader epoch or CRC.
const magicOffset = 16

// Compression is the number of the codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
func (b *Batch) Compression() int { return int(b.Attributes & 7) }

// Batches calls yield for each batch in a records field, in the order of the bytes. It ends with a partial batch
// where the field ends inside one.
func (m *Message) Batches(n *Node) func(yield func(*Batch) bool) {
	return func(yield func(*Batch) bool) {
		var b Batch
		at, end := int(n.Offset)+int(n.Prefix), int(n.Offset)+int(n.Length)
		for at < end {
			b = parseBatch(m.slice(at, min(batchHeaderLen, end-at)), at, end)
			if !yield(&b) || b.Size <= 0 {
				return
			}
			at += b.Size
		}
	}
}

// parseBatch reads the header of the batch at offset at of a records field that ends at end.
func parseBatch(header []byte, at, end int) Batch {
	b := Batch{At: at, Size: end - at, Partial: true, Magic: -1}
	if len(header) < magicOffset+1 {
		return b
	}
	b.BaseOffset = int64(binary.BigEndian.Uint64(header))
	b.Length = int32(binary.BigEndian.Uint32(header[8:]))
	b.Magic = int8(header[magicOffset])
	if size := int64(b.Length) + batchOverhead; size > magicOffset && size <= int64(end-at) {
		b.Size, b.Partial = int(size), false
	}
	switch {
	case b.Magic < 2 && len(header) > magicOffset+1:
		b.CRC = binary.BigEndian.Uint32(header[12:])
		b.Attributes = int16(header[17])
		b.Count = 1
	case b.Magic == 2 && len(header) >= batchHeaderLen:
		b.parseV2(header)
	}
	return b
}

func (b *Batch) parseV2(header []byte) {
	b.LeaderEpoch = int32(binary.BigEndian.Uint32(header[12:]))
	b.CRC = binary.BigEndian.Uint32(header[17:])
	b.Attributes = int16(binary.BigEndian.Uint16(header[21:]))
	b.LastOffsetDelta = int32(binary.BigEndian.Uint32(header[23:]))
	b.BaseTimestamp = int64(binary.BigEndian.Uint64(header[27:]))
	b.MaxTimestamp = int64(binary.BigEndian.Uint64(header[35:]))
	b.ProducerID = int64(binary.BigEndian.Uint64(header[43:]))
	b.ProducerEpoch = int16(binary.BigEndian.Uint16(header[51:]))
	b.BaseSequence = int32(binary.BigEndian.Uint32(header[53:]))
	b.Count = int32(binary.BigEndian.Uint32(header[57:]))
}
