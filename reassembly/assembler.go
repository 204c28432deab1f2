package reassembly

import (
	"cmp"
	"slices"

	"github.com/kdissect/kdissect/pcaps"
)

// Limits bound the memory held by payload that waits for missing bytes, in bytes. When one
// is exceeded the missing bytes are given up, with a Gap of cause Limit.
type Limits struct {
	PerStream int // in one direction of a connection
	Total     int // in all of them together
}

// DefaultLimits are the limits of a new Assembler. A receiver's window, and with it what can wait behind a
// lost segment, is seldom above 4 MiB.
var DefaultLimits = Limits{PerStream: 4 << 20, Total: 16 << 20}

// Stats counts what an Assembler has met.
type Stats struct {
	Packets      int64 // all packets
	TCPPackets   int64 // those with a TCP header
	PayloadBytes int64 // captured TCP payload
	Delivered    int64 // bytes of it handed on; the rest had been seen before, or came after an end

	NotTCP      int64 // skipped: no IP, or another protocol in it
	Fragments   int64 // skipped: pieces of IP packets other than the first
	Malformed   int64 // skipped: a header that contradicts itself or was cut
	Unsupported int64 // skipped: an unsupported link type

	Connections   int64
	Late          int64 // packets of connections that had ended
	Retransmitted int64 // packets with payload that had been seen, in part or in whole
	BeforeStart   int64 // packets with payload in front of the first byte seen of a stream without SYN
	OutOfOrder    int64 // packets with payload that came too early
	Gaps          int64
	GapBytes      int64
}

// An Assembler hands the streams of all TCP connections in a sequence of packets to a Handler. It is for one goroutine.
type Assembler struct {
	Limits Limits // may be set before the first packet

	handler Handler
	stats   Stats
	v4      table[key4]
	v6      table[key6]
	now     origin // the current packet
	seg     segment
	span    [1]Span
	refused map[pcaps.LinkType]bool // unsupported link types already told

	held    int     // memory of all pending pieces
	waiting []*half // those that hold pending pieces, in no order
	cursor  int     // the one of waiting to look at next
	spare   []*hole // closed holes, to be used again
	buffers buffers

	dying []*conn // those that an RST was seen of, in that order
}

// New returns an Assembler with DefaultLimits.
func New(h Handler) *Assembler {
	return &Assembler{
		Limits:  DefaultLimits,
		handler: h,
		v4:      newTable[key4](),
		v6:      newTable[key6](),
		refused: make(map[pcaps.LinkType]bool),
	}
}

// Stats returns what was counted so far.
func (a *Assembler) Stats() Stats { return a.stats }

// Packet takes the next packet of the capture. Its data need to stay valid during the call only.
// The error is an *UnsupportedLinkError, returned for the first packet of each such link
// type; the packet is skipped, and so are those that follow it silently.
func (a *Assembler) Packet(p *pcaps.Packet) error {
	a.stats.Packets++
	switch a.seg.decode(p) {
	case isTCP:
		a.now = origin{p.Number, p.Time}
		a.tcp(&a.seg)
	case notTCP:
		a.stats.NotTCP++
	case isFragment:
		a.stats.Fragments++
	case malformed:
		a.stats.Malformed++
	case unknownLink:
		a.stats.Unsupported++
		if !a.refused[p.Link] {
			a.refused[p.Link] = true
			return &UnsupportedLinkError{Link: p.Link, Packet: p.Number}
		}
	}
	return nil
}

// Close ends all connections in the order of their IDs: what still waits is handed on, with Gaps
// for what is missing. The Assembler is of no use afterwards.
func (a *Assembler) Close() {
	a.now.packet = 0
	var rest []*conn
	for _, c := range a.v4.live {
		rest = append(rest, c)
	}
	for _, c := range a.v6.live {
		rest = append(rest, c)
	}
	slices.SortFunc(rest, func(x, y *conn) int { return cmp.Compare(x.ID, y.ID) })
	for _, c := range rest {
		a.end(c, EndOfInput)
	}
}

