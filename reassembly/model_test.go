package reassembly

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A got is one stream byte and the packet it came in.
type got struct {
	value  byte
	packet int64
}

// A span64 is a run of stream offsets, the end exclusive.
type span64 struct{ from, to int64 }

// A stream is what a witness saw of one direction.
type stream struct {
	next  int64
	bytes map[int64]got
	gaps  []span64
	fin   bool
}

// A witness is a Handler that checks what every sequence of calls has to keep to, and remembers the rest.
type witness struct {
	t       testing.TB
	streams map[*Connection]*[2]stream
	ended   map[*Connection]bool
	twins   map[*Connection]bool
	notes   []told
}

// told is a note of a direction.
type told struct {
	Direction
	Note
}

func newWitness(t testing.TB) *witness {
	return &witness{t: t, streams: map[*Connection]*[2]stream{}, ended: map[*Connection]bool{}, twins: map[*Connection]bool{}}
}

func (w *witness) stream(c *Connection, d Direction) *stream {
	if w.ended[c] {
		w.t.Fatalf("connection %d: something after its end", c.ID)
	}
	if w.streams[c] == nil {
		w.streams[c] = &[2]stream{}
	}
	return &w.streams[c][d]
}

// heard is stream for what is not told of twins.
func (w *witness) heard(c *Connection, d Direction) *stream {
	if w.twins[c] {
		w.t.Fatalf("connection %d: something of a twin", c.ID)
	}
	return w.stream(c, d)
}

func (w *witness) Note(c *Connection, d Direction, n Note) {
	s := w.heard(c, d)
	switch n.Kind {
	case NATTwin:
		if w.twins[c] || n.Twin == nil || n.Twin.ID == c.ID || s.next > 0 {
			w.t.Fatalf("connection %d: note %+v", c.ID, n)
		}
		w.twins[c] = true
	case RetransmissionConflict:
		if n.Length <= 0 || n.Offset < 0 || n.First.Packet <= 0 || !n.First.Before(n.Origin) {
			w.t.Fatalf("connection %d: note %+v", c.ID, n)
		}
	}
	w.notes = append(w.notes, told{d, n})
}

func (w *witness) Chunk(c *Connection, d Direction, k *Chunk) {
	s := w.heard(c, d)
	if k.Offset != s.next || len(k.Data) == 0 || s.fin {
		w.t.Fatalf("connection %d %v: chunk of %d at %d, behind %d, fin %v", c.ID, d, len(k.Data), k.Offset, s.next, s.fin)
	}
	if s.bytes == nil {
		s.bytes = map[int64]got{}
	}
	for i, b := range k.Data {
		s.bytes[k.Offset+int64(i)] = got{b, k.Packet}
	}
	s.next += int64(len(k.Data))
}

func (w *witness) Gap(c *Connection, d Direction, g Gap) {
	s := w.heard(c, d)
	if g.Offset != s.next || g.Length <= 0 || s.fin {
		w.t.Fatalf("connection %d %v: gap of %d at %d behind %d, fin %v", c.ID, d, g.Length, g.Offset, s.next, s.fin)
	}
	s.gaps = append(s.gaps, span64{g.Offset, g.Offset + g.Length})
	s.next += g.Length
}

func (w *witness) Fin(c *Connection, d Direction, at Origin) {
	s := w.heard(c, d)
	if s.fin {
		w.t.Fatalf("connection %d %v: second fin", c.ID, d)
	}
	s.fin = true
}

func (w *witness) End(c *Connection, cause EndCause, at Origin) {
	w.stream(c, FromA)
	w.ended[c] = true
}

// checkEnded checks that every connection that was heard of has ended.
func (w *witness) checkEnded() {
	for c := range w.streams {
		if !w.ended[c] {
			w.t.Fatalf("connection %d has no end", c.ID)
		}
	}
}

// A model is the naive assembler of one direction: all bytes by their offset, the first copy counts,
// unless the stream has passed them.
type model map[int64]modelByte

type modelByte struct {
	got
	cut       bool    // known to have been on the wire, not captured
	conflicts []int64 // later packets that have another value
}

// checkNotes checks that each conflict told is one.
func (m model) checkNotes(t testing.TB, d Direction, notes []told) {
	t.Helper()
	for _, n := range notes {
		if n.Direction != d || n.Kind != RetransmissionConflict {
			continue
		}
		found := false
		for at := n.Offset; at < n.Offset+n.Length; at++ {
			found = found || slices.Contains(m[at].conflicts, n.Packet)
		}
		if !found {
			t.Fatalf("%s: no conflict in %+v", directionNames[d], n.Note)
		}
	}
}

func (m model) add(off int64, s sent, packet, passed int64) {
	for i := range len(s.data) + s.cut {
		at := off + int64(i)
		if b, there := m[at]; there || at < passed {
			if there && i < len(s.data) && !b.cut && b.value != s.data[i] {
				b.conflicts = append(b.conflicts, packet)
				m[at] = b
			}
			continue
		}
		b := modelByte{cut: true}
		if i < len(s.data) {
			b = modelByte{got: got{s.data[i], packet}}
		}
		m[at] = b
	}
}

// check compares what was handed on with the model.
func (m model) check(t testing.TB, name string, s *stream) {
	t.Helper()
	for at, want := range m {
		if at >= s.next {
			if !s.fin {
				t.Fatalf("%s: byte %d was captured in packet %d and not handed on; the stream ends at %d", name, at, want.packet, s.next)
			}
			continue
		}
		if got, there := s.bytes[at]; there == want.cut || got != want.got {
			t.Fatalf("%s: byte %d is %v (there: %v), want %v", name, at, got, there, want)
		}
	}
	for at, got := range s.bytes {
		if m[at].got != got {
			t.Fatalf("%s: byte %d is %v, which was not captured", name, at, got)
		}
	}
}

