package dissect

import (
	"encoding/binary"
	"hash/crc32"
	"sort"
)

// A Batch is the header of a record batch, or of a message of magic 0 or 1, in a records field. Offsets in the log are
// in Kafka's sense: places of records in a partition.
type Batch struct {
	At         int  // of its first byte, in the frame from its size prefix on, or in the bytes it was unpacked from
	Size       int  // in bytes, header included; what is there of it when Partial
	Partial    bool // the records field ends inside it
	Header     int  // how many bytes of the header are there
	Magic      int8 // -1 when the batch is cut before it
	BaseOffset int64
	Length     int32 // as on the wire: what follows base offset and length
	CRC        uint32
	Attributes int16

	// Magic 1 only.
	Timestamp int64

	// Magic 2 only.
	LeaderEpoch     int32
	LastOffsetDelta int32
	BaseTimestamp   int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32 // 1 for the older magics

	space space
}

// A space is an address space: the frame, or bytes that were unpacked from a batch in it.
type space struct {
	view *View  // nil for unpacked bytes
	data []byte // unpacked bytes
	deep int    // how often its bytes were unpacked
}

func (s *space) slice(at, n int) []byte {
	if s.view != nil {
		return s.view.slice(at, n)
	}
	if at >= len(s.data) {
		return nil
	}
	return s.data[at:min(at+n, len(s.data))]
}

// Layout of batches. Base offset and length are common to all magics, and all have their magic at the same place.
const (
	batchOverhead    = 12 // base offset and length, which the length does not count
	magicOffset      = 16
	batchHeaderLen   = 61 // of magic 2
	batchCRCStart    = 21 // the CRC of magic 2 covers what is behind it
	batchCountOffset = 57 // of magic 2
	oldHeaderLen     = 18 // of magic 0; magic 1 has a timestamp of 8 bytes behind it
)

// Bits of a batch's attributes.
const (
	codecBits             = 7
	logAppendTimeBit      = 1 << 3
	transactionalBit      = 1 << 4
	controlBit            = 1 << 5
	deleteHorizonBit      = 1 << 6
	newestMagic      int8 = 2
)

// A Codec is how the records of a batch are compressed.
type Codec uint8

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is Kafka's name of the codec, "unknown" where it has none.
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return "unknown"
}

// Codec is how the records are compressed.
func (b *Batch) Codec() Codec { return Codec(b.Attributes & codecBits) }

// LogAppendTime tells whether the broker has set the timestamps; otherwise the producer has.
func (b *Batch) LogAppendTime() bool { return b.Magic > 0 && b.Attributes&logAppendTimeBit != 0 }

// Transactional tells whether the batch is part of a transaction.
func (b *Batch) Transactional() bool { return b.Magic > 1 && b.Attributes&transactionalBit != 0 }

// Control tells whether the records are markers of the broker and not data.
func (b *Batch) Control() bool { return b.Magic > 1 && b.Attributes&controlBit != 0 }

// DeleteHorizon tells whether BaseTimestamp is the time from which on tombstones may be removed.
func (b *Batch) DeleteHorizon() bool { return b.Magic > 1 && b.Attributes&deleteHorizonBit != 0 }

// LastOffset is the offset of the last record. Of a compressed message of older magic it is what its own offset says.
func (b *Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }

// KnownMagic tells whether the layout is known.
func (b *Batch) KnownMagic() bool { return b.Magic >= 0 && b.Magic <= newestMagic }

// Batches calls yield for each batch in a records field, in the order of the bytes. It ends with a partial batch
// where the field ends inside one. The Batch is valid during the call.
func (v *View) Batches(n *Node) func(yield func(*Batch) bool) {
	from := int(n.Offset) + int(n.Prefix)
	return batches(space{view: v}, from, int(n.Offset)+int(n.Length))
}

func batches(s space, at, end int) func(yield func(*Batch) bool) {
	return func(yield func(*Batch) bool) {
		var b Batch
		for at < end {
			b.parse(s, at, end)
			if !yield(&b) {
				return
			}
			at += b.Size
		}
	}
}

// parse reads the header of the batch at offset at of a records field that ends at end.
func (b *Batch) parse(s space, at, end int) {
	header := s.slice(at, min(batchHeaderLen, end-at))
	*b = Batch{At: at, Size: end - at, Partial: true, Header: len(header), Magic: -1, space: s}
	if len(header) >= 8 {
		b.BaseOffset = int64(binary.BigEndian.Uint64(header))
	}
	if len(header) < batchOverhead {
		return
	}
	b.Length = int32(binary.BigEndian.Uint32(header[8:]))
	if size := batchSize(header, end-at); size > 0 {
		b.Size, b.Partial = size, false
	}
	if len(header) <= magicOffset {
		return
	}
	b.Magic = int8(header[magicOffset])
	if b.Magic == newestMagic {
		b.parseV2(header)
	} else {
		b.parseOld(header)
	}
}

