package render

import (
	"encoding/binary"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Where the fields of a record batch of magic 2 stand in it.
const (
	batchOverhead  = 12 // base offset and length, which are not counted in the length
	batchMagic     = 16
	batchAttrs     = 21
	batchLastDelta = 23
	batchCount     = 57
	batchHeader    = 61
)

var codecNames = [...]string{"uncompressed", "gzip", "snappy", "lz4", "zstd", "codec 5", "codec 6", "codec 7"}

const (
	codecBits             = 7
	transactionalBit      = 0x10
	controlBit            = 0x20
	magicBatch       byte = 2
)

// A digest is what the headers of the batches in a records field say.
type digest struct {
	batches, records int
	first, last      int64 // offsets
	codecs           uint8 // a bit a codec
	attributes       uint16
	rest             int // bytes behind the batches that were read
}

// digestOf reads the headers of the batches of magic 2 that stand at the beginning of data.
func digestOf(data []byte, size int) (d digest) {
	d.rest = size
	for len(data) >= batchHeader && data[batchMagic] == magicBatch {
		base := int64(binary.BigEndian.Uint64(data))
		length := batchOverhead + int(int32(binary.BigEndian.Uint32(data[8:])))
		if length < batchHeader || length > d.rest {
			break
		}
		if d.batches == 0 {
			d.first = base
		}
		attributes := binary.BigEndian.Uint16(data[batchAttrs:])
		d.batches++
		d.records += int(int32(binary.BigEndian.Uint32(data[batchCount:])))
		d.last = base + int64(int32(binary.BigEndian.Uint32(data[batchLastDelta:])))
		d.codecs |= 1 << (attributes & codecBits)
		d.attributes |= attributes
		d.rest -= length
		data = data[min(length, len(data)):]
	}
	return d
}

// appendRecords appends the size of a records field and a digest of its batches.
func appendRecords(b []byte, m *dissect.Message, n *dissect.Node) []byte {
	size := int(n.Length) - int(n.Prefix)
	b = appendQuantity(b, size, "byte")
	d := digestOf(m.Bytes(n), size)
	if d.batches == 0 {
		return b
	}
	b = appendQuantity(append(b, ", "...), d.batches, "batch")
	if d.batches > 1 {
		b = append(b[:len(b)-1], "es"...)
	}
	b = appendQuantity(append(b, ": "...), d.records, "record")
	b = strconv.AppendInt(append(b, " at offset "...), d.first, 10)
	if d.last > d.first {
		b = strconv.AppendInt(append(b, ".."...), d.last, 10)
	}
	for codec, name := range codecNames {
		if d.codecs>>codec&1 != 0 {
			b = append(append(b, ", "...), name...)
		}
	}
	if d.attributes&transactionalBit != 0 {
		b = append(b, ", transactional"...)
	}
	if d.attributes&controlBit != 0 {
		b = append(b, ", control"...)
	}
	if d.rest > 0 {
		b = appendQuantity(append(b, ", then "...), d.rest, "byte")
	}
	return b
}

// isRecords tells whether a leaf is a records field with batches in it.
func isRecords(n *dissect.Node) bool {
	return n.Kind == dissect.ValueNode && n.Op.Code == schema.OpRecords
}