// A conversation is a random capture of one connection, with what it was made from.
type conversation struct {
	rng     *rand.Rand
	isn     [2]uint32
	length  [2]int64 // bytes sent so far
	packets []planned
}

// A planned packet knows where its payload belongs.
type planned struct {
	sent
	off   int64 // stream offset
	place int   // in the capture
}

// Reordering moves a packet by at most this many places.
const jitter = 20

func (v *conversation) add(p planned, places int) {
	p.seq = v.isn[p.from] + 1 + uint32(p.off)
	p.flags |= flagACK
	other := p.from.Other()
	p.ack = v.isn[other] + 1 + uint32(v.length[other])
	p.place = len(v.packets) + places
	v.packets = append(v.packets, p)
}

func (v *conversation) handshake() {
	v.packets = append(v.packets,
		planned{sent: sent{from: FromA, seq: v.isn[FromA], flags: flagSYN}, place: -3},
		planned{sent: sent{from: FromB, seq: v.isn[FromB], ack: v.isn[FromA] + 1, flags: flagSYN | flagACK}, place: -2},
		planned{sent: sent{from: FromA, seq: v.isn[FromA] + 1, ack: v.isn[FromB] + 1, flags: flagACK}, place: -1},
	)
}

// data adds a segment with the next bytes of a direction, or lets it get lost.
func (v *conversation) data(d Direction, loss float64, places int) {
	p := planned{sent: sent{from: d, data: v.bytes(1 + v.rng.IntN(60))}, off: v.length[d]}
	v.length[d] += int64(len(p.data))
	if v.rng.Float64() >= loss {
		v.add(p, places)
	}
}

// again adds a segment over bytes that were sent before, in whole or in part, with content that may differ.
func (v *conversation) again(d Direction, places int) {
	off := v.rng.Int64N(v.length[d] + 1)
	off = max(off, v.length[d]-200)
	n := min(int64(1+v.rng.IntN(150)), v.length[d]-off)
	v.add(planned{sent: sent{from: d, data: v.bytes(int(n))}, off: off}, places)
}

func (v *conversation) bytes(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(v.rng.Uint32())
	}
	return string(b)
}

func (v *conversation) order() {
	slices.SortStableFunc(v.packets, func(x, y planned) int { return cmp.Compare(x.place, y.place) })
}

func newConversation(seed uint64, syn bool, loss float64) *conversation {
	rng := rand.New(rand.NewPCG(seed, 7))
	v := &conversation{rng: rng}
	for d := range v.isn {
		v.isn[d] = rng.Uint32()
		if seed%2 == 0 {
			v.isn[d] = -uint32(rng.IntN(3000)) // wraps soon
		}
	}
	if syn {
		v.handshake()
	}
	v.data(FromA, 0, 0)
	v.data(FromB, 0, 0)
	settled := len(v.packets)
	for range 300 {
		d, places := Direction(rng.IntN(2)), rng.IntN(jitter+1)
		if len(v.packets) < settled+jitter {
			places = 0 // the first bytes of a stream say where it begins
		}
		switch rng.IntN(10) {
		case 0:
			v.again(d, places)
		case 1, 2:
			v.add(planned{sent: sent{from: d}, off: v.length[d]}, places) // a bare ACK
		case 3:
			v.add(planned{sent: sent{from: d, data: "K"}, off: v.length[d] - 1}, places) // a keep-alive
		default:
			v.data(d, loss, places)
		}
	}
	for d := range v.isn {
		v.add(planned{sent: sent{from: Direction(d), flags: flagFIN}, off: v.length[d]}, rng.IntN(jitter+1))
	}
	v.order()
	return v
}

func TestRandomConversations(t *testing.T) {
	for _, syn := range []bool{true, false} {
		for _, loss := range []float64{0, 0.1} {
			t.Run(fmt.Sprintf("syn=%v loss=%v", syn, loss), func(t *testing.T) {
				for seed := range uint64(200) {
					checkConversation(t, seed, newConversation(seed, syn, loss), loss > 0)
				}
			})
		}
	}
}

func checkConversation(t *testing.T, seed uint64, v *conversation, lossy bool) {
	t.Helper()
	w := newWitness(t)
	a := New(w)
	a.CompareDelivered = seed%2 == 0
	models := [2]model{{}, {}}
	var c *Connection
	for i, p := range v.packets {
		var passed int64
		if c != nil {
			passed = w.streams[c][p.from].next
		}
		models[p.from].add(p.off, p.sent, int64(i+1), passed)
		if err := a.Packet(p.packet(int64(i+1), int64(i)*millisecond)); err != nil {
			t.Fatal(err)
		}
		for known := range w.streams {
			c = known
		}
		if seed%3 == 0 {
			age(a)
		}
	}
	a.Close()
	checkEmpty(t, a)
	if len(w.streams) != 1 {
		t.Fatalf("seed %d: %d connections", seed, len(w.streams))
	}
	for d := range models {
		s := &w.streams[c][d]
		name := fmt.Sprintf("seed %d %s", seed, directionNames[d])
		models[d].check(t, name, s)
		models[d].checkNotes(t, Direction(d), w.notes)
		if s.next != v.length[d] || !s.fin {
			t.Fatalf("%s: %d bytes, fin %v; want %d", name, s.next, s.fin, v.length[d])
		}
		if len(s.gaps) > 0 && !lossy {
			t.Fatalf("%s: gaps %v without loss", name, s.gaps)
		}
	}
}
