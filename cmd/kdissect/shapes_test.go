package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The same messages in many shapes of captures: each shape is a way to cut and order the segments, to wrap them into packets, and to write
// these into a file. What has to come out is what the frames in the streams say, whatever the shape.

// A shapeSegment is a TCP segment.
type shapeSegment struct {
	conn     *wireConn
	dir      int
	seq, ack uint32
	flags    byte
	data     []byte
	time     int64
	from     netip.AddrPort // where it comes from and goes to, if not from and to the ends of conn
	to       netip.AddrPort
}

// A shape is a way to capture. What is nil is done as tcpdump does it on Ethernet.
type shape struct {
	name     string
	v6       bool
	again    bool                                                          // one connection after the other, all on the same ports
	first    uint32                                                        // initial sequence number
	segments func([]shapeSegment) []shapeSegment                           // cuts, moves, repeats
	ip       func(tcp []byte, src, dst netip.Addr, number int) [][]byte    // wraps a segment into IP packets
	link     func(ip []byte) []byte                                        // puts a header in front of an IP packet
	linkType uint16                                                        // of that
	file     func(linkType uint16, packets [][]byte, times []int64) []byte // writes them
}

// shapeSegments lays out the connections of a capture anew: handshake, the payload in the order in which it was captured, end.
func shapeSegments(w *wireCapture, first uint32, again bool) (all []shapeSegment) {
	next := map[*wireConn]*[2]uint32{}
	send := func(c *wireConn, dir int, flags byte, data []byte, time int64) {
		n := next[c]
		s := shapeSegment{conn: c, dir: dir, seq: n[dir], flags: flags, data: data, time: time}
		if flags != wireSYN {
			s.flags, s.ack = flags|wireACK, n[1-dir]
		}
		if n[dir] += uint32(len(data)); flags&(wireSYN|wireFIN) != 0 {
			n[dir]++
		}
		all = append(all, s)
	}
	left := map[*wireConn]int{}
	packets := slices.Clone(w.packets)
	if again {
		order := map[*wireConn]int{}
		for i, c := range w.conns {
			order[c] = i
		}
		slices.SortStableFunc(packets, func(a, b wirePacket) int { return order[a.conn] - order[b.conn] })
	}
	for _, p := range packets {
		left[p.conn] += int(p.to - p.from)
	}
	for i, p := range packets {
		c, time := p.conn, 1_700_000_000_000_000_000+int64(i)*1_000_000
		if c == nil || p.from == p.to {
			continue
		}
		if next[c] == nil {
			next[c] = &[2]uint32{first + uint32(len(next))*1_000_003, first + 77}
			send(c, 0, wireSYN, nil, time)
			send(c, 1, wireSYN|wireACK, nil, time+1000)
			send(c, 0, 0, nil, time+2000)
		}
		send(c, p.dir, 0, c.streams[p.dir][p.from:p.to], time+3000)
		if left[c] -= int(p.to - p.from); left[c] == 0 {
			send(c, 1-p.dir, 0, nil, time+4000)
			send(c, 0, wireFIN, nil, time+5000)
			send(c, 1, wireFIN, nil, time+6000)
			send(c, 0, 0, nil, time+7000)
		}
	}
	return all
}

// tcp lays the segment out.
func (s *shapeSegment) tcp() []byte {
	b := binary.BigEndian.AppendUint16(nil, s.src().Port())
	b = binary.BigEndian.AppendUint16(b, s.dst().Port())
	b = binary.BigEndian.AppendUint32(b, s.seq)
	b = binary.BigEndian.AppendUint32(b, s.ack)
	b = append(b, 5<<4, s.flags, 255, 255, 0xba, 0xad, 0, 0) // the checksum is wrong, as it is where a card computes it
	return append(b, s.data...)
}

func (s *shapeSegment) src() netip.AddrPort {
	if s.from.IsValid() {
		return s.from
	}
	return s.conn.ends[s.dir]
}

func (s *shapeSegment) dst() netip.AddrPort {
	if s.to.IsValid() {
		return s.to
	}
	return s.conn.ends[1-s.dir]
}

