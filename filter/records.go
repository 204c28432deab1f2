package filter

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

func (c *Criteria) readsRecords() bool { return c.Key != nil || c.Grep != nil }

// requiredPart returns bytes that every record has in it that is as wanted, empty where no such bytes are known.
func (c *Criteria) requiredPart() []byte {
	part := ""
	if c.Key != nil {
		part = *c.Key
	}
	if c.Grep != nil {
		if tree, err := syntax.Parse(c.Grep.String(), syntax.Perl); err == nil {
			part = longer(part, literalIn(tree))
		}
	}
	return []byte(part[:min(len(part), maxPart)])
}

// maxPart bounds what is searched for. More would not tell more records from others.
const maxPart = 64

// literalIn returns the longest text that everything has in it that a regular expression matches, as far as that is easily seen. U+FFFD also matches bytes
// that are no text.
func literalIn(re *syntax.Regexp) (literal string) {
	switch {
	case re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError):
		return string(re.Rune)
	case re.Op == syntax.OpCapture, re.Op == syntax.OpPlus, re.Op == syntax.OpRepeat && re.Min > 0, re.Op == syntax.OpConcat:
		for _, sub := range re.Sub {
			literal = longer(literal, literalIn(sub))
		}
	}
	return literal
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// mayCarry tells whether it is worth looking at the records of an exchange one by one, for one that has part in it.
func mayCarry(x *dissect.Exchange, part []byte, unpack bool) bool {
	return x.Request != nil && x.Request.MayCarry(part, unpack) || x.Response != nil && x.Response.MayCarry(part, unpack)
}

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
