package reassembly

import (
	"testing"

	"github.com/kdissect/kdissect/pcaps"
)

// FuzzStream makes one connection of segments anywhere near each other, with any flags but SYN, and
// compares it with the model.
func FuzzStream(f *testing.F) {
	f.Add([]byte{0, 8, 0, 10, 0, 1, 9, 0, 5, 10, 1, 0, 8, 0, 0, 10, 0})
	f.Add([]byte{3, 8, 10, 10, 0, 1, 8, 250, 30, 0, 1, 8, 246, 40, 0, 1})
	f.Add([]byte{1, 40, 30, 20, 0, 1, 10, 0, 0, 0, 1, 8, 226, 30, 0, 1, 9, 0, 0, 50, 255})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 {
			return
		}
		z := &streamFuzz{t: t, w: newWitness(t), models: [2]model{{}, {}}, isn: [2]uint32{1<<32 - 300, 7}}
		z.a = New(z.w)
		z.a.CompareDelivered = true
		z.a.Limits = Limits{PerStream: pieceOverhead * int(script[0]), Total: pieceOverhead * 2 * int(script[0]), Memory: 1 << 30}
		z.pair = newPair(t)
		z.pair.each(func(a *Assembler) { a.Limits = z.a.Limits })
		z.send(sent{from: FromA, seq: z.isn[FromA], flags: flagSYN})
		z.send(sent{from: FromB, seq: z.isn[FromB], flags: flagSYN | flagACK, ack: z.isn[FromA] + 1})
		for ops := script[1:]; len(ops) >= 5 && len(z.w.ended) == 0; ops = ops[5:] {
			z.step([5]byte(ops))
		}
		z.finish()
	})
}

type streamFuzz struct {
	t      *testing.T
	a      *Assembler
	pair   *pair
	w      *witness
	models [2]model
	isn    [2]uint32
	high   [2]int64 // stream offset behind the furthest byte sent
	number int64
	time   int64
}

// step sends one segment: flags, place relative to the furthest byte, length, what is acknowledged, time gone by.
func (z *streamFuzz) step(op [5]byte) {
	d := Direction(op[0] & 1)
	off := z.high[d] + int64(int8(op[1]))
	s := sent{from: d, seq: z.isn[d] + 1 + uint32(off), flags: op[0] & flagACK}
	if op[0]&0x0e == 0x02 {
		s.flags |= flagFIN
	}
	if op[0]&0xee == 0xe4 {
		s.flags |= flagRST
	}
	data := make([]byte, op[2]&0x3f)
	for i := range data {
		data[i] = byte(z.number)*13 + byte(i)
	}
	s.data = string(data)
	if op[0]&0x20 != 0 {
		s.cut = int(op[2] >> 6)
	}
	s.ack = z.isn[d.Other()] + 1 + uint32(z.high[d.Other()]+int64(int8(op[3])))
	z.time += int64(int8(op[4])) * 10 * millisecond
	z.high[d] = max(z.high[d], off+int64(len(s.data)+s.cut))
	if s.flags&flagRST == 0 {
		z.models[d].add(off, s, z.number+1, max(0, z.passed(d)))
	}
	z.send(s)
}

func (z *streamFuzz) send(s sent) {
	z.number++
	packet := s.packet(z.number, z.time)
	if err := z.a.Packet(packet); err != nil {
		z.t.Fatal(err)
	}
	z.pair.packet(packet)
}

// passed returns how far the stream has been handed on.
func (z *streamFuzz) passed(d Direction) int64 {
	for _, streams := range z.w.streams {
		return streams[d].next
	}
	return 0
}

func (z *streamFuzz) finish() {
	z.pair.finish()
	z.a.Close()
	checkEmpty(z.t, z.a)
	z.w.checkEnded()
	if len(z.w.ended) != 1 {
		z.t.Fatalf("%d connections ended", len(z.w.ended))
	}
	for c, streams := range z.w.streams {
		for d := range streams {
			z.models[d].check(z.t, directionNames[d], &streams[d])
			z.models[d].checkNotes(z.t, Direction(d), z.w.notes)
		}
		if c.ID != 1 {
			z.t.Fatalf("connection %d", c.ID)
		}
	}
}

