package reassembly

import "bytes"

// A datagramKey tells which IP packet a fragment belongs to.
type datagramKey struct {
	src, dst [2]uint64 // addresses
	id       uint32    // the Identification field
	protocol byte      // of IPv4 (RFC 791, section 2.3); IPv6 does without (RFC 8200, section 4.5)
	v6       bool
}

func keyOf(s *segment, id uint32, protocol byte) datagramKey {
	return datagramKey{[2]uint64{s.src.hi, s.src.lo}, [2]uint64{s.dst.hi, s.dst.lo}, id, protocol, s.v6}
}

// A fragment is a part of what an IP packet carries. Its data alias the packet.
type fragment struct {
	datagramKey
	next byte // protocol of what the IP packet carries; counts in the first fragment
	piece
	more bool // it is not the last one
}

// A datagram is an IP packet in pieces.
//
// The pieces of a TCP segment are handed on one by one as soon as its header is known, as segments of
// their own: none of its payload waits for a piece that was not captured, each byte keeps the packet that brought
// it, and of bytes that came twice the stream takes the first. What a tunnel carries waits for the
// whole.
type datagram struct {
	datagramKey
	pieces  pieces // where the header is known, without data
	held    int    // memory behind pieces
	total   int64  // length of what is carried, 0 while the last piece has not come
	time    int64  // of the first piece seen
	latest  Origin // of the latest one
	next    byte
	tunnels int  // segment.tunnels in front of it
	started bool // the first piece was seen
	state   datagramState

	header segment // of a TCP segment, without payload
	length int64   // of the headers in front of the payload
}

type datagramState uint8

const (
	collecting datagramState = iota
	streaming                // the TCP header is known
	done                     // complete, or of no interest: further copies of its pieces are passed over
)

// datagrams are those whose pieces come.
type datagrams struct {
	byKey map[datagramKey]*datagram
	order []*datagram // as they began
	held  int         // memory of all
	seg   segment     // for what is in them
	whole []byte      // for those that are put together
}

const (
	maxDatagrams      = 1024
	maxDatagramMemory = 2 << 20
	datagramMemory    = 640 // of one, without its pieces

	// datagramTime is how long pieces are waited for, as Linux does. Nobody repeats a fragment, so they come soon or
	// not at all. A datagram that is done is remembered for as long as copies of its pieces may come
	// behind it; then its identification may be used again.
	datagramTime     = 30e9
	datagramDoneTime = settleTime
)

// maxDatagram is the largest there can be behind an IP header: what goes beyond is malformed.
const maxDatagram = 1<<16 - 1

// piece takes the fragment that decode stopped at, and reports whether it can be one.
func (a *Assembler) piece(s *segment) bool {
	f := &s.fragment
	if f.empty() || f.more && f.end()%8 != 0 || f.end() > maxDatagram {
		return false
	}
	f.Origin = a.now
	a.add(a.datagram(f), f, s.tunnels)
	for len(a.datagrams.order) > maxDatagrams || a.datagrams.held > maxDatagramMemory {
		a.giveUpDatagram()
	}
	if a.memory > a.Limits.Memory {
		a.shrink()
	}
	return true
}

// add takes a fragment of a datagram.
func (a *Assembler) add(d *datagram, f *fragment, tunnels int) {
	if d.state == done {
		a.repeat(d, f)
		return
	}
	d.tunnels, d.latest = max(d.tunnels, tunnels), a.now
	if !f.more && d.total == 0 {
		d.total = f.end()
	}
	p := f.piece
	if d.total > 0 {
		p = p.until(d.total)
	}
	if p.empty() {
		return // behind the end
	}
	if f.off == 0 && !d.started {
		d.started, d.next = true, f.next
	}
	if d.state == streaming {
		a.stream(d, p)
		p = p.place()
	}
	a.keepPiece(d, p)
	if d.state == collecting && d.started {
		a.begin(d)
	}
	if d.state != done && d.whole() {
		if d.state == collecting {
			a.unwrap(d)
		} else {
			a.finishDatagram(d)
		}
	}
}

// repeat counts the payload in a copy of a fragment whose datagram is done.
func (a *Assembler) repeat(d *datagram, f *fragment) {
	if d.length > 0 {
		n := int64(len(f.since(d.length).data))
		a.stats.PayloadBytes += n
		a.stats.Repeated += n
	}
}

// datagram returns the one that f belongs to.
func (a *Assembler) datagram(f *fragment) *datagram {
	l := &a.datagrams
	for len(l.order) > 0 {
		wait := int64(datagramTime)
		if l.order[0].state == done {
			wait = datagramDoneTime
		}
		if a.now.Time-l.order[0].time < wait {
			break
		}
		a.giveUpDatagram()
	}
	d := l.byKey[f.datagramKey]
	if d != nil && !d.contradicts(f) {
		return d
	}
	if d != nil {
		a.abandon(d)
	}
	d = &datagram{datagramKey: f.datagramKey, time: a.now.Time}
	if l.byKey == nil {
		l.byKey = make(map[datagramKey]*datagram)
	}
	l.byKey[f.datagramKey] = d
	l.order = append(l.order, d)
	a.holdPieces(d, datagramMemory)
	return d
}

