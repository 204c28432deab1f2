package dissect

// A Snapshot is a message that was not decoded yet, with bytes of its own: it lasts longer than the call that handed the
// message over, and another goroutine may decode it.
type Snapshot struct {
	Head
	findings []Finding
	data     []byte
	holes    []hole
	found    bool // decoding it gave findings
}

// Take makes a snapshot of a message. The frame's bytes are appended to arena, which is returned; they belong to the snapshot as long as the
// arena is not used again from its start.
func (s *Snapshot) Take(m *Message, arena []byte) []byte {
	known := m.Findings
	s.found = m.decoded && len(known) > m.before
	if m.decoded {
		known = known[:m.before] // decoding it again finds the others again
	}
	list := append(s.Packets.List[:0], m.Packets.List...)
	s.Head = *m.Head
	s.Packets.List = list
	s.findings = append(s.findings[:0], known...)
	s.holes = append(s.holes[:0], m.holes...)
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
	m.Findings = append(m.Findings, s.findings...)
	if s.found {
		m.Tape() // an output that does not decode it itself tells of them, too
	}
	return m
}

// reset makes a message ready for another frame and keeps its buffers. Its head is to be set by the caller.
func (m *Message) reset(data []byte, holes []hole) {
	m.Findings = m.Findings[:0]
	m.Nodes, m.data, m.holes, m.body, m.summed = m.Nodes[:0], data, holes, 0, summed{}
	m.decoded, m.known, m.resolved, m.failed = false, false, false, nil
	m.topic, m.topicField = "", 0
}
