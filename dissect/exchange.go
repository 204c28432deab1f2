package dissect

import (
	"encoding/binary"
	"fmt"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// API keys with a rule of their own.
const (
	keyProduce          = 0
	keyFetch            = 1
	keyJoinGroup        = 11
	keySyncGroup        = 14
	keyDescribeGroups   = 15
	keySaslHandshake    = 17
	keyApiVersions      = 18
	keyEnvelope         = 58
	keyPushTelemetry    = 72
	keyShareFetch       = 78
	keyShareAcknowledge = 79
)

// deliver hands over a frame. data is the frame less the holes, size is its size on the wire.
func (c *conn) deliver(h *half, data []byte, holes []hole, size int) {
	if c.kindOf(h.dir) == schema.Request {
		c.deliverRequest(h, data, holes, size)
	} else {
		c.deliverResponse(h, data, holes, size)
	}
}

func (c *conn) deliverRequest(h *half, data []byte, holes []hole, size int) {
	f := h.frame
	if f.request == nil {
		f.request = c.identify(h, data, size)
		if f.request == nil {
			return
		}
	}
	r := f.request
	d := c.dissector
	m := d.begin(&r.snapshot.Head, c, f, data, holes, size)
	m.Kind, m.Header, m.API = schema.Request, r.header, r.api
	m.findPlan()
	r.number, r.end, r.last, r.whole = m.Number, f.last.Time, f.last, true
	c.tokensPossible = c.tokensPossible || r.header.APIKey == keySaslHandshake && r.header.Version == 0 && r.header.Known
	c.checkOffer(m)
	m.lookAhead(c, r, &h.lead)
	if !d.namesOnly {
		c.sessionRequest(m, r)
		m.Auth = c.authRequest(m)
	}
	c.ending.count(m)
	c.ending.describe(m)
	if c.lastSilent = 0; r.noAnswer {
		c.lastSilent, c.lastSilentAt = m.Number, m.Time
	}
	d.Counts.Requests++
	d.Counts.Bytes.Requests += int64(size - f.missing)
	d.hand(m, &h.lead)
	if f.request = nil; r.detached {
		c.answerLate(r, m)
		return
	}
	if d.needs&NeedExchanges != 0 {
		r.frame = r.snapshot.Take(m, d.arena(r, len(m.data)))
	}
	c.pending.count(r)
	if r.noAnswer {
		c.answered(r, nil)
	}
}

// identify reads the header of a frame that came whole. It returns nil when the frame is no request.
func (c *conn) identify(h *half, data []byte, size int) *request {
	if c.tokens() {
		if c.dissector.requestHeader(data) != yes || !plainClientID(data) {
			r := c.dissector.newRequest()
			r.header.Token = true
			c.pending.push(r)
			return r
		}
		c.rawTokens, c.tokensPossible = false, false
	}
	r := c.dissector.newRequest()
	api, ok := c.parseHeader(&r.header, data, size)
	if !ok && h.frame.cut != nil {
		if len(data) < 4+requestHeaderLen {
			c.dissector.release(r)
			return headless()
		}
		ok = true // all but the client id is there
	}
	if !ok {
		c.dissector.release(r)
		h.loseStep(data, h.frame.last,
			finding(InvalidLength, Error, -1, "a frame of %d bytes is too short for a request", size))
		return nil
	}
	r.api = api
	c.register(r, h.frame)
	return r
}

// register puts a request whose header is there into the queue of those that wait for an answer.
func (c *conn) register(r *request, f *frame) {
	if c.pending.find(r.header.CorrelationID, f.last) >= 0 {
		f.findings = append(f.findings, finding(ReusedCorrelationID, Warn, 8,
			"correlation id %d is that of an earlier request that is not answered yet", r.header.CorrelationID))
	}
	c.makeRoom()
	c.pending.push(r)
	r.inFlight = int32(len(c.pending.items) - c.pending.passed)
}

// answerLate hands over the exchange of a request that was answered before it was whole.
func (c *conn) answerLate(r *request, m *Message) {
	d := c.dissector
	if r.answer != nil {
		d.exchange = Exchange{Request: m, Response: d.request.restore(r.answer, d.tools), OneWay: c.oneDirection()}
		d.out.Exchange(&d.exchange)
	}
	d.release(r)
}

// headless stands for a request whose header is not in the capture: nothing is known of it but that it was there.
func headless() *request { return &request{outstanding: outstanding{detached: true}} }

// makeRoom gives up on the oldest request when too many wait.
func (c *conn) makeRoom() {
	limit := maxPending
	if len(c.pending.items) >= maxPendingOneWay && c.oneDirection() {
		limit = maxPendingOneWay
	}
	for len(c.pending.items) >= limit {
		c.giveUp(finding(Unanswered, Warn, -1, "given up: more than %d requests wait for answers", limit))
	}
	for c.pending.held > maxPendingBytes && len(c.pending.items) > 1 {
		c.giveUp(finding(Unanswered, Warn, -1, "given up: the requests that wait for answers take more than %d MiB", maxPendingBytes>>20))
	}
}

// giveUp waits no longer for the answer to the oldest request, and says so where answers are in the capture.
func (c *conn) giveUp(said Finding) {
	r := c.pending.take(0)
	if !c.oneDirection() {
		c.report(r.number, said)
	}
	c.answered(r, nil)
}

// match finds the request that a response answers: the oldest outstanding one with its correlation id. A broker answers in order, so
// those before it are passed over for good: their answers were lost where bytes are missing, else somebody does not keep the order.
func (c *conn) match(h *half, correlationID int32) {
	at := c.pending.find(correlationID, h.frame.first)
	if at < 0 {
		return
	}
	if at > 0 {
		c.passOver(h, at)
	}
	h.gapped = false
	h.frame.request = c.pending.take(at)
}

// passOver notes that the first n requests that wait were passed over by the answer to the next.
func (c *conn) passOver(h *half, n int) {
	passed := 0
	for _, r := range c.pending.items[:n] {
		if !r.passed {
			r.passed = true
			passed++
		}
	}
	c.pending.passed += passed
	if passed > 0 && !h.gapped {
		h.frame.findings = append(h.frame.findings, finding(OutOfOrderResponse, Warn, 4,
			"answered before %d earlier requests; Kafka answers in order, so a proxy, another broker implementation or loss is at work", passed))
	}
}

func (c *conn) deliverResponse(h *half, data []byte, holes []hole, size int) {
	f := h.frame
	if f.request == nil {
		c.matchWhole(h, data)
	}
	d := c.dissector
	m := d.begin(&d.head, c, f, data, holes, size)
	m.Kind = schema.Response
	m.Header.CorrelationID = correlationID(data)
	if f.request == nil {
		m.Findings = append(m.Findings, finding(OrphanResponse, Warn, 4, "no request with correlation id %d was seen", m.Header.CorrelationID))
		c.infer(m)
	} else {
		r := f.request
		m.Header, m.API, m.Request, m.enveloped = r.header, r.api, r.number, r.enveloped
		if r.whole {
			c.timing(&m.Timing, r, f)
		}
		m.findPlan()
		c.saslHandshake(r, data)
		if !d.namesOnly {
			m.Auth = c.authResponse(m)
			c.learnOffer(m)
			c.sessionResponse(m, r)
		}
	}
	c.ending.Responses++
	if m.Auth != nil {
		c.ending.Auth = m.Auth
	}
	d.Counts.Responses++
	d.Counts.Bytes.Responses += int64(size - f.missing)
	d.hand(m, &h.lead)
	c.lastDone = f.last.Time
	if f.request == nil {
		c.orphan(m)
		return
	}
	c.answered(f.request, m)
	f.request = nil
}

// orphan hands over a response without its request as an exchange.
func (c *conn) orphan(m *Message) {
	if d := c.dissector; d.needs&NeedExchanges != 0 {
		d.exchange = Exchange{Response: m, OneWay: c.oneDirection()}
		d.out.Exchange(&d.exchange)
	}
}

// matchWhole finds the request of a response that came whole. Raw tokens carry no correlation id: they are answered in order.
func (c *conn) matchWhole(h *half, data []byte) {
	if len(c.pending.items) > 0 && c.pending.items[0].header.Token {
		h.frame.request = c.pending.take(0)
		return
	}
	if len(data) >= 8 {
		c.match(h, correlationID(data))
	}
}

func correlationID(frame []byte) int32 {
	if len(frame) < 8 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(frame[4:]))
}

