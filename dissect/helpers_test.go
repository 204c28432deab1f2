package dissect

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

const (
	fromClient = reassembly.FromA
	fromServer = reassembly.FromB
)

// pack lays values out as Kafka does: integers big-endian by their Go type, strings and bytes as they are.
func pack(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case int8:
			b = append(b, byte(v))
		case byte:
			b = append(b, v)
		case int16:
			b = binary.BigEndian.AppendUint16(b, uint16(v))
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("pack: %T", p))
		}
	}
	return b
}

// text is a string as the versions before the flexible ones have it: an int16 length and the bytes.
func text(s string) []byte { return pack(int16(len(s)), s) }

// framed puts the size in front.
func framed(parts ...any) []byte {
	body := pack(parts...)
	return append(pack(int32(len(body))), body...)
}

// unhex reads bytes as a reader of a test writes them down: hex digits with spaces between.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// A nodeSeen is a node of a tape with what the test may want to know of it.
type nodeSeen struct {
	Kind           NodeKind
	Name           string
	Offset, Length uint32
	Next, Count    uint32
	Prefix         uint8
	Null, Hidden   bool
	Secret         bool
	Value          string // bytes of a leaf's value
}

// A messageSeen is a copy of all that a test looks at of a message.
type messageSeen struct {
	Kind      schema.Kind
	Name      string
	Header    Header
	Size      int
	Tape      []nodeSeen
	Body      int
	Undecoded *Remainder
	Cut       bool
	Secret    bool
	Findings  []Finding
	Batches   []Batch
	Facts     string
	Auth      Auth // all empty where there is none
	Inferred  *Inference

	number, request int64
	tapeFault       string
	conn            int
}

func (m *messageSeen) codes() []Code {
	var codes []Code
	for _, f := range m.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}

// node returns the first node of a name that stands for a value, array or structure.
func (m *messageSeen) node(name string) *nodeSeen {
	for i := range m.Tape {
		if m.Tape[i].Name == name {
			return &m.Tape[i]
		}
	}
	return nil
}

// String is what must not depend on how the stream was cut.
func (m *messageSeen) String() string {
	h := m.Header
	return fmt.Sprintf("%d %s v%d key %d corr %d known %t token %t client %q,%t size %d body %d cut %t undecoded %v tape %v batches %v findings %v facts %s auth %v secret %t",
		m.Kind, m.Name, h.Version, h.APIKey, h.CorrelationID, h.Known, h.Token, h.ClientID, h.ClientIDNull, m.Size, m.Body, m.Cut, m.Undecoded, m.Tape, m.Batches, m.Findings, m.Facts, m.Auth, m.Secret)
}

// short is how tests name a message: "Metadata v1 request 7".
func (m *messageSeen) short() string {
	name := m.Name
	if name == "" {
		name = "?"
	}
	return fmt.Sprintf("%s v%d %s %d", name, m.Header.Version, m.Kind, m.Header.CorrelationID)
}

type exchangeSeen struct {
	request, response int64 // 0 for none
	noAnswer          bool
}

// A recorder is an Output that copies all it is handed, and checks the tape of every message.
type recorder struct {
	messages  []*messageSeen
	exchanges []exchangeSeen
	orphans   []int64 // numbers of the responses that came as exchanges without a request
	reports   []Report
	light     bool    // tapes are checked, but not copied
	through   *Reader // if there, messages are looked at through a snapshot, as another goroutine would, and their facts are read before the tape
}