// batchSize returns the size of the batch that begins with these bytes, 0 when it is not inside the left bytes of its field.
func batchSize(header []byte, left int) int {
	size := int64(int32(binary.BigEndian.Uint32(header[8:]))) + batchOverhead
	if size <= magicOffset || size > int64(left) {
		return 0
	}
	return int(size)
}

func (b *Batch) parseOld(header []byte) {
	b.CRC = binary.BigEndian.Uint32(header[12:])
	b.Count = 1
	if len(header) >= oldHeaderLen {
		b.Attributes = int16(header[17])
	}
	if b.Magic == 1 && len(header) >= oldHeaderLen+8 {
		b.Timestamp = int64(binary.BigEndian.Uint64(header[oldHeaderLen:]))
	}
}

// parseV2 reads the fields that are whole.
func (b *Batch) parseV2(header []byte) {
	var whole [batchHeaderLen]byte
	copy(whole[:], header)
	h := whole[:]
	b.LeaderEpoch = int32(binary.BigEndian.Uint32(h[12:]))
	b.CRC = binary.BigEndian.Uint32(h[17:])
	b.Attributes = int16(binary.BigEndian.Uint16(h[21:]))
	b.LastOffsetDelta = int32(binary.BigEndian.Uint32(h[23:]))
	b.BaseTimestamp = int64(binary.BigEndian.Uint64(h[27:]))
	b.MaxTimestamp = int64(binary.BigEndian.Uint64(h[35:]))
	b.ProducerID = int64(binary.BigEndian.Uint64(h[43:]))
	b.ProducerEpoch = int16(binary.BigEndian.Uint16(h[51:]))
	b.BaseSequence = int32(binary.BigEndian.Uint32(h[53:]))
	b.Count = int32(binary.BigEndian.Uint32(h[batchCountOffset:]))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum says how a batch of some magic is checked: the polynomial, and where the bytes begin that it covers. They go on to the end.
func checksum(magic int8) (table *crc32.Table, start int) {
	if magic == newestMagic {
		return castagnoli, batchCRCStart
	}
	return crc32.IEEETable, magicOffset
}

// ComputeCRC computes what the batch's CRC should be. ok is false when its bytes are not there.
func (b *Batch) ComputeCRC() (crc uint32, ok bool) {
	table, start := checksum(b.Magic)
	if b.Partial || b.Size < start || !b.KnownMagic() {
		return 0, false
	}
	v := b.space.view
	if v == nil {
		return sum(table, b.space.slice(b.At+start, b.Size-start), b.Size-start)
	}
	if h := v.holeIn(b.At, b.At+b.Size); h != nil {
		return h.crc, h.summed
	}
	if v.summed.at != b.At || v.summed.size != b.Size {
		v.summed = summed{at: b.At, size: b.Size}
		v.summed.crc, v.summed.whole = sum(table, v.slice(b.At+start, b.Size-start), b.Size-start)
	}
	return v.summed.crc, v.summed.whole
}

// A summed is the batch of a frame whose CRC was computed last: it is asked for to find what is wrong, and again where it is shown.
type summed struct {
	at, size int
	crc      uint32
	whole    bool
}

// sum computes a CRC. whole is false when some of the bytes are not there.
func sum(table *crc32.Table, data []byte, size int) (crc uint32, whole bool) {
	return crc32.Checksum(data, table), len(data) == size
}

// holeIn returns the hole that lies between two offsets of the frame, nil when there is none.
func (v *View) holeIn(from, to int) *hole {
	i := sort.Search(len(v.holes), func(i int) bool { return v.holes[i].offset >= from })
	if i < len(v.holes) && v.holes[i].offset < to {
		return &v.holes[i]
	}
	return nil
}

// Verify compares the batch's CRC with its bytes and notes what is wrong: a CRC that differs, a batch that is cut. known is
// false when the CRC cannot be computed, because the batch is cut or of an unknown magic.
func (m *Message) Verify(b *Batch) (valid, known bool) {
	if b.Partial {
		m.note(PartialBatch, Info, b, "the last batch is cut: %d bytes of it are there", b.Size)
		return false, false
	}
	crc, known := b.ComputeCRC()
	valid = known && crc == b.CRC
	if known && !valid {
		m.note(CRCMismatch, Warn, b, "the batch at offset %d of the log has CRC 0x%08x stored, its bytes have 0x%08x", b.BaseOffset, b.CRC, crc)
	}
	return valid, known
}