// ipv4 wraps what an IP packet carries; options are a multiple of 4 bytes.
func ipv4(protocol byte, id, place int, src, dst netip.Addr, options string, body []byte) []byte {
	b := []byte{byte(0x45 + len(options)/4), 0}
	b = binary.BigEndian.AppendUint16(b, uint16(20+len(options)+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(id))
	b = binary.BigEndian.AppendUint16(b, uint16(place))
	b = append(b, 64, protocol, 0xba, 0xad)
	return slices.Concat(b, src.AsSlice(), dst.AsSlice(), []byte(options), body)
}

func ipv6(next byte, src, dst netip.Addr, body []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(body)))
	return slices.Concat(b, []byte{next, 64}, src.AsSlice(), dst.AsSlice(), body)
}

const protocolTCP, moreFragments = 6, 0x2000

func plainIP(tcp []byte, src, dst netip.Addr, number int) [][]byte {
	if src.Is6() {
		return [][]byte{ipv6(protocolTCP, src, dst, tcp)}
	}
	return [][]byte{ipv4(protocolTCP, number, 0, src, dst, "", tcp)}
}

// fragmentsOf cuts what an IP packet carries into pieces of 32 bytes.
func fragmentsOf(tcp []byte, src, dst netip.Addr, number int) (out [][]byte) {
	for at := 0; at < len(tcp); at += 32 {
		piece, place := tcp[at:min(at+32, len(tcp))], at
		more := at+32 < len(tcp)
		if src.Is6() {
			if more {
				place |= 1
			}
			header := binary.BigEndian.AppendUint16([]byte{protocolTCP, 0}, uint16(place))
			header = binary.BigEndian.AppendUint32(header, uint32(number))
			out = append(out, ipv6(44, src, dst, append(header, piece...)))
			continue
		}
		if place /= 8; more {
			place |= moreFragments
		}
		out = append(out, ipv4(protocolTCP, number, place, src, dst, "", piece))
	}
	return out
}

func fragmentsBackwards(tcp []byte, src, dst netip.Addr, number int) [][]byte {
	out := fragmentsOf(tcp, src, dst, number)
	slices.Reverse(out)
	return out
}

// extended puts extension headers or options before TCP.
func extended(tcp []byte, src, dst netip.Addr, number int) [][]byte {
	if src.Is6() {
		return [][]byte{ipv6(0, src, dst, append([]byte("\x3c\x00\x01\x04\x00\x00\x00\x00\x06\x00\x01\x04\x00\x00\x00\x00"), tcp...))}
	}
	return [][]byte{ipv4(protocolTCP, number, 0, src, dst, "\x94\x04\x00\x00\x01\x01\x01\x00", tcp)}
}

// offloaded leaves the length of the packet 0, as a card does that cuts it itself.
func offloaded(tcp []byte, src, dst netip.Addr, number int) [][]byte {
	packet := plainIP(tcp, src, dst, number)[0]
	at := 2
	if src.Is6() {
		at = 4
	}
	packet[at], packet[at+1] = 0, 0
	return [][]byte{packet}
}

// jumbo says the length in an option (RFC 2675), as BIG TCP does.
func jumbo(tcp []byte, src, dst netip.Addr, _ int) [][]byte {
	header := binary.BigEndian.AppendUint32([]byte{protocolTCP, 0, 0xc2, 4}, uint32(8+len(tcp)))
	packet := ipv6(0, src, dst, append(header, tcp...))
	packet[4], packet[5] = 0, 0
	return [][]byte{packet}
}

// tunnelEnds are the ends of a tunnel.
var tunnelEnds = [2]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}

// tunneled puts each packet behind a header, and that into IPv4 of a protocol.
func tunneled(protocol byte, header func(ip []byte) string) func([]byte, netip.Addr, netip.Addr, int) [][]byte {
	return func(tcp []byte, src, dst netip.Addr, number int) [][]byte {
		packet := plainIP(tcp, src, dst, number)[0]
		return [][]byte{ipv4(protocol, number, 0, tunnelEnds[0], tunnelEnds[1], "", append([]byte(header(packet)), packet...))}
	}
}

