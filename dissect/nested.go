package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// Structures travel inside bytes fields and inside records: what they are is said by the field they stand in, by a version in
// front, or by the topic. One that does not decode stays the bytes it is, without a finding: nothing says that it must be what it seems.

// A Nested is a structure that was decoded out of a bytes field or a record. It is valid during the call that hands it over.
type Nested struct {
	View               // Nodes[Body()] is the structure; offsets are those of the address space it stands in
	Name        string // of its schema
	Version     int16  // as said in front of it
	Header      int    // index of the header's node where it has one, else -1: a request inside a request
	Field       int    // index on the message's tape of the bytes field; -1 in a record
	Tail        string // path inside the field, for a structure inside a structure
	Secret      bool   // the bytes it stands in carry credentials, here or there
	Credentials bool   // no field of it may be shown
	Whole       bool   // it takes all the bytes of its field
	JSON        []byte // of a structure that is not Kafka's own, its JSON; there are no nodes then
}

// Body returns the index of the structure's node.
func (n *Nested) Body() int { return n.body }

// A nester decodes nested structures, one at a time a depth.
type nester struct {
	decoder decoder
	nested  Nested
}

// open decodes a structure from offset at of some bytes up to end. It fails unless it decodes without a fault. exact wants it to end there, too.
func (x *nester) open(v *View, plan *schema.Plan, at, end int, exact bool) *Nested {
	if plan == nil {
		return nil
	}
	d := x.begin(v, at, end)
	if d.structureOf(plan) != done || exact && d.pos != end {
		return nil
	}
	return x.finish(v, plan)
}

// begin puts the decoder at an offset.
func (x *nester) begin(v *View, at, end int) *decoder {
	d := &x.decoder
	d.reset(v.data, v.holes, end)
	d.jump(at)
	return d
}

func (x *nester) finish(v *View, plan *schema.Plan) *Nested {
	x.nested = Nested{Name: plan.Message.Name, Version: plan.Version, Header: -1, Field: -1,
		View: View{Nodes: x.decoder.tape, data: v.data, holes: v.holes}}
	x.nested.Secret = x.nested.markSecrets()
	return &x.nested
}

// versioned decodes a structure that has its version in front of it, as an int16. A version above the known ones is read as the newest known:
// what it adds comes at the end.
func (x *nester) versioned(v *View, catalog *schema.Catalog, name string, at, end int) *Nested {
	head := v.slice(at, 2)
	if len(head) < 2 || end-at < 2 {
		return nil
	}
	version := int16(binary.BigEndian.Uint16(head))
	n := x.tolerant(v, catalog, name, version, at+2, end)
	if n != nil {
		n.Version = version
	}
	return n
}

// tolerant decodes by the version that is claimed, or by the highest one below it whose fields are all there: some clients claim a version and leave its
// fields out.
func (x *nester) tolerant(v *View, catalog *schema.Catalog, name string, version int16, at, end int) *Nested {
	version = min(version, catalog.Newest(name))
	for ; version >= 0; version-- {
		if n := x.open(v, catalog.PlanByName(name, version), at, end, false); n != nil {
			return n
		}
	}
	return nil
}

// Nested calls yield for each structure inside a bytes field of the message, in the order of the bytes.
func (m *Message) Nested(yield func(*Nested) bool) {
	if m.Body() == 0 || !m.mayNest() {
		return
	}
	var protocolType []byte
	for i := m.body; i < len(m.Nodes); i++ {
		n := &m.Nodes[i]
		if n.Kind != ValueNode || n.Null || n.Op == nil || n.Op.Field == nil {
			continue
		}
		switch {
		case n.Op.Field.Name == "ProtocolType":
			protocolType = m.Bytes(n)
		case n.Op.Code == schema.OpBytes:
			if !m.openField(n, i, protocolType, yield) {
				return
			}
		}
	}
}

// mayNest tells whether the API has fields with structures inside.
func (m *Message) mayNest() bool {
	switch m.Header.APIKey {
	case keyJoinGroup, keySyncGroup, keyDescribeGroups, keyEnvelope, keyPushTelemetry:
		return true
	}
	return false
}

