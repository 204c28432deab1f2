package dissect

import (
	"encoding/binary"

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

// judgeRequest: the header must be right, and what is there of the body must decode; the first frame of a connection may be
// broken behind a header that looks right. Where the beginning was not seen, what follows must begin like a request, too.
func (h *half) judgeRequest(data []byte, where place) opinion {
	d := h.conn.dissector
	o := opinion{kind: schema.Request, verdict: d.requestHeader(data), need: len(data) + 1}
	if o.verdict != yes {
		if where == opening && (isKerberosToken(data) || h.isUnknownRequest(data)) {
			o.verdict = yes
		}
		return o
	}
	total := 4 + int(binary.BigEndian.Uint32(data))
	plan := d.catalog.Plan(int16(binary.BigEndian.Uint16(data[4:])), int16(binary.BigEndian.Uint16(data[6:])), schema.Request)
	whole, plain := len(data) >= total, plainClientID(data)
	switch {
	case where == opening && plain && (h.onBroker() || plan == nil && api(data) == keyApiVersions):
		return o
	case plan == nil || !whole && !plain || !h.decodes(plan, data[:min(len(data), total)], total, where >= aligned):
		o.verdict = no
	case !whole && where != opening:
		o.verdict, o.need = undecided, total
	case where < aligned && len(data) > total:
		o.verdict, o.need = d.requestHeader(data[total:]), len(data)+1
	}
	return o
}

func api(request []byte) int16 { return int16(binary.BigEndian.Uint16(request[4:])) }

// onBroker tells whether the other end is known for Kafka, or listens where brokers often do.
func (h *half) onBroker() bool {
	c := h.conn
	return c.dissector.servers[c.ends.Server] || usualPort(c.ends.Server.Port())
}

func (h *half) decodes(plan *schema.Plan, data []byte, total int, forgiving bool) bool {
	h.trials++
	return h.trials <= maxTrials && h.conn.dissector.trial.decodes(plan, data, total, forgiving)
}

// isUnknownRequest tells whether a connection to a broker begins with a request of an API that nobody knows: alone in its packet, with a
// version and a client id as other requests have them.
func (h *half) isUnknownRequest(data []byte) bool {
	if len(data) < 4+requestHeaderLen+2 || !h.onBroker() {
		return false
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	version := int16(binary.BigEndian.Uint16(data[6:]))
	n := int(int16(binary.BigEndian.Uint16(data[12:])))
	return size+4 == len(data) && version >= 0 && version < 100 && n >= -1 && 14+n <= len(data) && plainClientID(data)
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
	if h.onBroker() && (len(data) == total || plausibleNext(data[total:])) {
		o.verdict = yes
		return o
	}
	return h.judgeSecond(data[total:], total)
}

// judgeSecond judges the frame behind one that could be an answer of Kafka. Where nothing else speaks for Kafka it takes two in a row.
func (h *half) judgeSecond(data []byte, first int) opinion {
	o := opinion{kind: schema.Response, verdict: undecided, need: first + 8}
	if len(data) < 8 {
		return o
	}
	size := int32(binary.BigEndian.Uint32(data))
	if size < 4 || size > maxFirstFrame {
		return opinion{}
	}
	if o.need = first + 4 + int(size); len(data) < 4+int(size) {
		return o
	}
	if o.verdict = no; h.fitsSome(data[:4+size]) {
		o.verdict = yes
	}
	return o
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
	var fallback *schema.Plan
	if r.header.APIKey == keyApiVersions {
		fallback = d.catalog.Plan(keyApiVersions, 0, schema.Response)
	}
	switch d.trial.answers(plan, fallback, data[:min(len(data), total)], total) {
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
