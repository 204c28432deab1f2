package render

import (
	"encoding/base64"
	"io"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// JSON writes one object a line: a message, or findings that belong to no message.
type JSON struct {
	sink
	options Options
	clock   clock
	path    []byte
	scripts map[*schema.Plan]script
	whole   bool              // what is being written may be taken back, so it is not spilled
	topics  []dissect.TopicID // that the message has no names of, in its fields and inside their values
}

// NewJSON returns the format "json".
func NewJSON(w io.Writer, o Options) *JSON { return &JSON{sink: sink{w: w}, options: o} }

// Needs implements Format.
func (j *JSON) Needs() dissect.Needs {
	needs := dissect.NeedMessages | dissect.NeedSessions
	if j.options.Packets {
		needs |= dissect.NeedPackets
	}
	return needs | j.options.Records.needs()
}

// Message implements dissect.Output.
func (j *JSON) Message(m *dissect.Message) {
	b := append(j.buf, `{"kind":"message","v":1,"number":`...)
	b = appendInt(b, m.Number)
	if m.Connection != nil { // else it was given by hand
		b = append(b, `,"time":"`...)
		b = j.clock.appendTime(b, m.Time)
		b = append(b, '"')
		b = appendConnection(b, m.Connection)
		b = j.appendPackets(b, &m.Packets)
	}
	b = append(b, `,"size":`...)
	b = appendInt(b, int64(m.Size))
	if m.Structure() {
		b = j.appendStructure(b, m)
	} else {
		b = appendHeader(b, m)
		b = appendInferred(b, m.Inferred)
		b = j.appendBody(b, m)
	}
	b = j.appendAuth(b, "auth", m.Auth)
	b = appendTiming(b, m)
	if j.options.Layout {
		b = j.appendLayout(b, m)
	}
	b = appendFindings(b, m.Findings)
	j.buf = append(b, '}', '\n')
	j.written()
}

// Exchange implements dissect.Output.
func (j *JSON) Exchange(*dissect.Exchange) {}

// Report implements dissect.Output.
func (j *JSON) Report(r *dissect.Report) {
	if r.Ending != nil {
		j.buf = j.ending(j.buf, r.Connection, r.Ending)
		j.written()
		return
	}
	b := append(j.buf, `{"kind":"finding","v":1`...)
	if r.Connection != nil {
		b = appendConnection(b, r.Connection)
	} else {
		b = append(b, `,"capture":`...)
		b = appendString(b, j.options.file(r.File))
	}
	if r.Message > 0 {
		b = append(b, `,"message":`...)
		b = appendInt(b, r.Message)
	}
	if r.Packet > 0 {
		b = append(b, `,"time":"`...)
		b = j.clock.appendTime(b, r.Time)
		b = append(b, `","packet":`...)
		b = appendInt(b, r.Packet)
		if j.options.several() {
			b = appendString(append(b, `,"file":`...), j.options.file(r.File))
		}
	}
	b = appendFindings(b, r.Findings)
	j.buf = append(b, '}', '\n')
	j.written()
}

func appendConnection(b []byte, c *dissect.Connection) []byte {
	b = append(b, `,"connection":{"id":`...)
	b = appendInt(b, int64(c.ID))
	b = append(b, `,"client":"`...)
	b = append(b, c.ClientName...)
	b = append(b, `","server":"`...)
	b = append(b, c.ServerName...)
	return append(b, '"', '}')
}

func (j *JSON) appendPackets(b []byte, p *dissect.Packets) []byte {
	b = append(b, `,"packets":{"first":`...)
	b = appendInt(b, p.First)
	b = append(b, `,"last":`...)
	b = appendInt(b, p.Last)
	b = append(b, `,"count":`...)
	b = appendInt(b, int64(p.Count))
	if j.options.several() {
		b = appendString(append(b, `,"file":`...), j.options.file(p.LastFile))
		if p.FirstFile != p.LastFile {
			b = appendString(append(b, `,"firstFile":`...), j.options.file(p.FirstFile))
		}
	}
	if j.options.Packets {
		b = append(b, `,"list":[`...)
		for i := range p.List {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendInt(b, p.List[i].Packet)
		}
		b = append(b, ']')
		b = j.appendListFiles(b, p)
	}
	return append(b, '}')
}

// appendListFiles appends the file of each packet in the list, unless all are of the same.
func (j *JSON) appendListFiles(b []byte, p *dissect.Packets) []byte {
	if !spread(p) {
		return b
	}
	b = append(b, `,"listFiles":[`...)
	for i := range p.List {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, j.options.file(p.List[i].File))
	}
	return append(b, ']')
}

