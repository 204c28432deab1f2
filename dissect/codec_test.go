package dissect

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// A buffer does not grow to twice the limit of what may be unpacked into it.
func TestUnpackingGrowsToTheLimit(t *testing.T) {
	for limit := 1 << 20; limit < 2<<20; limit += 50_000 {
		for _, size := range []int{limit - 1, limit, limit + 1, 4 * limit} {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			w.Write(make([]byte, size))
			w.Close()
			var x inflater
			out, err := x.unpack(1, packed.Bytes(), nil, limit)
			if errors.Is(err, errTooLarge) != (size > limit) || size <= limit && (err != nil || len(out) != size) {
				t.Errorf("%d bytes, of %d that may be: %d unpacked, %v", size, limit, len(out), err)
			}
			if cap(out) > limit*3/2 {
				t.Errorf("%d bytes, of %d that may be: the buffer has %d", size, limit, cap(out))
			}
		}
	}
}
