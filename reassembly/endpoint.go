package reassembly

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

// An endpoint is an address and a port in a form that is quick to fill and to compare. An
// IPv4 address is kept as its IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
type endpoint struct {
	hi, lo uint64 // the address, in host byte order
	port   uint16
}

func (e *endpoint) setIPv4(addr uint32) {
	e.hi, e.lo = 0, 0xffff<<32|uint64(addr)
}

func (e *endpoint) setIPv6(addr []byte) {
	e.hi, e.lo = binary.BigEndian.Uint64(addr), binary.BigEndian.Uint64(addr[8:])
}

func endpointOf(ap netip.AddrPort) endpoint {
	e := endpoint{port: ap.Port()}
	addr := ap.Addr().As16()
	e.setIPv6(addr[:])
	return e
}

// addrPort returns e as an IPv6 address, or as the IPv4 address that it maps.
func (e endpoint) addrPort(v6 bool) netip.AddrPort {
	var addr [16]byte
	binary.BigEndian.PutUint64(addr[:], e.hi)
	binary.BigEndian.PutUint64(addr[8:], e.lo)
	a := netip.AddrFrom16(addr)
	if !v6 {
		a = a.Unmap()
	}
	return netip.AddrPortFrom(a, e.port)
}

func (e endpoint) compare(f endpoint) int {
	return cmp.Or(cmp.Compare(e.hi, f.hi), cmp.Compare(e.lo, f.lo), cmp.Compare(e.port, f.port))
}

// A key4 names a pair of IPv4 endpoints, the lesser first, so both directions have the same key.
type key4 struct{ a, b uint64 } // the low 48 bits of the address, the port below them

// A key6 does the same for IPv6.
type key6 struct{ a, b endpoint }

func (k key4) ends() (x, y endpoint) {
	x.setIPv4(uint32(k.a >> 16))
	y.setIPv4(uint32(k.b >> 16))
	x.port, y.port = uint16(k.a), uint16(k.b)
	return x, y
}

func (k key6) ends() (x, y endpoint) { return k.a, k.b }

func (k key4) hash() uint64 { return mix(k.a ^ k.b) }

func (k key6) hash() uint64 { return mix(k.a.lo ^ k.b.lo ^ uint64(k.a.port)<<16 ^ uint64(k.b.port)) }

// mix spreads the bits that tell keys apart, most often those of the ports, over the first bits of a word.
func mix(bits uint64) uint64 { return bits * 0x9e3779b97f4a7c15 }

// key4Of returns the key of two endpoints, and whether src is the greater of them.
func key4Of(src, dst endpoint) (k key4, turned bool) {
	k.a = src.lo<<16 | uint64(src.port)
	k.b = dst.lo<<16 | uint64(dst.port)
	if k.a > k.b {
		return key4{k.b, k.a}, true
	}
	return k, false
}

// key6Of returns the key of two endpoints, and whether src is the greater of them.
func key6Of(src, dst endpoint) (k key6, turned bool) {
	if src.compare(dst) > 0 {
		return key6{dst, src}, true
	}
	return key6{src, dst}, false
}
