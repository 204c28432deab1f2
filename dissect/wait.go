package dissect

import (
	"bytes"
	"encoding/binary"

	"github.com/kdissect/kdissect/reassembly"
)

// A capture does not always keep the order of the two directions: the answer can stand in it some packets before the end of its
// request. A response whose request is not there yet therefore waits a little before it is called an orphan, and all that is behind it waits with it.

const (
	maxWaitPackets = 32      // packets of the connection; captures shuffle packets by less than 20
	maxWaitTime    = 1e9     // nanoseconds of capture time, where as many packets of the capture have gone by
	maxWaitAlone   = 10e9    // where they have not
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
	return !h.isAnswer(data, h.frame.first)
}

// isAnswer tells whether a response begins in a packet whose request is there.
func (h *half) isAnswer(data []byte, from reassembly.Origin) bool {
	i := h.conn.pending.find(correlationID(data), from)
	return i >= 0 && h.conn.pending.items[i].whole
}

// wait holds the bytes of a response, and all that come behind it, until its request is there.
func (h *half) wait(data []byte, from reassembly.Origin) {
	h.state, h.window = waiting, h.conn.dissector.newWindow()
	h.hold(data, from)
}

// waitInside is wait for a frame whose first bytes came one packet after the other.
func (h *half) waitInside() {
	h.partial = false
	h.state, h.window = waiting, h.conn.dissector.newWindow()
	h.window.data = append(h.window.data, h.buffer...)
	h.window.parts = append(h.window.parts, h.head...)
}

// hold adds bytes to those that wait.
func (h *half) hold(data []byte, from reassembly.Origin) {
	if len(h.later) > 0 {
		h.later = append(h.later, later{data: bytes.Clone(data), from: from})
		h.laterBytes += laterOverhead + len(data)
		return
	}
	h.window.add(data, from)
	h.window.parts[len(h.window.parts)-1].seen = h.conn.packets
}

// wake lets go on what waits: a response whose request has come, and one that has waited long enough, as an orphan. It stops at the first
// one that must wait on.
func (h *half) wake(time int64) {
	w, at := h.window, 0
	for h.state == waiting {
		data := w.data[at:]
		if len(data) < 8 {
			break
		}
		if !h.isAnswer(data, w.parts[w.partOf(at)].Origin) && !h.waitedEnough(at, time) {
			w.forget(at)
			return
		}
		total := 4 + int(int32(binary.BigEndian.Uint32(data)))
		if total < 8 || total > len(data) {
			break
		}
		h.frameOf(at, total)
		h.whole(data[:total], nil)
		h.release()
		at += total
	}
	h.goOn(at)
}

// waitedEnough tells whether the response at a position of the window has waited as long as one may. As long as bytes of the requests are waited
// for its own may be behind them.
func (h *half) waitedEnough(at int, time int64) bool {
	if h.atEnd || len(h.window.data)-at+h.laterBytes >= maxWaitBytes {
		return true
	}
	c, p := h.conn, &h.window.parts[h.window.partOf(at)]
	if c.stream.Held[c.clientDir] {
		return false
	}
	if c.dissector.now.Since(p.Origin) < maxWaitPackets {
		return time >= p.Time+maxWaitAlone
	}
	return c.packets >= p.seen+maxWaitPackets || time >= p.Time+maxWaitTime
}

// frameOf notes which packets brought the frame at a position of the window.
func (h *half) frameOf(at, total int) {
	parts := h.window.parts
	i := h.window.partOf(at)
	h.begin(parts[i].Origin)
	for i++; i < len(parts) && parts[i].at < at+total; i++ {
		h.frame.add(parts[i].Origin)
	}
}

// goOn is in step again from a position of the window, where a frame begins that is not whole. It has waited.
func (h *half) goOn(at int) {
	w := h.window
	h.window, h.state, h.givenUp = nil, inStep, len(w.data)-at >= 8
	h.replay(w, at)
	h.conn.dissector.keepWindow(w)
	h.goOnLater()
}

// A later is what came behind bytes that wait and does not join on to them: a gap, or bytes behind one.
type later struct {
	gap  *reassembly.Gap
	data []byte
	from reassembly.Origin
}

// laterOverhead is the memory that a later takes besides its bytes, rounded up.
const laterOverhead = 128

// gapLater keeps a gap in mind for when what stands in front of it has waited enough.
func (h *half) gapLater(g reassembly.Gap) {
	h.later = append(h.later, later{gap: &g})
	h.laterBytes += laterOverhead
	h.wake(g.Time)
}

// goOnLater takes what came behind bytes that no longer wait. It may have to wait itself.
func (h *half) goOnLater() {
	all := h.later
	h.later, h.laterBytes = nil, 0
	for _, l := range all {
		if l.gap != nil {
			h.gap(*l.gap)
		} else {
			h.take(l.data, l.from)
		}
	}
}
