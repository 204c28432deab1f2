package reassembly

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/kdissect/kdissect/pcaps"
)

const payload = "what is sent"

// A linkPacket is the same segment, 192.0.2.1:40000 to 192.0.2.2:9092 or the like in IPv6, behind other headers.
type linkPacket struct {
	name string
	link pcaps.LinkType
	data []byte
}

var (
	mac     = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	ether4  = &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypeIPv4}
	ether6  = &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypeIPv6}
	etherQ  = &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypeDot1Q}
	etherQQ = &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypeQinQ}
	etherP  = &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: layers.EthernetTypePPPoESession}
	vlan    = &layers.Dot1Q{VLANIdentifier: 7, Priority: 3, Type: layers.EthernetTypeIPv4}
	vlanQ   = &layers.Dot1Q{VLANIdentifier: 9, Type: layers.EthernetTypeDot1Q}
)

func ip4(protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
}

func ip6(next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: net.ParseIP("2001:db8::1"), DstIP: net.ParseIP("2001:db8::2")}
}

func serialize(t testing.TB, stack ...gopacket.SerializableLayer) []byte {
	t.Helper()
	tcp := &layers.TCP{SrcPort: 40000, DstPort: 9092, Seq: 0xfffffff0, Ack: 77, ACK: true, PSH: true, Window: 500, Options: []layers.TCPOption{
		{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
		{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)},
	}}
	buf := gopacket.NewSerializeBuffer()
	stack = append(stack, tcp, gopacket.Payload(payload))
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, stack...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func join(header string, packet []byte) []byte { return append([]byte(header), packet...) }

func linkPackets(t testing.TB) []linkPacket {
	tcp, udp := layers.IPProtocolTCP, layers.IPProtocolUDP
	v4, v6 := serialize(t, ip4(tcp)), serialize(t, ip6(tcp))
	options := ip4(tcp)
	options.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	noLength := serialize(t, ether4, ip4(tcp))
	noLength[16], noLength[17] = 0, 0
	noLength6 := serialize(t, ether6, ip6(tcp))
	noLength6[18], noLength6[19] = 0, 0
	udpTo := func(port layers.UDPPort) *layers.UDP { return &layers.UDP{SrcPort: 50000, DstPort: port} }
	vxlan := &layers.VXLAN{ValidIDFlag: true, VNI: 5}
	oldQinQ := serialize(t, etherQ, vlan, ip4(tcp))
	oldQinQ[12], oldQinQ[13] = 0x91, 0x00
	return []linkPacket{
		{"Ethernet, IPv4", pcaps.LinkTypeEthernet, serialize(t, ether4, ip4(tcp))},
		{"Ethernet, IPv4 with options", pcaps.LinkTypeEthernet, serialize(t, ether4, options)},
		{"Ethernet, IPv4, padding", pcaps.LinkTypeEthernet, append(serialize(t, ether4, ip4(tcp)), 0, 0, 0, 0)},
		{"Ethernet, IPv4, total length 0", pcaps.LinkTypeEthernet, noLength},
		{"Ethernet, IPv6", pcaps.LinkTypeEthernet, serialize(t, ether6, ip6(tcp))},
		{"Ethernet, IPv6, payload length 0", pcaps.LinkTypeEthernet, noLength6},
		{"802.1Q", pcaps.LinkTypeEthernet, serialize(t, etherQ, vlan, ip4(tcp))},
		{"802.1ad over 802.1Q", pcaps.LinkTypeEthernet, serialize(t, etherQQ, vlan, ip4(tcp))},
		{"0x9100", pcaps.LinkTypeEthernet, oldQinQ},
		{"three VLAN tags", pcaps.LinkTypeEthernet, serialize(t, etherQ, vlanQ, vlanQ, vlan, ip4(tcp))},
		{"PPPoE", pcaps.LinkTypeEthernet, serialize(t, etherP, &layers.PPPoE{Version: 1, Type: 1}, &layers.PPP{PPPType: layers.PPPTypeIPv4}, ip4(tcp))},
		{"VXLAN", pcaps.LinkTypeEthernet, serialize(t, ether4, ip4(udp), udpTo(4789), vxlan, ether4, ip4(tcp))},
		{"VXLAN over IPv6, old port", pcaps.LinkTypeEthernet, serialize(t, ether6, ip6(udp), udpTo(8472), vxlan, ether6, ip6(tcp))},
		{"Geneve, an option, IPv4", pcaps.LinkTypeRaw, serialize(t, ip4(udp), udpTo(6081), gopacket.Payload("\x01\x00\x08\x00\x00\x00\x05\x00\x01\x02\x03\x04"), ip4(tcp))},
		{"Geneve, Ethernet", pcaps.LinkTypeRaw, serialize(t, ip4(udp), udpTo(6081), gopacket.Payload("\x00\x00\x65\x58\x00\x00\x05\x00"), ether4, ip4(tcp))},
		{"LINUX_SLL", pcaps.LinkTypeLinuxSLL, join("\x00\x00\x03\x04\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00", v4)},
		{"LINUX_SLL with a VLAN tag", pcaps.LinkTypeLinuxSLL, join("\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00\x81\x00\x00\x07\x86\xdd", v6)},
		{"LINUX_SLL2", pcaps.LinkTypeLinuxSLL2, join("\x86\xdd\x00\x00\x00\x00\x00\x01\x03\x04\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00", v6)},
		{"NULL, little-endian", pcaps.LinkTypeNull, join("\x02\x00\x00\x00", v4)},
		{"NULL, big-endian", pcaps.LinkTypeNull, join("\x00\x00\x00\x02", v4)},
		{"NULL, IPv6 of macOS", pcaps.LinkTypeNull, join("\x1e\x00\x00\x00", v6)},
		{"LOOP, IPv6 of OpenBSD", pcaps.LinkTypeLoop, join("\x00\x00\x00\x18", v6)},
		{"RAW 101, IPv4", pcaps.LinkTypeRaw, v4},
		{"RAW 101, IPv6", pcaps.LinkTypeRaw, v6},
		{"RAW 12", pcaps.LinkTypeRawBSD, v4},
		{"RAW 14", pcaps.LinkTypeRawOpen, v4},
		{"IPV4", pcaps.LinkTypeIPv4, v4},
		{"IPV6", pcaps.LinkTypeIPv6, v6},
		{"PPP", pcaps.LinkTypePPP, serialize(t, &layers.PPP{PPPType: layers.PPPTypeIPv6}, ip6(tcp))},
		{"PPP, compressed protocol", pcaps.LinkTypePPP, join("\x21", v4)},
		{"PPP with HDLC framing", pcaps.LinkTypePPPHDLC, join("\xff\x03\x00\x21", v4)},
		{"PPPoE session", pcaps.LinkTypePPPEther, join("\x11\x00\x00\x01\x00\x3a\x00\x57", v6)},
		{"Cisco HDLC", pcaps.LinkTypeCHDLC, join("\x0f\x00\x08\x00", v4)},
		{"IPv6 extension headers", pcaps.LinkTypeRaw, extensionHeaders(t)},
	}
}

// extensionHeaders puts a hop-by-hop, a routing, a first fragment, an authentication and a destination header before TCP.
func extensionHeaders(t testing.TB) []byte {
	headers := "\x2b\x00\x01\x04\x00\x00\x00\x00" +
		"\x2c\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x33\x00\x00\x00\x00\x00\x00\x09" +
		"\x3c\x04\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01abcdefghijkl" +
		"\x06\x00\x01\x04\x00\x00\x00\x00"
	return serialize(t, ip6(layers.IPProtocolIPv6HopByHop), gopacket.Payload(headers))
}

func TestDecodeLinkTypes(t *testing.T) {
	for _, tt := range linkPackets(t) {
		t.Run(tt.name, func(t *testing.T) {
			var s segment
			p := &pcaps.Packet{Data: tt.data, WireLen: uint32(len(tt.data)), Link: tt.link}
			if v := s.decode(p); v != isTCP {
				t.Fatalf("verdict %d", v)
			}
			checkSegment(t, &s)
			if string(s.payload) != payload || s.length != len(payload) {
				t.Errorf("payload %q, %d bytes on the wire", s.payload, s.length)
			}
		})
	}
}

func checkSegment(t *testing.T, s *segment) {
	t.Helper()
	src, dst := "192.0.2.1:40000", "192.0.2.2:9092"
	if s.v6 {
		src, dst = "[2001:db8::1]:40000", "[2001:db8::2]:9092"
	}
	if got := s.src.addrPort(s.v6); got != netip.MustParseAddrPort(src) {
		t.Errorf("source %v", got)
	}
	if got := s.dst.addrPort(s.v6); got != netip.MustParseAddrPort(dst) {
		t.Errorf("destination %v", got)
	}
	if s.seq != 0xfffffff0 || s.ack != 77 || s.flags != flagACK|0x08 {
		t.Errorf("seq %#x ack %d flags %#x", s.seq, s.ack, s.flags)
	}
}

// A packet cut at any length decodes to what is there, or not at all.
func TestDecodeCutAnywhere(t *testing.T) {
	for _, tt := range linkPackets(t) {
		whole := len(tt.data) - strings.Count(tt.name, "padding")*4
		for n := range whole {
			var s segment
			v := s.decode(&pcaps.Packet{Data: tt.data[:n:n], WireLen: uint32(len(tt.data)), Link: tt.link})
			captured := max(0, n-(whole-len(payload)))
			if v == isTCP && (s.length != len(payload) || string(s.payload) != payload[:captured]) {
				t.Fatalf("%s cut to %d: payload %q, %d bytes on the wire", tt.name, n, s.payload, s.length)
			}
			if v != isTCP && captured > 0 {
				t.Fatalf("%s cut to %d: verdict %d", tt.name, n, v)
			}
		}
	}
}

func TestDecodeOther(t *testing.T) {
	fragment := serialize(t, ip4(layers.IPProtocolTCP))
	fragment[6], fragment[7] = 0x00, 0xb9
	fragment6 := serialize(t, ip6(layers.IPProtocolIPv6Fragment), gopacket.Payload("\x06\x00\x05\xa8\x00\x00\x00\x01"))
	shortHeader := serialize(t, ip4(layers.IPProtocolTCP))
	shortHeader[0] = 0x44
	shortTotal := serialize(t, ip4(layers.IPProtocolTCP))
	shortTotal[2], shortTotal[3] = 0, 19
	shortTCP := serialize(t, ip4(layers.IPProtocolTCP))
	shortTCP[32] = 4 << 4
	longTCP := serialize(t, ip4(layers.IPProtocolTCP))
	longTCP[32] = 15 << 4
	longTCP[3] = 20 + 40
	for _, tt := range []struct {
		name string
		link pcaps.LinkType
		data []byte
		want verdict
	}{
		{"a later IPv4 fragment", pcaps.LinkTypeRaw, fragment, isFragment},
		{"a later IPv6 fragment", pcaps.LinkTypeRaw, fragment6, isFragment},
		{"IPv4 header length below 20", pcaps.LinkTypeRaw, shortHeader, malformed},
		{"IPv4 total length below the header", pcaps.LinkTypeRaw, shortTotal, malformed},
		{"TCP header length below 20", pcaps.LinkTypeRaw, shortTCP, malformed},
		{"TCP header longer than the packet", pcaps.LinkTypeRaw, longTCP, malformed},
		{"no IP version", pcaps.LinkTypeRaw, []byte("\x00"), malformed},
		{"nothing", pcaps.LinkTypeRaw, nil, malformed},
		{"ICMP", pcaps.LinkTypeRaw, serialize(t, ip4(layers.IPProtocolICMPv4)), notTCP},
		{"UDP, no tunnel", pcaps.LinkTypeRaw, serialize(t, ip4(layers.IPProtocolUDP)), notTCP},
		{"ARP", pcaps.LinkTypeEthernet, append(make([]byte, 12), "\x08\x06\x00\x01"...), notTCP},
		{"a loopback family that is not IP", pcaps.LinkTypeNull, join("\x07\x00\x00\x00", fragment), notTCP},
		{"PPP link control", pcaps.LinkTypePPP, []byte("\xff\x03\xc0\x21\x01"), notTCP},
		{"an unknown link type", 147, fragment, unknownLink},
	} {
		var s segment
		if got := s.decode(&pcaps.Packet{Data: tt.data, Link: tt.link}); got != tt.want {
			t.Errorf("%s: verdict %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTunnelsInTunnelsEnd(t *testing.T) {
	stack := []gopacket.SerializableLayer{ether4}
	for range maxTunnels + 1 {
		stack = append(stack, ip4(layers.IPProtocolUDP), &layers.UDP{DstPort: 4789}, &layers.VXLAN{ValidIDFlag: true}, ether4)
	}
	data := serialize(t, append(stack, ip4(layers.IPProtocolTCP))...)
	var s segment
	if v := s.decode(&pcaps.Packet{Data: data, Link: pcaps.LinkTypeEthernet}); v != notTCP {
		t.Errorf("verdict %d", v)
	}
}

func TestUnsupportedLinkIsToldOnce(t *testing.T) {
	a := New(&recorder{})
	for n := range int64(5) {
		err := a.Packet(&pcaps.Packet{Number: n + 1, Data: []byte("abc"), Link: pcaps.LinkType(147 + n%2)})
		var unsupported *UnsupportedLinkError
		if told := errors.As(err, &unsupported); told != (n < 2) {
			t.Fatalf("packet %d: %v", n+1, err)
		}
		if unsupported != nil && (unsupported.Packet != n+1 || !strings.Contains(err.Error(), "14")) {
			t.Errorf("%v", err)
		}
	}
	if got := a.Stats().Unsupported; got != 5 {
		t.Errorf("%d packets counted", got)
	}
}

func TestEndpointKeys(t *testing.T) {
	for _, pair := range [][2]string{
		{"10.0.0.1:1", "10.0.0.1:2"}, {"10.0.0.2:1", "10.0.0.1:2"}, {"255.0.0.1:65535", "1.0.0.1:1"},
		{"[::1]:1", "[::1]:2"}, {"[2001:db8::1]:5", "[2001:db7::ffff]:5"},
	} {
		x, y := netip.MustParseAddrPort(pair[0]), netip.MustParseAddrPort(pair[1])
		if x.Addr().Is4() {
			k, turned := key4Of(endpointOf(x), endpointOf(y))
			l, back := key4Of(endpointOf(y), endpointOf(x))
			if k != l || turned == back {
				t.Errorf("%v: keys %v %v, turned %v %v", pair, k, l, turned, back)
			}
		} else {
			k, turned := key6Of(endpointOf(x), endpointOf(y))
			l, back := key6Of(endpointOf(y), endpointOf(x))
			if k != l || turned == back {
				t.Errorf("%v: keys %v %v, turned %v %v", pair, k, l, turned, back)
			}
		}
	}
}

// What decode says of a packet built by hand, gopacket says too.
func TestDecodeAgreesWithGopacket(t *testing.T) {
	agreed := 0
	for _, tt := range linkPackets(t) {
		if tt.link != pcaps.LinkTypeEthernet {
			continue
		}
		p := gopacket.NewPacket(tt.data, layers.LayerTypeEthernet, gopacket.Default)
		var s segment
		s.decode(&pcaps.Packet{Data: tt.data, Link: tt.link})
		if tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP); ok {
			if agreed++; !bytes.Equal(tcp.Payload, s.payload) {
				t.Errorf("%s: %q and %q", tt.name, tcp.Payload, s.payload)
			}
		}
	}
	if agreed == 0 {
		t.Error("gopacket finds TCP in none of them")
	}
}