// spread says whether packets of the list lie in another file than the last one.
func spread(p *dissect.Packets) bool {
	for i := range p.List {
		if p.List[i].File != p.LastFile {
			return true
		}
	}
	return false
}

func appendHeader(b []byte, m *dissect.Message) []byte {
	h := &m.Header
	b = append(b, `,"header":{"type":"`...)
	if m.Kind == schema.Request {
		b = append(b, `REQUEST`...)
	} else {
		b = append(b, `RESPONSE`...)
	}
	b = append(b, `","apiKey":`...)
	known := h.Known && !h.Token
	b = appendIntOrNull(b, int64(h.APIKey), known)
	b = append(b, `,"apiName":`...)
	if name := m.Name(); name != "" {
		b = appendString(b, name)
	} else {
		b = append(b, `null`...)
	}
	b = append(b, `,"apiVersion":`...)
	b = appendIntOrNull(b, int64(h.Version), known)
	b = append(b, `,"correlationId":`...)
	b = appendIntOrNull(b, int64(h.CorrelationID), m.Correlated())
	b = append(b, `,"clientId":`...)
	if known && !h.ClientIDNull {
		b = appendString(b, h.ClientID)
	} else {
		b = append(b, `null`...)
	}
	return append(b, '}')
}

// appendInferred appends what a response may be whose request is not in the capture.
func appendInferred(b []byte, i *dissect.Inference) []byte {
	if i == nil {
		return b
	}
	b = append(b, `,"inferred":true,"candidates":[`...)
	for k, c := range i.Candidates {
		if k > 0 {
			b = append(b, ',')
		}
		b = appendString(b, c.String())
	}
	b = append(b, ']')
	if i.More > 0 {
		b = appendInt(append(b, `,"moreCandidates":`...), int64(i.More))
	}
	return b
}

func appendIntOrNull(b []byte, n int64, known bool) []byte {
	if !known {
		return append(b, `null`...)
	}
	return appendInt(b, n)
}

// appendStructure appends a structure that is neither request nor response, in the form that those inside records have.
func (j *JSON) appendStructure(b []byte, m *dissect.Message) []byte {
	plan := m.Plan()
	b = append(b, `,"name":`...)
	b = appendString(b, plan.Message.Name)
	b = appendNumber(b, "version", int64(plan.Version))
	b = append(b, `,"value":`...)
	if m.Secret() && !j.options.ShowSecrets {
		return append(b, `null,"valueWithheld":"credential-bearing record"`...)
	}
	b = j.appendValue(b, &m.View, m, m.Body())
	b = j.appendUnknownTags(b, m)
	return appendUndecoded(b, m)
}

