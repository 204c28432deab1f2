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

// fields returns the four fields of a packet header of classic pcap: seconds, fraction, captured length and length on the wire.
func (o byteOrder) fields(h *[classicPacketHeaderLen]byte) (seconds, fraction, captured, wire uint32) {
	le := binary.LittleEndian
	seconds, fraction, captured, wire = le.Uint32(h[0:]), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:])
	if o == bigEndian {
		return bits.ReverseBytes32(seconds), bits.ReverseBytes32(fraction), bits.ReverseBytes32(captured), bits.ReverseBytes32(wire)
	}
	return seconds, fraction, captured, wire
}
