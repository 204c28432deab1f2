package pcaps

import (
	"encoding/binary"
	"math/bits"
)

// byteOrder is the byte order of a file or section. It is a flag rather than a
// binary.ByteOrder because calls through that interface are not inlined.
type byteOrder bool

const (
	littleEndian byteOrder = false
	bigEndian    byteOrder = true
)

func (o byteOrder) uint16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if o == bigEndian {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (o byteOrder) uint32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if o == bigEndian {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (o byteOrder) uint64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if o == bigEndian {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// fourWords returns four uint32 that follow each other, with one look at the byte order.
func (o byteOrder) fourWords(b *[16]byte) (w0, w1, w2, w3 uint32) {
	le := binary.LittleEndian
	w0, w1, w2, w3 = le.Uint32(b[0:]), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	if o == bigEndian {
		return bits.ReverseBytes32(w0), bits.ReverseBytes32(w1), bits.ReverseBytes32(w2), bits.ReverseBytes32(w3)
	}
	return w0, w1, w2, w3
}