func (r *recorder) Message(m *Message) {
	if r.through != nil {
		var s Snapshot
		s.Take(m, nil)
		m = r.through.Message(&s)
		m.Facts()
	}
	tape := m.Tape()
	s := &messageSeen{Kind: m.Kind, Name: m.Name(), Header: m.Header, Size: m.Size, Body: m.Body(), Undecoded: m.Undecoded(),
		Cut: m.Cut(), Secret: m.Secret(), number: m.Number, request: m.Request, conn: m.Connection.ID}
	s.Header.ClientID = strings.Clone(m.Header.ClientID)
	s.Findings = slices.Clone(m.Findings)
	s.Inferred = m.Inferred
	if m.Auth != nil {
		s.Auth = *m.Auth
	}
	s.tapeFault = tapeFault(tape, m.Size)
	r.messages = append(r.messages, s)
	if r.light {
		return
	}
	s.Facts = factsText(m.Facts())
	s.Tape = make([]nodeSeen, 0, len(tape))
	for i := range tape {
		n := &tape[i]
		seen := nodeSeen{Kind: n.Kind, Offset: n.Offset, Length: n.Length, Next: n.Next, Count: n.Count, Prefix: n.Prefix, Null: n.Null, Hidden: n.Hidden, Secret: n.Secret}
		isRecords := false
		if n.Op != nil {
			seen.Name, isRecords = n.Op.Name, n.Op.Code == schema.OpRecords
		}
		if isRecords && n.Kind == ValueNode && !n.Null {
			for b := range m.Batches(n) {
				s.Batches = append(s.Batches, *b)
				s.Batches[len(s.Batches)-1].space = space{} // where its bytes are is no matter
			}
		} else if n.Kind.Leaf() {
			seen.Value = string(m.Bytes(n))
		}
		s.Tape = append(s.Tape, seen)
	}
}

func (r *recorder) Exchange(e *Exchange) {
	if e.Request == nil {
		r.orphans = append(r.orphans, e.Response.Number)
		return
	}
	x := exchangeSeen{request: e.Request.Number, noAnswer: e.NoAnswer}
	if e.Response != nil {
		x.response = e.Response.Number
	}
	e.Request.Tape()
	r.exchanges = append(r.exchanges, x)
}

func (r *recorder) Report(report *Report) {
	c := *report
	c.Findings = slices.Clone(report.Findings)
	r.reports = append(r.reports, c)
}

