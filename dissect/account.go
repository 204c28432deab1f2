package dissect

// Bytes says where the bytes of the streams went. Once all connections have ended, the figures add up to the bytes that were handed over as
// Chunks.
type Bytes struct {
	Requests, Responses int64            // in messages that were handed over, also in those that lack bytes
	MidStream           int64            // in front of the first message of a stream of Kafka whose beginning is not in the capture
	PassedOver          int64            // while the next message was looked for, behind missing or impossible bytes
	CutFrames           int64            // of frames that were cut short before it was plain what they are
	Other               map[string]int64 // of connections that are no Kafka, by protocol; "" for those that are not known
}

// Total returns the sum of all.
func (b *Bytes) Total() int64 {
	n := b.Requests + b.Responses + b.MidStream + b.PassedOver + b.CutFrames
	for _, other := range b.Other {
		n += other
	}
	return n
}

// captured returns how many bytes of the stream up to a position of the window were captured and led to no message.
func (w *window) captured(at int) int64 { return w.skipped - w.missing + int64(at) }

// passOver counts the bytes in front of a position of the window, where a frame was found.
func (h *half) passOver(w *window, at int) {
	b := &h.conn.dissector.Counts.Bytes
	if w.lost {
		b.PassedOver += w.captured(at)
	} else {
		b.MidStream += w.captured(at)
	}
}

// giveUpFrame counts the bytes of a frame that will not be whole.
func (h *half) giveUpFrame() {
	h.conn.dissector.Counts.Bytes.CutFrames += int64(h.received - h.frame.missing)
}

// giveUpWindow counts the bytes of a window that are no Kafka. Where one side tells what they are, that goes for both.
func (h *half) giveUpWindow() {
	c, data := h.conn, h.window.data
	c.other += h.window.captured(len(data))
	if c.protocol == "" {
		c.protocol = protocolOf(data)
	}
}

// settle counts what is left when a connection has ended.
func (c *conn) settle() {
	d := c.dissector
	if c.delivered && c.oneDirection() {
		d.Counts.OneDirection++
	}
	for dir := range c.halves {
		c.halves[dir].settle()
	}
	if c.other > 0 {
		if d.Counts.Bytes.Other == nil {
			d.Counts.Bytes.Other = map[string]int64{}
		}
		d.Counts.Bytes.Other[c.protocol] += c.other
	}
}

// settle counts the bytes among which no frame was found.
func (h *half) settle() {
	h.endFrame() // what the other side told at its end may have brought it to light
	if h.state != searching {
		return
	}
	data := h.window.data
	switch {
	case h.conn.kafka():
		h.passOver(h.window, len(data))
	case h.conn.isKafkaExpected() && h.isHalfRequest(data):
		h.conn.dissector.Counts.Bytes.CutFrames += h.window.captured(len(data))
	default:
		h.giveUpWindow()
	}
}
