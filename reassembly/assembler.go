package reassembly

import (
	"cmp"
	"slices"

	"github.com/kdissect/kdissect/pcaps"
)

// Limits bound the memory that an Assembler takes, in bytes. When there is too much payload waiting
// for missing bytes, these are given up with a Gap of cause Limit. When all is too much,
// connections are forgotten, with an End of cause Evicted.
type Limits struct {
	PerStream int // payload that waits, in one direction of a connection
	Total     int // payload that waits, in all of them together
	Memory    int // that, the state of all connections, what the Handler keeps for them, and the pieces of IP packets
}

// LimitsWithin returns the limits for some memory in all.
func LimitsWithin(memory int) Limits {
	return Limits{PerStream: memory / 16, Total: memory / 4, Memory: memory}
}

// DefaultMemory is Limits.Memory of a new Assembler. It leaves 4 MiB for what waits in a stream: a receiver's window, and with
// it what can wait behind a lost segment, is seldom above that.
const DefaultMemory = 64 << 20

// Stats counts what an Assembler has met.
type Stats struct {
	Packets     int64 // all packets: those of the next four, and those with a TCP segment of their own
	NotTCP      int64 // skipped: no IP, or another protocol in it
	Fragments   int64 // pieces of IP packets
	Malformed   int64 // skipped: a header that contradicts itself or was cut
	Unsupported int64 // skipped: an unsupported link type

	TCPPackets    int64 // TCP segments, each piece of one that came in fragments
	Incomplete    int64 // IP packets that lacked pieces; what was there of a TCP segment behind its header was used
	Late          int64 // segments of connections that had ended
	Retransmitted int64 // segments with payload that had been seen, in part or in whole
	OutOfOrder    int64 // segments with payload that came too early

	Connections int64
	Twins       int64 // connections that were kept from the Handler for being others behind an address translation
	Evicted     int64 // connections forgotten to stay within Limits.Memory

	Bytes
	Gaps     int64
	GapBytes [Limit + 1]int64 // bytes missing from the streams, by GapCause
}

// Bytes says where the captured TCP payload went. What PayloadBytes has above the sum of the others waits for bytes in front of
// it; after Close nothing does.
type Bytes struct {
	PayloadBytes int64 // all of it
	Delivered    int64 // handed on
	Repeated     int64 // had been seen, or its place in the stream had been given up
	BeforeStart  int64 // in front of the first byte of its stream
	BehindFin    int64 // behind the last
	InReset      int64 // in a packet with RST: at most a text for the log (RFC 9293, section 3.5.3)
	OfTwins      int64 // of NAT twins, which are told once
	OfEnded      int64 // of connections that had ended
}

// An Assembler hands the streams of all TCP connections in a sequence of packets to a Handler. It is for one goroutine.
type Assembler struct {
	Limits Limits // may be set before the first packet

	// CompareDelivered has a Noter hear of conflicts with bytes that were handed on lately, and not only with those
	// that wait. It may be set before the first packet, and adds about 6 ns to each.
	CompareDelivered bool

	general bool // takes no shortcut, for tests that compare

	handler Handler
	notes   Noter // the handler, if it is one
	stats   Stats
	v4      table[key4]
	v6      table[key6]
	now     Origin // the current packet
	seg     segment
	chunk   Chunk             // the one that is handed on
	refused map[fileLink]bool // unsupported link types already told

	memory  int     // everything that Limits.Memory is about
	large   *conn   // the one whose message may take more than counts, see charge
	held    int     // memory of all pending pieces
	waiting []*half // those that hold pending pieces, in no order
	cursor  int     // the one of waiting to look at next
	spare   []*hole // closed holes, to be used again
	buffers buffers

	dying []dying // those that an RST was seen of, in that order

	newcomers [maxNewcomers]*conn // the latest connections, by their number modulo maxNewcomers
	arrivals  int
	settled   []*conn // the other live ones, in no order
	hand      int     // the one of settled to look at next

	datagrams datagrams
	greetings greetings
	records   [maxRecords]record // of segments handed on lately
	recorded  uint
}