// saslHandshake notes that an answered SaslHandshake v0 lets raw tokens follow (KIP-152 ended that with v1).
func (c *conn) saslHandshake(r *request, data []byte) {
	if !r.header.Token && r.header.APIKey == keySaslHandshake && r.header.Version == 0 && len(data) >= 10 {
		c.rawTokens = binary.BigEndian.Uint16(data[8:]) == 0 // some clients send their token all the same
	}
}

// timing splits the time from the request to the end of its answer.
func (c *conn) timing(t *Timing, r *request, f *frame) {
	t.Latency, t.Transfer, t.Allowed, t.InFlight = f.last.Time-r.end, f.last.Time-f.start, r.maxWait, r.inFlight
	t.Queued = max(0, min(c.lastDone, f.start)-r.end)
	t.Service = t.Latency - t.Queued - t.Transfer
	t.Excess = max(0, t.Service-r.maxWait) + t.Transfer
}

// answered hands over an exchange and forgets the request. response is nil where none came.
func (c *conn) answered(r *request, response *Message) {
	d := c.dissector
	if !r.whole {
		r.detached = true // its frame still refers to it
		if response != nil && c.dissector.needs&NeedExchanges != 0 {
			r.answer = &Snapshot{}
			r.answer.Take(response, nil)
		}
		return
	}
	if response != nil {
		c.lastAnswered = max(c.lastAnswered, r.number)
	}
	if response == nil && r.noAnswer {
		c.pending.remove(r)
	}
	if d.needs&NeedExchanges != 0 {
		m := d.request.restore(&r.snapshot, d.tools)
		x := &d.exchange
		x.Request, x.Response, x.NoAnswer, x.OneWay, x.Closed, x.Open, x.Findings = m, response, r.noAnswer, c.oneDirection(), r.refused, false, r.ending
		d.out.Exchange(x)
	}
	d.release(r)
}

