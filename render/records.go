package render

import (
	"encoding/base64"
	"io"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Records writes a line a record, produced or fetched: aligned on a terminal, tab-separated otherwise. Keys and values are text in
// which everything is escaped that is no printable character, bytes that are no text among it; "-" stands for what is not there, and a text of that one
// character is escaped. Records of internal topics and control records are what they decode to. Findings go to another writer.
type Records struct {
	sink
	options  Options
	findings findingLog
	timer    timer
	json     JSON   // writes what keys and values decode to
	scratch  []byte // the cell that is being made

	// of the records field that is being written
	message   *dissect.Message
	topic     []byte // its name, or its id where the name is not known
	partition int64
	internal  string // the topic's name, as far as DecodeKey and DecodeValue want it
}

// recordColumns are the names of the columns and their widths on a terminal; a negative one is aligned to the right.
var recordColumns = [...]struct {
	name  string
	width int
}{{"TOPIC", 18}, {"PARTITION", -9}, {"OFFSET", -8}, {"TIMESTAMP", 24}, {"KEY", 16}, {"VALUE", 40}, {"HEADERS", 16}, {"NUM", 0}}

// NewRecords returns the format "records"; findings are written to log.
func NewRecords(w, log io.Writer, o Options) *Records {
	r := &Records{sink: sink{w: w}, options: o, json: JSON{options: o}}
	r.findings = findingLog{sink{w: log}, &r.options}
	r.timer = newTimer(&r.options)
	if !o.Continued {
		for i := range recordColumns {
			start := len(r.buf)
			r.buf = append(r.buf, recordColumns[i].name...)
			r.buf = r.endColumn(r.buf, start, i)
		}
	}
	return r
}

func (r *Records) endColumn(b []byte, start, at int) []byte {
	if at == len(recordColumns)-1 {
		return append(b, '\n')
	}
	return endColumn(b, start, recordColumns[at].width, r.options.Aligned)
}

// Needs implements Format.
func (r *Records) Needs() dissect.Needs { return dissect.NeedMessages | RecordsFull.needs() }

// Exchange implements dissect.Output.
func (r *Records) Exchange(*dissect.Exchange) {}

// Report implements dissect.Output.
func (r *Records) Report(p *dissect.Report) { r.findings.report(p) }

// Flush implements Format.
func (r *Records) Flush() error {
	r.findings.Flush()
	return r.sink.Flush()
}

// Message implements dissect.Output.
func (r *Records) Message(m *dissect.Message) {
	if m.Facts().HasRecords && (!m.Secret() || r.options.ShowSecrets) {
		r.fields(m)
	}
	r.findings.warn(m, "")
}

// fields writes the records of all records fields of a message.
func (r *Records) fields(m *dissect.Message) {
	r.message, r.topic, r.partition = m, nil, -1
	tape := m.Tape()
	for i := m.Body(); i < len(tape); i++ {
		n := &tape[i]
		if n.Kind != dissect.ValueNode || n.Null {
			continue
		}
		switch n.Op.Role {
		case schema.TopicName:
			r.topic = m.Bytes(n)
		case schema.TopicID:
			id := m.Bytes(n)
			if r.topic = m.NameOf(id); r.topic == nil {
				r.topic = base64.RawURLEncoding.AppendEncode(nil, id)
			}
		case schema.Partition:
			r.partition = m.Int(n)
		case schema.RecordData:
			r.field(i)
		}
	}
}

// field writes the records of one field. What cannot be opened becomes a finding of the message.
func (r *Records) field(at int) {
	m := r.message
	r.internal = m.TopicOf(at)
	for batch := range m.Batches(&m.Nodes[at]) {
		m.Verify(batch)
		if batch.Partial {
			continue
		}
		if set := m.Open(batch); set != nil {
			for record := range set.Each {
				r.line(batch, record)
			}
		}
	}
}

// line writes one record.
func (r *Records) line(batch *dissect.Batch, record *dissect.Record) {
	b, start := r.buf, len(r.buf)
	end := func(at int) {
		b = r.endColumn(b, start, at)
		start = len(b)
	}
	b = appendEscaped(b, r.topic, false)
	end(0)
	b = strconv.AppendInt(b, r.partition, 10)
	end(1)
	b = strconv.AppendInt(b, record.Offset, 10)
	end(2)
	if record.HasTimestamp && record.Timestamp != -1 {
		b = r.timer.appendStamp(b, record.Timestamp)
	} else {
		b = append(b, '-')
	}
	end(3)
	b = r.appendKey(b, batch, record)
	end(4)
	value := r.message.DecodeValue(r.internal, batch, record)
	withheld := r.message.WithholdsValue(r.internal, record, value) && !r.options.ShowSecrets
	b = r.appendValue(b, record, value, withheld)
	end(5)
	b = r.appendHeaders(b, record, withheld)
	end(6)
	b = strconv.AppendInt(b, r.message.Number, 10)
	end(7)
	r.buf = b
	r.written()
}

func (r *Records) appendKey(b []byte, batch *dissect.Batch, record *dissect.Record) []byte {
	if batch.Control() {
		if what := record.ControlType(); what != "" {
			return append(append(b, "control "...), what...)
		}
	}
	if key := r.message.DecodeKey(r.internal, batch, record); key != nil {
		return r.appendDecoded(b, key)
	}
	return r.appendText(b, record.Key)
}

// withheldCell stands for what must not be shown.
const withheldCell = "[withheld]"

func (r *Records) appendValue(b []byte, record *dissect.Record, decoded *dissect.Nested, withheld bool) []byte {
	switch {
	case decoded != nil && (!decoded.Credentials || r.options.ShowSecrets):
		return r.appendDecoded(b, decoded)
	case withheld:
		return append(b, withheldCell...)
	}
	return r.appendText(b, record.Value)
}

// appendHeaders appends headers as key=value, separated by commas. These two characters are escaped inside.
func (r *Records) appendHeaders(b []byte, record *dissect.Record, withheld bool) []byte {
	switch {
	case record.HeaderCount == 0:
		return append(b, '-')
	case withheld:
		return append(b, withheldCell...)
	}
	first := true
	for key, value := range record.Headers {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = escapeAlso(r.appendText(b, key), len(b), ",=")
		b = append(b, '=')
		b = escapeAlso(r.appendText(b, value), len(b), ",=")
	}
	return b
}

// appendText appends a part of a record, as many bytes of it as are to be shown; "-" for null.
func (r *Records) appendText(b, text []byte) []byte {
	switch {
	case text == nil:
		return append(b, '-')
	case string(text) == "-":
		return append(b, `\x2d`...)
	}
	limit := r.options.MaxBytes
	if limit <= 0 || len(text) <= limit {
		return appendEscaped(b, text, false)
	}
	head := cutText(text, limit)
	return appendMore(appendEscaped(b, head, false), len(text)-len(head), "byte")
}

// appendDecoded appends what a key or value was decoded to, and what is inside that: its name, its version unless it is a key, and its JSON.
func (r *Records) appendDecoded(b []byte, n *dissect.Nested) []byte {
	text := r.appendStructure(r.scratch[:0], n)
	r.message.NestedIn(n, func(inner *dissect.Nested) bool {
		text = append(n.AppendPath(append(text, ' '), inner.Field), '=')
		text = r.appendStructure(text, inner)
		return true
	})
	r.scratch = text
	return r.appendText(b, text)
}

func (r *Records) appendStructure(b []byte, n *dissect.Nested) []byte {
	b = append(b, n.Name...)
	if n.Nodes[n.Body()].Op.Message().Kind != schema.CoordinatorKey {
		b = strconv.AppendInt(append(b, " v"...), int64(n.Version), 10)
	}
	r.json.topics = r.json.topics[:0]
	return r.json.appendValue(append(b, ' '), &n.View, nil, n.Body())
}
