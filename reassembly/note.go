package reassembly

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A record is what is remembered of bytes that were handed on, so that the same bytes captured once more can be
// compared with them.
type record struct {
	half   *half
	off    int64
	sum    uint64
	length int
	Origin
}

// maxRecords is how many segments are remembered, over all connections: those that a copy or a quick
// retransmission may follow. It is a power of two.
const maxRecords = 128

func (a *Assembler) remember(h *half, data []byte, from *Origin) {
	r := &a.records[a.recorded%maxRecords]
	a.recorded++
	if h.conn.muted { // nothing is compared with it, so its bytes need not be touched
		r.half = nil
		return
	}
	r.half, r.off, r.sum, r.length, r.Origin = h, h.next, checksum(data), len(data), *from
}

// recordOf returns the latest record of a segment that begins at off, or nil.
func (a *Assembler) recordOf(h *half, off int64) *record {
	for back := range uint(maxRecords) {
		if r := &a.records[(a.recorded-1-back)%maxRecords]; r.half == h && r.off == off {
			return r
		}
	}
	return nil
}

// checksum takes samples of bytes: all of up to 32, and so many of more. To read all would cost
// more than the rest of what is done with a packet.
func checksum(b []byte) uint64 {
	if len(b) < 8 {
		return shortSum(b)
	}
	last := len(b) - 8
	step := last / 3
	const k1, k2, k3 = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9
	return binary.LittleEndian.Uint64(b)*k1 ^
		bits.RotateLeft64(binary.LittleEndian.Uint64(b[step:])*k2, 17) ^
		bits.RotateLeft64(binary.LittleEndian.Uint64(b[last-step:])*k3, 31) ^
		bits.RotateLeft64(binary.LittleEndian.Uint64(b[last:])*k1, 47)
}

