package dissect

import (
	"unsafe"

	"github.com/kdissect/kdissect/reassembly"
)

// What is kept for a connection is counted, about, and told to the assembler, which forgets connections when all of it together with
// its own is too much.

// connSize is what every connection takes: its state, its two ends with their names.
const connSize = int(unsafe.Sizeof(conn{})+unsafe.Sizeof(Connection{})) + 2*nameSize

// originSize is that of the place of a packet.
const originSize = int(unsafe.Sizeof(reassembly.Origin{}))

// nameSize is what an endpoint takes as text.
const nameSize = 24

// maxServers bounds how many brokers are remembered. They take about 6 MB.
const maxServers = 64 << 10

// memory is how many bytes the connection takes, with the requests that wait.
func (c *conn) memory() int {
	return connSize + 8*cap(c.pending.ring) + int(unsafe.Sizeof(sessionKey{}))*cap(c.shares) + c.pending.held + 32*len(c.pending.ids) + c.offered.memory() + 16*len(c.spoken) + c.ending.memory() +
		len(c.clientID) + len(c.auth.mechanism) + len(c.auth.user) + c.halves[0].memory() + c.halves[1].memory()
}

// charge tells the assembler how much the connection takes, when a chunk of a direction was taken. Between whole messages only what waits for an answer
// changes, as a rule, and to add it all up each time costs 3 % of the way of a message.
func (c *conn) charge(h *half) {
	steady := h.state == inStep && !h.partial
	if steady && c.messages < c.recountAt {
		c.stream.Memory += c.pending.held - c.counted
	} else {
		c.stream.Memory, c.recountAt = c.memory(), 0
		if steady && c.messages >= recount {
			c.recountAt = c.messages + recount
		}
	}
	c.counted = c.pending.held
}

// recount is after how many messages all is added up again, and how many there are at the beginning of a connection, when names become known.
const recount = 64

// memory is what a direction takes besides its place in the connection.
func (h *half) memory() int {
	n := cap(h.buffer) + cap(h.lead.body) + h.laterBytes + int(unsafe.Sizeof(part{}))*cap(h.head)
	if f := h.frame; f != nil {
		n += int(unsafe.Sizeof(*f)) + originSize*cap(f.list) + int(unsafe.Sizeof(hole{}))*cap(f.holes)
		if r := f.request; r != nil && r.detached {
			n += r.memory()
		}
	}
	if w := h.window; w != nil {
		n += int(unsafe.Sizeof(*w)) + cap(w.data) + int(unsafe.Sizeof(part{}))*cap(w.parts) + int(unsafe.Sizeof(candidate{}))*cap(w.candidates)
	}
	if s := h.skim; s != nil {
		n += int(unsafe.Sizeof(*s)) + cap(s.data) + int(unsafe.Sizeof(Node{}))*cap(s.tape) + int(unsafe.Sizeof(hole{}))*cap(s.holes)
	}
	return n
}

// memory is what is known of how a connection went.
func (e *Ending) memory() int {
	if e == nil {
		return 0
	}
	n := int(unsafe.Sizeof(*e)) + int(unsafe.Sizeof(Used{}))*cap(e.Used) + int(unsafe.Sizeof(Feature{}))*cap(e.Features) + len(e.Software) + len(e.SoftwareLevel)
	for i := range e.Features {
		n += len(e.Features[i].Name)
	}
	return n
}

// memory is what a request takes with its frame, and with its answer if that came first.
func (r *request) memory() int {
	n := int(unsafe.Sizeof(*r)) + len(r.header.ClientID) + cap(r.frame) + r.snapshot.lists()
	if s := r.session; s != nil {
		n += int(unsafe.Sizeof(*s)) + int(unsafe.Sizeof(Asked{}))*cap(s.held) + int(unsafe.Sizeof(heldKey{})+8)*2*len(s.index)
	}
	if r.answer != nil {
		n += int(unsafe.Sizeof(*r.answer)) + cap(r.answer.data) + r.answer.lists()
	}
	return n
}

// lists is the memory behind a snapshot besides the frame.
func (s *Snapshot) lists() int {
	return originSize*cap(s.list) + int(unsafe.Sizeof(hole{}))*cap(s.holes) + int(unsafe.Sizeof(Finding{}))*cap(s.findings)
}

// forgotten takes note that the connection is given up to stay within the memory limit. What it carries remains open then.
func (c *conn) forgotten() {
	if c.kafka() || !c.named && c.halves[c.clientDir].state != foreign {
		c.dissector.Counts.Forgotten++
	}
	c.named = true
}

// Close says what can only be said at the end, when all connections have ended.
func (d *Dissector) Close() {
	if n := d.Counts.Forgotten; n > 0 {
		d.Report(0, finding(MemoryLimit, Warn, -1,
			"%d connections were forgotten to stay within the memory limit; what came on them later was taken for that of new ones", n), false)
	}
	d.reportSilent()
}