func udpTo(port uint16, rest string) func(ip []byte) string {
	return func(ip []byte) string {
		b := binary.BigEndian.AppendUint16([]byte{0xc0, 0}, port)
		b = binary.BigEndian.AppendUint16(b, uint16(8+len(rest)+len(ip)))
		return string(b) + "\x00\x00" + rest
	}
}

func fixed(header string) func([]byte) string { return func([]byte) string { return header } }

const macs = "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01"

// typed is a header that ends in an EtherType.
func typed(header string) func([]byte) []byte {
	return func(ip []byte) []byte {
		kind := "\x08\x00"
		if ip[0]>>4 == 6 {
			kind = "\x86\xdd"
		}
		return slices.Concat([]byte(header+kind), ip)
	}
}

// before is a header that is always the same.
func before(header string) func([]byte) []byte {
	return func(ip []byte) []byte { return slices.Concat([]byte(header), ip) }
}

// padded fills a frame up to the 60 bytes of Ethernet.
func padded(ip []byte) []byte {
	b := typed(macs)(ip)
	return append(b, make([]byte, max(0, 60-len(b))+4)...)
}

func sll2(ip []byte) []byte {
	kind := "\x08\x00"
	if ip[0]>>4 == 6 {
		kind = "\x86\xdd"
	}
	return slices.Concat([]byte(kind+"\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00"), ip)
}

// classic writes pcap.
func classic(order binary.AppendByteOrder, magic uint32, tick int64) func(uint16, [][]byte, []int64) []byte {
	return func(linkType uint16, packets [][]byte, times []int64) []byte {
		b := order.AppendUint32(nil, magic)
		b = order.AppendUint16(b, 2)
		b = order.AppendUint16(b, 4)
		for _, v := range []uint32{0, 0, 262144, uint32(linkType)} {
			b = order.AppendUint32(b, v)
		}
		for i, p := range packets {
			for _, v := range []uint32{uint32(times[i] / 1e9), uint32(times[i] % 1e9 / tick), uint32(len(p)), uint32(len(p))} {
				b = order.AppendUint32(b, v)
			}
			b = append(b, p...)
		}
		return b
	}
}

// An ng is a way to write pcapng.
type ng struct {
	order      binary.AppendByteOrder
	resolution byte  // if_tsresol
	units      int64 // in a second
	simple     bool  // simple packet blocks
	interfaces int   // that take turns
	section    int   // packets in each, 0 for a single section
}

func (n ng) block(b []byte, kind uint32, body []byte) []byte {
	body = append(body, make([]byte, -len(body)&3)...)
	b = n.order.AppendUint32(b, kind)
	b = n.order.AppendUint32(b, uint32(len(body)+12))
	b = append(b, body...)
	return n.order.AppendUint32(b, uint32(len(body)+12))
}

func (n ng) header(b []byte, linkType uint16) []byte {
	body := n.order.AppendUint32(nil, 0x1a2b3c4d)
	body = n.order.AppendUint16(body, 1)
	body = n.order.AppendUint16(body, 0)
	body = n.order.AppendUint64(body, 1<<64-1)
	b = n.block(b, 0x0a0d0d0a, body)
	for range max(1, n.interfaces) {
		body = n.order.AppendUint16(nil, linkType)
		body = n.order.AppendUint32(append(body, 0, 0), 262144)
		body = n.order.AppendUint16(body, 9)
		body = n.order.AppendUint16(body, 1)
		b = n.block(b, 1, append(body, n.resolution, 0, 0, 0, 0, 0, 0, 0))
	}
	return b
}