// appendBody appends the payload and what stands beside it.
func (j *JSON) appendBody(b []byte, m *dissect.Message) []byte {
	b = append(b, `,"payload":`...)
	j.namelessTopics(m)
	if b, plain := j.appendPlain(b, m); plain {
		b = j.appendFacts(b, m)
		return j.appendTopicNames(b, m)
	}
	tape := m.Tape() // also of what is withheld: its findings are told
	if m.Secret() && !j.options.ShowSecrets {
		return append(b, `null,"payloadWithheld":"credential-bearing API"`...)
	}
	switch {
	case m.Header.Token:
		b = append(b, `{"token":`...)
		b = appendBase64(b, m.Raw(&tape[1]))
		b = append(b, '}')
	case m.Body() == 0:
		b = append(b, `null`...)
	default:
		b = j.appendValue(b, &m.View, m, m.Body())
	}
	b = j.appendNested(b, m)
	if m.Body() != 0 {
		b = j.appendFacts(b, m)
	}
	b = j.appendTopicNames(b, m)
	b = j.appendUnknownTags(b, m)
	return appendUndecoded(b, m)
}

// appendValue appends the value of a node in the form of Kafka's own JSON. m is the message that records in it can be opened with, nil inside
// a nested structure.
func (j *JSON) appendValue(b []byte, v *dissect.View, m *dissect.Message, at int) []byte {
	n := &v.Nodes[at]
	switch {
	case n.Null:
		return append(b, `null`...)
	case n.Secret && !j.options.ShowSecrets:
		return append(b, `"[hidden]"`...)
	}
	switch n.Kind {
	case dissect.StructNode:
		b = append(b, '{')
		b = j.appendFields(b, v, m, at)
		return append(b, '}')
	case dissect.ArrayNode:
		return j.appendArray(b, v, m, at)
	}
	value := v.Bytes(n)
	if m == nil && n.Op.Role == schema.TopicID && len(value) == len(dissect.TopicID{}) && !v.Named(at) {
		j.topics = append(j.topics, dissect.TopicID(value))
	}
	return j.appendPrimitive(b, n.Op.Code, value)
}

// appendFields appends the fields of a structure, separated by commas.
func (j *JSON) appendFields(b []byte, v *dissect.View, m *dissect.Message, at int) []byte {
	for i := range v.Fields(at) {
		if v.Nodes[i].Op.Code == schema.OpRecords && j.options.Records == RecordsNone {
			continue
		}
		b = j.appendField(b, v, m, i)
	}
	return b
}

// sizeSuffix stands behind the name of a records field that is shown by its size.
const sizeSuffix = "SizeInBytes"

// appendField appends one field with its name. Records that are not opened are shown by their size, as Kafka's JSON does.
func (j *JSON) appendField(b []byte, v *dissect.View, m *dissect.Message, at int) []byte {
	n := &v.Nodes[at]
	if n.Op.Code == schema.OpRecords && !n.Null {
		if m != nil && j.options.Records >= RecordsBatches {
			return j.appendRecords(appendKey(b, n.Op), m, at)
		}
		return appendNumber(b, n.Op.JSON+sizeSuffix, int64(n.Length)-int64(n.Prefix))
	}
	return j.appendValue(appendKey(b, n.Op), v, m, at)
}

func (j *JSON) appendArray(b []byte, v *dissect.View, m *dissect.Message, at int) []byte {
	tape := v.Nodes
	b = append(b, '[')
	first := true
	for i := at + 1; i < int(tape[at].Next); i = int(tape[i].Next) {
		n := &tape[i]
		switch n.Kind {
		case dissect.LengthNode, dissect.UndecodedNode:
			continue
		case dissect.ElementsNode:
			b = j.appendElements(b, v, n)
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = j.appendValue(b, v, m, i)
	}
	return append(b, ']')
}

func (j *JSON) appendElements(b []byte, v *dissect.View, n *dissect.Node) []byte {
	width := int(n.Op.Fixed)
	all := v.Raw(n)
	for i := 0; (i+1)*width <= len(all); i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendPrimitive(b, n.Op.Code, all[i*width:(i+1)*width])
	}
	return b
}

