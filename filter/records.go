package filter

import (
	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

func (c *Criteria) readsRecords() bool { return c.Key != nil || c.Grep != nil }

// matchRecords tells whether some record of the exchange is as wanted.
func (c *Criteria) matchRecords(x *dissect.Exchange) bool {
	return c.matchRecordsOf(x.Request) || c.matchRecordsOf(x.Response)
}

func (c *Criteria) matchRecordsOf(m *dissect.Message) bool {
	if m == nil {
		return false
	}
	tape := m.Tape()
	for i := range tape {
		n := &tape[i]
		if n.Op == nil || n.Op.Code != schema.OpRecords || n.Kind != dissect.ValueNode || n.Null {
			continue
		}
		topic := m.TopicOf(i)
		for b := range m.Batches(n) {
			if !b.Partial && c.matchBatch(m, topic, b) {
				return true
			}
		}
	}
	return false
}

func (c *Criteria) matchBatch(m *dissect.Message, topic string, b *dissect.Batch) bool {
	set := m.Open(b)
	if set == nil {
		return false
	}
	for r := range set.Each {
		if c.matchRecord(m, topic, b, r) {
			return true
		}
	}
	return false
}

// matchRecord looks at one record. What no output shows is not looked into: a search must not tell what is withheld.
func (c *Criteria) matchRecord(m *dissect.Message, topic string, b *dissect.Batch, r *dissect.Record) bool {
	if c.Key != nil && (r.Key == nil || string(r.Key) != *c.Key) {
		return false
	}
	if c.Grep == nil || c.Grep.Match(r.Key) {
		return true
	}
	if m.WithholdsValue(topic, r, m.DecodeValue(topic, b, r)) {
		return false
	}
	if c.Grep.Match(r.Value) {
		return true
	}
	for key, value := range r.Headers {
		if c.Grep.Match(key) || c.Grep.Match(value) {
			return true
		}
	}
	return false
}