func (r *recorder) reportCodes() []Code {
	var codes []Code
	for _, report := range r.reports {
		for _, f := range report.Findings {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func (r *recorder) shorts() []string {
	var all []string
	for _, m := range r.messages {
		all = append(all, m.short())
	}
	return all
}

// tapeFault says how a tape breaks the promise that its leaves tile the frame and its groups hold what is inside them, "" if it does not.
func tapeFault(tape []Node, size int) string {
	at := uint32(0)
	var open []int // groups around the current node
	for i := range tape {
		n := &tape[i]
		for len(open) > 0 && tape[open[len(open)-1]].Next == uint32(i) {
			g := &tape[open[len(open)-1]]
			if g.Offset+g.Length != at {
				return fmt.Sprintf("group %d ends at %d, what is in it at %d", open[len(open)-1], g.Offset+g.Length, at)
			}
			open = open[:len(open)-1]
		}
		limit := uint32(len(tape))
		if len(open) > 0 {
			limit = tape[open[len(open)-1]].Next
		}
		switch {
		case n.Offset != at:
			return fmt.Sprintf("node %d begins at %d, the one before it ends at %d", i, n.Offset, at)
		case n.Next <= uint32(i) || n.Next > limit:
			return fmt.Sprintf("node %d: next is %d, of %d", i, n.Next, limit)
		case n.Kind.Leaf() && n.Next != uint32(i)+1:
			return fmt.Sprintf("leaf %d: next is %d", i, n.Next)
		case uint32(n.Prefix) > n.Length:
			return fmt.Sprintf("node %d: prefix %d of %d bytes", i, n.Prefix, n.Length)
		}
		if n.Kind.Leaf() {
			at += n.Length
		} else {
			open = append(open, i)
		}
	}
	for _, g := range open {
		if n := &tape[g]; n.Next != uint32(len(tape)) || n.Offset+n.Length != at {
			return fmt.Sprintf("group %d ends at %d, node %d; the tape at %d, node %d", g, n.Offset+n.Length, n.Next, at, len(tape))
		}
	}
	if int(at) != size {
		return fmt.Sprintf("leaves end at %d of %d bytes", at, size)
	}
	return ""
}

// A talk plays the assembler: it hands the bytes of one connection to a Dissector.
type talk struct {
	recorder
	dissector *Dissector
	conn      *reassembly.Connection
	offsets   [2]int64
	packet    int64
	sent      int64 // bytes of all connections
}

func newTalk(needs Needs, opened bool) *talk {
	t := &talk{}
	t.dissector = New(schema.Embedded(), needs, &t.recorder)
	t.open(opened)
	return t
}

var talkEnds = [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:9092")}

// open begins a connection.
func (t *talk) open(opened bool) {
	id := 1
	if t.conn != nil {
		id = t.conn.ID + 1
	}
	t.conn, t.offsets = &reassembly.Connection{ID: id, Ends: talkEnds, Opened: opened}, [2]int64{}
	t.conn.Seen = [2]bool{opened, opened} // by the handshake
}

// knowBroker lets the server be one that has spoken Kafka before.
func (t *talk) knowBroker() { t.dissector.servers[t.conn.Ends[1]] = true }

// now is the capture time of the packet that was sent last: a packet a millisecond.
func (t *talk) now() reassembly.Origin {
	return reassembly.Origin{Packet: t.packet, Time: t.packet * 1e6}
}

// send hands over bytes that came in one packet. They are overwritten afterwards, since nobody may hold on to them.
func (t *talk) send(dir reassembly.Direction, data []byte) {
	if len(data) == 0 {
		return
	}
	t.packet++
	t.conn.Seen[dir] = true
	chunk := slices.Clone(data)
	t.dissector.Chunk(t.conn, dir, &reassembly.Chunk{Data: chunk, Offset: t.offsets[dir], Origin: t.now()})
	t.offsets[dir] += int64(len(data))
	t.sent += int64(len(data))
	for i := range chunk {
		chunk[i] = 0xdd
	}
}

func (t *talk) client(parts ...any) { t.send(fromClient, pack(parts...)) }
func (t *talk) server(parts ...any) { t.send(fromServer, pack(parts...)) }

func (t *talk) gap(dir reassembly.Direction, n int64, cause reassembly.GapCause) {
	t.packet++
	t.dissector.Gap(t.conn, dir, reassembly.Gap{Offset: t.offsets[dir], Length: n, Cause: cause, Origin: t.now()})
	t.offsets[dir] += n
}

func (t *talk) fin(dir reassembly.Direction) {
	t.packet++
	t.dissector.Fin(t.conn, dir, t.now())
}

// rst lets a side send the first RST, which the End comes some packets behind.
func (t *talk) rst(dir reassembly.Direction) reassembly.Origin {
	t.packet++
	t.conn.Reset, t.conn.ResetBy = true, dir
	return t.now()
}

func (t *talk) reset(dir reassembly.Direction) {
	t.rst(dir)
	t.end(reassembly.Reset)
}

func (t *talk) end(cause reassembly.EndCause) {
	t.dissector.End(t.conn, cause, t.now())
}

// checkTapes fails for each message whose tape breaks its promises.
func (t *talk) checkTapes(test testing.TB) {
	test.Helper()
	for _, m := range t.messages {
		if m.tapeFault != "" {
			test.Errorf("%s: %s", m.short(), m.tapeFault)
		}
	}
}

// cutter cuts a stream of n bytes: it returns the lengths of the pieces.
type cutter func(n int) []int

func wholePiece(n int) []int { return []int{n} }

func pieces(size int) cutter {
	return func(n int) (lengths []int) {
		for ; n > 0; n -= size {
			lengths = append(lengths, min(size, n))
		}
		return lengths
	}
}

// sendCut hands over a stream in pieces.
func (t *talk) sendCut(dir reassembly.Direction, data []byte, cut cutter) {
	for _, n := range cut(len(data)) {
		t.send(dir, data[:n])
		data = data[n:]
	}
}

// heldBySkim is the size of the buffer of a large frame that is coming in.
func heldBySkim(h *half) int {
	if h.skim == nil {
		return 0
	}
	return cap(h.skim.data)
}
