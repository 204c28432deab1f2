package dissect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Bounds of decompression. A batch of records that are alike shrinks by thousands, but not to hundreds of megabytes; what does
// is a bomb.
const (
	// DefaultMaxUnpacked is to how many bytes a batch may be decompressed.
	DefaultMaxUnpacked = 64 << 20
	maxRatio           = 2000
	freeUnpacked       = 8 << 20 // up to here the ratio does not matter
	maxUnpackDepth     = 3       // compressed messages inside compressed messages
)

// An inflater decompresses batches, one at a time a depth. Its readers and buffers are used again and again.
type inflater struct {
	limit   int // for a batch and all that is inside it
	spent   int // of it
	runs    int // how many batches of a frame were begun
	gzip    *gzip.Reader
	lz4     *lz4.Reader
	zstd    *zstd.Decoder
	direct  *zstd.Decoder // into a buffer that is there, and no further
	source  bytes.Reader
	buffers [maxUnpackDepth][]byte
}

var (
	errTooLarge = errors.New("the batch grows beyond the limit of decompression")
	errTooDeep  = errors.New("compressed batches are nested too deep")
)

// inflate decompresses the records of a batch. The bytes are valid until the next call at the same depth.
func (x *inflater) inflate(codec Codec, packed []byte, depth int) ([]byte, error) {
	if depth >= maxUnpackDepth {
		return nil, errTooDeep
	}
	if depth == 0 {
		x.spent = 0
		x.runs++
	}
	limit := min(x.limit-x.spent, max(freeUnpacked, len(packed)*maxRatio))
	if limit < 0 { // one that was nested in what came before has grown beyond it
		return nil, errTooLarge
	}
	out, err := x.unpack(codec, packed, x.buffers[depth][:0], limit)
	x.spent += len(out)
	x.buffers[depth] = out[:0]
	if cap(out) > freeUnpacked {
		x.buffers[depth] = nil
	}
	return out, err
}

// An unpacked says which batch of a message was decompressed last: a filter asks for it, and the output behind it again.
type unpacked struct {
	at, size int // of the batch, and of its records
	run      int // of the inflater; 0 for none
}

// inflate decompresses the records of a batch, unless that was the last thing that was done.
func (m *Message) inflate(b *Batch, packed []byte) ([]byte, error) {
	x, u := &m.tools.inflater, &m.unpacked
	if b.space.deep > 0 {
		return x.inflate(b.Codec(), packed, b.space.deep)
	}
	if u.run == x.runs && u.run > 0 && u.at == b.At {
		x.spent = u.size
		return x.buffers[0][:u.size], nil
	}
	data, err := x.inflate(b.Codec(), packed, 0)
	if *u = (unpacked{}); err == nil && x.buffers[0] != nil {
		*u = unpacked{at: b.At, size: len(data), run: x.runs}
	}
	return data, err
}

// exhausted tells whether the batch has unpacked to as much as one may.
func (x *inflater) exhausted() bool { return x.spent >= x.limit }

func (x *inflater) unpack(codec Codec, packed, out []byte, limit int) ([]byte, error) {
	switch codec {
	case 1:
		return x.readAll(x.gzipReader, packed, out, limit)
	case 2:
		return unsnappy(packed, out, limit)
	case 3:
		return x.readAll(x.lz4Reader, fixLZ4Header(packed), out, limit)
	case 4:
		return x.unzstd(packed, out, limit)
	}
	return out, fmt.Errorf("codec %d is unknown", codec)
}

// roomToRead is how much room a decompressor gets at least. LZ4 unpacks its blocks, of 64 KiB from Kafka's producers, straight into it; where one has not
// room it is copied, which took twice the time.
const roomToRead = 64 << 10

// readAll reads what a decompressor makes of packed, up to the limit. The buffer grows to little more than that.
func (x *inflater) readAll(reader func() (io.Reader, error), packed, out []byte, limit int) ([]byte, error) {
	x.source.Reset(packed)
	r, err := reader()
	if err != nil {
		return out, err
	}
	for {
		if cap(out)-len(out) < roomToRead {
			out = slices.Grow(out, max(roomToRead, min(len(out), limit+roomToRead-len(out))))
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > limit:
			return out, errTooLarge
		case err == io.EOF:
			return out, nil
		case err != nil:
			return out, err
		}
	}
}

func (x *inflater) gzipReader() (io.Reader, error) {
	if x.gzip != nil {
		return x.gzip, x.gzip.Reset(&x.source)
	}
	var err error
	x.gzip, err = gzip.NewReader(&x.source)
	if err != nil {
		x.gzip = nil
	}
	return x.gzip, err
}