func (n ng) write(linkType uint16, packets [][]byte, times []int64) (b []byte) {
	for i, p := range packets {
		if i == 0 || n.section > 0 && i%n.section == 0 {
			b = n.header(b, linkType)
		}
		if n.simple {
			b = n.block(b, 3, append(n.order.AppendUint32(nil, uint32(len(p))), p...))
			continue
		}
		stamp := uint64(times[i]/1e9)*uint64(n.units) + uint64(times[i]%1e9)*uint64(n.units)/1e9
		var body []byte
		for _, v := range []uint32{uint32(i % max(1, n.interfaces)), uint32(stamp >> 32), uint32(stamp), uint32(len(p)), uint32(len(p))} {
			body = n.order.AppendUint32(body, v)
		}
		b = n.block(b, 6, append(body, p...))
	}
	return b
}

func gzipped(linkType uint16, packets [][]byte, times []int64) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(classic(binary.LittleEndian, 0xa1b2c3d4, 1000)(linkType, packets, times)) // a bytes.Buffer takes all
	z.Close()
	return b.Bytes()
}

func zstandard(linkType uint16, packets [][]byte, times []int64) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(ng{order: binary.BigEndian, resolution: 6, units: 1e6}.write(linkType, packets, times), nil)
}

// inPieces cuts payload into segments of n bytes.
func inPieces(n int) func([]shapeSegment) []shapeSegment {
	return func(all []shapeSegment) (out []shapeSegment) {
		for _, s := range all {
			for len(s.data) > n {
				piece := s
				piece.data = s.data[:n]
				out = append(out, piece)
				s.data, s.seq = s.data[n:], s.seq+uint32(n)
			}
			out = append(out, s)
		}
		return out
	}
}

// joined puts neighbours of one direction into one segment.
func joined(all []shapeSegment) (out []shapeSegment) {
	last := map[*wireConn]int{}
	for _, s := range all {
		if i, ok := last[s.conn]; ok && out[i].dir == s.dir && len(out[i].data) > 0 && len(s.data) > 0 {
			out[i].data = slices.Concat(out[i].data, s.data)
			continue
		}
		last[s.conn] = len(out)
		out = append(out, s)
	}
	return out
}

// shuffled moves each segment by less than n places, but for the handshake and the first payload: without these it cannot be known where a
// stream begins.
func shuffled(n int) func([]shapeSegment) []shapeSegment {
	return func(all []shapeSegment) []shapeSegment {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		type placed struct {
			at int
			s  shapeSegment
		}
		var places []placed
		begun := map[*wireConn]*[2]bool{}
		for i, s := range all {
			if begun[s.conn] == nil {
				begun[s.conn] = &[2]bool{}
			}
			if first := &begun[s.conn][s.dir]; *first {
				i += r.IntN(n)
			} else {
				*first = len(s.data) > 0
			}
			places = append(places, placed{i, s})
		}
		slices.SortStableFunc(places, func(a, b placed) int { return a.at - b.at })
		for i, p := range places {
			all[i] = p.s
		}
		return all
	}
}

// each puts out what f makes of each segment.
func each(f func(shapeSegment) []shapeSegment) func([]shapeSegment) []shapeSegment {
	return func(all []shapeSegment) (out []shapeSegment) {
		for _, s := range all {
			out = append(out, f(s)...)
		}
		return out
	}
}

func twice(s shapeSegment) []shapeSegment { return []shapeSegment{s, s} }

// overlapping repeats the second half of each segment together with what is in it, later.
func overlapping(all []shapeSegment) (out []shapeSegment) {
	before := map[*wireConn]*[2]shapeSegment{}
	for _, s := range all {
		if before[s.conn] == nil {
			before[s.conn] = &[2]shapeSegment{}
		}
		b := &before[s.conn][s.dir]
		if len(s.data) > 0 && len(b.data) > 1 && b.seq+uint32(len(b.data)) == s.seq {
			half := len(b.data) / 2
			s.data, s.seq = slices.Concat(b.data[half:], s.data), b.seq+uint32(half)
		}
		if len(s.data) > 0 {
			*b = s
		}
		out = append(out, s)
	}
	return out
}

