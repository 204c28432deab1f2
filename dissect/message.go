package dissect

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Packets says which packets carried a message. Numbers count from 1 over all packets of a file; files are as in pcaps.Packet.
type Packets struct {
	First, Last         int64 // as the capture has them: in one file the lowest and the highest number
	FirstFile, LastFile uint16
	Count               int
	List                []reassembly.Origin // all of them in stream order, if Needs asks for it
}

// A Message is one request or response. It and all that it refers to are valid during the call that hands it over; a Snapshot
// lasts longer. Decoding it is put off until somebody asks for what only that can tell.
type Message struct {
	*Head
	Findings []Finding // complete once the message is decoded, and its records have been walked
	View               // of the frame, once it is decoded: see Tape

	decoded    bool
	before     int // how many findings there were before it was decoded
	failed     *fault
	facts      *Facts // own, or those of a form; set when they are known
	own        Facts
	known      bool   // facts are there
	resolved   bool   // and names of topics that only other messages tell
	topic      string // what TopicOf has said last, and of which field
	topicField int
	unpacked   unpacked // the batch that was decompressed last
	tools      *tools
}

// A Head is what is known of a message before it is decoded. It is copied for each snapshot, so it is kept small.
type Head struct {
	Number     int64 // from 1, in the order in which messages were handed on
	Time       int64 // capture time of the packet that completed it, nanoseconds since the Unix epoch
	Connection *Connection
	Packets    Packets
	Size       int // whole frame in bytes, size prefix included
	Header     Header
	API        *schema.API // nil when the key is unknown or there is none
	Request    int64       // Response: number of its request, 0 when that is not known
	Timing     Timing      // Response with a known request
	Auth       *Auth       // of authentication messages, else nil
	Session    *Session    // of fetches that belong to a session, or open one, else nil
	Inferred   *Inference  // Response whose request is not in the capture: what it may be; nil when nothing is known
	Kind       schema.Kind
	First      bool // it is the first one of its connection

	wrapping  wrapping
	enveloped enveloped // Envelope: what the request inside is
	lead      int       // bytes in front of a structure
	catalog   *schema.Catalog
	topics    *topicNames
	plan      *schema.Plan
	cut       *cut // the frame is not whole
}

// tools are what decoding needs besides the message: used again for each, by one goroutine.
type tools struct {
	decoder  decoder
	inflater inflater
	nester   nester
	inner    nester                        // for a structure inside a structure
	sets     [maxUnpackDepth + 1]RecordSet // by how often the bytes were unpacked that the batch is in
	metrics  []byte                        // JSON of what clients push
	forms    forms
}

func newTools() *tools {
	return &tools{inflater: inflater{limit: DefaultMaxUnpacked}}
}

// A Header is what is certain of a message before its body is decoded.
type Header struct {
	Known         bool // there is a Kafka header and, of a response, its request was seen or is clear (Head.Inferred)
	Token         bool // a raw SASL token, which has no header
	ClientIDNull  bool
	APIKey        int16
	Version       int16 // of the request, also in its response
	CorrelationID int32
	ClientID      string // the request's
}

// A cut says that a frame's bytes are missing from some offset on.
type cut struct {
	offset int
	code   Code
}

// severity is that of the bytes' absence: cut at the snap length they are where they were meant to be.
func (c *cut) severity() Severity {
	if c.code == SnaplenCut {
		return Info
	}
	return Warn
}

// Name is the API's name, "" when it is unknown.
func (m *Message) Name() string {
	switch {
	case m.Header.Token:
		return "SaslToken"
	case m.API != nil && m.Header.Known:
		return m.API.Name
	}
	return ""
}

// Correlated tells whether the message's correlation id is known.
func (m *Message) Correlated() bool {
	return m.Header.Known && !m.Header.Token && m.wrapping == inFrame || m.Kind == schema.Response && !m.Header.Token && m.wrapping == inFrame && (m.cut == nil || m.cut.offset >= 8)
}

// Catalog is what the message is decoded by.
func (m *Message) Catalog() *schema.Catalog { return m.catalog }

// Cut tells whether bytes of the frame are missing from the capture.
func (m *Message) Cut() bool { return m.cut != nil }

