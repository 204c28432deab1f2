package render

import (
	"encoding/base64"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// appendFacts appends what the message is about, in names that do not change with API and version.
func (j *JSON) appendFacts(b []byte, m *dissect.Message) []byte {
	f := m.Facts()
	start := len(b)
	b = append(b, `,"facts":{`...)
	empty := len(b)
	if len(f.Topics) > 0 {
		b = appendTopics(append(b, `"topics":[`...), f.Topics)
	}
	b = appendText(b, "group", f.Group)
	b = appendText(b, "member", f.Member)
	b = appendText(b, "transactionalId", f.TransactionalID)
	if len(f.Errors) > 0 {
		b = j.appendErrors(b, m, f.Errors)
	}
	if f.HasRecords {
		b = appendNumber(b, "records", f.Records)
		b = appendNumber(b, "recordBytes", f.RecordBytes)
	}
	if f.HasAcks {
		b = appendNumber(b, "acks", int64(f.Acks))
	}
	if f.Replica >= 0 && m.Kind == schema.Request {
		b = appendNumber(b, "replica", f.Replica)
	}
	if m.Session != nil {
		b = j.appendSession(b, m)
	}
	if len(b) == empty {
		return b[:start]
	}
	return append(b, '}')
}

// namelessTopics begins the list of topics that the message has by their ids alone with those in its own fields.
func (j *JSON) namelessTopics(m *dissect.Message) {
	j.topics = j.topics[:0]
	topics := m.Facts().Topics
	for i := range topics {
		if topics[i].Resolved {
			j.topics = append(j.topics, dissect.TopicID(topics[i].ID))
		}
	}
}

// appendTopicNames appends the names of those topics as far as they are known, each once.
func (j *JSON) appendTopicNames(b []byte, m *dissect.Message) []byte {
	var seen map[dissect.TopicID]bool
	first := true
	for _, id := range j.topics {
		if seen[id] {
			continue
		}
		name := m.NameOf(id[:])
		if name == nil {
			continue
		}
		if first {
			b = append(b, `,"topicNames":{"`...)
		} else {
			b = append(b, ',', '"')
		}
		if len(j.topics) > 1 {
			if first {
				seen = make(map[dissect.TopicID]bool, len(j.topics))
			}
			seen[id] = true
		}
		first = false
		b = base64.RawURLEncoding.AppendEncode(b, id[:])
		b = appendString(append(b, '"', ':'), name)
	}
	if first {
		return b
	}
	return append(b, '}')
}

// appendName appends a key, with a comma unless it is the first of its object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendText(b []byte, name string, value []byte) []byte {
	if value == nil {
		return b
	}
	return appendString(appendName(b, name), value)
}

func appendNumber(b []byte, name string, n int64) []byte {
	return appendInt(appendName(b, name), n)
}

func appendTopics(b []byte, topics []dissect.TopicFacts) []byte {
	for i := range topics {
		t := &topics[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = appendText(b, "name", t.Name)
		if t.ID != nil {
			b = append(appendName(b, "id"), '"')
			b = base64.RawURLEncoding.AppendEncode(b, t.ID)
			b = append(b, '"')
		}
		if len(t.Partitions) > 0 {
			b = append(appendName(b, "partitions"), '[')
			for k, p := range t.Partitions {
				if k > 0 {
					b = append(b, ',')
				}
				b = appendInt(b, int64(p))
			}
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func (j *JSON) appendErrors(b []byte, m *dissect.Message, errors []dissect.ErrorFact) []byte {
	b = append(appendName(b, "errors"), '[')
	for i, e := range errors {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"code":`...)
		b = appendInt(b, int64(e.Code))
		b = append(b, `,"name":`...)
		b = appendString(b, schema.ErrorName(e.Code))
		b = append(b, `,"path":`...)
		j.path = m.AppendPath(j.path[:0], e.Node)
		b = appendString(b, j.path)
		b = append(appendText(b, "message", errorText(m, e.Node)), '}')
	}
	return append(b, ']')
}

// errorText returns what the broker says of an error in words: the field that stands behind the code. It is nil where there is none.
func errorText(m *dissect.Message, code int) []byte {
	if code+1 >= len(m.Nodes) {
		return nil
	}
	text := &m.Nodes[code+1]
	if text.Op == nil || text.Op.Role != schema.ErrorMessage || text.Op.Parent != m.Nodes[code].Op.Parent || text.Null || text.Secret {
		return nil
	}
	return m.Bytes(text)
}
