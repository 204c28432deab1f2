package render

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A valueKind says how a value is printed.
type valueKind uint8

const (
	plainNumber valueKind = iota
	floatNumber
	boolean
	identifier // a uuid
	topicIdentifier
	text
	blob
	batches
	errorCode
	apiKey
	timestamp
)

func valueKindOf(op *schema.Op) valueKind {
	switch op.Code {
	case schema.OpBool:
		return boolean
	case schema.OpFloat64:
		return floatNumber
	case schema.OpUUID:
		if op.Role == schema.TopicID {
			return topicIdentifier
		}
		return identifier
	case schema.OpString:
		return text
	case schema.OpBytes:
		return blob
	case schema.OpRecords:
		return batches
	case schema.OpInt16:
		switch {
		case isErrorCode(op):
			return errorCode
		case op.Name == "RequestApiKey" || op.Name == "ApiKey" && op.Message().Name == "ApiVersionsResponse":
			return apiKey
		}
	case schema.OpInt64:
		if isTimestampName(op.Name) {
			return timestamp
		}
	}
	return plainNumber
}

// isErrorCode tells whether a field holds one of Kafka's error codes.
func isErrorCode(op *schema.Op) bool {
	return op.Code == schema.OpInt16 && (op.Role == schema.ErrorCode || strings.HasSuffix(op.Name, "ErrorCode"))
}

func isTimestampName(name string) bool {
	return strings.HasSuffix(name, "Timestamp") || strings.HasSuffix(name, "TimestampMs") || strings.HasSuffix(name, "TimeMs")
}

func (t *Tree) valueStyle(k valueKind) style {
	switch k {
	case boolean:
		return t.colors.flag
	case text, identifier, topicIdentifier:
		return t.colors.text
	case blob, batches:
		return t.colors.bytes
	}
	return t.colors.number
}

// appendFixed appends a value of fixed width out of its bytes.
func (t *Tree) appendFixed(b []byte, l *label, value []byte) []byte {
	switch l.kind {
	case boolean:
		return strconv.AppendBool(b, value[0] != 0)
	case floatNumber:
		return strconv.AppendFloat(b, dissect.Float(value), 'g', -1, 64)
	case identifier:
		return base64.RawURLEncoding.AppendEncode(b, value)
	case topicIdentifier:
		return t.appendTopicName(base64.RawURLEncoding.AppendEncode(b, value), value)
	}
	v := dissect.Int(l.op.Code, value)
	switch l.kind {
	case errorCode:
		if v != 0 {
			return t.appendError(b, v)
		}
	case apiKey:
		b = appendInt(b, v)
		if api := t.m.Catalog().API(int16(v)); api != nil {
			b = append(append(append(b, " ("...), api.Name...), ')')
		}
		return b
	case timestamp:
		return t.appendTimestamp(b, v)
	}
	return appendInt(b, v)
}

// appendTopicName appends the name of a topic behind its id, where another message of the capture has told it. What stands inside a value has no
// facts of its own.
func (t *Tree) appendTopicName(b, id []byte) []byte {
	var name []byte
	if t.nested {
		name = t.m.NameOf(id)
	} else if topic := t.topicWith(id); topic != nil && topic.Resolved {
		name = topic.Name
	}
	if name == nil {
		return b
	}
	return append(appendEscaped(append(b, " ("...), name, false), ')')
}

// topicWith returns what is known of the topic with an id that the message has, nil when it does not have it.
func (t *Tree) topicWith(id []byte) *dissect.TopicFacts {
	topics := t.m.Facts().Topics
	for i := range topics {
		at := (t.topic + i) % len(topics) // most ids are asked for in the order of the topics
		if bytes.Equal(topics[at].ID, id) {
			t.topic = at
			return &topics[at]
		}
	}
	return nil
}

// appendError appends a code other than 0, with its name.
func (t *Tree) appendError(b []byte, code int64) []byte {
	b = append(b, t.colors.failure.on...)
	b = appendInt(b, code)
	if e := schema.ErrorByCode(int16(code)); e != nil {
		b = append(append(append(b, " ("...), e.Name...), ')')
	}
	return append(b, t.colors.failure.off...)
}

// The times that milliseconds are read as: from 2001 to 2096. Other values are durations, or say that there is none.
const firstTime, lastTime = 1e12, 4e12

// appendTimestamp appends milliseconds since the Unix epoch, with the date in UTC.
func (t *Tree) appendTimestamp(b []byte, ms int64) []byte {
	if ms < firstTime || ms > lastTime {
		return appendInt(b, ms)
	}
	if s := &t.stamp; ms != s.ms {
		s.ms, s.text = ms, append(appendInt(s.text[:0], ms), " ("...)
		s.text = append(t.stamps.appendDateMillis(s.text, ms), ')')
	}
	return append(b, t.stamp.text...)
}

// A stamp is the timestamp that was printed last: those of one batch are mostly the same.
type stamp struct {
	ms   int64
	text []byte
}

// appendTextValue appends a string in quotes. limit is how many bytes of it are shown, 0 for all.
func appendTextValue(b, s []byte, limit int) []byte {
	if limit == 0 || len(s) <= limit {
		return appendQuoted(b, s)
	}
	head := cutText(s, limit)
	b = appendQuoted(b, head)
	return appendMore(b, len(s)-len(head), "byte")
}

// appendBlob appends bytes: how many, and what they are, as text where they are text and in hex otherwise.
func appendBlob(b, s []byte, limit int) []byte {
	b = appendQuantity(b, len(s), "byte")
	return appendContent(b, s, limit)
}

// appendContent appends bytes behind their number. limit is how many are shown, 0 for all.
func appendContent(b, s []byte, limit int) []byte {
	switch {
	case len(s) == 0:
		return b
	case printable(s):
		return appendTextValue(append(b, ' '), s, limit)
	}
	return appendHex(append(b, ' '), s, limit)
}

// appendHex appends bytes in hex. limit is how many columns they may take, 0 for all.
func appendHex(b, s []byte, limit int) []byte {
	b = append(b, "0x"...)
	if limit == 0 || len(s) <= limit/2 {
		return hex.AppendEncode(b, s)
	}
	b = hex.AppendEncode(b, s[:limit/2])
	return appendMore(b, len(s)-limit/2, "byte")
}

// appendMore says how much was left out.
func appendMore(b []byte, n int, what string) []byte {
	b = append(b, "... "...)
	b = appendInt(b, int64(n))
	b = append(b, " more "...)
	return appendPlural(b, n, what)
}

func appendQuantity(b []byte, n int, what string) []byte {
	b = appendInt(b, int64(n))
	b = append(b, ' ')
	return appendPlural(b, n, what)
}

func appendPlural(b []byte, n int, what string) []byte {
	b = append(b, what...)
	if n != 1 {
		b = append(b, 's')
	}
	return b
}
