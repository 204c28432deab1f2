package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Where frames begin is not known at first: a connection may carry anything, and a capture may start in
// the middle of a message. Bytes are held in a window until some position in it is found to begin a frame. A connection
// whose opening was seen has its first frame at its first byte or it is not Kafka; otherwise every position is looked at, once: a position
// that cannot be decided is kept and looked at again when the bytes are there that it waits for.

// maxSearch is after how many bytes a connection on which nothing of Kafka was ever seen is given up. Looking at a byte costs about 10 ns.
const maxSearch = 1 << 20

// search adds bytes to the window and looks for a frame.
func (h *half) search(data []byte, from reassembly.Origin) {
	w := h.window
	if len(w.parts) == 0 && w.skipped == 0 && !w.lost {
		w.opened = h.conn.stream.Opened
	}
	w.add(data, from)
	h.spoke = true
	if h.lookForFrame(); h.state == searching {
		h.conn.decideFirst()
	}
}

// lookForFrame decides on the window as far as that is possible.
func (h *half) lookForFrame() {
	w := h.window
	if h.lookAtCandidates() || h.lookAtRest() {
		return
	}
	switch {
	case w.opened && w.tried > 0 && len(w.candidates) == 0:
		h.notKafka()
	case h.conn.role != kafkaRole && w.skipped > maxSearch:
		h.notKafka()
	default:
		w.shrink()
	}
}

// searchCut is called when bytes are missing behind those in the window: what is there has to do. A frame that began with the last packet is taken for one if
// as much of its header as is there says so.
func (h *half) searchCut() {
	h.beforeGap = true
	h.lookForFrame()
	h.beforeGap = false
	w := h.window
	if h.state != searching || len(w.parts) == 0 {
		return
	}
	at := w.parts[len(w.parts)-1].at
	data := w.data[at:]
	if h.conn.role == kafkaRole && h.dir != h.conn.clientDir || len(data) < 4+requestHeaderLen {
		return
	}
	api := h.conn.dissector.catalog.API(int16(binary.BigEndian.Uint16(data[4:])))
	size := int(int32(binary.BigEndian.Uint32(data)))
	if api != nil && api.Versions.Contains(int16(binary.BigEndian.Uint16(data[6:]))) && size+4 > len(data) && size <= maxFirstFrame {
		h.found(at, schema.Request)
	}
}

// lookAtCandidates looks again at positions for which the bytes have come that they waited for.
func (h *half) lookAtCandidates() bool {
	w := h.window
	kept := w.candidates[:0]
	for i, c := range w.candidates {
		if len(w.data)-c.at < c.need && !h.nothingFollows() {
			kept = append(kept, c)
			continue
		}
		o := h.judge(c.at)
		switch o.verdict {
		case yes:
			h.found(h.first(c.at, append(kept, w.candidates[i:]...)), o.kind)
			return true
		case undecided:
			kept = append(kept, candidate{c.at, o.need})
		}
	}
	w.candidates = kept
	return false
}

// lookAtRest looks at the positions that were not looked at yet.
func (h *half) lookAtRest() bool {
	w := h.window
	end := len(w.data)
	if w.opened {
		end = min(end, 1)
	}
	for ; w.tried < end; w.tried++ {
		o := h.judge(w.tried)
		switch o.verdict {
		case yes:
			h.found(h.first(w.tried, w.candidates), o.kind)
			return true
		case undecided:
			w.keep(candidate{w.tried, o.need})
		}
	}
	return false
}

// first returns the first candidate from which whole frames lead up to a position where one begins: responses that were waiting for their
// requests. What lets the one behind them be recognised speaks for them, too.
func (h *half) first(at int, candidates []candidate) int {
	for _, c := range candidates {
		if c.at < at && h.window.leadsTo(c.at, at) {
			return c.at
		}
	}
	return at
}

// found goes on in step from a position of the window.
func (h *half) found(at int, kind schema.Kind) {
	c, w := h.conn, h.window
	dir := h.dir
	if kind == schema.Response {
		dir = dir.Other()
	}
	if c.role != kafkaRole {
		c.setClient(dir, kafkaRole)
	}
	if kind == schema.Request && isKerberosToken(w.data[at:]) {
		c.rawTokens = true
	}
	h.state, h.window = inStep, nil
	h.trials, h.responseTrials = 0, 0
	skipped := w.skipped + int64(at)
	h.passOver(w, at)
	switch {
	case w.lost && skipped > 0:
		c.report(0, finding(Resynchronised, Info, -1, "%d bytes %s were passed over; messages go on behind them", skipped, h.whence()))
	case !w.lost && skipped > 0:
		c.report(0, finding(MidStream, Info, -1, "the capture starts inside the connection; %d bytes %s were passed over before the first whole message", skipped, h.whence()))
	}
	h.replay(w, at)
	c.dissector.keepWindow(w)
	if h.state == inStep {
		c.halves[h.dir.Other()].searchAgain()
	}
}

// replay hands the bytes of a window on, each part with its packet.
func (h *half) replay(w *window, at int) {
	for i, p := range w.parts {
		end := len(w.data)
		if i+1 < len(w.parts) {
			end = w.parts[i+1].at
		}
		if from := max(p.at, at); from < end {
			h.take(w.data[from:end], p.Origin)
		}
	}
}

// searchAgain looks at the whole window once more when the other direction has learned something.
func (h *half) searchAgain() {
	if h.state == searching && len(h.window.data) > 0 {
		h.window.tried, h.window.candidates = 0, h.window.candidates[:0]
		h.lookForFrame()
	}
}

// notKafka gives up a direction that does not begin with a Kafka message.
func (h *half) notKafka() {
	opened := h.window.opened
	h.state = foreign
	h.conn.foreign(h, h.window.data)
	h.giveUpWindow()
	h.conn.dissector.keepWindow(h.window)
	h.window = nil
	if other := &h.conn.halves[h.dir.Other()]; opened && h.dir == h.conn.clientDir && other.state == searching {
		other.notKafka() // a server answers in the client's protocol
	}
}

// searchEnded is called when no frame was found up to the end.
func (h *half) searchEnded() {
	h.searchAgain()
	if h.state == searching && len(h.window.data) > 0 {
		h.conn.foreign(h, h.window.data)
	}
}
