package pcaps

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow is the most that a zstd stream may ask to look back, in bytes: what zstd --long
// asks for, and where the zstd command stops by default. The memory is reserved at once but
// touched only as far as data reach; the ordinary levels ask for 8 MiB at most.
const maxZstdWindow = 128 << 20

// An input is the stream of a capture, unpacked where it is compressed.
type input struct {
	io.Reader
	compression string // "gzip", "zstd", or empty
	raw         *rawReader
	release     func() // frees what unpacking holds
}

// newInput looks at the first bytes of r and unpacks what begins as gzip or zstd do. Several
// members or frames one after the other are one stream, which both formats demand.
func newInput(r io.Reader) (*input, error) {
	raw := &rawReader{Reader: r}
	// A read into more room than the buffer has goes past the buffer once it is empty.
	buffered := bufio.NewReader(raw)
	in := &input{Reader: buffered, raw: raw, release: func() {}}

	magic, _ := buffered.Peek(4) // whoever reads next meets the error too
	switch {
	case isGzip(magic):
		unpacker, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("its gzip header cannot be read: %w", err)
		}
		in.Reader, in.compression = unpacker, "gzip"
	case isZstd(magic):
		unpacker, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		in.Reader, in.compression, in.release = unpacker, "zstd", unpacker.Close
	}
	return in, nil
}

// isGzip reports whether magic begins as RFC 1952 says: two fixed bytes, then the method, deflate.
func isGzip(magic []byte) bool {
	return bytes.HasPrefix(magic, []byte{0x1f, 0x8b, 8})
}

// isZstd reports whether magic is that of a frame or a skippable frame, RFC 8878 section 3.1.
func isZstd(magic []byte) bool {
	if len(magic) < 4 {
		return false
	}
	number := littleEndian.uint32(magic)
	return number == 0xfd2fb528 || number&^0xf == 0x184d2a50
}

// failed reports whether the stream ended because reading failed rather than because of what was read.
func (in *input) failed() bool {
	return in.compression == "" || in.raw.failed
}

// A rawReader counts what is read, and remembers whether reading failed, which tells a disk's error from that of an
// unpacker above it.
type rawReader struct {
	io.Reader
	bytes  int64
	failed bool
}

func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.bytes += int64(n)
	r.failed = r.failed || err != nil && err != io.EOF
	return n, err
}
