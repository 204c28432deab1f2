package reassembly

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/kdissect/kdissect/pcaps"
)

// An ipFragment is to be cut out of what an IP packet carries.
type ipFragment struct {
	from, to int
	cut      int // bytes at its end that the snap length took
}

// fragments cuts a raw IP packet at multiples of 8 bytes behind its header.
func fragments(packet []byte, id uint32, parts ...ipFragment) [][]byte {
	var out [][]byte
	for _, f := range parts {
		if packet[0]>>4 == 6 {
			out = append(out, fragment6(packet, id, f))
		} else {
			out = append(out, fragment4(packet, id, f))
		}
	}
	return out
}

func fragment4(packet []byte, id uint32, f ipFragment) []byte {
	header := int(packet[0]&15) * 4
	body := packet[header:]
	b := slices.Clone(packet[:header])
	binary.BigEndian.PutUint16(b[2:], uint16(header+f.to-f.from))
	binary.BigEndian.PutUint16(b[4:], uint16(id))
	place := uint16(f.from / 8)
	if f.to < len(body) {
		place |= 0x2000
	}
	binary.BigEndian.PutUint16(b[6:], place)
	return append(b, body[f.from:f.to-f.cut]...)
}

func fragment6(packet []byte, id uint32, f ipFragment) []byte {
	body := packet[40:]
	b := slices.Clone(packet[:40])
	b[6] = protoFragment
	binary.BigEndian.PutUint16(b[4:], uint16(8+f.to-f.from))
	place := uint16(f.from)
	if f.to < len(body) {
		place |= 1
	}
	b = append(b, packet[6], 0, byte(place>>8), byte(place))
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, body[f.from:f.to-f.cut]...)
}