// Enveloped returns the name of the API of the request inside an Envelope, "" when there is none or it is unknown.
func (m *Message) Enveloped() string {
	if !m.enveloped.known {
		return ""
	}
	if api := m.catalog.API(m.enveloped.key); api != nil {
		return api.Name
	}
	return ""
}

// Tape returns the message's nodes in preorder, decoding it first if nobody has yet. The leaves tile the frame.
func (m *Message) Tape() []Node {
	if !m.decoded {
		m.decode()
	}
	return m.Nodes
}

// Body returns the index on the tape of the body's structure, or 0 when the message has none that is known.
func (m *Message) Body() int {
	m.Tape()
	return m.body
}

// Plan is the layout that the message was decoded by, nil when it is unknown.
func (m *Message) Plan() *schema.Plan {
	m.Tape()
	return m.plan
}

// A Remainder is the part of a frame that could not be decoded.
type Remainder struct {
	Offset, Size int
	Reason       string
}

// Undecoded returns what could not be decoded of the message, nil if all was.
func (m *Message) Undecoded() *Remainder {
	if m.known && !m.decoded {
		return nil // its facts could be read at once, so there is nothing wrong with it
	}
	tape := m.Tape()
	if m.failed == nil || len(tape) == 0 {
		return nil
	}
	last := &tape[len(tape)-1]
	return &Remainder{int(last.Offset), int(last.Length), m.failed.reason()}
}

func (f *fault) reason() string {
	switch f.code {
	case MissingBytes:
		return fmt.Sprintf("%s at 0x%04x wants %s, %d are there", f.what, f.offset, bytesOf(f.want), f.have)
	case InvalidLength:
		if f.want > 0 {
			return fmt.Sprintf("%s at 0x%04x says %d, which the %s behind it cannot hold", f.what, f.offset, f.want, bytesOf(f.have))
		}
		return fmt.Sprintf("%s at 0x%04x has an impossible length", f.what, f.offset)
	}
	return f.what
}