// FuzzAssembler sends segments with any numbers and flags between three pairs of endpoints.
// A byte of payload tells its index in its packet; so whatever is handed on, packet and offset
// have to agree on one start of the stream. In between connections settle, or memory gets short.
func FuzzAssembler(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 101, 0, 0, 0, 0, 20, 1})
	f.Add([]byte{18, 0, 0, 0, 100, 255, 255, 255, 255, 9, 9, 17, 255, 255, 255, 250, 0, 0, 0, 0, 20, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		p := &provenance{witness: newWitness(t), sent: map[int64]sent{}, base: map[*stream]uint32{}}
		a := New(p)
		both := newPair(t)
		all := []*Assembler{a, both.assemblers[0], both.assemblers[1]}
		for _, a := range all {
			a.Limits = Limits{PerStream: 2000, Total: 5000, Memory: 1 << 30}
		}
		var number, time int64
		for ; len(script) >= 11; script = script[11:] {
			number++
			time += int64(int8(script[10])) * 1e8
			s := scramble(script[:11])
			p.sent[number] = s
			packet := s.packet(number, time)
			packet.Data[15] += script[0] >> 6 // one of several addresses
			packet.Data[19] += script[0] >> 6
			for _, a := range all {
				if script[10]&15 == 1 {
					age(a)
				}
				a.Limits.Memory = 1 << 30
				if script[10]&15 == 2 {
					a.Limits.Memory = int(script[9]) * 16
				}
				if err := a.Packet(packet); err != nil {
					t.Fatal(err)
				}
			}
		}
		both.finish()
		a.Close()
		checkEmpty(t, a)
		p.checkEnded()
		if got := int64(len(p.ended)); got != a.Stats().Connections {
			t.Fatalf("%d connections ended of %d", got, a.Stats().Connections)
		}
	})
}

func scramble(op []byte) sent {
	data := make([]byte, op[9])
	for i := range data {
		data[i] = byte(i)
	}
	return sent{
		from:  Direction(op[0] >> 5 & 1),
		flags: op[0] & 0x17,
		seq:   uint32(op[1])<<24 | uint32(op[2])<<16 | uint32(op[3])<<8 | uint32(op[4]),
		ack:   uint32(op[5])<<24 | uint32(op[6])<<16 | uint32(op[7])<<8 | uint32(op[8]),
		data:  string(data),
		cut:   int(op[10] >> 7),
	}
}

// A provenance is a witness that follows bytes back to their packets.
type provenance struct {
	*witness
	sent map[int64]sent
	base map[*stream]uint32 // sequence number of offset 0
}

func (p *provenance) Chunk(c *Connection, d Direction, k *Chunk) {
	p.witness.Chunk(c, d, k)
	s := p.sent[k.Packet]
	for i, b := range k.Data {
		if b != k.Data[0]+byte(i) || int(b) >= len(s.data) {
			p.t.Fatalf("connection %d: bytes %v are not from packet %d", c.ID, k.Data, k.Packet)
		}
	}
	first := s.seq + uint32(k.Data[0])
	if s.flags&flagSYN != 0 {
		first++
	}
	base := first - uint32(k.Offset)
	st := p.stream(c, d)
	if known, there := p.base[st]; there && known != base {
		p.t.Fatalf("connection %d: stream begins at %d, but packet %d says %d", c.ID, known, k.Packet, base)
	}
	p.base[st] = base
}

// FuzzFragments cuts the IP packets of three segments that follow each other into pieces of any kind, in any
// order, and compares what comes of them with a model of bytes: the first piece that has a byte counts, and a
// segment counts when its header is there.
func FuzzFragments(f *testing.F) {
	f.Add(false, []byte{0, 0, 5, 0, 0, 5, 9, 0, 1, 0, 9, 0, 1, 9, 3, 0})
	f.Add(true, []byte{0, 3, 9, 1, 0, 0, 2, 0, 0, 2, 1, 0, 2, 0, 1, 0, 2, 1, 9, 0, 2, 1, 9, 0})
	f.Fuzz(func(t *testing.T, v6 bool, script []byte) {
		z := &fragmentFuzz{t: t, w: newWitness(t)}
		z.a = New(z.w)
		z.setUp(v6)
		for ; len(script) >= 4; script = script[4:] {
			z.step([4]byte(script))
		}
		z.finish()
	})
}

