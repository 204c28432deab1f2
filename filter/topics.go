package filter

import (
	"encoding/base64"
	"slices"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

func (t Topic) matchExchange(x *dissect.Exchange) bool {
	return t.matchMessage(x.Request) || t.matchMessage(x.Response)
}

func (t Topic) matchMessage(m *dissect.Message) bool {
	if m == nil {
		return false
	}
	if m.Session != nil && t.matchSession(m) {
		return true
	}
	f := m.Facts()
	for i := range f.Topics {
		topic := &f.Topics[i]
		if !t.matchName(topic.Name, topic.ID) || t.Partition >= 0 && !slices.Contains(topic.Partitions, t.Partition) {
			continue
		}
		if t.Offset < 0 || t.matchOffset(m) {
			return true
		}
	}
	return false
}

func (t Topic) matchName(name, id []byte) bool {
	return name != nil && t.Name.match(name) || id != nil && t.Name.match(base64.RawURLEncoding.AppendEncode(nil, id))
}

// matchSession looks at what a fetch asks for that goes on with a session.
func (t Topic) matchSession(m *dissect.Message) bool {
	return slices.ContainsFunc(m.Session.Asks, func(a dissect.Asked) bool {
		name := []byte(a.Name)
		if a.Name == "" {
			name = m.NameOf(a.ID[:])
		}
		return t.matchName(name, a.ID[:]) && (t.Partition < 0 || t.Partition == a.Partition) && (t.Offset < 0 || t.Offset == a.Offset)
	})
}

// matchOffset looks for the offset among the values of the partition that are offsets, and in its record batches.
func (t Topic) matchOffset(m *dissect.Message) bool {
	tape := m.Tape()
	body := m.Body()
	if body == 0 {
		return false
	}
	var name, id []byte
	partition := int32(-1)
	for i := body + 1; i < int(tape[body].Next); i++ {
		n := &tape[i]
		if n.Op == nil || n.Null || n.Kind != dissect.ValueNode {
			continue
		}
		switch n.Op.Role {
		case schema.TopicName:
			name, id, partition = m.Bytes(n), nil, -1
		case schema.TopicID:
			id, partition = m.Bytes(n), -1
			if name = m.NameOf(id); name == nil {
				name = []byte{}
			}
		case schema.Partition:
			partition = int32(m.Int(n))
		case schema.Offset:
			if partition == t.Partition && t.matchName(name, id) && m.Int(n) == t.Offset {
				return true
			}
		case schema.RecordData:
			if partition == t.Partition && t.matchName(name, id) && t.inBatches(m, n) {
				return true
			}
		}
	}
	return false
}

// inBatches tells whether a batch holds the offset. A wrapper of older magic has the last one of those inside.
func (t Topic) inBatches(m *dissect.Message, records *dissect.Node) bool {
	before := int64(-1)
	for b := range m.Batches(records) {
		first := b.BaseOffset
		if b.Magic >= 0 && b.Magic < 2 && b.Codec() != 0 {
			first = before + 1
		}
		if !b.Partial && first <= t.Offset && t.Offset <= b.LastOffset() {
			return true
		}
		before = b.LastOffset()
	}
	return false
}
