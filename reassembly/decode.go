package reassembly

import (
	"encoding/binary"
	"fmt"

	"github.com/kdissect/kdissect/pcaps"
)

// A segment is one TCP segment as it was captured. Its payload aliases the packet.
type segment struct {
	src, dst endpoint
	v6       bool // the addresses are IPv6
	flags    uint8
	seq, ack uint32 // as on the wire
	payload  []byte // the captured part
	length   int    // bytes of payload on the wire, at least len(payload)
	leads    bool   // it is a part of a segment, the rest of which may have been captured earlier or later

	tunnels  int      // tunnel headers passed on the way to the segment
	fragment fragment // what decode stopped at when it returned isFragment
}

// TCP flags (RFC 9293, section 3.1).
const (
	flagFIN = 0x01
	flagSYN = 0x02
	flagRST = 0x04
	flagACK = 0x10
)

// isPlain says that s neither begins nor ends anything.
func (s *segment) isPlain() bool { return s.flags&(flagSYN|flagFIN|flagRST) == 0 }

// Values of the EtherType field (IEEE 802 numbers).
const (
	etherTypeIPv4     = 0x0800
	etherTypeVLAN     = 0x8100 // 802.1Q
	etherTypeIPv6     = 0x86dd
	etherTypePPPoE    = 0x8864 // session stage, RFC 2516
	etherTypeQinQ     = 0x88a8 // 802.1ad
	etherTypeOldQinQ  = 0x9100 // stacked tags before 802.1ad
	etherTypeBridging = 0x6558 // transparent Ethernet bridging: an Ethernet frame follows
)

// IP protocol numbers. Those that carry nothing but a further header are IPv6 extension headers.
const (
	protoHopByHop    = 0
	protoTCP         = 6
	protoUDP         = 17
	protoRouting     = 43
	protoIPv4        = 4
	protoIPv6        = 41
	protoGRE         = 47
	protoFragment    = 44
	protoAuth        = 51
	protoDestination = 60
	protoMobility    = 135
	protoHIP         = 139
	protoShim6       = 140
)

// A verdict says what decode found in a packet.
type verdict uint8

const (
	isTCP       verdict = iota
	notTCP              // something else
	isFragment          // a piece of an IP packet, so what follows its header may be anywhere
	malformed           // a header that contradicts itself, or that was not captured whole
	unknownLink         // a link type that decode does not know
)

// An UnsupportedLinkError says that packets of a link type cannot be read.
type UnsupportedLinkError struct {
	Link   pcaps.LinkType
	Packet int64 // the first such packet of a file, counted from 1
}

func (e *UnsupportedLinkError) Error() string {
	return fmt.Sprintf("packet %d: unsupported link type %v", e.Packet, e.Link)
}

// decode reads the headers of p into s. Unless it returns isTCP, s holds nothing of use.
//
// Each layer takes what was captured of it and its length on the wire: a snap length cuts
// the first, and only the second tells how long the payload was.
func (s *segment) decode(p *pcaps.Packet) verdict {
	s.tunnels = 0
	if data := p.Data; p.Link == pcaps.LinkTypeEthernet && len(data) > 14 && binary.BigEndian.Uint16(data[12:]) == etherTypeIPv4 && s.plain(data[14:]) {
		return isTCP
	}
	// Some writers claim a wire length below what they captured; the bytes are proof of the contrary.
	wire := max(int(p.WireLen), len(p.Data))
	switch p.Link {
	case pcaps.LinkTypeEthernet:
		return s.ethernet(p.Data, wire)
	case pcaps.LinkTypeLinuxSLL:
		return s.typed(14, 16, p.Data, wire)
	case pcaps.LinkTypeLinuxSLL2:
		return s.typed(0, 20, p.Data, wire)
	case pcaps.LinkTypeNull, pcaps.LinkTypeLoop:
		return s.loopback(p.Data, wire)
	case pcaps.LinkTypeRaw, pcaps.LinkTypeRawBSD, pcaps.LinkTypeRawOpen, pcaps.LinkTypeIPv4, pcaps.LinkTypeIPv6:
		return s.ip(p.Data, wire)
	case pcaps.LinkTypePPP, pcaps.LinkTypePPPHDLC:
		return s.ppp(p.Data, wire)
	case pcaps.LinkTypePPPEther:
		return s.pppoe(p.Data, wire)
	case pcaps.LinkTypeCHDLC:
		return s.typed(2, 4, p.Data, wire)
	}
	return unknownLink
}

