package reassembly

import (
	"math"
	"slices"
)

// acknowledge takes note of what s, a packet of h, says about the other direction. Bytes of a direction that
// was never captured are not missing from it.
func (a *Assembler) acknowledge(h, peer *half, s *segment) {
	if !peer.pinned {
		if h.answersSYN(s) {
			peer.pin(s.ack)
		}
		return
	}
	if peer.ended || !peer.seen {
		return
	}
	off := peer.position(s.ack)
	if peer.finSeen {
		off = min(off, peer.fin()) // the FIN takes a sequence number
	}
	if peer.hole == nil {
		if off <= peer.next || off > peer.next+maxBehind {
			return
		}
		a.open(peer)
	}
	peer.hole.heard = true
	if off <= peer.next+maxBehind {
		peer.hole.acknowledge(off, h.conn.packets, a.stats.Packets, a.now.Time)
	}
}

// payload takes the bytes of s, the first of which has the sequence number seq.
func (a *Assembler) payload(h *half, seq uint32, s *segment) {
	p := piece{h.position(seq), s.payload, int64(s.length - len(s.payload)), a.now}
	if h.finSeen {
		p = p.until(h.fin())
		a.stats.BehindFin += int64(len(s.payload) - len(p.data))
	}
	if p.off < h.next {
		if a.notes != nil {
			a.compare(h, p)
		}
		p = a.ahead(h, p)
	}
	switch {
	case p.empty():
	case p.off > h.next:
		a.stats.OutOfOrder++
		a.keep(h, p)
	case h.hole == nil:
		a.deliver(h, p)
	default:
		a.fill(h, p)
	}
}

// ahead returns what of p, which begins behind its stream, has not been passed by it.
func (a *Assembler) ahead(h *half, p piece) piece {
	inside, rest := p.since(0), p.since(h.next)
	a.stats.BeforeStart += int64(len(p.data) - len(inside.data))
	a.stats.Repeated += int64(len(inside.data) - len(rest.data))
	if !inside.empty() {
		a.stats.Retransmitted++
	}
	return rest
}

// finish takes a FIN. It waits for what is missing in front of it. One with payload seen behind it cannot be true.
func (a *Assembler) finish(h *half, seq uint32) {
	off := h.position(seq)
	if h.finSeen || off < h.next || h.hole != nil && h.hole.pending.end() > off {
		return
	}
	h.finSeen = true
	if h.hole == nil {
		if off == h.next { // mostly: to open a hole and close it again takes an allocation
			a.endStream(h, a.now)
			return
		}
		a.open(h)
	}
	h.hole.fin, h.hole.finFrom = off, a.now
	a.advance(h)
}

// endStream hands on the end of a stream, which the FIN in a packet tells.
func (a *Assembler) endStream(h *half, from Origin) {
	h.ended = true
	if !h.conn.muted {
		a.handler.Fin(&h.conn.Connection, h.dir, from)
	}
}

// deliver hands on the piece that is next in its stream.
func (a *Assembler) deliver(h *half, p piece) {
	if len(p.data) > 0 {
		a.handOn(h, p.data, &p.Origin)
	}
	if p.cut > 0 {
		a.gap(h, p.cut, Snaplen, p.Origin)
	}
}

// handOn hands on bytes that are next in their stream.
func (a *Assembler) handOn(h *half, data []byte, from *Origin) {
	if h.conn.muted {
		a.stats.OfTwins += int64(len(data))
	} else {
		a.chunk.Data, a.chunk.Offset, a.chunk.Origin = data, h.next, *from // in place: a Chunk by value would be built and copied
		a.handler.Chunk(&h.conn.Connection, h.dir, &a.chunk)
		a.stats.Delivered += int64(len(data))
		a.charge(h.conn)
	}
	if a.notes != nil {
		a.fresh(h, data, from)
	}
	h.next += int64(len(data))
}

func (a *Assembler) gap(h *half, length int64, cause GapCause, at Origin) {
	if !h.conn.muted {
		a.stats.Gaps++
		a.stats.GapBytes[cause] += length
		a.handler.Gap(&h.conn.Connection, h.dir, Gap{Offset: h.next, Length: length, Cause: cause, Origin: at})
		a.charge(h.conn)
	}
	h.next += length
}

// fill hands on a piece that is next in its stream and reaches into the hole behind, or over
// it: where it overlaps what is pending, that came first.
func (a *Assembler) fill(h *half, p piece) {
	if a.notes != nil {
		a.compareHeld(h, p)
	}
	for !p.empty() {
		limit := int64(math.MaxInt64)
		if h.hole != nil && len(h.hole.pending) > 0 {
			limit = h.hole.pending[0].off
		}
		if p.end() > limit {
			a.stats.Retransmitted++
		}
		part := p.until(limit)
		a.deliver(h, part)
		a.advance(h)
		rest := p.since(h.next)
		a.stats.Repeated += int64(len(p.data) - len(part.data) - len(rest.data))
		p = rest
	}
}

// advance hands on what has become contiguous, and closes the hole if nothing is missing any more.
func (a *Assembler) advance(h *half) {
	o := h.hole
	if o == nil {
		return
	}
	n := 0
	for ; n < len(o.pending) && o.pending[n].off == h.next; n++ {
		p := o.pending[n]
		a.deliver(h, p)
		a.hold(h, -p.memory())
		a.buffers.release(p.data)
	}
	o.pending = slices.Delete(o.pending, 0, n)
	if h.finSeen && h.next == o.fin {
		a.endStream(h, o.finFrom)
	}
	if h.ended || len(o.pending) == 0 && !h.finSeen && o.acked <= h.next {
		a.close(h)
		return
	}
	o.opened, o.heard = a.now.Time, false
}

// keep copies a piece that lies ahead of its stream.
func (a *Assembler) keep(h *half, p piece) {
	if h.hole == nil {
		a.open(h)
	}
	if a.notes != nil {
		a.compareHeld(h, p)
	}
	held, repeated := h.hole.pending.keep(p, &a.buffers)
	if repeated > 0 {
		a.stats.Retransmitted++
		a.stats.Repeated += repeated
	}
	a.hold(h, held)
	for h.hole != nil && h.hole.held > a.Limits.PerStream {
		a.giveUp(h, Limit)
	}
}
