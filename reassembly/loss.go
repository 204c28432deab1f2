package reassembly

import "slices"

// How long an acknowledgement of bytes that are missing has to stand before they count as lost: the capture
// may have it in front of the data. Packets are reordered over a few places, at most about 20
// (network cards with several queues), within microseconds. 32 packets of the connection leave room for that. A
// connection may say little: then a second will do, which is above any drift between interfaces, if 32 packets of the capture
// have gone by as well. In a capture that says little as a whole it takes longer.
const (
	settlePackets = 32
	settleTime    = 1e9
	settleAlone   = 10e9
)

// silentTime is how long a hole stays open when nothing is heard of the receiver. A sender
// repeats lost segments after a second, then after two, four, eight (RFC 6298).
const silentTime = 30e9

// settle moves what has stood for long enough from recent to settled, so recent has one entry a packet of settlePackets at most.
func (o *hole) settle(packets uint32, captured, time int64) {
	n := 0
	for ; n < len(o.recent); n++ {
		r := &o.recent[n]
		if packets-r.packets < settlePackets && (time-r.time < settleTime || captured-r.captured < settlePackets && time-r.time < settleAlone) {
			break
		}
		o.settled = r.off
	}
	o.recent = slices.Delete(o.recent, 0, n)
}

// lost says whether the bytes in front of what is known to follow them will not come any more: the receiver
// got them a while ago, or nothing is known of the receiver and it has been long.
func (a *Assembler) lost(h *half) bool {
	o := h.hole
	o.settle(h.conn.packets, a.stats.Packets, a.now.Time)
	end, known := h.missing()
	if !known {
		return false
	}
	return o.settled >= end || !o.heard && a.now.Time-o.opened >= silentTime
}

// review gives up what is lost.
func (a *Assembler) review(h *half) {
	for h.hole != nil && a.lost(h) {
		a.giveUp(h, NotCaptured)
	}
}

// patrol enforces the total limit and reviews one direction that holds memory, each in its
// turn: one whose own packets have stopped coming is seen to all the same, at a cost that does not
// depend on how many there are.
func (a *Assembler) patrol() {
	for len(a.waiting) > 0 && a.held > a.Limits.Total {
		h := a.nextWaiting()
		a.giveUp(h, Limit)
		a.endIfClosed(h.conn)
	}
	if len(a.waiting) > 0 {
		h := a.nextWaiting()
		a.review(h)
		a.endIfClosed(h.conn)
	}
}

func (a *Assembler) nextWaiting() *half {
	a.cursor = (a.cursor + 1) % len(a.waiting)
	return a.waiting[a.cursor]
}

// giveUp declares missing what stands between the stream and what is known to follow, and goes on behind it.
func (a *Assembler) giveUp(h *half, cause GapCause) {
	end, _ := h.missing()
	a.gap(h, end-h.next, cause, a.now)
	a.advance(h)
}

// flush hands on all that h holds, at the end of its connection.
func (a *Assembler) flush(h *half, cause GapCause) {
	for h.hole != nil {
		if _, known := h.missing(); !known {
			a.flushAcknowledged(h, cause)
			return
		}
		a.giveUp(h, cause)
	}
}

// flushAcknowledged ends a stream whose receiver has acknowledged more than was captured. A single sequence
// number is more likely a FIN than a byte.
func (a *Assembler) flushAcknowledged(h *half, cause GapCause) {
	if length := h.hole.acked - h.next; length > 1 {
		a.gap(h, length, cause, a.now)
	}
	a.close(h)
}

// open begins a hole at the present end of the stream.
func (a *Assembler) open(h *half) {
	var o *hole
	if n := len(a.spare); n > 0 {
		o, a.spare = a.spare[n-1], a.spare[:n-1]
	} else {
		o = &hole{}
	}
	*o = hole{
		pending: o.pending[:0],
		recent:  o.recent[:0],
		slot:    -1,
		opened:  a.now.Time,
		acked:   h.next,
		settled: h.next,
	}
	h.hole = o
	a.memory += holeMemory
}

// Closed holes kept for use, and the largest one kept.
const (
	maxSpare        = 64
	maxSparePending = 256
)

// close ends a hole that holds nothing any more.
func (a *Assembler) close(h *half) {
	if len(a.spare) < maxSpare && cap(h.hole.pending) <= maxSparePending {
		a.spare = append(a.spare, h.hole)
	}
	h.hole = nil
	a.memory -= holeMemory
}

// hold accounts for memory taken by pending pieces of h, or given back.
func (a *Assembler) hold(h *half, memory int) {
	o := h.hole
	o.held += memory
	a.held += memory
	a.memory += memory
	h.conn.Held[h.dir] = o.held > 0
	switch {
	case o.held > 0 && o.slot < 0:
		o.slot = len(a.waiting)
		a.waiting = append(a.waiting, h)
	case o.held == 0 && o.slot >= 0:
		last := a.waiting[len(a.waiting)-1]
		a.waiting[o.slot] = last
		last.hole.slot = o.slot
		a.waiting = slices.Delete(a.waiting, len(a.waiting)-1, len(a.waiting))
		o.slot = -1
	}
}