// openField hands over what is inside one bytes field.
func (m *Message) openField(n *Node, index int, protocolType []byte, yield func(*Nested) bool) bool {
	at, end := int(n.Offset)+int(n.Prefix), int(n.Offset)+int(n.Length)
	var found *Nested
	switch n.Op.Field.Name {
	case "Metadata", "MemberMetadata":
		return m.openProtocol("ConsumerProtocolSubscription", index, at, end, protocolType, yield)
	case "Assignment", "MemberAssignment":
		return m.openProtocol("ConsumerProtocolAssignment", index, at, end, protocolType, yield)
	case "RequestData":
		found = m.openRequest(at, end)
	case "ResponseData":
		found = m.openResponse(at, end)
	case "Metrics":
		found = m.openMetrics(index)
	case "RequestPrincipal":
		found = m.tools.nester.versioned(&m.View, m.catalog, "DefaultPrincipalData", at, end)
	}
	if found == nil {
		return true
	}
	found.Field = index
	return yield(found)
}

// openProtocol opens what members of a consumer group tell each other. The protocol type says whether it is that; old versions do not have
// it, and there only consumers use these calls in practice.
func (m *Message) openProtocol(name string, index, at, end int, protocolType []byte, yield func(*Nested) bool) bool {
	if protocolType != nil && string(protocolType) != "consumer" {
		return true
	}
	found := m.tools.nester.versioned(&m.View, m.catalog, name, at, end)
	if found == nil {
		return true
	}
	found.Field = index
	if !yield(found) {
		return false
	}
	return m.openStreams(found, index, yield)
}

// openStreams opens the user data of a subscription of Kafka Streams, which begins with its version, an int32.
func (m *Message) openStreams(n *Nested, index int, yield func(*Nested) bool) bool {
	for i := range n.Nodes {
		node := &n.Nodes[i]
		if node.Kind != ValueNode || node.Null || node.Op.Name != "UserData" || node.Op.Message().Name != "ConsumerProtocolSubscription" {
			continue
		}
		data := n.Bytes(node)
		if len(data) < 4 || !m.isStreams(index) {
			return true
		}
		version := int16(min(binary.BigEndian.Uint32(data), 1<<15-1))
		at := int(node.Offset) + int(node.Prefix)
		plan := m.catalog.PlanByName("SubscriptionInfoData", version)
		inner := m.tools.inner.open(&n.View, plan, at, at+len(data), true)
		if inner == nil {
			return true
		}
		inner.Field, inner.Tail = index, "userData"
		return yield(inner)
	}
	return true
}

// isStreams tells whether the protocol that a field belongs to is that of Kafka Streams: its name stands in front of the field, and where
// the message does not say it anything that decodes is taken.
func (m *Message) isStreams(field int) bool {
	const streams = "stream"
	if m.Kind != schema.Request || m.Header.APIKey != keyJoinGroup {
		return true
	}
	name := &m.Nodes[field-1]
	return name.Kind == ValueNode && string(m.Bytes(name)) == streams
}

// openRequest opens the request inside an Envelope: header and body.
func (m *Message) openRequest(at, end int) *Nested {
	if !m.enveloped.known {
		return nil
	}
	return m.openWhole(m.catalog.Plan(m.enveloped.key, m.enveloped.version, schema.Request), at, end)
}

// openResponse opens the response inside an Envelope, which answers the request inside the one that was sent.
func (m *Message) openResponse(at, end int) *Nested {
	if !m.enveloped.known {
		return nil
	}
	return m.openWhole(m.catalog.Plan(m.enveloped.key, m.enveloped.version, schema.Response), at, end)
}

func (m *Message) openWhole(plan *schema.Plan, at, end int) *Nested {
	if plan == nil {
		return nil
	}
	d := m.tools.nester.begin(&m.View, at, end)
	if d.structureOf(plan.Header) != done {
		return nil
	}
	body := len(d.tape)
	if d.structureOf(plan) != done {
		return nil
	}
	n := m.tools.nester.finish(&m.View, plan)
	n.Header, n.body, n.Whole = 0, body, d.pos == end
	return n
}

// An enveloped is what the request inside an Envelope is.
type enveloped struct {
	known        bool
	key, version int16
}

// lookIntoEnvelope reads what the request inside an Envelope is, so that its answer can be opened and its credentials be withheld.
func (m *Message) lookIntoEnvelope() enveloped {
	if m.Body() == 0 {
		return enveloped{}
	}
	for i := m.body; i < len(m.Nodes); i++ {
		n := &m.Nodes[i]
		if n.Kind != ValueNode || n.Op.Name != "RequestData" {
			continue
		}
		if data := m.Bytes(n); len(data) >= requestHeaderLen {
			return enveloped{true, int16(binary.BigEndian.Uint16(data)), int16(binary.BigEndian.Uint16(data[2:]))}
		}
	}
	return enveloped{}
}
