package traffic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codecs are the names of Kafka's compression codecs, by their number.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// pack compresses the records of a batch, as fast clients do: LZ4 in blocks of 64 KiB, snappy as one block.
func pack(codec int, records []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch Codecs[codec] {
	case "none":
		return records
	case "gzip":
		w = gzip.NewWriter(&b)
	case "snappy":
		return snappy.Encode(nil, records)
	case "lz4":
		z := lz4.NewWriter(&b)
		z.Apply(lz4.BlockSizeOption(lz4.Block64Kb)) // a right option
		w = z
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)) // right options
	}
	w.Write(records)
	w.Close()
	return b.Bytes()
}

// record is one of a batch of magic 2, without key and headers.
func record(offset int, value []byte) []byte {
	body := binary.AppendVarint([]byte{0, 0}, int64(offset)) // attributes, time
	body = binary.AppendVarint(body, -1)
	body = append(binary.AppendVarint(body, int64(len(value))), value...)
	body = append(body, 0)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// batchOverhead is what batch puts in front of the records.
const batchOverhead = 61

// batch is a batch of magic 2.
func batch(codec, count int, records []byte) []byte {
	const now = 1_790_000_000_000
	body := int16s(codec)
	body = append(body, int32s(count-1)...)
	body = append(body, int64s(now, now, -1)...)
	body = append(body, int16s(-1)...)
	body = append(body, int32s(-1, count)...)
	body = append(body, pack(codec, records)...)
	b := int64s(0)
	b = append(b, int32s(4+1+4+len(body), -1)...)
	b = append(b, 2)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, body...)
}

// batchRecords and recordSize say what a batch of WriteBatches holds.
const (
	batchRecords = 100
	recordSize   = 1000
)

// orderRecords are records of JSON text that shrinks about as that of applications does.
func orderRecords(r *rand.Rand) []byte {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var records []byte
	for i := range batchRecords {
		value := fmt.Appendf(nil, `{"order":"%08x-%04x","customer":%d,"status":"%s","items":[`,
			r.Uint32(), r.IntN(1<<16), r.IntN(100_000), pick("new", "paid", "shipped", "returned"))
		for len(value) < recordSize-100 {
			value = fmt.Appendf(value, `{"sku":"%s-%05d","count":%d,"price":%d.%02d,"store":"%s"},`,
				pick("book", "shoe", "lamp", "chair", "phone"), r.IntN(100_000), 1+r.IntN(9), r.IntN(500), r.IntN(100), pick("north", "south", "east", "west"))
		}
		value = fmt.Appendf(value[:len(value)-1], `],"note":"%016x"}`, r.Uint64())
		records = append(records, record(i, value)...)
	}
	return records
}

// WriteBatches writes a capture of Produce requests, each with one batch of 100 records of about 1000 bytes of JSON text, that are size bytes before compression.
// The packed records go to blocks as well, each with its length in front, for a program that unpacks them and does nothing else.
func WriteBatches(out, blocks io.Writer, codec int, size int64) error {
	w := NewWriter(out)
	w.Segment = LinkSegment
	r := rand.New(rand.NewPCG(1, 2))
	c := w.connect(0).accept()
	for n := 0; size > 0; n++ {
		records := orderRecords(r)
		b := batch(codec, batchRecords, records)
		c.produce(n, b)
		packed := b[batchOverhead:]
		if _, err := blocks.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packed))), packed...)); err != nil {
			return err
		}
		size -= int64(len(records))
	}
	c.close()
	return w.Flush()
}