func shortSum(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// attend looks at a segment for the Noter, before its payload is taken.
func (a *Assembler) attend(c *conn, h *half, seq uint32, s *segment) {
	switch {
	case s.length > 0:
		c.loaded++
		if c.greeted {
			a.introduce(c, h, seq, s)
		}
	case s.flags&(flagSYN|flagACK) == flagSYN|flagACK:
		a.greet(c, h, s)
	}
}

// fresh takes note of bytes that are handed on.
func (a *Assembler) fresh(h *half, data []byte, from *Origin) {
	h.conn.fresh = uint32(from.Time >> freshUnit)
	if a.CompareDelivered {
		a.remember(h, data, from)
	}
}

// freshUnit makes a nanosecond about a millisecond, so that conn.fresh is small.
const freshUnit = 20

// compare looks at bytes some of which were handed on before.
func (a *Assembler) compare(h *half, p piece) {
	c := h.conn
	if c.muted || len(p.data) <= 1 {
		return
	}
	if since := int32(uint32(p.Time>>freshUnit) - c.fresh); p.end() <= h.next && -repeatTime < since && since < repeatTime {
		c.repeats++
		a.tellRepeats(c, manyRepeats)
	}
	if !a.CompareDelivered {
		return
	}
	if r := a.recordOf(h, p.off); r != nil && r.length == len(p.data) && r.sum != checksum(p.data) {
		a.conflict(h, p, r.off, int64(r.length), r.Origin)
	}
}

// compareHeld looks at bytes some of which are pending.
func (a *Assembler) compareHeld(h *half, p piece) {
	if h.hole == nil || h.conn.muted {
		return
	}
	pending := h.hole.pending
	for i := pending.find(p.off); i < len(pending) && pending[i].off < p.end(); i++ {
		if off, length := p.differs(pending[i]); length > 0 {
			a.conflict(h, p, off, length, pending[i].Origin)
		}
	}
}

// conflict tells of bytes that differ from those of an earlier packet. A single byte is that of
// a keep-alive probe, which may be anything (RFC 9293, section 3.8.4).
func (a *Assembler) conflict(h *half, p piece, off, length int64, first Origin) {
	if len(p.data) > 1 {
		a.notes.Note(&h.conn.Connection, h.dir, Note{Kind: RetransmissionConflict, Offset: off, Length: length, Origin: p.Origin, First: first})
	}
}

// A packet captured twice comes again at once, most often before anything new; a retransmission takes at least
// the time of a round trip, most often 200 ms. In units of conn.fresh.
const repeatTime = 5

// How many segments have to come twice before it is told, while a connection lives and at its end. And they
// have to be 3 of 10.
const (
	manyRepeats = 16
	fewRepeats  = 2
)

func (a *Assembler) tellRepeats(c *conn, enough uint32) {
	if c.doubled || c.muted || c.repeats < enough || uint64(c.repeats)*10 < uint64(c.loaded-c.repeats)*3 {
		return
	}
	c.doubled = true
	a.notes.Note(&c.Connection, FromA, Note{Kind: DuplicatePackets, Origin: a.now})
}

// A greeting is what was seen of the handshake and the first payload that one or several connections have in common.
type greeting struct {
	isn     [2]uint32 // of the end that opened it, and of the other
	time    int64     // of the first answer to the SYN
	conns   []met
	spoken  bool // the rest is known: of the first payload
	speaker met
	dir     Direction
	seq     uint32
	data    []byte
	Origin
}

// met is a connection that was met.
type met struct {
	id   int
	conn *Connection
}

// greetings are those of the latest handshakes.
type greetings struct {
	byISN  map[[2]uint32]*greeting
	recent [maxGreetings]*greeting
	next   int
}

const (
	maxGreetings     = 256
	maxGreetingData  = 256 // bytes of payload compared
	maxGreetingConns = 4   // a packet passes few translations on one machine
)

// twinTime bounds how long after a packet its translated copy may have been captured.
const twinTime = 1e9

// greet looks whether a connection has the initial sequence numbers of another that has said nothing so far:
// then they are on two sides of an address translation, if their first payload is the same too. What only
// differs in its ports is something else.
func (a *Assembler) greet(c *conn, h *half, s *segment) {
	if c.greeted || c.halves[FromA].next+c.halves[FromB].next > 0 || h.dir != FromB {
		return
	}
	isn := [2]uint32{s.ack - 1, s.seq}
	g := a.greetings.byISN[isn]
	if g == nil || a.now.Time-g.time >= twinTime || g.spoken {
		a.greetings.add(isn, a.now.Time, met{c.ID, &c.Connection})
		c.greeted = true
		return
	}
	if len(g.conns) < maxGreetingConns && elsewhere(g.conns[0].conn, &c.Connection) {
		g.conns = append(g.conns, met{c.ID, &c.Connection})
		c.greeted = true
	}
}

// elsewhere says whether an address of x and y differs.
func elsewhere(x, y *Connection) bool {
	return x.Ends[0].Addr() != y.Ends[0].Addr() || x.Ends[1].Addr() != y.Ends[1].Addr()
}

// add takes note of a handshake, in place of the one that was remembered for longest.
func (l *greetings) add(isn [2]uint32, time int64, first met) {
	if l.byISN == nil {
		l.byISN = make(map[[2]uint32]*greeting)
	}
	place := &l.recent[l.next%maxGreetings]
	l.next++
	g := *place
	switch {
	case g == nil:
		g = &greeting{}
		*place = g
	case l.byISN[g.isn] == g:
		delete(l.byISN, g.isn)
	}
	*g = greeting{isn: isn, time: time, conns: append(g.conns[:0], first), data: g.data[:0]}
	l.byISN[isn] = g
}

// introduce takes the first payload of a connection whose handshake was seen.
func (a *Assembler) introduce(c *conn, h *half, seq uint32, s *segment) {
	c.greeted = false
	g := a.greetings.byISN[[2]uint32{c.halves[FromA].base - 1, c.halves[FromB].base - 1}]
	if g == nil || !g.has(c.ID) {
		return
	}
	data := s.payload[:min(len(s.payload), maxGreetingData)]
	if !g.spoken {
		g.spoken, g.speaker, g.Origin = true, met{c.ID, &c.Connection}, a.now
		g.dir, g.seq, g.data = h.dir, seq, append(g.data, data...)
		return
	}
	if g.speaker.id == c.ID || g.dir != h.dir || g.seq != seq || !bytes.Equal(g.data, data) || a.now.Time-g.Origin.Time >= twinTime {
		return
	}
	a.notes.Note(&c.Connection, h.dir, Note{
		Kind: NATTwin, Offset: 0, Length: int64(s.length),
		Origin: a.now, First: g.Origin, Twin: g.speaker.conn,
	})
	c.muted = true
	a.stats.Twins++
}

func (g *greeting) has(id int) bool {
	for _, m := range g.conns {
		if m.id == id {
			return true
		}
	}
	return false
}
