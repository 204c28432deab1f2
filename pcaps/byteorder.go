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