func (s *segment) ethernet(data []byte, wire int) verdict {
	return s.typed(12, 14, data, wire)
}

// typed reads a link header of the given size that has an EtherType at offset at.
func (s *segment) typed(at, size int, data []byte, wire int) verdict {
	if len(data) < size {
		return malformed
	}
	return s.network(binary.BigEndian.Uint16(data[at:]), data[size:], wire-size)
}

// network reads what an EtherType announces, passing over any stack of VLAN tags.
func (s *segment) network(etherType uint16, data []byte, wire int) verdict {
	for etherType == etherTypeVLAN || etherType == etherTypeQinQ || etherType == etherTypeOldQinQ {
		if len(data) < 4 {
			return malformed
		}
		etherType = binary.BigEndian.Uint16(data[2:])
		data, wire = data[4:], wire-4
	}
	switch etherType {
	case etherTypeIPv4, etherTypeIPv6:
		return s.ip(data, wire)
	case etherTypePPPoE:
		return s.pppoe(data, wire)
	}
	return notTCP
}

// loopback reads the address family that BSD loopback interfaces put before a packet, in
// the byte order of the host that captured it. The families that mean IPv6 differ between systems.
func (s *segment) loopback(data []byte, wire int) verdict {
	if len(data) < 4 {
		return malformed
	}
	family := binary.LittleEndian.Uint32(data)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(data)
	}
	switch family {
	case 2, 10, 24, 28, 30:
		return s.ip(data[4:], wire-4)
	}
	return notTCP
}

// pppoe reads a PPPoE session header (RFC 2516, section 4).
func (s *segment) pppoe(data []byte, wire int) verdict {
	if len(data) < 6 {
		return malformed
	}
	return s.ppp(data[6:], wire-6)
}

// ppp reads a PPP header (RFC 1661, section 2), with address and control bytes before it (RFC 1662) or
// without, the protocol compressed to one byte or not: an odd byte ends the field.
func (s *segment) ppp(data []byte, wire int) verdict {
	if len(data) >= 2 && data[0] == 0xff && data[1] == 0x03 {
		data, wire = data[2:], wire-2
	}
	var protocol uint16
	for size := 1; ; size++ {
		if size > 2 || len(data) == 0 {
			return malformed
		}
		protocol = protocol<<8 | uint16(data[0])
		data, wire = data[1:], wire-1
		if protocol&1 != 0 {
			break
		}
	}
	const pppIPv4, pppIPv6 = 0x21, 0x57
	if protocol == pppIPv4 || protocol == pppIPv6 {
		return s.ip(data, wire)
	}
	return notTCP
}

// ip goes by the version in the packet, which is right even where the link layer says otherwise.
func (s *segment) ip(data []byte, wire int) verdict {
	if len(data) == 0 {
		return malformed
	}
	switch data[0] >> 4 {
	case 4:
		if s.plain(data) {
			return isTCP
		}
		return s.ipv4(data, wire)
	case 6:
		return s.ipv6(data, wire)
	}
	return malformed
}

// plain reads the headers of IPv4 and TCP in one go where they are like nearly all: no options of IP, no fragment, nothing cut off. If so it does what
// ipv4 and tcp do, which read all others.
func (s *segment) plain(data []byte) bool {
	if len(data) < 40 {
		return false
	}
	h := (*[40]byte)(data)
	total, at := int(binary.BigEndian.Uint16(h[2:])), 20+int(h[32]>>4)*4
	const moreFragments, offsetMask = 0x2000, 0x1fff
	if h[0] != 4<<4|5 || h[9] != protoTCP || binary.BigEndian.Uint16(h[6:])&(moreFragments|offsetMask) != 0 || at < 40 || total < at || total > len(data) {
		return false
	}
	s.v6 = false
	s.src.setIPv4(binary.BigEndian.Uint32(h[12:]))
	s.dst.setIPv4(binary.BigEndian.Uint32(h[16:]))
	s.src.port, s.dst.port = binary.BigEndian.Uint16(h[20:]), binary.BigEndian.Uint16(h[22:])
	s.seq, s.ack, s.flags = binary.BigEndian.Uint32(h[24:]), binary.BigEndian.Uint32(h[28:]), h[33]
	s.payload, s.length = data[at:total], total-at
	return true
}

