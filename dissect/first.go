package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// The first frame of a connection is all there is to tell Kafka from any other protocol that puts a length in front. It is believed at once when its body
// decodes and names something: a client, a topic, a group. Of a frame that only has a request's header, as one of an API that nobody knows or
// one that its client got wrong, the answer tells: Kafka's repeats the correlation id. So it waits in the window until the server says something.

// firstLook is how many bytes of a frame are looked at before it is believed or not, so that the cuts between packets do not matter.
const firstLook = 512

// untilAnswered is what a candidate waits for that the other direction decides about.
const untilAnswered = 2 * maxWindow

// judgeFirst judges the first frame that the client sends.
func (h *half) judgeFirst(data []byte) opinion {
	o := opinion{kind: schema.Request, verdict: h.conn.dissector.requestHeader(data), need: len(data) + 1}
	if isKerberosToken(data) {
		o.verdict = yes
		return o
	}
	if o.verdict == no && h.hasUnknownHeader(data) {
		o.verdict = yes
	}
	if o.verdict != yes {
		return o
	}
	if protocolOf(data) != "" {
		return opinion{}
	}
	total := 4 + int(binary.BigEndian.Uint32(data))
	if looked := min(total, firstLook); len(data) >= looked || h.nothingFollows() {
		o.verdict, o.need = h.weighFirst(data[:min(len(data), looked)], total), untilAnswered
	} else {
		o.verdict, o.need = undecided, looked
	}
	return o
}

// weighFirst weighs what speaks for a first frame whose header is a request's. undecided leaves it to the answer.
func (h *half) weighFirst(data []byte, total int) verdict {
	look := impression{begun: true, names: hasClientName(data)} // nothing more is known of an unknown API or version
	if plan := h.requestPlan(data); plan != nil {
		look = h.tryRequest(plan, data, total, hasClientName(data))
	} else if !look.names || !h.onBroker() && api(data) != keyApiVersions {
		return no
	}
	looked := len(data) == min(total, firstLook)
	switch {
	case h.toBroker() && (looked && (look.decodes || look.empty) || hasClientName(data)):
		return yes
	case looked && look.decodes && (look.names || api(data) == keyApiVersions):
		return yes
	case !look.begun || !plainClientID(data):
		return no
	case !h.nothingFollows():
		return undecided
	case h.onBroker() && !h.conn.halves[h.dir.Other()].spoke && (hasClientName(data) ||
		look.names && api(data) != keyProduce || (look.decodes || look.empty) && len(data) >= total):
		return yes // the server closed the connection, as brokers do, or was not captured
	}
	return no
}

// hasUnknownHeader tells whether a connection to a broker begins with the header of a request of an API that nobody knows, with a version and
// a client id as other requests have them.
func (h *half) hasUnknownHeader(data []byte) bool {
	if len(data) < 4+requestHeaderLen+2 || !h.onBroker() {
		return false
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	version := int16(binary.BigEndian.Uint16(data[6:]))
	n := int(int16(binary.BigEndian.Uint16(data[12:])))
	return size <= maxFirstFrame && version >= 0 && version < 100 && n > 0 && n <= maxClientID && 14+n <= size+4
}

// toBroker tells whether the other end has spoken Kafka on another connection.
func (h *half) toBroker() bool { return h.conn.dissector.servers[h.conn.ends.Server] }

// decideFirst decides about a first request in doubt by what came back.
func (c *conn) decideFirst() {
	q, r := &c.halves[c.clientDir], &c.halves[c.clientDir.Other()]
	w := q.window
	if q.state != searching || !w.opened || len(w.candidates) == 0 || w.candidates[0].need != untilAnswered {
		return
	}
	v := no // of what the server sends it is known that it is no Kafka
	switch {
	case r.state == searching && r.window.opened:
		v = q.answeredBy(r)
	case r.state != foreign:
		return // the answer is missing, or nothing came yet
	}
	switch v {
	case yes:
		q.found(0, schema.Request)
	case no:
		q.notKafka()
	}
}

// answeredBy tells whether the first bytes of the server answer the request in doubt, or one behind it.
func (h *half) answeredBy(r *half) verdict {
	data := r.window.data
	if len(data) < 8 {
		return undecided
	}
	size := int32(binary.BigEndian.Uint32(data))
	request := h.window.requestWith(correlationID(data))
	if size < 4 || size > maxFirstFrame || request == nil {
		return no
	}
	total := 4 + int(size)
	looked := min(total, firstLook)
	if len(data) < looked {
		return undecided
	}
	d := h.conn.dissector
	plan := d.catalog.Plan(api(request), int16(binary.BigEndian.Uint16(request[6:])), schema.Response)
	switch {
	case plan == nil && hasClientName(request),
		plan != nil && d.trial.answers(plan, d.fallback(api(request)), data[:looked], total) != no,
		plan != nil && d.trial.run(plan, data[:looked], total) == done && h.fitsRequest(request): // and bytes behind it
		return yes
	}
	return no
}

// fitsRequest tells whether the bytes begin with a whole request that decodes.
func (h *half) fitsRequest(data []byte) bool {
	total, plan := 4+int(binary.BigEndian.Uint32(data)), h.requestPlan(data)
	return plan != nil && total <= len(data) && h.tryRequest(plan, data[:total], total, false).decodes
}

// requestWith returns the bytes from the first request on that has a correlation id, of those that follow one another from the window's beginning on.
func (w *window) requestWith(correlationID int32) []byte {
	for data := w.data; len(data) >= 4+requestHeaderLen; {
		if int32(binary.BigEndian.Uint32(data[8:])) == correlationID {
			return data
		}
		size := int32(binary.BigEndian.Uint32(data))
		if size < requestHeaderLen || int(size) > len(data)-4 {
			break
		}
		data = data[4+size:]
	}
	return nil
}
