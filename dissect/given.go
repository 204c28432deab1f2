package dissect

import (
	"encoding/binary"
	"fmt"

	"github.com/kdissect/kdissect/schema"
)

// Given makes messages of bytes that somebody gives it, without a capture: out of a log, an issue, a debugger. A message of it has no connection, no time and no
// packets, and is valid until the next one.
type Given struct {
	conn    *conn // of a dissector that takes no packets: it has the catalog and learns the names of topics
	message Message
	head    Head // of message
	tools   *tools
	trial   trial
	number  int64
}

// A wrapping is what stands around the body of a message.
type wrapping uint8

const (
	inFrame   wrapping = iota // size and header
	unwrapped                 // nothing: the body of a request or response by itself
	structure                 // a structure that is neither, with its version or record type in front
)

// NewGiven returns a Given.
func NewGiven(catalog *schema.Catalog) *Given {
	return &Given{conn: &conn{dissector: New(catalog, 0, nil)}, tools: newTools()}
}

// Frames calls yield for each frame in some bytes. They are requests, or if plan is not nil responses of that plan. Where the bytes do not begin with the size
// of a frame, they are one frame without it; the size is put in front. The last frame may be cut.
func (g *Given) Frames(data []byte, plan *schema.Plan, yield func(*Message) bool) {
	if !g.sized(data, plan) {
		data = append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	}
	for len(data) > 0 {
		size := frameSize(data)
		frame := data[:min(size, len(data))]
		data = data[len(frame):]
		m := g.begin(frame, max(size, len(frame)))
		if size > len(frame) {
			m.cut = &cut{offset: len(frame), code: MissingBytes}
			m.Findings = append(m.Findings, finding(MissingBytes, Warn, len(frame), "the frame says %d bytes, %d of them are here", size, len(frame)))
		}
		if plan == nil {
			g.request(m)
		} else {
			g.response(m, plan)
		}
		if !yield(m) {
			return
		}
	}
}