// ipv4 reads an IPv4 header (RFC 791, section 3.1). Its total length is what counts: an
// Ethernet frame may have padding behind the packet. Zero stands there when segmentation
// was left to the network card; the packet then fills its frame.
func (s *segment) ipv4(data []byte, wire int) verdict {
	if len(data) < 20 {
		return malformed
	}
	header, total := int(data[0]&0x0f)*4, int(binary.BigEndian.Uint16(data[2:]))
	if total == 0 {
		total = wire
	}
	if header < 20 || total < header || len(data) < header {
		return malformed
	}
	s.v6 = false
	s.src.setIPv4(binary.BigEndian.Uint32(data[12:]))
	s.dst.setIPv4(binary.BigEndian.Uint32(data[16:]))
	body := data[header:min(len(data), total)]
	const moreFragments, offsetMask = 0x2000, 0x1fff
	if place := binary.BigEndian.Uint16(data[6:]); place&(moreFragments|offsetMask) != 0 {
		s.fragment = fragment{
			datagramKey: keyOf(s, uint32(binary.BigEndian.Uint16(data[4:])), data[9]),
			next:        data[9],
			piece:       piece{int64(place&offsetMask) * 8, body, int64(total - header - len(body)), Origin{}},
			more:        place&moreFragments != 0,
		}
		return isFragment
	}
	return s.transport(data[9], body, total-header)
}

// ipv6 reads an IPv6 header and its extension headers (RFC 8200). A payload length of zero
// means a jumbogram (RFC 2675) or segmentation left to the network card: either fills its frame.
func (s *segment) ipv6(data []byte, wire int) verdict {
	if len(data) < 40 {
		return malformed
	}
	length := int(binary.BigEndian.Uint16(data[4:]))
	if length == 0 {
		length = wire - 40
	}
	next := data[6]
	s.v6 = true
	s.src.setIPv6(data[8:24])
	s.dst.setIPv6(data[24:40])
	return s.extensions(next, data[40:min(len(data), 40+length)], length)
}

// extensions passes over the extension headers of IPv6.
func (s *segment) extensions(next byte, data []byte, length int) verdict {
	// Every turn leaves at least 8 bytes behind, so the data bound the loop.
	for {
		size := 8
		switch next {
		case protoHopByHop, protoRouting, protoDestination, protoMobility, protoHIP, protoShim6:
			if len(data) >= 8 {
				size = (int(data[1]) + 1) * 8
			}
		case protoAuth: // counts in words of 4 bytes (RFC 4302, section 2.2)
			if len(data) >= 8 {
				size = (int(data[1]) + 2) * 4
			}
		case protoFragment:
			const more, reserved = 1, 6
			if len(data) >= 8 && binary.BigEndian.Uint16(data[2:])&^reserved != 0 {
				place := binary.BigEndian.Uint16(data[2:])
				s.fragment = fragment{
					datagramKey: keyOf(s, binary.BigEndian.Uint32(data[4:]), 0),
					next:        data[0],
					piece:       piece{int64(place &^ 7), data[8:], int64(length - len(data)), Origin{}},
					more:        place&more != 0,
				}
				return isFragment
			}
		default:
			return s.transport(next, data, length)
		}
		if len(data) < size {
			return malformed
		}
		next = data[0]
		data, length = data[size:], length-size
	}
}

func (s *segment) transport(protocol byte, data []byte, wire int) verdict {
	switch protocol {
	case protoTCP:
		return s.tcp(data, wire)
	case protoUDP:
		return s.tunnel(data, wire)
	case protoGRE:
		return s.gre(data, wire)
	case protoIPv4, protoIPv6:
		return s.ipInIP(data, wire)
	}
	return notTCP
}

// tcp reads a TCP header (RFC 9293, section 3.1). Options are passed over, even where the snap length cut them.
func (s *segment) tcp(data []byte, wire int) verdict {
	if len(data) < 20 {
		return malformed
	}
	header := int(data[12]>>4) * 4
	if header < 20 || wire < header {
		return malformed
	}
	s.src.port = binary.BigEndian.Uint16(data)
	s.dst.port = binary.BigEndian.Uint16(data[2:])
	s.seq = binary.BigEndian.Uint32(data[4:])
	s.ack = binary.BigEndian.Uint32(data[8:])
	s.flags = data[13]
	s.payload = data[min(header, len(data)):]
	s.length = wire - header
	return isTCP
}