// appendPrimitive appends a value that is not null.
func (j *JSON) appendPrimitive(b []byte, code schema.OpCode, value []byte) []byte {
	switch code {
	case schema.OpBool:
		return strconv.AppendBool(b, value[0] != 0)
	case schema.OpString:
		return appendString(b, value)
	case schema.OpBytes, schema.OpRecords:
		return appendBase64(b, value)
	case schema.OpUUID:
		b = append(b, '"')
		b = base64.RawURLEncoding.AppendEncode(b, value)
		return append(b, '"')
	case schema.OpFloat64:
		return appendFloat(b, dissect.Float(value))
	case schema.OpInt64:
		return j.appendInt64(b, dissect.Int(code, value))
	}
	return appendInt(b, dissect.Int(code, value))
}

// appendInt64 appends a number of 64 bits. Programs that read all numbers as float64 lose digits from 2^53 on, so it may be a string.
func (j *JSON) appendInt64(b []byte, n int64) []byte {
	if !j.options.Int64Text {
		return appendInt(b, n)
	}
	return append(appendInt(append(b, '"'), n), '"')
}

// appendLong appends a key with a number of 64 bits.
func (j *JSON) appendLong(b []byte, name string, n int64) []byte {
	return j.appendInt64(appendName(b, name), n)
}

func appendBase64(b, value []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, value)
	return append(b, '"')
}

// appendKey appends the name of a field, with a comma unless it is the first of its object.
func appendKey(b []byte, op *schema.Op) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(b, op.Key...)
}

// appendUndecoded says what is left of a frame that does not decode to its end.
func appendUndecoded(b []byte, m *dissect.Message) []byte {
	rest := m.Undecoded()
	if rest == nil {
		return b
	}
	b = append(b, `,"undecoded":{"offset":`...)
	b = appendInt(b, int64(rest.Offset))
	b = append(b, `,"size":`...)
	b = appendInt(b, int64(rest.Size))
	b = append(b, `,"reason":`...)
	b = appendString(b, rest.Reason)
	return append(b, '}')
}

// appendAuth appends what an authentication message says, without its secrets.
func (j *JSON) appendAuth(b []byte, key string, a *dissect.Auth) []byte {
	if a == nil {
		return b
	}
	b = append(appendName(b, key), '{')
	for _, part := range [...]struct{ name, value string }{{"mechanism", a.Mechanism}, {"step", a.Step}, {"user", a.User}, {"result", a.Result}} {
		if part.value != "" {
			b = appendString(appendName(b, part.name), part.value)
		}
	}
	if a.Again {
		b = append(appendName(b, "again"), "true"...)
	}
	if a.Lifetime > 0 {
		b = j.appendLong(b, "sessionLifetimeMs", a.Lifetime)
	}
	return append(b, '}')
}

// appendTiming appends what is known of an answer's time, in milliseconds.
func appendTiming(b []byte, m *dissect.Message) []byte {
	if m.Request == 0 {
		return b
	}
	t := &m.Timing
	b = appendMillis(append(b, `,"latencyMs":`...), t.Latency)
	b = appendMillis(append(b, `,"queuedMs":`...), t.Queued)
	b = appendMillis(append(b, `,"serviceMs":`...), t.Service)
	b = appendMillis(append(b, `,"transferMs":`...), t.Transfer)
	b = appendMillis(append(b, `,"excessMs":`...), t.Excess)
	if t.InFlight > 1 {
		b = appendNumber(b, "inFlight", int64(t.InFlight))
	}
	b = append(b, `,"request":`...)
	return appendInt(b, m.Request)
}

func appendFindings(b []byte, findings []dissect.Finding) []byte {
	if len(findings) == 0 {
		return b
	}
	b = append(b, `,"findings":[`...)
	for i := range findings {
		f := &findings[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"code":"`...)
		b = append(b, f.Code...)
		b = append(b, `","severity":"`...)
		b = append(b, f.Severity.String()...)
		b = append(b, '"')
		if f.Offset >= 0 {
			b = append(b, `,"offset":`...)
			b = appendInt(b, int64(f.Offset))
		}
		b = append(b, `,"text":`...)
		b = appendString(b, f.Text)
		b = append(b, '}')
	}
	return append(b, ']')
}