// New returns an Assembler with the limits for DefaultMemory.
func New(h Handler) *Assembler {
	a := &Assembler{
		Limits:  LimitsWithin(DefaultMemory),
		handler: h,
		v4:      newTable[key4](),
		v6:      newTable[key6](),
		refused: make(map[fileLink]bool),
	}
	a.notes, _ = h.(Noter)
	return a
}

// Stats returns what was counted so far.
func (a *Assembler) Stats() Stats { return a.stats }

// Packet takes the next packet of the capture. Its data need to stay valid during the call only.
// The error is an *UnsupportedLinkError, returned for the first packet of each such link
// type in each file; the packet is skipped, and so are those that follow it silently.
func (a *Assembler) Packet(p *pcaps.Packet) error {
	a.stats.Packets++
	switch a.seg.decode(p) {
	case isTCP:
		a.meet(p)
		a.tcp(&a.seg)
	case notTCP:
		a.stats.NotTCP++
	case isFragment:
		a.meet(p)
		if a.piece(&a.seg) {
			a.stats.Fragments++
		} else {
			a.stats.Malformed++
		}
	case malformed:
		a.stats.Malformed++
	case unknownLink:
		a.stats.Unsupported++
		if kind := (fileLink{p.File, p.Link}); !a.refused[kind] {
			a.refused[kind] = true
			return &UnsupportedLinkError{Link: p.Link, Packet: p.Number}
		}
	}
	return nil
}

// meet makes p the current packet.
func (a *Assembler) meet(p *pcaps.Packet) {
	a.now = Origin{p.Number, p.Time, p.File, uint32(a.stats.Packets)}
}

// Live returns the connections that have not ended, in the order of their IDs. It is for between packets, and takes a moment where there are many.
func (a *Assembler) Live() []*Connection {
	live := a.live()
	all := make([]*Connection, len(live))
	for i, c := range live {
		all[i] = &c.Connection
	}
	return all
}

func (a *Assembler) live() []*conn {
	live := slices.Concat(a.v4.connections(), a.v6.connections())
	slices.SortFunc(live, func(x, y *conn) int { return cmp.Compare(x.ID, y.ID) })
	return live
}

// A fileLink is a link type in one of the files.
type fileLink struct {
	file uint16
	link pcaps.LinkType
}

// Close ends all connections in the order of their IDs: what still waits is handed on, with Gaps
// for what is missing. The Assembler is of no use afterwards.
func (a *Assembler) Close() {
	a.closeDatagrams()
	a.now.Packet = 0
	live := a.live()
	asleep4, asleep6 := a.v4.sleepers(), a.v6.sleepers()
	for len(live)+len(asleep4)+len(asleep6) > 0 {
		id4, id6 := nextID(asleep4), nextID(asleep6)
		switch {
		case len(live) > 0 && live[0].ID < min(id4, id6):
			a.end(live[0], EndOfInput)
			live = live[1:]
		case id4 < id6:
			a.endEmbryo(asleep4[0].conn(), EndOfInput)
			asleep4 = asleep4[1:]
		default:
			a.endEmbryo(asleep6[0].conn(), EndOfInput)
			asleep6 = asleep6[1:]
		}
	}
	forgetAll(a, &a.v4)
	forgetAll(a, &a.v6)
}

func (a *Assembler) tcp(s *segment) {
	a.stats.TCPPackets++
	a.stats.PayloadBytes += int64(len(s.payload))
	c, d := a.connection(s)
	if c == nil {
		a.stats.Late++
		a.stats.OfEnded += int64(len(s.payload))
	} else {
		a.segment(c, d, s)
	}
	if len(a.waiting) > 0 {
		a.patrol()
	}
	if len(a.dying) > 0 {
		a.endReset()
	}
	if a.memory > a.Limits.Memory {
		a.shrink()
	}
}

// connection returns what assign does. It looks first where it most often is, without the detour by way of a type parameter.
func (a *Assembler) connection(s *segment) (*conn, Direction) {
	if s.v6 {
		k, turned := key6Of(s.src, s.dst)
		return assign(a, &a.v6, k, turned, s)
	}
	k, turned := key4Of(s.src, s.dst)
	if c := a.v4.latest(k, slotOf(k)); c != nil && s.flags&flagSYN == 0 {
		if c.ended {
			return nil, FromA
		}
		return c, c.direction(turned)
	}
	return assign(a, &a.v4, k, turned, s)
}

