package dissect

// A capture does not always keep the order of the two directions: the answer can stand in it some packets before the end of its
// request. A response whose request is not there yet therefore waits a little before it is called an orphan.

const (
	maxWaitPackets = 32      // packets of the connection; captures shuffle packets by less than 20
	maxWaitTime    = 1e9     // nanoseconds of capture time
	maxWaitBytes   = 1 << 20 // of the direction
)

// mustWait tells whether the response that begins with these bytes should wait for its request.
func (h *half) mustWait(data []byte) bool {
	c := h.conn
	if h.dir == c.clientDir || len(data) < 8 || c.rawTokens || h.atEnd || c.OneDirection() {
		return false
	}
	if len(c.pending.items) > 0 && c.pending.items[0].header.Token {
		return false
	}
	i := c.pending.find(correlationID(data))
	return i < 0 || !c.pending.items[i].whole
}

// wait holds the bytes of a response, and all that come behind it, until its request is there.
func (h *half) wait(data []byte, packet, time int64) {
	h.state = waiting
	h.waitUntil, h.waitPackets = time+maxWaitTime, h.conn.packets+maxWaitPackets
	h.window.add(data, packet, time)
}

// waitInside is wait for a frame whose first bytes came one packet after the other.
func (h *half) waitInside(time int64) {
	h.partial = false
	h.state = waiting
	h.waitUntil, h.waitPackets = time+maxWaitTime, h.conn.packets+maxWaitPackets
	h.window.data = append(h.window.data, h.buffer...)
	h.window.parts = append(h.window.parts, h.head...)
}

// wake looks whether the response that waits can go on, and lets it go on as an orphan when it has waited long enough.
func (h *half) wake(time int64) {
	if h.state != waiting {
		return
	}
	i := h.conn.pending.find(correlationID(h.window.data))
	known := i >= 0 && h.conn.pending.items[i].whole
	if !known && time < h.waitUntil && h.conn.packets < h.waitPackets && len(h.window.data) < maxWaitBytes {
		return
	}
	h.resume(!known)
}

// resume goes on with what waited.
func (h *half) resume(orphan bool) {
	w := h.window
	h.window, h.state, h.givenUp = window{}, inStep, orphan
	h.replay(w, 0)
}