type fragmentFuzz struct {
	t       *testing.T
	a       *Assembler
	w       *witness
	packets [3][]byte  // whole
	headers int        // of IP
	first   [3][]int64 // by byte behind the IP header: the packet that brought it first, its negative where that was cut
}

const fragmentFuzzData = 60

func (z *fragmentFuzz) setUp(v6 bool) {
	z.headers = 20
	for n := range z.packets {
		data := make([]byte, fragmentFuzzData)
		for i := range data {
			data[i] = byte(n*fragmentFuzzData + i)
		}
		z.packets[n] = sent{seq: 1<<32 - 70 + uint32(n*len(data)), flags: flagACK, data: string(data)}.packet(0, 0).Data
		z.first[n] = make([]int64, len(z.packets[n])-20)
	}
	syn := sent{seq: 1<<32 - 71, flags: flagSYN}.packet(0, 0).Data
	if v6 {
		z.headers = 40
		syn = asIPv6(syn)
		for n := range z.packets {
			z.packets[n] = asIPv6(z.packets[n])
		}
	}
	feed(z.t, z.a, syn)
}

// step sends one fragment: of which packet, from where, how much, what is cut off.
func (z *fragmentFuzz) step(op [4]byte) {
	n := int(op[0]) % len(z.packets)
	whole := len(z.packets[n]) - z.headers
	part := ipFragment{from: int(op[1]) % 10 * 8}
	part.to = min(part.from+8+int(op[2])%10*8, whole)
	part.cut = int(op[3]) % 16 % (part.to - part.from + 1)
	if part.from == 0 && part.to == whole {
		return
	}
	number := z.a.Stats().Packets + 1
	for at := part.from; at < part.to; at++ {
		switch {
		case z.first[n][at] != 0:
		case at < part.to-part.cut:
			z.first[n][at] = number
		default:
			z.first[n][at] = -number
		}
	}
	feed(z.t, z.a, fragments(z.packets[n], uint32(n), part)...)
}

func (z *fragmentFuzz) finish() {
	z.a.Close()
	checkEmpty(z.t, z.a)
	for _, streams := range z.w.streams {
		s := &streams[FromA]
		for n := range z.packets {
			z.check(n, s)
		}
	}
}

func (z *fragmentFuzz) check(n int, s *stream) {
	const header = 20
	known := true
	for _, number := range z.first[n][:header] {
		known = known && number > 0
	}
	for i, number := range z.first[n][header:] {
		at := int64(n*fragmentFuzzData + i)
		got, there := s.bytes[at]
		if there != (known && number > 0) {
			z.t.Fatalf("byte %d of segment %d: there %v, header known %v, first %d", i, n, there, known, number)
		}
		if there && (got.value != byte(at) || got.packet != number) {
			z.t.Fatalf("byte %d of segment %d: %v, want packet %d", i, n, got, number)
		}
	}
}

// FuzzDecode reads any bytes as any link type. What comes out has to lie inside the packet.
func FuzzDecode(f *testing.F) {
	s := sent{seq: 1, ack: 2, flags: flagACK, data: "abc"}
	packet := s.packet(1, 0).Data
	f.Add(uint16(pcaps.LinkTypeRaw), uint32(len(packet)), packet)
	for _, tt := range linkPackets(f) {
		f.Add(uint16(tt.link), uint32(len(tt.data)), tt.data)
	}
	f.Fuzz(func(t *testing.T, link uint16, wire uint32, data []byte) {
		var s segment
		p := &pcaps.Packet{Data: data, WireLen: wire, Link: pcaps.LinkType(link)}
		checkPlain(t, data)
		if s.decode(p) != isTCP {
			return
		}
		if s.length < len(s.payload) {
			t.Fatalf("%d bytes on the wire, %d captured", s.length, len(s.payload))
		}
		if s.length > max(65535, int(wire), len(data)) {
			t.Fatalf("%d bytes on the wire of a packet of %d", s.length, wire)
		}
		if len(s.payload) > 0 && !within(s.payload, data) {
			t.Fatal("payload is not in the packet")
		}
	})
}

// within says whether part aliases whole.
func within(part, whole []byte) bool {
	at := cap(whole) - cap(part) // both end where the array does
	return at >= 0 && at+len(part) <= len(whole) && &whole[at] == &part[0]
}
