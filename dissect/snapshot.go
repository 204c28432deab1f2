package dissect

import "github.com/kdissect/kdissect/reassembly"

// A Snapshot is a message that was not decoded yet, with bytes of its own: it lasts longer than the call that handed the
// message over, and another goroutine may decode it.
type Snapshot struct {
	Head
	list     []reassembly.Origin // the buffer of Packets.List
	findings []Finding
	data     []byte
	holes    []hole
	found    bool // decoding it gave findings
}

// Take makes a snapshot of a message. The frame's bytes are appended to arena, which is returned; they belong to the snapshot as long as the
// arena is not used again from its start.
func (s *Snapshot) Take(m *Message, arena []byte) []byte {
	if m.Head != &s.Head {
		s.Head = *m.Head
	}
	// Most messages have none of these; to append nothing takes as long as to copy the head.
	s.found, s.findings, s.holes = false, s.findings[:0], s.holes[:0]
	if len(s.Packets.List) > 0 {
		s.list = append(s.list[:0], s.Packets.List...)
		s.Packets.List = s.list
	}
	if len(m.Findings) > 0 {
		known := m.Findings
		if m.decoded { // decoding it again finds the others again
			known = known[:m.before]
		}
		s.found = len(known) < len(m.Findings)
		s.findings = append(s.findings, known...)
	}
	if len(m.holes) > 0 {
		s.holes = append(s.holes, m.holes...)
	}
	start := len(arena)
	arena = append(arena, m.data...)
	s.data = arena[start:len(arena):len(arena)]
	return arena
}

// A Reader turns snapshots back into messages, one at a time. Each goroutine needs its own.
type Reader struct {
	tools   *tools
	message [2]Message
}

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{tools: newTools()} }

// Message returns the message of a snapshot. It is valid until the next call.
func (r *Reader) Message(s *Snapshot) *Message { return r.message[0].restore(s, r.tools) }

// Exchange sets the messages of an exchange to those of snapshots; request or response is nil where there was none. They are valid until
// the next call.
func (r *Reader) Exchange(x *Exchange, request, response *Snapshot) {
	x.Request, x.Response = nil, nil
	if request != nil {
		x.Request = r.message[0].restore(request, r.tools)
	}
	if response != nil {
		x.Response = r.message[1].restore(response, r.tools)
	}
}

// restore makes m the message of a snapshot, whose head and bytes it shares.
func (m *Message) restore(s *Snapshot, t *tools) *Message {
	m.reset(s.data, s.holes)
	m.tools = t
	m.Head = &s.Head
	if len(s.findings) > 0 {
		m.Findings = append(m.Findings, s.findings...)
	}
	if s.found {
		m.Tape() // an output that does not decode it itself tells of them, too
	}
	return m
}

// reset makes a message ready for another frame and keeps its buffers. Its head is to be set by the caller.
func (m *Message) reset(data []byte, holes []hole) {
	m.Findings, m.data, m.holes = m.Findings[:0], data, holes
	m.known, m.resolved, m.topicField, m.summed.size, m.unpacked.run = false, false, 0, 0, 0
	if m.decoded {
		m.decoded, m.Nodes, m.body, m.failed = false, m.Nodes[:0], 0, nil
	}
}
