package render

import (
	"io"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
)

// RequestLog writes one object a line for each exchange that has a Kafka header, when it is complete, in the shape of the lines that a
// broker's kafka.request.logger writes. Findings go to another writer.
type RequestLog struct {
	sink
	json     JSON
	findings findingLog
	names    map[string]string // API names in the broker's spelling
}

// NewRequestLog returns the format "requestlog"; findings are written to log.
func NewRequestLog(w, log io.Writer, o Options) *RequestLog {
	return &RequestLog{sink: sink{w: w}, json: JSON{options: o}, findings: findingLog{sink{w: log}, &o}, names: map[string]string{}}
}

// Needs implements Format.
func (l *RequestLog) Needs() dissect.Needs {
	return dissect.NeedExchanges | l.json.options.Records.needs()
}

// Message implements dissect.Output.
func (l *RequestLog) Message(*dissect.Message) {}

// Report implements dissect.Output.
func (l *RequestLog) Report(r *dissect.Report) { l.findings.report(r) }

// Exchange implements dissect.Output.
func (l *RequestLog) Exchange(x *dissect.Exchange) {
	if x.Request == nil {
		l.findings.note(x.Response, x.Response.Findings)
		return
	}
	h := &x.Request.Header
	if h.Token {
		return
	}
	b := append(l.buf, `{"requestHeader":{"requestApiKey":`...)
	b = strconv.AppendInt(b, int64(h.APIKey), 10)
	b = append(b, `,"requestApiVersion":`...)
	b = strconv.AppendInt(b, int64(h.Version), 10)
	b = append(b, `,"correlationId":`...)
	b = strconv.AppendInt(b, int64(h.CorrelationID), 10)
	b = append(b, `,"clientId":`...)
	if h.ClientIDNull {
		b = append(b, `null`...)
	} else {
		b = appendString(b, h.ClientID)
	}
	if name := x.Request.Name(); name != "" {
		b = append(b, `,"requestApiKeyName":"`...)
		b = append(b, l.brokerName(name)...)
		b = append(b, '"')
	}
	b = append(b, '}')
	b = l.appendPayload(b, `,"request`, x.Request)
	b = l.appendPayload(b, `,"response`, x.Response)
	b = append(b, `,"connection":"`...)
	c := x.Request.Connection
	b = append(b, c.ServerName...)
	b = append(b, '-')
	b = append(b, c.ClientName...)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(c.ID), 10)
	b = append(b, '"')
	if x.Response != nil {
		b = append(b, `,"totalTimeMs":`...)
		b = appendMillis(b, x.Response.Timing.Latency)
	}
	l.buf = append(b, '}', '\n')
	l.written()
	l.findings.note(x.Request, x.Request.Findings)
	if x.Response != nil {
		l.findings.note(x.Response, x.Response.Findings)
	}
}

// appendPayload appends a body under a name, or null where there is none: a broker logs no half messages.
func (l *RequestLog) appendPayload(b []byte, name string, m *dissect.Message) []byte {
	b = append(b, name...)
	if m != nil {
		m.Tape() // also of what is withheld: its findings are told
	}
	switch {
	case m == nil || m.Cut() || m.Secret() && !l.json.options.ShowSecrets || m.Body() == 0:
		return append(b, `":null`...)
	}
	b = append(b, '"', ':')
	return l.json.appendValue(b, &m.View, m, m.Body())
}

// Flush implements Format.
func (l *RequestLog) Flush() error {
	l.findings.Flush()
	return l.sink.Flush()
}

// brokerName spells an API as Kafka's ApiKeys does: FIND_COORDINATOR for FindCoordinator.
func (l *RequestLog) brokerName(api string) string {
	if name, known := l.names[api]; known {
		return name
	}
	var b []byte
	for i, c := range []byte(api) {
		if 'A' <= c && c <= 'Z' && i > 0 {
			b = append(b, '_')
		}
		b = append(b, c&^0x20)
	}
	l.names[api] = string(b)
	return l.names[api]
}