func (x *inflater) lz4Reader() (io.Reader, error) {
	if x.lz4 == nil {
		x.lz4 = lz4.NewReader(&x.source)
	} else {
		x.lz4.Reset(&x.source)
	}
	return x.lz4, nil
}

// Bounds of what a zstd stream may ask to look back, which the decoder allocates at once. Kafka's producers use levels with windows of up to
// 8 MiB; the highest levels want more, which is believed of batches that are not small.
const (
	maxZstdWindow      = 8 << 20
	maxLargeZstdWindow = 64 << 20
	largeZstdBatch     = 64 << 10
)

func (x *inflater) unzstd(packed, out []byte, limit int) ([]byte, error) {
	if unpacked, ok := x.unzstdInto(packed, out[:0:min(cap(out), limit)]); ok {
		return unpacked, nil
	}
	unpacked, err := x.readAll(x.zstdReader, packed, out, limit)
	if !errors.Is(err, zstd.ErrWindowSizeExceeded) || len(packed) < largeZstdBatch {
		return unpacked, err
	}
	return x.readAll(func() (io.Reader, error) { return newZstd(&x.source, maxLargeZstdWindow) }, packed, out, limit)
}

// unzstdInto unpacks into a buffer that has room for all of it, as most have after the first batches: a stream is unpacked into a window and
// copied, which takes an eighth longer.
func (x *inflater) unzstdInto(packed, out []byte) ([]byte, bool) {
	if cap(out) == 0 {
		return nil, false
	}
	if x.direct == nil {
		var err error
		if x.direct, err = newZstd(nil, maxZstdWindow, zstd.WithDecodeAllCapLimit(true)); err != nil {
			return nil, false
		}
	}
	unpacked, err := x.direct.DecodeAll(packed, out)
	return unpacked, err == nil
}

func (x *inflater) zstdReader() (io.Reader, error) {
	if x.zstd != nil {
		return x.zstd, x.zstd.Reset(&x.source)
	}
	var err error
	x.zstd, err = newZstd(&x.source, maxZstdWindow)
	return x.zstd, err
}

func newZstd(r io.Reader, window uint64, options ...zstd.DOption) (*zstd.Decoder, error) {
	return zstd.NewReader(r, append(options, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))...)
}

// xerialMagic begins the framing of the Java library snappy-java: two words of version follow, then chunks with an int32 size each. Other
// clients send one block without any framing.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderLen = 16

func unsnappy(packed, out []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(packed, xerialMagic) || len(packed) < xerialHeaderLen {
		return appendSnappy(out, packed, limit)
	}
	for at := xerialHeaderLen; at < len(packed); {
		if len(packed)-at < 4 {
			return out, io.ErrUnexpectedEOF
		}
		n := int(int32(binary.BigEndian.Uint32(packed[at:])))
		at += 4
		if n < 0 || n > len(packed)-at {
			return out, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = appendSnappy(out, packed[at:at+n], limit); err != nil {
			return out, err
		}
		at += n
	}
	return out, nil
}

// appendSnappy appends what one block of snappy is unpacked to. The block says its size in front, which is believed only as far as the
// format can hold it: 64 bytes for every 3.
func appendSnappy(out, block []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	switch {
	case err != nil:
		return out, err
	case len(out)+n > limit:
		return out, errTooLarge
	case n > 22*len(block):
		return out, snappy.ErrCorrupt
	}
	at := len(out)
	out = append(out, make([]byte, n)...)
	unpacked, err := snappy.Decode(out[at:], block)
	return out[:at+len(unpacked)], err
}

// fixLZ4Header repairs the header checksum of an LZ4 frame, which Kafka's clients before 0.10 computed over the wrong bytes
// (KAFKA-3160). Nothing is lost: the batch has a checksum of its own.
func fixLZ4Header(packed []byte) []byte {
	const magic = 0x184D2204
	if len(packed) < 7 || binary.LittleEndian.Uint32(packed) != magic {
		return packed
	}
	end := 6
	if flags := packed[4]; flags&(1<<3) != 0 {
		end += 8 // content size
	}
	if len(packed) <= end {
		return packed
	}
	if sum := byte(xxh32(packed[4:end]) >> 8); packed[end] != sum {
		packed = bytes.Clone(packed)
		packed[end] = sum
	}
	return packed
}

// xxh32 is the 32-bit xxHash of less than 16 bytes with seed 0, which is all that an LZ4 frame header needs.
func xxh32(b []byte) uint32 {
	const prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	h := uint32(prime5) + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}
