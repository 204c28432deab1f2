package dissect

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// Records of internal topics and control records have layouts of their own.

// TopicOf returns the name of the topic that a records field belongs to, "" when it is not known: newer versions have only its id, which some other
// message of the capture must have named. Asked for one field after the other it looks at each node once.
func (m *Message) TopicOf(field int) string {
	from := m.body
	if m.topicField > 0 && m.topicField < field {
		from = m.topicField
	} else {
		m.topic = ""
	}
	for i := min(field, len(m.Nodes)) - 1; i >= from; i-- {
		n := &m.Nodes[i]
		if n.Kind != ValueNode || n.Null || n.Op == nil || n.Op.Role != schema.TopicName && n.Op.Role != schema.TopicID {
			continue
		}
		m.topic = string(m.Bytes(n))
		if n.Op.Role == schema.TopicID {
			m.topic = string(m.topics.name(m.Bytes(n), m.Number))
		}
		break
	}
	m.topicField = field
	return m.topic
}

// controlTypes is what the keys of control records say, by their number, and the schemas of their values.
var controlTypes = [...]struct{ name, schema string }{
	{"ABORT", "EndTxnMarker"},
	{"COMMIT", "EndTxnMarker"},
	{"LEADER_CHANGE", "LeaderChangeMessage"},
	{"SNAPSHOT_HEADER", "SnapshotHeaderRecord"},
	{"SNAPSHOT_FOOTER", "SnapshotFooterRecord"},
	{"KRAFT_VERSION", "KRaftVersionRecord"},
	{"KRAFT_VOTERS", "VotersRecord"},
}

// ControlType returns what a control record says: COMMIT, ABORT, LEADER_CHANGE ... It is "" for a type that is unknown.
func (r *Record) ControlType() string {
	if t := r.controlType(); t >= 0 {
		return controlTypes[t].name
	}
	return ""
}

func (r *Record) controlType() int {
	if len(r.Key) < 4 {
		return -1
	}
	t := int(int16(binary.BigEndian.Uint16(r.Key[2:])))
	if t < 0 || t >= len(controlTypes) {
		return -1
	}
	return t
}

// DecodesRecords tells whether keys or values of a batch may be decoded: it is of an internal topic, or a control batch.
func (m *Message) DecodesRecords(topic string, b *Batch) bool {
	return b.Control() || m.catalog.IsInternalTopic(topic)
}

// DecodeKey decodes the key of a record of an internal topic, or of a control record. It returns nil for everything else.
func (m *Message) DecodeKey(topic string, b *Batch, r *Record) *Nested {
	v := &View{data: r.Key}
	switch {
	case b.Control():
		return m.tools.nester.versioned(v, m.catalog, "ControlRecordTypeSchema", 0, len(r.Key))
	case len(r.Key) < 2 || !m.catalog.IsInternalTopic(topic):
		return nil
	}
	plan := m.catalog.RecordPlan(topic, schema.CoordinatorKey, keyType(r.Key), 0)
	return m.tools.nester.open(v, plan, 2, len(r.Key), false)
}

func keyType(key []byte) int16 { return int16(binary.BigEndian.Uint16(key)) }

// DecodeValue decodes the value of a record of an internal topic, or of a control record. It returns nil for everything else.
func (m *Message) DecodeValue(topic string, b *Batch, r *Record) *Nested {
	v := &View{data: r.Value}
	switch {
	case b.Control():
		return m.controlValue(v, r)
	case r.Value == nil || !m.catalog.IsInternalTopic(topic):
		return nil
	case r.Key == nil || topic == metadataTopic:
		return m.metadataValue(topic, v, r.Value)
	case len(r.Key) < 2 || len(r.Value) < 2:
		return nil
	}
	plan := m.catalog.RecordPlan(topic, schema.CoordinatorValue, keyType(r.Key), keyType(r.Value))
	return m.tools.nester.open(v, plan, 2, len(r.Value), false)
}

// controlValue decodes what a control record carries. An end marker has its version in front; in the others the version is the first field.
func (m *Message) controlValue(v *View, r *Record) *Nested {
	t := r.controlType()
	if t < 0 || len(r.Value) < 2 {
		return nil
	}
	name := controlTypes[t].schema
	if name == "EndTxnMarker" {
		return m.tools.nester.versioned(v, m.catalog, name, 0, len(r.Value))
	}
	version := keyType(r.Value)
	n := m.tools.nester.tolerant(v, m.catalog, name, version, 0, len(r.Value))
	if n != nil {
		n.Version = version
	}
	return n
}

// metadataValue decodes a record of the cluster metadata or of the remote log metadata: the version of this frame, the record type and its version
// stand in front, each as an unsigned varint.
func (m *Message) metadataValue(topic string, v *View, value []byte) *Nested {
	head, at := metadataFront(value)
	if at == 0 {
		return nil
	}
	plan := m.catalog.RecordPlan(topic, schema.MetadataRecord, head[1], head[2])
	n := m.tools.nester.open(v, plan, at, len(value), false)
	if n != nil {
		n.Credentials = isCredentialRecord(n.Name)
		n.Secret = n.Secret || n.Credentials
	}
	return n
}

// metadataFront reads the three numbers in front of a metadata record, and how many bytes they take; 0 when they are not there.
func metadataFront(value []byte) (head [3]int16, size int) {
	for i := range head {
		n, width := uvarint(value[size:])
		if width <= 0 || n > 1<<15-1 {
			return head, 0
		}
		head[i] = int16(n)
		size += width
	}
	return head, size
}

// NestedIn calls yield for each structure inside the decoded value of a record: what the members of a classic group told each other is kept in
// the group's metadata. Field is the place of the bytes field on n's nodes.
func (m *Message) NestedIn(n *Nested, yield func(*Nested) bool) {
	if n.Name != "GroupMetadataValue" {
		return
	}
	consumer := false
	for i := range n.Nodes {
		node := &n.Nodes[i]
		if node.Kind != ValueNode || node.Null {
			continue
		}
		name := ""
		switch node.Op.Field.Name {
		case "protocolType":
			consumer = string(n.Bytes(node)) == "consumer"
		case "subscription":
			name = "ConsumerProtocolSubscription"
		case "assignment":
			name = "ConsumerProtocolAssignment"
		}
		if name == "" || !consumer {
			continue
		}
		at, end := int(node.Offset)+int(node.Prefix), int(node.Offset)+int(node.Length)
		inner := m.tools.inner.versioned(&n.View, m.catalog, name, at, end)
		if inner == nil {
			continue
		}
		inner.Field = i
		if !yield(inner) {
			return
		}
	}
}