// bytesOf writes a number of bytes.
func bytesOf(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// add adds a finding that decoding the message would not find. It is kept when the message is decoded again.
func (m *Message) add(f Finding) {
	at := len(m.Findings)
	if m.decoded {
		at = m.before
		m.before++
	}
	m.Findings = slices.Insert(m.Findings, at, f)
}

// decode fills the tape: size, header, body, and what is left over.
func (m *Message) decode() {
	m.decoded, m.before = true, len(m.Findings)
	d := &m.tools.decoder
	d.reset(m.data, m.holes, m.Size)
	d.tape, d.findings = m.Nodes[:0], m.Findings
	m.body, m.failed = 0, nil
	if m.wrapping == inFrame {
		d.leaf(SizeNode, nil, min(4, len(m.data)))
	}
	switch {
	case m.wrapping != inFrame:
		m.decodeGiven(d)
	case m.Header.Token:
		d.leaf(TokenNode, nil, m.Size-d.pos)
	case m.plan == nil:
		m.decodeUnknown(d)
	default:
		m.decodeBody(d)
	}
	m.Nodes, m.Findings = d.tape, d.findings
	m.hideSecrets()
	m.collectFacts()
}

// decodeBody decodes header and body along the plan.
func (m *Message) decodeBody(d *decoder) {
	status := d.structureOf(m.plan.Header)
	if status == done {
		m.body = len(d.tape)
		status = d.structureOf(m.plan)
	}
	if status != done {
		m.fail(d)
		return
	}
	m.surplus(d)
}

// surplus adds what is left of the bytes behind the body.
func (m *Message) surplus(d *decoder) {
	left := m.Size - d.pos
	switch {
	case left > 0 && m.cut != nil:
		m.failed = &fault{code: Undecoded, what: fmt.Sprintf("the bytes from offset %d on are not in the capture", m.cut.offset)}
		d.leaf(UndecodedNode, nil, left)
	case left > 0:
		d.note(finding(TrailingBytes, Warn, d.pos, "%d bytes behind the end of %s v%d", left, m.plan.Message.Name, m.plan.Version))
		d.leaf(TrailingNode, nil, left)
	}
}

// decodeUnknown decodes what is certain of a message of unknown API, version or request.
func (m *Message) decodeUnknown(d *decoder) {
	kind, version := m.Kind, int16(0)
	if m.Header.Known && kind == schema.Request && !m.Header.ClientIDNull {
		version = 1 // the client id stands where it does in every header
	}
	if d.structureOf(m.catalog.HeaderPlan(kind, version)) != done {
		d.closeAll()
	}
	switch {
	case m.cut != nil && (m.cut.offset < 8 || m.Kind == schema.Request && !m.Header.Known):
		m.failed = &fault{code: Undecoded, what: "its header is not in the capture"}
	case !m.Header.Known:
		m.failed = &fault{code: Undecoded, what: "the request was not seen, so API and version are not known"}
	case m.API == nil:
		m.failed = &fault{code: Undecoded, what: fmt.Sprintf("API key %d is unknown", m.Header.APIKey)}
	default:
		m.failed = &fault{code: Undecoded, what: fmt.Sprintf("%s v%d is unknown, the newest known is v%d", m.API.Name, m.Header.Version, m.API.Versions.High)}
	}
	if m.Size > d.pos {
		d.leaf(UndecodedNode, nil, m.Size-d.pos)
	} else {
		m.failed = nil
	}
}

// fail closes the tape where decoding stopped: the rest of the frame becomes one leaf.
func (m *Message) fail(d *decoder) {
	f := d.failed
	m.failed = &f
	d.closeAll()
	d.leaf(UndecodedNode, nil, m.Size-d.pos)
	if m.cut != nil {
		f.code, f.what = Undecoded, fmt.Sprintf("%s: the bytes from offset %d on are not in the capture", f.what, m.cut.offset)
		return
	}
	d.note(finding(f.code, Error, f.offset, "%s", f.reason()))
}

// findPlan looks up the layout, and says why there is none. An ApiVersions answer that says the request's version is not
// supported has a version 0 body: a broker cannot know the layout of a version that it does not have (KIP-511).
func (m *Message) findPlan() {
	if m.Header.Token {
		return
	}
	if m.API != nil {
		m.plan = m.catalog.PlanOf(m.API, m.Header.Version, m.Kind)
	}
	switch {
	case m.plan != nil && m.Header.APIKey != keyApiVersions, !m.Header.Known:
	case m.isVersionFallback():
		m.Findings = append(m.Findings, finding(VersionFallback, Info, 8,
			"the broker does not support ApiVersions v%d and answers in v0", m.Header.Version))
	case m.plan != nil:
	case m.API == nil:
		m.Findings = append(m.Findings, finding(UnknownAPI, Warn, -1, "API key %d is unknown", m.Header.APIKey))
	case m.API.Versions.Contains(m.Header.Version): // one half of a draft
		m.Findings = append(m.Findings, finding(UnknownVersion, Warn, -1, "there is no schema of the %s of %s v%d", m.Kind, m.API.Name, m.Header.Version))
	default:
		m.Findings = append(m.Findings, finding(UnknownVersion, Warn, -1, "%s v%d is unknown; known are v%s", m.API.Name, m.Header.Version, m.API.Versions))
	}
}

// isVersionFallback chooses the version 0 plan where that is what the broker answered in.
func (m *Message) isVersionFallback() bool {
	const body, unsupportedVersion = 8, 35 // the body is behind size and correlation id
	if m.Kind != schema.Response || m.Header.APIKey != keyApiVersions || m.Header.Version == 0 ||
		len(m.data) < body+2 || binary.BigEndian.Uint16(m.data[body:]) != unsupportedVersion {
		return false
	}
	plan := m.catalog.Plan(keyApiVersions, 0, schema.Response)
	if !new(trial).fits(plan, m.data) {
		return false
	}
	m.plan = plan
	return true
}

// reset prepares the decoder for a whole frame of size bytes, of which data is what there is. The stack is left as it
// is: clearing its 2 KB costs as much as decoding a small message.
func (d *decoder) reset(data []byte, holes []hole, size int) {
	d.data, d.holes, d.limit = data, holes, size
	d.skipped, d.pos, d.depth, d.nextHole, d.recordsEnd, d.toDrop = 0, 0, 0, 0, 0, 0
	d.complete, d.passOver, d.sumBatches, d.crcTable = true, false, false, nil
	d.tape, d.findings = d.tape[:0], d.findings[:0]
}

// structureOf decodes a header or body from the current position on.
func (d *decoder) structureOf(plan *schema.Plan) status {
	d.start(plan, d.pos)
	return d.run()
}
