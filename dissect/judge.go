package dissect

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/kdissect/kdissect/schema"
)

// An opinion is what is thought of a position: whether a frame of some kind begins there, or how many bytes from there on are needed to tell.
type opinion struct {
	verdict verdict
	kind    schema.Kind
	need    int
}

// Bounds of what one direction may cost while nothing is found: frames decoded for a trial, and responses held against every layout there
// is, which takes about a thousand trials.
const (
	maxTrials         = 2000
	maxResponseTrials = 32
)

// judge tells whether a frame begins at a position of the window.
func (h *half) judge(at int) opinion {
	c, data := h.conn, h.window.data[at:]
	if len(data) > 0 && data[0] > maxFirstFrame>>24 && !(at == 0 && h.window.opened) {
		return opinion{} // the size would be too large: most positions end here
	}
	where := h.window.placeOf(at)
	if c.role == unknownRole || c.kindOf(h.dir) == schema.Request {
		if o := h.judgeRequest(data, where); o.verdict != no {
			return o
		}
	}
	if c.role == unknownRole || c.kindOf(h.dir) == schema.Response {
		return h.judgeResponse(at, data, where)
	}
	return opinion{}
}

// judgeRequest: the header must be right, and what is there of the body must decode. Where the beginning was not seen, what follows must begin like a
// request, too, unless the frame fills its packets and names something.
func (h *half) judgeRequest(data []byte, where place) opinion {
	if where == opening {
		return h.judgeFirst(data)
	}
	d := h.conn.dissector
	o := opinion{kind: schema.Request, verdict: d.requestHeader(data), need: len(data) + 1}
	if o.verdict != yes {
		return o
	}
	total := 4 + int(binary.BigEndian.Uint32(data))
	whole, plan := len(data) >= total, h.requestPlan(data)
	if plan == nil || !whole && !plainClientID(data) {
		o.verdict = no
		return o
	}
	switch look := h.tryRequest(plan, data[:min(len(data), total)], total, where >= aligned); {
	case !look.decodes:
		o.verdict = no
	case !whole:
		o.verdict, o.need = undecided, total
	case len(data) > total && (where < aligned || !look.names):
		o.verdict, o.need = h.judgeNext(data, data[total:], look.names), len(data)+1
	case !look.names:
		o.verdict, o.need = undecided, total+1
	}
	return o
}

// judgeNext judges what follows a request that was found somewhere: another request of the same client. named tells whether the first one holds text.
func (h *half) judgeNext(first, data []byte, named bool) verdict {
	v := h.conn.dissector.requestHeader(data)
	if v != yes {
		return v
	}
	total := 4 + int(binary.BigEndian.Uint32(data))
	plan := h.requestPlan(data)
	if plan == nil || !bytes.Equal(clientIDOf(first), clientIDOf(data)) {
		return no
	}
	if look := h.tryRequest(plan, data[:min(len(data), total)], total, true); !look.decodes || !look.names && !named {
		return no
	}
	return yes
}

func (h *half) requestPlan(data []byte) *schema.Plan {
	return h.conn.dissector.catalog.Plan(api(data), int16(binary.BigEndian.Uint16(data[6:])), schema.Request)
}

// fallback is the layout of what an API answers to a version that the broker does not have, nil when it has none (KIP-511).
func (d *Dissector) fallback(key int16) *schema.Plan {
	if key != keyApiVersions {
		return nil
	}
	return d.catalog.Plan(keyApiVersions, 0, schema.Response)
}

func api(request []byte) int16 { return int16(binary.BigEndian.Uint16(request[4:])) }

func (h *half) onBroker() bool { return h.conn.dissector.isBroker(h.conn.ends.Server) }

// isBroker tells whether an endpoint is known for Kafka, or listens where brokers often do.
func (d *Dissector) isBroker(end netip.AddrPort) bool {
	return d.servers[end] || usualPort(end.Port())
}

func (h *half) tryRequest(plan *schema.Plan, data []byte, total int, forgiving bool) impression {
	if h.trials++; h.trials > maxTrials {
		return impression{}
	}
	return h.conn.dissector.trial.request(plan, data, total, forgiving)
}

// judgeResponse: it answers an outstanding request and decodes as that answer. Where no request of it was seen, it must begin with a packet,
// decode as some answer, and end with the bytes there or be followed by another frame.
func (h *half) judgeResponse(at int, data []byte, where place) opinion {
	o := opinion{kind: schema.Response, verdict: undecided, need: 8}
	if len(data) < 8 {
		return o
	}
	size := int32(binary.BigEndian.Uint32(data))
	if size < 4 || size > maxFirstFrame {
		return opinion{}
	}
	c, total := h.conn, 4+int(size)
	if c.role == kafkaRole {
		if i := h.answered(at); i >= 0 {
			return h.judgeAnswer(c.pending.items[i], data, total, where)
		}
		if len(c.pending.items) > 0 && c.pending.items[0].header.Token && where >= border {
			o.verdict = yes
			return o
		}
	}
	if client := &c.halves[h.dir.Other()]; c.role != kafkaRole && client.spoke && !(client.state == searching && client.window.lost) {
		if o.need = untilAnswered; where != opening {
			o.verdict = no
		}
		return o // what the client said decides
	}
	if where == anywhere {
		return opinion{}
	}
	if o.need = h.endOfAnswer(at); o.need > 0 {
		return o
	}
	o.need = total
	if len(data) < total || c.packets < maxWaitPackets && len(h.window.data) < maxWindow/2 && !h.nothingFollows() {
		return o // its request may still come
	}
	if !h.fitsSome(data[:total]) {
		return opinion{}
	}
	named := c.dissector.trial.names()
	switch known := c.role == kafkaRole || h.toBroker() || c.dissector.offersAPIs(data[:total]); {
	case known && h.onBroker() && (len(data) == total || plausibleNext(data[total:])):
		o.verdict = yes
		return o
	case len(h.window.data) == total && h.window.skipped == 0 && h.nothingFollows() && h.onBroker() && correlationID(data) >= 0 && named: // there is but one
		o.verdict = yes
		return o
	}
	return h.judgeSecond(data, total, named)
}