// allowance says how long the broker may hold the request back, if it may.
func allowance(r *request) string {
	if r.maxWait <= 0 {
		return ""
	}
	return fmt.Sprintf("; it may wait %d ms", r.maxWait/1e6)
}

// begin begins a message and fills in what every head has. That of a request is the one of its snapshot, which saves to copy it.
func (d *Dissector) begin(h *Head, c *conn, f *frame, data []byte, holes []hole, size int) *Message {
	d.number++
	first := c.messages == 0
	if c.messages++; first {
		c.ending = newEnding(f.last.Time)
		d.Counts.KafkaConnections++
		if len(d.servers) < maxServers {
			d.servers[c.ends.Server] = true
		}
	}
	m := &d.message
	m.reset(data, holes)
	m.tools, m.Head = d.tools, h
	*h = Head{} // field by field: a literal would be copied
	h.Number, h.Time, h.Connection, h.Size, h.First = d.number, f.last.Time, c.ends, size, first
	h.Packets.First, h.Packets.Last, h.Packets.FirstFile, h.Packets.LastFile = f.first.Packet, f.last.Packet, f.first.File, f.last.File
	h.Packets.Count, h.Packets.List = f.count, f.list
	h.cut, h.catalog, h.topics = f.cut, d.catalog, d.topics
	if len(f.findings) > 0 {
		m.Findings = append(m.Findings, f.findings...)
	}
	if f.cut != nil {
		d.Counts.Cut++
		m.Findings = append(m.Findings, finding(f.cut.code, f.cut.severity(), f.cut.offset, "the bytes from here on are not in the capture"))
	}
	return m
}

// hand hands a message over.
func (d *Dissector) hand(m *Message, l *lead) {
	d.Counts.Messages++
	d.learnTopics(m, l)
	if d.needs&NeedMessages != 0 {
		d.out.Message(m)
	}
}

// end is called when nothing more comes on the connection.
func (c *conn) end(cause reassembly.EndCause, time int64) {
	var rst reassembly.Origin
	if cause == reassembly.Reset {
		rst = c.dissector.now
		c.closes(c.stream.ResetBy, rst)
	}
	if cause == reassembly.Evicted {
		c.forgotten()
	}
	for i := range c.halves {
		c.halves[c.clientDir^reassembly.Direction(i)].end()
	}
	c.settle()
	c.findCloser(rst)
	for len(c.pending.items) > 0 {
		r := c.pending.take(0)
		c.unanswered(r, cause, time)
		c.answered(r, nil)
	}
	c.endShares()
	c.explainClosing()
	if cause != reassembly.Evicted {
		c.endReport()
	}
	c.tellEnding(cause, time)
}

// unanswered says that a request got no answer.
func (c *conn) unanswered(r *request, cause reassembly.EndCause, time int64) {
	if !r.whole || c.oneDirection() {
		return
	}
	c.dissector.Counts.Unanswered++
	c.ending.Unanswered++
	what := r.what()
	age := float64(time-r.end) / 1e6
	var f Finding
	switch {
	case r.number < c.lastAnswered:
		f = finding(Unanswered, Warn, -1, "%s was not answered, though a later request was", what)
	case c.halves[c.clientDir.Other()].gapped:
		f = finding(Unanswered, Info, -1, "the answer to %s may be among the bytes that are not in the capture", what)
	case cause == reassembly.Evicted:
		f = finding(Unanswered, Info, -1, "%s was not answered yet when the connection was forgotten, within the memory limit", what)
	case c.serverClosed:
		f = finding(ClosedWithoutAnswer, Warn, -1, "the server %s the connection without an answer to %s, %.1f ms later%s", c.howClosed(), what, float64(c.closedAt-r.end)/1e6, c.whyRefused(r))
		r.refused = true
	case cause == reassembly.EndOfInput:
		f = finding(Unanswered, Info, -1, "%s was not answered yet when the capture ended, %.1f ms later%s", what, age, allowance(r))
	default:
		f = finding(Unanswered, Warn, -1, "%s was not answered within %.1f ms, when the connection ended", what, age)
	}
	r.ending = []Finding{f}
	c.report(r.number, f)
}