// contradicts says whether f is the first piece of another TCP segment than d: the identification is used again.
func (d *datagram) contradicts(f *fragment) bool {
	var s segment
	return f.off == 0 && d.length > 0 && s.inside(f.v6, f.next, f.data, maxDatagram) == isTCP &&
		(s.seq != d.header.seq || s.ack != d.header.ack || s.src.port != d.header.src.port || s.dst.port != d.header.dst.port)
}

// inside decodes what a datagram carries.
func (s *segment) inside(v6 bool, next byte, data []byte, wire int) verdict {
	if v6 {
		return s.extensions(next, data, wire)
	}
	return s.transport(next, data, wire)
}

func (a *Assembler) holdPieces(d *datagram, memory int) {
	d.held += memory
	a.datagrams.held += memory
	a.memory += memory
}

func (a *Assembler) keepPiece(d *datagram, p piece) {
	held, _ := d.pieces.keep(p, &a.buffers)
	a.holdPieces(d, held)
}

// whole says whether all pieces have come.
func (d *datagram) whole() bool {
	if d.total == 0 || d.pieces.end() < d.total || d.pieces[0].off > 0 {
		return false
	}
	for i := 1; i < len(d.pieces); i++ {
		if d.pieces[i-1].end() != d.pieces[i].off {
			return false
		}
	}
	return true
}

// front returns what was captured from the start on without interruption.
func (d *datagram) front(buf []byte) []byte {
	buf = buf[:0]
	for _, p := range d.pieces {
		if p.off != int64(len(buf)) {
			break
		}
		buf = append(buf, p.data...)
	}
	return buf
}

// begin looks at the headers behind the first piece, which may be cut short of them.
func (a *Assembler) begin(d *datagram) {
	l := &a.datagrams
	l.whole = d.front(l.whole)
	l.seg.restore(d)
	switch v := l.seg.inside(d.v6, d.next, l.whole, maxDatagram); {
	case l.seg.tunnels > d.tunnels || v == malformed:
		return // the rest has to come first
	case v != isTCP:
		a.finishDatagram(d)
		return
	}
	d.state, d.header = streaming, l.seg
	d.length = int64(maxDatagram - l.seg.length)
	kept := d.pieces
	d.pieces = nil
	a.holdPieces(d, datagramMemory-d.held)
	for _, p := range kept {
		a.stream(d, p)
		a.buffers.release(p.data)
		a.keepPiece(d, p.place())
	}
}

// restore sets what the header in front of a datagram says.
func (s *segment) restore(d *datagram) {
	s.v6, s.tunnels, s.leads = d.v6, d.tunnels, false
	s.src = endpoint{hi: d.src[0], lo: d.src[1]}
	s.dst = endpoint{hi: d.dst[0], lo: d.dst[1]}
}

// place returns p without its bytes.
func (p piece) place() piece { return piece{off: p.off, cut: p.end() - p.off} }

// stream hands on a piece of a TCP segment as a segment of its own. What a header says once, the first piece says, and
// the last that the stream has ended.
func (a *Assembler) stream(d *datagram, p piece) {
	s := &a.datagrams.seg
	*s = d.header
	if d.total == 0 || p.end() < d.total {
		s.flags &^= flagFIN
	}
	if p.off > 0 {
		if s.flags&flagSYN != 0 {
			s.seq++
		}
		s.flags &^= flagSYN | flagRST
	}
	q := p.since(d.length)
	if p.off > 0 && q.empty() && s.flags&flagFIN == 0 {
		return
	}
	s.seq += uint32(max(q.off, d.length) - d.length)
	s.payload, s.length, s.leads = q.data, len(q.data)+int(q.cut), p.off == 0
	now := a.now
	a.now = p.Origin
	a.tcp(s)
	a.now = now
}

// unwrap takes what is in a datagram that had to be put together: all of it, or what there is from its start on.
func (a *Assembler) unwrap(d *datagram) {
	l := &a.datagrams
	l.whole = d.front(l.whole)
	wire := max(d.total, d.pieces.end())
	a.finishDatagram(d)
	now := a.now
	a.now = d.latest
	l.seg.restore(d)
	switch l.seg.inside(d.v6, d.next, l.whole, int(wire)) {
	case isTCP:
		a.tcp(&l.seg)
	case isFragment:
		s := l.seg
		s.fragment.data = bytes.Clone(s.fragment.data)
		a.piece(&s)
	}
	a.now = now
}

// finishDatagram lets go of what is held of a datagram.
func (a *Assembler) finishDatagram(d *datagram) {
	for _, p := range d.pieces {
		a.buffers.release(p.data)
	}
	d.state, d.pieces = done, nil
	a.holdPieces(d, datagramMemory-d.held)
}

// abandon ends a datagram that lacks pieces.
func (a *Assembler) abandon(d *datagram) {
	if d.state == done {
		return
	}
	a.stats.Incomplete++
	if d.state == collecting && d.started {
		a.unwrap(d)
		return
	}
	a.finishDatagram(d)
}

// giveUpDatagram forgets the datagram that began first.
func (a *Assembler) giveUpDatagram() {
	l := &a.datagrams
	d := l.order[0]
	l.order = l.order[1:]
	if l.byKey[d.datagramKey] == d {
		delete(l.byKey, d.datagramKey)
	}
	a.abandon(d)
	a.holdPieces(d, -d.held)
}

// closeDatagrams ends them all.
func (a *Assembler) closeDatagrams() {
	for len(a.datagrams.order) > 0 {
		a.giveUpDatagram()
	}
}