// maxStep is how far apart the correlation ids of two answers in a row may be: clients count their requests, on all connections or on each.
const maxStep = 1 << 16

// judgeSecond judges the frame behind one that could be an answer of Kafka. Where nothing else speaks for Kafka it takes two in a row, to requests that
// were counted, and with text or records in one of them; named says that the first has.
func (h *half) judgeSecond(data []byte, first int, named bool) opinion {
	o := opinion{kind: schema.Response, verdict: undecided, need: first + 8}
	step := -correlationID(data)
	data = data[first:]
	if len(data) < 8 {
		return o
	}
	size := int32(binary.BigEndian.Uint32(data))
	if size < 4 || size > maxFirstFrame {
		return opinion{}
	}
	if step += correlationID(data); step <= 0 || step > maxStep {
		return opinion{}
	}
	if o.need = first + 4 + int(size); len(data) < 4+int(size) {
		return o
	}
	if o.verdict = no; h.fitsSome(data[:4+size]) && (named || h.conn.dissector.trial.names()) {
		o.verdict = yes
	}
	return o
}

// offersAPIs tells whether a frame is an ApiVersions answer. A broker offers that API, too.
func (d *Dissector) offersAPIs(frame []byte) bool {
	api := d.catalog.API(keyApiVersions)
	for v := api.Versions.Low; v <= api.Versions.High; v++ {
		plan := d.catalog.Plan(keyApiVersions, v, schema.Response)
		if plan == nil || !d.trial.fits(plan, frame) {
			continue
		}
		for _, n := range d.trial.decoder.tape {
			if n.Kind == ValueNode && n.Op.Name == "ApiKey" && binary.BigEndian.Uint16(frame[n.Offset:]) == keyApiVersions {
				return true
			}
		}
	}
	return false
}

// fitsSome tells whether a whole frame is an answer of some API and version.
func (h *half) fitsSome(frame []byte) bool {
	d := h.conn.dissector
	h.responseTrials++
	return h.responseTrials <= maxResponseTrials && d.trial.answersAny(d.catalog, frame)
}

// maxProof is how much of a large answer has to be there, and decode, before it is believed.
const maxProof = 64 << 10

// judgeAnswer judges a response with the correlation id of an outstanding request. These ids are small numbers, which stand everywhere: the
// answer must decode, to its end where its bytes come. Where no packet begins, another answer must follow, too.
func (h *half) judgeAnswer(r *request, data []byte, total int, where place) opinion {
	d := h.conn.dissector
	plan := d.catalog.Plan(r.header.APIKey, r.header.Version, schema.Response)
	o := opinion{kind: schema.Response, verdict: yes}
	if where == opening || plan == nil && where >= border {
		return o
	}
	if plan == nil {
		return opinion{}
	}
	switch d.trial.answers(plan, d.fallback(r.header.APIKey), data[:min(len(data), total)], total) {
	case no:
		return opinion{}
	case undecided:
		if o.need = min(total, maxProof); len(data) >= o.need || h.nothingFollows() && where >= border {
			return o
		}
		if o.verdict = undecided; h.nothingFollows() {
			o.verdict = no
		}
		return o
	}
	if where == anywhere && (d.trial.hasFindings() || !h.answerFollows(data[total:])) {
		return opinion{}
	}
	return o
}

// answered returns the place among the outstanding requests of the one that a response at a position of the window answers, or -1.
func (h *half) answered(at int) int {
	w := h.window
	return h.conn.pending.find(correlationID(w.data[at:]), w.parts[w.partOf(at)].Origin)
}

// endOfAnswer returns how far it is to the end of an answer that may lie over a position of the window, 0 if none does. What is
// inside an answer is none, but may well look like one.
func (h *half) endOfAnswer(at int) int {
	for _, c := range h.window.candidates {
		if c.at < at && at < c.at+c.need && len(h.window.data) < c.at+c.need && c.need > 8 && !h.nothingFollows() && h.answered(c.at) >= 0 {
			return c.at + c.need - at
		}
	}
	return 0
}

// nothingFollows tells whether the bytes behind those in the window will never come.
func (h *half) nothingFollows() bool { return h.atEnd || h.beforeGap }

// answerFollows tells whether the bytes behind a response can be those of the next one.
func (h *half) answerFollows(data []byte) bool {
	if len(data) < 8 {
		return len(data) == 0 || plausibleNext(data)
	}
	return plausibleNext(data) && h.conn.pending.find(correlationID(data), h.conn.dissector.now) >= 0
}

// plausibleNext tells whether a frame can begin with these bytes.
func plausibleNext(data []byte) bool {
	if len(data) < 4 {
		return prefixVerdict(data) != no
	}
	size := int32(binary.BigEndian.Uint32(data))
	return size >= 4 && size <= maxFirstFrame
}

// isKerberosToken tells whether a frame begins that holds a token of GSS-API and nothing else.
func isKerberosToken(data []byte) bool {
	return len(data) >= 4 && binary.BigEndian.Uint32(data) <= 1<<16 && startsKerberos(data[4:])
}