// keptAlive puts a probe with a byte of rubbish behind each segment.
func keptAlive(s shapeSegment) []shapeSegment {
	if len(s.data) == 0 {
		return []shapeSegment{s}
	}
	probe := s
	probe.seq, probe.data = s.seq+uint32(len(s.data))-1, []byte{0xff}
	return []shapeSegment{s, probe}
}

func withoutSYN(s shapeSegment) []shapeSegment {
	if s.flags&wireSYN != 0 {
		return nil
	}
	return []shapeSegment{s}
}

// late moves the segments with a flag by some places.
func late(flag byte, places int) func([]shapeSegment) []shapeSegment {
	return func(all []shapeSegment) []shapeSegment {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].flags&flag == 0 {
				continue
			}
			for j := i; places > 0 && j < min(i+places, len(all)-1); j++ {
				all[j], all[j+1] = all[j+1], all[j]
			}
		}
		return all
	}
}

// earlyFIN moves the end of each direction before its last data.
func earlyFIN(all []shapeSegment) []shapeSegment {
	for i, s := range all {
		for j := i; s.flags&wireFIN != 0 && j > max(0, i-6); j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

// translated has each segment once more, from and to other addresses.
func translated(s shapeSegment) []shapeSegment {
	twin := s
	other := netip.MustParseAddr("10.9.9.9")
	if s.dir == 0 {
		twin.from = netip.AddrPortFrom(other, s.src().Port())
	} else {
		twin.to = netip.AddrPortFrom(other, s.dst().Port())
	}
	return []shapeSegment{s, twin}
}

// backwards lets time run back and jump.
func backwards(all []shapeSegment) []shapeSegment {
	for i := range all {
		all[i].time = all[0].time - int64(i)*3_000_000 - int64(i%7)*1e9
	}
	return all
}

var shapes = []shape{
	{name: "Ethernet, pcap, microseconds"},
	{name: "pcap, nanoseconds", file: classic(binary.LittleEndian, 0xa1b23c4d, 1)},
	{name: "pcap, big-endian", file: classic(binary.BigEndian, 0xa1b2c3d4, 1000)},
	{name: "pcap, big-endian, nanoseconds", file: classic(binary.BigEndian, 0xa1b23c4d, 1)},
	{name: "pcap, gzip", file: gzipped},
	{name: "pcapng", file: ng{order: binary.LittleEndian, resolution: 6, units: 1e6}.write},
	{name: "pcapng, nanoseconds", file: ng{order: binary.LittleEndian, resolution: 9, units: 1e9}.write},
	{name: "pcapng, big-endian, milliseconds", file: ng{order: binary.BigEndian, resolution: 3, units: 1e3}.write},
	{name: "pcapng, units of 1/2^20 s", file: ng{order: binary.LittleEndian, resolution: 0x80 | 20, units: 1 << 20}.write},
	{name: "pcapng, big-endian, units of 1/2^30 s", file: ng{order: binary.BigEndian, resolution: 0x80 | 30, units: 1 << 30}.write},
	{name: "pcapng, simple packets", file: ng{order: binary.LittleEndian, resolution: 6, simple: true}.write},
	{name: "pcapng, three interfaces", file: ng{order: binary.LittleEndian, resolution: 9, units: 1e9, interfaces: 3}.write},
	{name: "pcapng, many sections", file: ng{order: binary.BigEndian, resolution: 6, units: 1e6, section: 7}.write},
	{name: "pcapng, big-endian, zstd", file: zstandard},
	{name: "IPv6", v6: true},
	{name: "802.1Q", link: typed(macs + "\x81\x00\x00\x07")},
	{name: "802.1ad over 802.1Q", link: typed(macs + "\x88\xa8\x00\x07\x81\x00\x00\x08")},
	{name: "0x9100 over 802.1Q", v6: true, link: typed(macs + "\x91\x00\x00\x07\x81\x00\x00\x08")},
	{name: "LINUX_SLL", linkType: 113, link: typed("\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00")},
	{name: "LINUX_SLL2", linkType: 276, link: sll2},
	{name: "LINUX_SLL2, IPv6, pcapng", v6: true, linkType: 276, link: sll2, file: ng{order: binary.LittleEndian, resolution: 9, units: 1e9}.write},
	{name: "NULL", linkType: 0, link: before("\x02\x00\x00\x00")},
	{name: "NULL, big-endian", linkType: 0, link: before("\x00\x00\x00\x02")},
	{name: "NULL, IPv6", v6: true, linkType: 0, link: before("\x1e\x00\x00\x00")},
	{name: "LOOP", linkType: 108, link: before("\x00\x00\x00\x02")},
	{name: "RAW", linkType: 101, link: before("")},
	{name: "RAW, IPv6", v6: true, linkType: 101, link: before("")},
	{name: "RAW as BSD numbers it", linkType: 12, link: before("")},
	{name: "IPV4", linkType: 228, link: before("")},
	{name: "IPV6", v6: true, linkType: 229, link: before("")},
	{name: "PPP", linkType: 9, link: before("\xff\x03\x00\x21")},
	{name: "PPP, IPv6, no address", v6: true, linkType: 9, link: before("\x00\x57")},
	{name: "Cisco HDLC", linkType: 104, link: typed("\x0f\x00")},
	{name: "VXLAN", ip: tunneled(17, udpTo(4789, "\x08\x00\x00\x00\x00\x00\x05\x00"+macs+"\x08\x00"))},
	{name: "Geneve", ip: tunneled(17, udpTo(6081, "\x00\x00\x08\x00\x00\x00\x05\x00"))},
	{name: "GRE", ip: tunneled(47, fixed("\x00\x00\x08\x00"))},
	{name: "GRE with key and sequence number", v6: true, ip: tunneled(47, fixed("\x30\x00\x86\xdd\x00\x00\x00\x01\x00\x00\x00\x02"))},
	{name: "IP in IP", ip: tunneled(4, fixed(""))},
	{name: "IPv6 in IPv4", v6: true, ip: tunneled(41, fixed(""))},
	{name: "IPv4 options", ip: extended},
	{name: "IPv6 extension headers", v6: true, ip: extended},
	{name: "IPv4 fragments", ip: fragmentsOf},
	{name: "IPv6 fragments", v6: true, ip: fragmentsOf},
	{name: "IPv4 fragments out of order", ip: fragmentsBackwards},
	{name: "IPv6 fragments out of order", v6: true, ip: fragmentsBackwards},
	{name: "total length 0", ip: offloaded, segments: joined},
	{name: "payload length 0", v6: true, ip: offloaded, segments: joined},
	{name: "BIG TCP", v6: true, ip: jumbo, segments: joined},
	{name: "padding", link: padded},
	{name: "1 byte a segment", segments: inPieces(1)},
	{name: "7 bytes a segment", segments: inPieces(7)},
	{name: "as much as there is in a segment", segments: joined},
	{name: "moved by up to 20 places", segments: shuffled(20)},
	{name: "7 bytes a segment, moved", segments: func(all []shapeSegment) []shapeSegment { return shuffled(20)(inPieces(7)(all)) }},
	{name: "each packet twice", segments: each(twice)},
	{name: "each packet twice, moved", segments: func(all []shapeSegment) []shapeSegment { return shuffled(20)(each(twice)(all)) }},
	{name: "retransmissions that overlap", segments: func(all []shapeSegment) []shapeSegment { return overlapping(inPieces(11)(all)) }},
	{name: "keep-alives", segments: each(keptAlive)},
	{name: "sequence numbers wrap", first: 1<<32 - 300},
	{name: "sequence numbers wrap, moved", first: 1<<32 - 300, segments: shuffled(20)},
	{name: "no SYN", segments: each(withoutSYN)},
	{name: "late SYN", segments: late(wireSYN, 5)},
	{name: "FIN before the last data", segments: earlyFIN},
	{name: "ports used again", again: true},
	{name: "address translation", segments: each(translated)},
	{name: "time runs backwards", segments: backwards},
	{name: "time runs backwards, moved", segments: func(all []shapeSegment) []shapeSegment { return shuffled(20)(backwards(all)) }},
}

// capture writes the connections of w down in the shape.
func (s *shape) capture(w *wireCapture) []byte {
	first := s.first
	if first == 0 {
		first = 1000
	}
	segments := shapeSegments(w, first, s.again)
	if s.segments != nil {
		segments = s.segments(segments)
	}
	ip, link, linkType, file := plainIP, typed(macs), uint16(1), classic(binary.LittleEndian, 0xa1b2c3d4, 1000)
	if s.ip != nil {
		ip = s.ip
	}
	if s.link != nil {
		link = s.link
		if linkType = s.linkType; strings.HasPrefix(string(link([]byte{0x45})), macs) {
			linkType = 1
		}
	}
	if s.file != nil {
		file = s.file
	}
	var packets [][]byte
	var times []int64
	for i, segment := range segments {
		pieces := ip(segment.tcp(), segment.src().Addr(), segment.dst().Addr(), i+1)
		packets = append(packets, pieces...)
		for range pieces {
			times = append(times, segment.time)
		}
	}
	for i, p := range packets {
		packets[i] = link(p)
	}
	return file(linkType, packets, times)
}

// readdress moves the connections to other ends.
func (s *shape) readdress(w *wireCapture) {
	for i, c := range w.conns {
		for dir, end := range c.ends {
			addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + dir)})
			if s.v6 {
				addr = netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", 1+dir))
			}
			port := end.Port()
			if dir == 0 {
				port = uint16(40000 + i)
			}
			if s.again {
				port = w.conns[0].ends[dir].Port()
			}
			c.ends[dir] = netip.AddrPortFrom(addr, port)
		}
	}
}

