package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// Where frames begin is not known at first: a connection may carry anything, and a capture may start in
// the middle of a message. Bytes are held in a window until some position in it is found to begin a frame. A connection
// whose opening was seen has its first frame at its first byte or it is not Kafka; otherwise every position is looked at.

// maxWindow is how many bytes are held while searching. It is larger than a segment of offloaded reception.
const maxWindow = 256 << 10

// A window holds the bytes among which the first frame is searched.
type window struct {
	data    []byte
	parts   []part
	skipped int64 // bytes of the stream before data[0] that were given up
	tried   int   // no frame begins before data[tried]
	opened  bool  // data[0] is the first byte of the connection
	lost    bool  // frames were in step before
}

// A part is a run of the window that one packet brought.
type part struct {
	at           int
	packet, time int64
}

func (w *window) clear() {
	w.skipped += int64(len(w.data))
	w.data, w.parts, w.tried = w.data[:0], w.parts[:0], 0
}

// drop gives up the first n bytes.
func (w *window) drop(n int) {
	w.data = w.data[:copy(w.data, w.data[n:])]
	kept := w.parts[:0]
	for i, p := range w.parts {
		if i+1 < len(w.parts) && w.parts[i+1].at <= n {
			continue
		}
		p.at = max(0, p.at-n)
		kept = append(kept, p)
	}
	w.parts, w.tried, w.skipped = kept, max(0, w.tried-n), w.skipped+int64(n)
}

// A place is how much is known in favour of a position.
type place uint8

const (
	anywhere place = iota
	aligned        // what begins there fills one or more packets exactly
	opening        // the first byte of a connection
)

func (w *window) placeOf(at int) place {
	switch {
	case at == 0 && w.opened:
		return opening
	case w.aligned(at):
		return aligned
	}
	return anywhere
}

// aligned tells whether the bytes at a position begin with a packet and hold exactly one frame that ends with a packet. Most
// messages are sent so, and nothing else looks like that by chance.
func (w *window) aligned(at int) bool {
	if len(w.data)-at < 4 || !w.isBorder(at) {
		return false
	}
	return w.isBorder(at + 4 + int(binary.BigEndian.Uint32(w.data[at:])))
}

func (w *window) isBorder(at int) bool {
	for _, p := range w.parts {
		if p.at == at {
			return true
		}
	}
	return at == len(w.data)
}

// search adds bytes to the window and looks for a frame.
func (h *half) search(data []byte, packet, time int64) {
	w := &h.window
	if len(w.parts) == 0 && w.skipped == 0 && !w.lost {
		w.opened = h.conn.stream.Opened
	}
	w.parts = append(w.parts, part{len(w.data), packet, time})
	w.data = append(w.data, data...)
	h.lookForFrame()
}

// lookForFrame decides on the window as far as that is possible.
func (h *half) lookForFrame() {
	w := &h.window
	for at := w.tried; at < len(w.data); at++ {
		v, kind := h.judge(w.data[at:], w.placeOf(at))
		if v == yes {
			h.found(h.chainedBefore(at), kind)
			return
		}
		if w.opened && v == undecided {
			break
		}
		if w.opened {
			h.notKafka()
			return
		}
		if at == w.tried && v == no {
			w.tried++
		}
	}
	if len(w.data) > maxWindow {
		w.drop(len(w.data) - maxWindow/2)
	}
}

// chainedBefore returns the first position from which whole frames that fill packets lead up to a position where one begins. They are
// responses that were waiting for their requests; what lets the one behind them be recognised speaks for them, too.
func (h *half) chainedBefore(at int) int {
	w := &h.window
	for from := w.tried; from < at; from++ {
		next := from
		for next < at && w.aligned(next) && plausibleNext(w.data[next:]) {
			next += 4 + int(binary.BigEndian.Uint32(w.data[next:]))
		}
		if next == at {
			return from
		}
	}
	return at
}

// judge tells whether a frame begins at data[0], and of what kind.
func (h *half) judge(data []byte, at place) (verdict, schema.Kind) {
	c := h.conn
	if c.role == unknownRole || c.kindOf(h.dir) == schema.Request {
		if v := h.judgeRequest(data, at); v != no {
			return v, schema.Request
		}
	}
	if c.role == unknownRole || c.kindOf(h.dir) == schema.Response {
		return h.judgeResponse(data, at), schema.Response
	}
	return no, schema.Request
}

