package reassembly

import "encoding/binary"

// UDP ports of tunnels that mirrored and container traffic comes in.
const (
	portVXLAN      = 4789 // RFC 7348
	portVXLANLinux = 8472 // what Linux used before there was an RFC, and flannel still does
	portGeneve     = 6081 // RFC 8926
)

// maxTunnels bounds how many tunnels may stand inside one another in a packet.
const maxTunnels = 4

// tunnel reads a UDP datagram: when it carries a tunnel, s becomes the segment inside.
func (s *segment) tunnel(data []byte, wire int) verdict {
	if len(data) < 8 {
		return malformed
	}
	inner := (*segment).vxlan
	switch binary.BigEndian.Uint16(data[2:]) {
	case portVXLAN, portVXLANLinux:
	case portGeneve:
		inner = (*segment).geneve
	default:
		return notTCP
	}
	if s.tunnels++; s.tunnels > maxTunnels {
		return notTCP
	}
	return inner(s, data[8:], wire-8)
}

// ipInIP reads an IP packet inside another one (RFC 2003, RFC 4213).
func (s *segment) ipInIP(data []byte, wire int) verdict {
	if s.tunnels++; s.tunnels > maxTunnels {
		return notTCP
	}
	return s.ip(data, wire)
}

// gre reads a GRE header (RFC 2784, with the key and sequence number of RFC 2890).
func (s *segment) gre(data []byte, wire int) verdict {
	if s.tunnels++; s.tunnels > maxTunnels || len(data) < 4 || data[1]&7 != 0 {
		return notTCP
	}
	const checksum, key, sequence = 0x80, 0x20, 0x10
	size := 4
	for _, flag := range []byte{checksum, key, sequence} {
		if data[0]&flag != 0 {
			size += 4
		}
	}
	if len(data) < size {
		return malformed
	}
	protocol := binary.BigEndian.Uint16(data[2:])
	if protocol == etherTypeBridging {
		return s.ethernet(data[size:], wire-size)
	}
	return s.network(protocol, data[size:], wire-size)
}

// vxlan reads a VXLAN header (RFC 7348, section 5), which must have the I flag set.
func (s *segment) vxlan(data []byte, wire int) verdict {
	if len(data) < 8 || data[0]&0x08 == 0 {
		return notTCP
	}
	return s.ethernet(data[8:], wire-8)
}

// geneve reads a Geneve header (RFC 8926, section 3.4) with its options.
func (s *segment) geneve(data []byte, wire int) verdict {
	if len(data) < 8 {
		return notTCP
	}
	version, size := data[0]>>6, 8+int(data[0]&0x3f)*4
	if version != 0 || len(data) < size {
		return notTCP
	}
	protocol := binary.BigEndian.Uint16(data[2:])
	if protocol == etherTypeBridging {
		return s.ethernet(data[size:], wire-size)
	}
	return s.network(protocol, data[size:], wire-size)
}
