package reassembly

// A half is one direction of a connection. Positions in it are stream offsets, which do not
// wrap; sequence numbers become positions as soon as they are read.
type half struct {
	conn *conn
	dir  Direction

	seen    bool // a packet of this direction was captured
	pinned  bool // base is final
	synSeen bool // isn is known from a SYN
	finSeen bool // the FIN was captured, so fin is known
	ended   bool // the FIN was handed on

	isn  uint32 // initial sequence number
	base uint32 // sequence number of stream offset 0; a first guess until it is pinned
	next int64  // stream offset of the next byte to hand over

	hole *hole // what the stream waits for, nil while nothing is missing
}

// maxBehind is how far behind the stream a packet can belong: the largest window there is
// (RFC 7323, section 2.3). What seems to be further back has to be ahead, beyond a stretch that
// the capture lacks.
const maxBehind = 1 << 30

// position returns the stream offset of a sequence number. It is negative for a byte in front of the stream's start.
func (h *half) position(seq uint32) int64 {
	ahead := seq - h.expected() // modulo 2^32
	return h.next + int64(ahead+maxBehind) - maxBehind
}

// startSlack is how far in front of the first byte seen a SYN may stand that still belongs to it: some
// packets that were captured in front of it.
const startSlack = 1 << 20

// continues says whether a SYN of this direction belongs to the connection as known so far:
// it is a retransmission, or it was captured behind packets that followed it.
func (h *half) continues(isn uint32) bool {
	switch {
	case h.synSeen:
		return isn == h.isn
	case h.seen || h.pinned:
		return h.base-(isn+1) < startSlack
	}
	return true
}

// synchronize takes note of a SYN. The stream begins behind it, unless bytes have been handed over already.
func (h *half) synchronize(isn uint32) {
	h.isn, h.synSeen = isn, true
	if h.next == 0 && h.hole == nil {
		h.pin(isn + 1)
	}
}

// pin makes seq stream offset 0.
func (h *half) pin(seq uint32) { h.base, h.pinned = seq, true }

// start takes the first sequence number seen of a direction whose SYN was not. A segment without
// bytes is but a guess: a keep-alive probe stands one in front of the stream.
func (h *half) start(seq uint32, s *segment) {
	switch {
	case s.length > 0 || s.leads || s.flags&flagFIN != 0:
		h.pin(seq)
	case !h.seen:
		h.base = seq
	}
}

// answersSYN says whether s, a packet of h, has the first acknowledgement of a handshake, which tells
// where the other side's stream begins. In what follows it the other side's first bytes may be acknowledged too.
func (h *half) answersSYN(s *segment) bool {
	return s.flags&flagSYN != 0 || h.synSeen && s.seq == h.isn+1
}

// fin returns the stream offset at which a FIN that was seen ends the stream.
func (h *half) fin() int64 {
	if h.ended {
		return h.next
	}
	return h.hole.fin
}

// missing returns the stream offset up to which bytes are missing from h, if anything is
// known to follow them.
func (h *half) missing() (end int64, known bool) {
	switch o := h.hole; {
	case len(o.pending) > 0:
		return o.pending[0].off, true
	case h.finSeen:
		return o.fin, true
	}
	return 0, false
}

// expected returns the sequence number of the next byte to hand over.
func (h *half) expected() uint32 { return h.base + uint32(h.next) }

// flows says that the stream has begun, has not ended, and nothing is missing from it.
func (h *half) flows() bool { return h.seen && h.pinned && !h.ended && h.hole == nil }

// mayLearn says that s, a packet of the other direction, may have news of h in its acknowledgement. It does not if it acknowledges no more than was handed over, see
// Assembler.acknowledge.
func (h *half) mayLearn(s *segment) bool {
	return s.flags&flagACK != 0 && (!h.pinned || s.ack-h.expected()-1 < maxBehind)
}