// contentsOf is what messages say, without when and in which packets they were, in an order of its own.
func contentsOf(t *testing.T, messages []*printed) (all []string) {
	for _, m := range messages {
		payload, err := json.Marshal(m.Payload)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %v %v %v %d %08x", m.Header.Type, *m.Header.APIKey, *m.Header.APIVersion, *m.Header.CorrelationID, m.Size, crc32.ChecksumIEEE(payload)))
	}
	slices.Sort(all)
	return all
}

// Whatever the shape, each frame of the streams is a message, and its payload is what it is in the capture that a broker's log is held against.
func TestShapes(t *testing.T) {
	base := filepath.Join(testdata, "sample.pcap")
	w := readWire(t, base)
	plain, _ := printedOf(t, pcapOf(w.packets))
	want := contentsOf(t, plain)
	frames := 0
	for _, c := range w.conns {
		frames += len(c.frames)
	}
	if frames < 100 || len(plain) != frames {
		t.Fatalf("%d frames, %d messages", frames, len(plain))
	}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			w := readWire(t, base)
			s.readdress(w)
			messages, findings := printedOf(t, s.capture(w))
			var a tally
			a.compare(w, presenceOf(w, w.packets), messages)
			if a.faults() > 0 || a.whole != frames || len(messages) != frames {
				t.Fatalf("%v, %d messages\n\t%s\n%+v", &a, len(messages), strings.Join(a.examples, "\n\t"), findings)
			}
			if got := contentsOf(t, messages); !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// TestConflictIsTold: each segment comes once more with other bytes. What came first counts, and that they differ is told.
func TestConflictIsTold(t *testing.T) {
	forged := shape{segments: each(func(s shapeSegment) []shapeSegment {
		again := s
		again.data = slices.Clone(s.data)
		for i := range again.data {
			again.data[i] ^= 0x55
		}
		return []shapeSegment{s, again}
	})}
	w := readWire(t, filepath.Join(testdata, "sample.pcap"))
	plain, _ := printedOf(t, pcapOf(w.packets))
	messages, findings := printedOf(t, forged.capture(w))
	if !slices.Equal(contentsOf(t, messages), contentsOf(t, plain)) {
		t.Error("what came later counts")
	}
	text, err := json.Marshal(findings)
	if err != nil || !strings.Contains(string(text), "retransmission-conflict") {
		t.Errorf("nothing is told of it: %s, %v", text, err)
	}
}