func feed(t *testing.T, a *Assembler, packets ...[]byte) {
	t.Helper()
	for _, data := range packets {
		n := a.Stats().Packets + 1
		p := &pcaps.Packet{Number: n, Time: n * millisecond, Data: data, Link: pcaps.LinkTypeRaw}
		if data[0]>>4 == 4 {
			p.WireLen = uint32(binary.BigEndian.Uint16(data[2:]))
		} else {
			p.WireLen = uint32(40 + binary.BigEndian.Uint16(data[4:]))
		}
		if err := a.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
}

// The TCP segment of serialize: a header of 32 bytes, and payload "what is sent".
func TestFragments(t *testing.T) {
	tcp := layers.IPProtocolTCP
	v4, v6 := serialize(t, ip4(tcp)), serialize(t, ip6(tcp))
	destination := serialize(t, ip6(layers.IPProtocolIPv6Destination), gopacket.Payload("\x06\x00\x01\x04\x00\x00\x00\x00"))
	other := slices.Clone(v4)
	copy(other[20+32:], "WHAT IS SENT")
	overlap := slices.Concat(fragments(v4, 7, ipFragment{0, 40, 0}), fragments(other, 7, ipFragment{32, 44, 0}))
	for _, tt := range []struct {
		name    string
		packets [][]byte
		want    string
	}{
		{"in order", fragments(v4, 7, ipFragment{0, 40, 0}, ipFragment{40, 44, 0}), "A 0 what is  #1; A 8 sent #2"},
		{"the last one first", fragments(v4, 7, ipFragment{40, 44, 0}, ipFragment{0, 40, 0}), "A 0 what is  #2; A 8 sent #1"},
		{"the header in three", fragments(v4, 7, ipFragment{0, 8, 0}, ipFragment{8, 16, 0}, ipFragment{16, 44, 0}), "A 0 what is sent #3"},
		{"the header in three, backwards", fragments(v4, 7, ipFragment{24, 44, 0}, ipFragment{8, 24, 0}, ipFragment{0, 8, 0}), "A 0 what is sent #1"},
		{"IPv6", fragments(v6, 7, ipFragment{0, 32, 0}, ipFragment{40, 44, 0}, ipFragment{32, 40, 0}), "A 0 what is  #3; A 8 sent #2"},
		{"IPv6, an extension header behind the fragment header", fragments(destination, 7, ipFragment{0, 8, 0}, ipFragment{8, 48, 0}, ipFragment{48, 52, 0}), "A 0 what is  #2; A 8 sent #3"},
		{"overlap: the first wins", overlap, "A 0 what is  #1; A 8 SENT #2"},
		{"overlap, held", [][]byte{overlap[1], overlap[0]}, "A 0 WHAT IS SENT #1"},
		{"twice", slices.Repeat(fragments(v4, 7, ipFragment{0, 40, 0}, ipFragment{40, 44, 0}), 2), "A 0 what is  #1; A 8 sent #2"},
		{"each twice", [][]byte{overlap[0], overlap[0], overlap[1], overlap[1]}, "A 0 what is  #1; A 8 SENT #3"},
		{"cut by the snap length", fragments(v4, 7, ipFragment{0, 40, 4}, ipFragment{40, 44, 3}), "A 0 what #1; A 4 gap 4 snaplen #1; A 8 s #2; A 9 gap 3 snaplen #2"},
		{"the last one is missing", fragments(v4, 7, ipFragment{0, 40, 0}), "A 0 what is  #1"},
		{"the middle is missing", fragments(v4, 7, ipFragment{0, 32, 0}, ipFragment{40, 44, 0}), "A 0 gap 8 not-captured #0; A 8 sent #2"},
		{"the first one is missing", fragments(v4, 7, ipFragment{40, 44, 0}), ""},
		{"a hole in the header", fragments(v4, 7, ipFragment{0, 8, 0}, ipFragment{16, 44, 0}), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			a := New(r)
			feed(t, a, tt.packets...)
			a.Close()
			checkEmpty(t, a)
			r.events = slices.DeleteFunc(r.events, func(e string) bool { return strings.HasPrefix(e, "end") })
			if got := strings.Join(r.events, "; "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			complete := !strings.Contains(tt.name, "missing") && !strings.Contains(tt.name, "hole")
			if s := a.Stats(); s.Fragments != int64(len(tt.packets)) || (s.Incomplete == 0) != complete {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What stands in a fragmented tunnel is a whole, or what there is from its start on.
func TestFragmentsOfTunnels(t *testing.T) {
	udp := &layers.UDP{SrcPort: 50000, DstPort: 4789}
	packet := serialize(t, ip4(layers.IPProtocolUDP), udp, &layers.VXLAN{ValidIDFlag: true}, ether4, ip4(layers.IPProtocolTCP))
	end := len(packet) - 20
	innerFragments := fragments(serialize(t, ip4(layers.IPProtocolTCP)), 3, ipFragment{0, 40, 0}, ipFragment{40, 44, 0})
	var nested [][]byte
	for i, inner := range innerFragments {
		buf := gopacket.NewSerializeBuffer()
		err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, ip4(layers.IPProtocolUDP), udp, &layers.VXLAN{ValidIDFlag: true}, ether4, gopacket.Payload(inner))
		if err != nil {
			t.Fatal(err)
		}
		nested = append(nested, fragments(buf.Bytes(), uint32(10+i), ipFragment{32, len(buf.Bytes()) - 20, 0}, ipFragment{0, 32, 0})...)
	}
	for _, tt := range []struct {
		name    string
		packets [][]byte
		want    []string
	}{
		{"whole", fragments(packet, 7, ipFragment{0, 16, 0}, ipFragment{88, end, 0}, ipFragment{16, 88, 0}), []string{"A 0 what is sent #3", "end end-of-input #0"}},
		{"the end is missing", fragments(packet, 7, ipFragment{0, 16, 0}, ipFragment{16, 88, 0}), []string{"A 0 what i #2", "A 6 gap 6 snaplen #2", "end end-of-input #0"}},
		{"fragments in fragments", nested, []string{"A 0 what is  #2", "A 8 sent #4", "end end-of-input #0"}},
	} {
		r := &recorder{}
		a := New(r)
		feed(t, a, tt.packets...)
		a.Close()
		checkEmpty(t, a)
		if !slices.Equal(r.events, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, r.events, tt.want)
		}
	}
}

// An identification that is used again means a new datagram.
func TestFragmentsWithOneIdentification(t *testing.T) {
	next := func(n byte) []byte {
		packet := serialize(t, ip4(layers.IPProtocolTCP))
		binary.BigEndian.PutUint32(packet[24:], 1000+12*uint32(n))
		copy(packet[20+32:], fmt.Sprintf("message %04d", n))
		return packet
	}
	r := &recorder{}
	a := New(r)
	for n := range byte(3) {
		feed(t, a, fragments(next(n), 7, ipFragment{0, 40, 0})...) // never complete
	}
	a.Close()
	checkEmpty(t, a)
	want := []string{"A 0 message  #1", "A 12 message  #2", "A 24 message  #3"}
	got := slices.DeleteFunc(r.events, func(e string) bool { return !strings.Contains(e, "message") })
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Many datagrams at a time in any order, and what never completes is bounded.
func TestFragmentsAtRandom(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := newWitness(t)
		a := New(w)
		var want strings.Builder
		var packets [][]byte
		seq := uint32(5)
		feed(t, a, sent{seq: seq - 1, flags: flagSYN}.packet(0, 0).Data)
		for n := range uint32(20) {
			s := sent{seq: seq, data: fmt.Sprintf("%d:%0*d", n, 1+rng.IntN(300), n), flags: flagACK}
			seq += uint32(len(s.data))
			want.WriteString(s.data)
			data := s.packet(0, 0).Data
			parts := []ipFragment{}
			for at := 0; at < len(data)-20; {
				to := min(at+8*(1+rng.IntN(12)), len(data)-20)
				parts = append(parts, ipFragment{max(0, at-8*rng.IntN(2)), to, 0})
				at = to
			}
			packets = append(packets, fragments(data, n, parts...)...)
		}
		rng.Shuffle(len(packets), func(i, j int) { packets[i], packets[j] = packets[j], packets[i] })
		feed(t, a, packets...)
		a.Close()
		checkEmpty(t, a)
		for _, s := range w.streams {
			got := make([]byte, s[FromA].next)
			for at, b := range s[FromA].bytes {
				got[at] = b.value
			}
			if string(got) != want.String() || len(s[FromA].gaps) > 0 {
				t.Fatalf("seed %d: got %q, want %q", seed, got, want.String())
			}
		}
		if a.Stats().Incomplete > 0 {
			t.Fatalf("%+v", a.Stats())
		}
	}
}

func TestFragmentsAreBounded(t *testing.T) {
	a := New(&recorder{})
	big := sent{data: strings.Repeat("x", 1400)}.packet(0, 0).Data
	for n := range uint32(10000) {
		big[15] = byte(n >> 16)
		feed(t, a, fragments(big, n, ipFragment{8, 1400, 0})...)
		if a.datagrams.held > maxDatagramMemory || len(a.datagrams.order) > maxDatagrams || len(a.datagrams.byKey) > maxDatagrams {
			t.Fatalf("%d bytes in %d datagrams", a.datagrams.held, len(a.datagrams.order))
		}
	}
	p := &pcaps.Packet{Number: 10001, Time: 10000*millisecond + datagramTime, Data: fragments(big, 1<<15, ipFragment{8, 1400, 0})[0], Link: pcaps.LinkTypeRaw}
	a.Packet(p)
	if n := len(a.datagrams.byKey); n != 1 {
		t.Errorf("%d datagrams wait after %d s", n, int(datagramTime/1e9))
	}
	a.Close()
	checkEmpty(t, a)
}