// frameSize is what the first bytes say of their frame's size, the prefix included; all of them where they cannot say it.
func frameSize(data []byte) int {
	if len(data) < 4 {
		return len(data)
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	if size < 0 {
		return len(data)
	}
	return 4 + size
}

// sized tells whether bytes begin with the size of a frame: if what follows it is a whole message. They do not if they are a whole message
// without it. Where neither is one it is what they look more like.
func (g *Given) sized(data []byte, plan *schema.Plan) bool {
	bare := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	switch {
	case len(data) < 4:
		return false
	case g.isWhole(data[:min(frameSize(data), len(data))], plan):
		return true
	case g.isWhole(bare, plan):
		return false
	case plan != nil:
		size := int32(binary.BigEndian.Uint32(data))
		return 0 < size && size <= maxFirstFrame
	case g.beginsRequest(bare) && carriesCredentials(int16(binary.BigEndian.Uint16(data))):
		return false // to be withheld: a frame of just that size is rare
	case g.beginsRequest(data):
		return true
	}
	return tiles(data) || !g.beginsRequest(bare)
}

// isWhole tells whether a frame decodes without a byte left over.
func (g *Given) isWhole(frame []byte, plan *schema.Plan) bool {
	if len(frame) < 8 {
		return false
	}
	if plan == nil {
		plan = g.catalog().Plan(int16(binary.BigEndian.Uint16(frame[4:])), int16(binary.BigEndian.Uint16(frame[6:])), schema.Request)
	}
	return plan != nil && frameSize(frame) == len(frame) && g.trial.fits(plan, frame)
}

// beginsRequest tells whether a request of a known version begins behind the size of a frame, of which not all need be there.
func (g *Given) beginsRequest(frame []byte) bool {
	if len(frame) < 8 {
		return false
	}
	api := g.catalog().API(int16(binary.BigEndian.Uint16(frame[4:])))
	return api != nil && api.Versions.Contains(int16(binary.BigEndian.Uint16(frame[6:]))) && g.conn.dissector.requestHeader(frame) != no
}

// tiles tells whether bytes are frames by their sizes.
func tiles(data []byte) bool {
	for len(data) >= 8 && frameSize(data) <= len(data) {
		data = data[frameSize(data):]
	}
	return len(data) == 0
}

func (g *Given) catalog() *schema.Catalog { return g.conn.dissector.catalog }

// begin begins a message of size bytes, of which data is what there is.
func (g *Given) begin(data []byte, size int) *Message {
	g.number++
	m := &g.message
	m.reset(data, nil)
	m.tools = g.tools
	g.head = Head{Number: g.number, Size: size, catalog: g.catalog(), topics: g.conn.dissector.topics}
	m.Head = &g.head
	return m
}

func (g *Given) request(m *Message) {
	m.Kind = schema.Request
	if m.API, _ = g.conn.parseHeader(&m.Header, m.data, m.Size); m.Header.Known {
		m.findPlan()
	}
	if m.plan != nil {
		m.openEnvelope()
	}
	g.conn.dissector.learnTopics(m, &g.conn.halves[0].lead) // so that those behind it know the names
}

func (g *Given) response(m *Message, plan *schema.Plan) {
	m.Kind = schema.Response
	g.setAPI(m, plan)
	if len(m.data) >= 8 {
		m.Header.CorrelationID = correlationID(m.data)
	}
	m.findPlan()
	g.conn.dissector.learnTopics(m, &g.conn.halves[0].lead) // so that those behind it know the names
}

// Whole returns the message of one whole frame of a plan that has a header. The API may be a draft without a key.
func (g *Given) Whole(frame []byte, plan *schema.Plan) *Message {
	m := g.begin(frame, len(frame))
	m.Kind = plan.Message.Kind
	g.setAPI(m, plan)
	return m
}

// setAPI makes a message one of the plan's API, whose header's client id is not known.
func (g *Given) setAPI(m *Message, plan *schema.Plan) {
	m.API = g.catalog().API(plan.Message.APIKey)
	m.Header = Header{Known: true, APIKey: plan.Message.APIKey, Version: plan.Version, ClientIDNull: true}
	m.plan = plan
}

// Body returns the message of a request's or response's body without size and header.
func (g *Given) Body(data []byte, plan *schema.Plan) *Message {
	m := g.begin(data, len(data))
	m.Kind, m.wrapping = plan.Message.Kind, unwrapped
	g.setAPI(m, plan)
	m.openEnvelope()
	return m
}

// openEnvelope looks for secrets in what an Envelope holds.
func (m *Message) openEnvelope() {
	if m.Header.APIKey == keyEnvelope {
		m.enveloped = m.lookIntoEnvelope()
		m.hideSecrets() // now that it is known what is inside
	}
}

// Structure returns the message of a structure that is neither request nor response: a key or value of an internal topic, what consumers tell each other. Its
// version or record type is behind the first lead bytes.
func (g *Given) Structure(data []byte, lead int, plan *schema.Plan) *Message {
	m := g.begin(data, len(data))
	m.Kind, m.plan, m.wrapping, m.lead = plan.Message.Kind, plan, structure, min(lead, len(data))
	return m
}

// Records returns the message of record batches without anything around them.
func (g *Given) Records(data []byte) *Message { return g.Structure(data, 0, schema.RecordBatches()) }

// decodeGiven decodes a body without size and header, or a structure.
func (m *Message) decodeGiven(d *decoder) {
	d.leaf(LeadNode, nil, m.lead)
	m.body = len(d.tape)
	if m.plan == schema.RecordBatches() {
		at := d.group(StructNode, &m.plan.Ops[0])
		d.leaf(ValueNode, &m.plan.Ops[1], m.Size)
		d.closeNode(at)
		return
	}
	if d.structureOf(m.plan) != done {
		m.fail(d)
		return
	}
	m.surplus(d)
}

// Structure tells whether the message is a structure that is neither request nor response.
func (m *Message) Structure() bool { return m.wrapping == structure }

// Named returns the message of a structure of the catalog by its name, which is that of no request or response. Its version is read from the bytes. The error says
// why there is no layout to decode by.
func (g *Given) Named(name string, data []byte) (*Message, error) {
	schemaOf, err := g.catalog().Message(name)
	if err != nil {
		return nil, err
	}
	lead, version, err := leadOf(schemaOf, data)
	if err != nil {
		return nil, err
	}
	plan := g.catalog().PlanByName(name, version)
	if plan == nil {
		return nil, fmt.Errorf("the bytes say version %d of %s, which has %s", version, name, schemaOf.ValidVersions)
	}
	return g.Structure(data, lead, plan), nil
}

// leadOf reads what stands in front of a structure: how long it is, and the version that it or the first field says.
func leadOf(m *schema.Message, data []byte) (lead int, version int16, err error) {
	if m.Kind == schema.MetadataRecord {
		return metadataLead(m, data)
	}
	if len(data) < 2 {
		return 0, 0, fmt.Errorf("%d bytes are too few for %s", len(data), m.Name)
	}
	first := int16(binary.BigEndian.Uint16(data))
	switch {
	case m.Kind <= schema.Header:
		return 0, 0, fmt.Errorf("%s is a %s, which is found by its API", m.Name, m.Kind)
	case m.Kind == schema.CoordinatorKey && first != m.APIKey:
		return 0, 0, fmt.Errorf("the bytes say record type %d, that of %s is %d", first, m.Name, m.APIKey)
	case m.Kind == schema.CoordinatorKey:
		return 2, 0, nil
	case !m.BeginsWithVersion():
		return 2, first, nil
	case m.Fields[0].Type.Base == schema.Int32 && len(data) >= 4:
		return 0, int16(min(binary.BigEndian.Uint32(data), 1<<15-1)), nil
	}
	return 0, min(first, m.ValidVersions.High), nil
}

func metadataLead(m *schema.Message, data []byte) (lead int, version int16, err error) {
	head, lead := metadataFront(data)
	switch {
	case lead == 0:
		return 0, 0, fmt.Errorf("the bytes do not begin as those of a metadata record do, with three small numbers")
	case head[1] != m.APIKey:
		return 0, 0, fmt.Errorf("the bytes say record type %d, that of %s is %d", head[1], m.Name, m.APIKey)
	}
	return lead, head[2], nil
}

const offsetsTopic = "__consumer_offsets"

// OffsetsKey returns the message of the key of a record of __consumer_offsets, which begins with its type.
func (g *Given) OffsetsKey(data []byte) (*Message, error) {
	if len(data) < 2 {
		return nil, fmt.Errorf("%d bytes are too few for a key", len(data))
	}
	plan := g.catalog().RecordPlan(offsetsTopic, schema.CoordinatorKey, keyType(data), 0)
	if plan == nil {
		return nil, fmt.Errorf("%s has no records of type %d", offsetsTopic, keyType(data))
	}
	return g.Structure(data, 2, plan), nil
}

// OffsetsValue returns the message of the value of a record of __consumer_offsets. Only the key says what it is: it is the first of the structures, in the order of
// their types but that of offsets first, that takes exactly these bytes. others are the names of those behind it.
func (g *Given) OffsetsValue(data []byte) (m *Message, others []string, err error) {
	if len(data) < 2 {
		return nil, nil, fmt.Errorf("%d bytes are too few for a value", len(data))
	}
	const offsetCommit, newest = 1, 64
	types := []int16{offsetCommit, 0}
	for t := int16(offsetCommit + 1); t < newest; t++ {
		types = append(types, t)
	}
	var found *schema.Plan
	x := nester{}
	for _, t := range types {
		plan := g.catalog().RecordPlan(offsetsTopic, schema.CoordinatorValue, t, keyType(data))
		switch {
		case x.open(&View{data: data}, plan, 2, len(data), true) == nil:
		case found == nil:
			found = plan
		default:
			others = append(others, plan.Message.Name)
		}
	}
	if found == nil {
		return nil, nil, fmt.Errorf("no structure of %s has version %d and these %d bytes", offsetsTopic, keyType(data), len(data))
	}
	return g.Structure(data, 2, found), others, nil
}
