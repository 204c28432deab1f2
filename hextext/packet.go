package hextext

import "encoding/binary"

// Link-level headers in front of IP, by their length and where they say what follows: Ethernet, Ethernet with a VLAN tag, Linux cooked captures of both versions.
var links = [...]struct{ length, typeAt int }{{14, 12}, {18, 16}, {16, 14}, {20, 0}}

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	protoTCP  = 6
)

// payload returns what TCP carries in a packet, or all of it where it is no packet of IP and TCP.
func payload(packet []byte) []byte {
	if data, ok := ipPayload(packet); ok {
		return data
	}
	for _, l := range links {
		if len(packet) < l.length {
			continue
		}
		if t := binary.BigEndian.Uint16(packet[l.typeAt:]); t != etherIPv4 && t != etherIPv6 {
			continue
		}
		if data, ok := ipPayload(packet[l.length:]); ok {
			return data
		}
	}
	return packet
}

// ipPayload returns what TCP carries in an IP packet. It must be one beyond doubt: Kafka's bytes must not be taken for it.
func ipPayload(packet []byte) (data []byte, ok bool) {
	switch {
	case len(packet) >= 40 && packet[0]>>4 == 4:
		header, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
		if header < 20 || packet[9] != protoTCP || total < header+20 || total > len(packet) {
			return nil, false
		}
		return tcpPayload(packet[header:total])
	case len(packet) >= 60 && packet[0]>>4 == 6:
		length := int(binary.BigEndian.Uint16(packet[4:]))
		if packet[6] != protoTCP || length < 20 || 40+length > len(packet) {
			return nil, false
		}
		return tcpPayload(packet[40 : 40+length])
	}
	return nil, false
}

func tcpPayload(segment []byte) (data []byte, ok bool) {
	header := int(segment[12]>>4) * 4
	if header < 20 || header > len(segment) {
		return nil, false
	}
	return segment[header:], true
}