func (a *Assembler) tcp(s *segment) {
	a.stats.TCPPackets++
	a.stats.PayloadBytes += int64(len(s.payload))
	var c *conn
	var d Direction
	if s.v6 {
		k, turned := key6Of(s.src, s.dst)
		c, d = assign(a, &a.v6, k, turned, s)
	} else {
		k, turned := key4Of(s.src, s.dst)
		c, d = assign(a, &a.v4, k, turned, s)
	}
	if c == nil {
		a.stats.Late++
	} else {
		a.segment(c, d, s)
	}
	if len(a.waiting) > 0 {
		a.patrol()
	}
	if len(a.dying) > 0 {
		a.endReset()
	}
}

// assign returns the connection and the direction that s belongs to. The connection is nil when
// it has ended.
func assign[K pairKey](a *Assembler, t *table[K], k K, turned bool, s *segment) (*conn, Direction) {
	c := t.find(k)
	if c != nil {
		d := c.direction(turned)
		if s.flags&flagSYN == 0 || c.halves[d].continues(s.seq) {
			return c, d
		}
		a.end(c, Replaced)
	}
	if t.late(k, s, turned) {
		return nil, FromA
	}
	a.stats.Connections++
	c = newConn(int(a.stats.Connections), s, turned)
	t.add(k, c)
	return c, c.direction(turned)
}

// segment takes the next packet of a connection.
func (a *Assembler) segment(c *conn, d Direction, s *segment) {
	c.packets++
	c.Seen[d] = true
	h, peer := &c.halves[d], &c.halves[d.Other()]
	if s.flags&flagRST != 0 {
		a.reset(c)
		return
	}
	seq := s.seq
	if s.flags&flagSYN != 0 {
		h.synchronize(seq)
		c.Opened = c.Opened || (d == FromA) == (s.flags&flagACK == 0)
		seq++
	}
	if s.flags&flagACK != 0 {
		a.acknowledge(h, peer, s)
	}
	if !h.pinned {
		h.start(seq, s)
	}
	h.seen = true
	if s.length > 0 {
		a.payload(h, seq, s)
	}
	if s.flags&flagFIN != 0 {
		a.finish(h, seq+uint32(s.length))
	}
	if h.hole != nil {
		a.review(h)
	}
	if peer.hole != nil {
		a.review(peer)
	}
	a.endIfClosed(c)
}

// reset takes an RST. The end waits for as long as the capture may have packets in the wrong order: with
// the RST stand the bytes that it answers.
func (a *Assembler) reset(c *conn) {
	if c.rst.packet == 0 {
		c.rst, c.rstPosition = a.now, a.stats.TCPPackets
		a.dying = append(a.dying, c)
	}
}

// endReset ends the connections whose RST is long enough ago.
func (a *Assembler) endReset() {
	n := 0
	for ; n < len(a.dying); n++ {
		c := a.dying[n]
		if a.stats.TCPPackets-c.rstPosition < settlePackets && a.now.time-c.rst.time < settleTime {
			break
		}
		if !c.ended {
			a.end(c, Reset)
		}
	}
	a.dying = slices.Delete(a.dying, 0, n)
}

func (a *Assembler) endIfClosed(c *conn) {
	if c.closed() {
		a.end(c, Closed)
	}
}

// end hands on what c still holds and replaces it by its tombstone.
func (a *Assembler) end(c *conn, cause EndCause) {
	a.flush(&c.halves[FromA])
	a.flush(&c.halves[FromB])
	at := a.now
	switch {
	case c.closed():
		cause = Closed // whatever brought out the last FIN
	case c.rst.packet != 0:
		cause, at = Reset, c.rst
	}
	c.ended = true
	a.handler.End(&c.Connection, cause, at.packet, at.time)
	x, y := endpointOf(c.Ends[0]), endpointOf(c.Ends[1])
	if c.v6 {
		k, _ := key6Of(x, y)
		a.v6.bury(k, c.tombstone())
	} else {
		k, _ := key4Of(x, y)
		a.v4.bury(k, c.tombstone())
	}
}