// assign returns the connection and the direction that s belongs to. The connection is nil when
// it has ended.
func assign[K pairKey](a *Assembler, t *table[K], k K, turned bool, s *segment) (*conn, Direction) {
	c := t.find(k)
	if c == nil {
		c = wake(a, t, k)
	}
	if c != nil {
		d := c.direction(turned)
		if s.flags&flagSYN == 0 || c.halves[d].continues(s.seq) {
			return c, d
		}
		a.end(c, Replaced)
	}
	before, buried := t.ended.find(k)
	if buried && before.covers(s, turned) {
		return nil, FromA
	}
	if buried {
		_, _, stone := k.sizes()
		a.memory += t.ended.remove(k) * stone
	}
	a.stats.Connections++
	c = newConn(int(a.stats.Connections), s, turned)
	t.add(k, c)
	arrive(a, c, k)
	return c, c.direction(turned)
}

// segment takes the next packet of a connection. One that brings what comes next in a stream, or nothing, where nothing is missing from either direction and
// there is nothing to learn, takes the short way: it changes nothing else. That takes 210 instructions instead of 400.
func (a *Assembler) segment(c *conn, d Direction, s *segment) {
	c.packets++
	c.last = uint32(a.stats.TCPPackets)
	h, peer := c.sides(d)
	if a.general || !h.flows() || peer.hole != nil || !s.isPlain() || peer.mayLearn(s) {
		a.consider(c, h, peer, s)
		return
	}
	switch {
	case s.length == 0:
	case s.seq == h.expected() && s.length == len(s.payload) && !c.greeted:
		c.loaded++
		a.handOn(h, s.payload, &a.now)
	default:
		a.consider(c, h, peer, s)
	}
}

// consider takes the next packet of a connection, whatever it is.
func (a *Assembler) consider(c *conn, h, peer *half, s *segment) {
	d := h.dir
	c.Seen[d] = true
	if s.flags&flagRST != 0 {
		a.stats.InReset += int64(len(s.payload))
		a.reset(c, d)
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
	if a.notes != nil {
		a.attend(c, h, seq, s)
	}
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
func (a *Assembler) reset(c *conn, d Direction) {
	if !c.Reset {
		c.Reset, c.ResetBy = true, d
		a.dying = append(a.dying, dying{c, a.now, a.stats.TCPPackets})
	}
}

// A dying connection is one that an RST was seen of.
type dying struct {
	*conn
	rst      Origin // the first one
	position int64  // how many TCP packets of the capture there were then
}

// endReset ends the connections whose RST is long enough ago.
func (a *Assembler) endReset() {
	n := 0
	for ; n < len(a.dying); n++ {
		c := &a.dying[n]
		if !c.ended && a.stats.TCPPackets-c.position < settlePackets && a.now.Time-c.rst.Time < settleAlone {
			break
		}
		if !c.ended {
			a.end(c.conn, Reset)
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
	missing := NotCaptured
	if cause == Evicted {
		missing = Limit
	}
	a.flush(&c.halves[FromA], missing)
	a.flush(&c.halves[FromB], missing)
	at := a.now
	switch {
	case c.closed():
		cause = Closed // whatever brought out the last FIN
	case c.Reset:
		i := slices.IndexFunc(a.dying, func(d dying) bool { return d.conn == c })
		cause, at = Reset, a.dying[i].rst
	}
	if a.notes != nil {
		a.tellRepeats(c, fewRepeats)
	}
	c.ended = true
	c.Accepted = c.halves[FromB].pinned
	a.handler.End(&c.Connection, cause, at)
	x, y := endpointOf(c.Ends[0]), endpointOf(c.Ends[1])
	if c.v6 {
		k, _ := key6Of(x, y)
		depart(a, &a.v6, k, c, cause)
	} else {
		k, _ := key4Of(x, y)
		depart(a, &a.v4, k, c, cause)
	}
}
