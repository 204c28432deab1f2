package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/reassembly"
)

// A capture does not always keep the order of the two directions: the answer can stand in it some packets before the end of its
// request. A response whose request is not there yet therefore waits a little before it is called an orphan, and all that is behind it waits with it.

const (
	maxWaitPackets = 32      // packets of the connection; captures shuffle packets by less than 20
	maxWaitTime    = 1e9     // nanoseconds of capture time
	maxWaitBytes   = 1 << 20 // of the direction
)

// mustWait tells whether the response that begins with these bytes should wait for its request.
func (h *half) mustWait(data []byte) bool {
	c := h.conn
	if h.dir == c.clientDir || len(data) < 8 || c.rawTokens || h.atEnd || c.oneDirection() {
		return false
	}
	if len(c.pending.items) > 0 && c.pending.items[0].header.Token {
		return false
	}
	return !h.isAnswer(data)
}

// isAnswer tells whether a response begins whose request is there.
func (h *half) isAnswer(data []byte) bool {
	i := h.conn.pending.find(correlationID(data))
	return i >= 0 && h.conn.pending.items[i].whole
}

// wait holds the bytes of a response, and all that come behind it, until its request is there.
func (h *half) wait(data []byte, from reassembly.Origin) {
	h.state = waiting
	h.hold(data, from)
}

// waitInside is wait for a frame whose first bytes came one packet after the other.
func (h *half) waitInside() {
	h.partial = false
	h.state = waiting
	h.window.data = append(h.window.data, h.buffer...)
	h.window.parts = append(h.window.parts, h.head...)
}

// hold adds bytes to those that wait.
func (h *half) hold(data []byte, from reassembly.Origin) {
	h.window.add(data, from)
	h.window.parts[len(h.window.parts)-1].seen = h.conn.packets
}

// wake lets go on what waits: a response whose request has come, and one that has waited long enough, as an orphan. It stops at the first
// one that must wait on.
func (h *half) wake(time int64) {
	if h.state != waiting {
		return
	}
	w, at := &h.window, 0
	for h.state == waiting {
		data := w.data[at:]
		if len(data) < 8 {
			break
		}
		if !h.isAnswer(data) && !h.waitedEnough(at, time) {
			w.forget(at)
			return
		}
		total := 4 + int(int32(binary.BigEndian.Uint32(data)))
		if total < 8 || total > len(data) {
			break
		}
		h.frameOf(at, total)
		h.whole(data[:total], nil)
		at += total
	}
	h.goOn(at)
}

// waitedEnough tells whether the response at a position of the window has waited as long as one may.
func (h *half) waitedEnough(at int, time int64) bool {
	p := &h.window.parts[h.window.partOf(at)]
	return h.atEnd || time >= p.Time+maxWaitTime || h.conn.packets >= p.seen+maxWaitPackets || len(h.window.data)-at >= maxWaitBytes
}

// frameOf notes which packets brought the frame at a position of the window.
func (h *half) frameOf(at, total int) {
	parts := h.window.parts
	i := h.window.partOf(at)
	h.frame.begin(parts[i].Origin)
	for i++; i < len(parts) && parts[i].at < at+total; i++ {
		h.frame.add(parts[i].Origin)
	}
}

// goOn is in step again from a position of the window, where a frame begins that is not whole. It has waited.
func (h *half) goOn(at int) {
	w := h.window
	h.window, h.state, h.givenUp = window{}, inStep, len(w.data)-at >= 8
	h.replay(w, at)
}

// stopWaiting lets go on all that waits, when nothing can come any more that would help.
func (h *half) stopWaiting(time int64) {
	ended := h.atEnd
	h.atEnd = true
	h.wake(time)
	h.atEnd = ended
}