// judgeRequest: the header must be right, and what is there of the body must decode; the first frame of a connection may be
// broken behind a header that looks right. Where the beginning was not seen,
// what follows must begin like a request, too.
func (h *half) judgeRequest(data []byte, at place) verdict {
	d := h.conn.dissector
	v := d.requestHeader(data)
	if v != yes {
		if at == opening && (isKerberosToken(data) || h.isUnknownRequest(data)) {
			return yes
		}
		return v
	}
	total := 4 + int(binary.BigEndian.Uint32(data))
	plan := d.catalog.Plan(int16(binary.BigEndian.Uint16(data[4:])), int16(binary.BigEndian.Uint16(data[6:])), schema.Request)
	whole := len(data) >= total
	plain := plainClientID(data)
	switch {
	case at == opening && plain && (!whole || plan == nil):
		return yes
	case plan == nil || !whole && !plain:
		return no
	case at == opening && plain:
		return yes
	case !d.trial.decodes(plan, data[:min(len(data), total)], total, at == aligned):
		return no
	case !whole:
		return undecided
	case at != anywhere || len(data) == total:
		return yes
	}
	return d.requestHeader(data[total:])
}

// isUnknownRequest tells whether a connection to a broker begins with a request of an API that nobody knows: alone in its packet, with a
// version and a client id as other requests have them.
func (h *half) isUnknownRequest(data []byte) bool {
	c := h.conn
	if len(data) < 4+requestHeaderLen+2 || !c.dissector.servers[c.Server] && !usualPort(c.Server.Port()) {
		return false
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	version := int16(binary.BigEndian.Uint16(data[6:]))
	n := int(int16(binary.BigEndian.Uint16(data[12:])))
	return size+4 == len(data) && version >= 0 && version < 100 && n >= -1 && 14+n <= len(data) && plainClientID(data)
}

// judgeResponse: it answers an outstanding request and decodes as that answer. Where no request was seen at all, it must
// decode as some answer, end with the bytes there or be followed by another frame.
func (h *half) judgeResponse(data []byte, at place) verdict {
	if len(data) < 8 {
		return undecided
	}
	size := int32(binary.BigEndian.Uint32(data))
	if size < 4 || size > maxFirstFrame {
		return no
	}
	c, total := h.conn, 4+int(size)
	whole := len(data) >= total
	frame := data[:min(len(data), total)]
	if i := c.pending.find(correlationID(data)); i >= 0 && c.role == kafkaRole {
		r := c.pending.items[i]
		plan := c.dissector.catalog.Plan(r.header.APIKey, r.header.Version, schema.Response)
		switch {
		case at != anywhere || plan == nil:
			return yes
		case c.dissector.trial.answers(plan, frame, total, r.api):
			return yes
		}
		return no
	}
	if c.role == kafkaRole && len(c.pending.items) > 0 && c.pending.items[0].header.Token {
		return yes
	}
	if !whole || c.packets < maxWaitPackets && !h.atEnd {
		return undecided // its request may still come
	}
	if len(data) > total && !plausibleNext(data[total:]) || !c.dissector.trial.answersAny(c.dissector.catalog, frame) {
		return no
	}
	return yes
}

// plausibleNext tells whether a frame can begin with these bytes.
func plausibleNext(data []byte) bool {
	if len(data) < 4 {
		return prefixVerdict(data) != no
	}
	size := int32(binary.BigEndian.Uint32(data))
	return size >= 4 && size <= maxFirstFrame
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
	h.state, h.window = inStep, window{}
	skipped := w.skipped + int64(at)
	switch {
	case w.lost:
		c.report(0, finding(Resynchronised, Info, -1, "%d bytes %s were passed over; messages go on behind them", skipped, h.whence()))
	case skipped > 0:
		c.report(0, finding(MidStream, Info, -1, "the capture starts inside the connection; %d bytes %s were passed over before the first whole message", skipped, h.whence()))
	}
	h.replay(w, at)
	if h.state == inStep {
		c.halves[h.dir.Other()].searchAgain()
	}
}

// replay hands the bytes of a window on, each part with its packet.
func (h *half) replay(w window, at int) {
	for i, p := range w.parts {
		end := len(w.data)
		if i+1 < len(w.parts) {
			end = w.parts[i+1].at
		}
		if from := max(p.at, at); from < end {
			h.bytes(w.data[from:end], p.packet, p.time)
		}
	}
}

// searchAgain looks at the window once more when the other direction has learned something.
func (h *half) searchAgain() {
	if h.state == searching && len(h.window.data) > 0 {
		h.window.tried = 0
		h.lookForFrame()
	}
}

// notKafka gives up a direction that does not begin with a Kafka message.
func (h *half) notKafka() {
	h.state = foreign
	h.conn.foreign(h, h.window.data)
	h.window = window{}
}

// searchEnded is called when no frame was found up to the end.
func (h *half) searchEnded() {
	h.atEnd = true
	if h.window.tried = 0; len(h.window.data) > 0 {
		h.lookForFrame()
	}
	if h.state != searching {
		return
	}
	if len(h.window.data) > 0 {
		h.conn.foreign(h, h.window.data)
	}
}

// isKerberosToken tells whether a frame begins that holds a token of GSS-API and nothing else.
func isKerberosToken(data []byte) bool {
	return len(data) >= 4 && binary.BigEndian.Uint32(data) <= 1<<16 && startsKerberos(data[4:])
}
