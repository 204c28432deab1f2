package render

import (
	"io"

	"github.com/kdissect/kdissect/dissect"
)

// RequestLog writes one object a line for each exchange that has a Kafka header, when it is complete, in the shape of the lines that a
// broker's kafka.request.logger writes. Findings go to another writer.
type RequestLog struct {
	json     JSON // its buffer is that of the lines: a value that is large is written before its line is whole
	findings findingLog
}

// NewRequestLog returns the format "requestlog"; findings are written to log.
func NewRequestLog(w, log io.Writer, o Options) *RequestLog {
	return &RequestLog{json: JSON{sink: sink{w: w}, options: o}, findings: findingLog{sink{w: log}, &o}}
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
	b := append(l.json.buf, `{"requestHeader":{"requestApiKey":`...)
	b = appendInt(b, int64(h.APIKey))
	b = append(b, `,"requestApiVersion":`...)
	b = appendInt(b, int64(h.Version))
	b = append(b, `,"correlationId":`...)
	b = appendInt(b, int64(h.CorrelationID))
	b = append(b, `,"clientId":`...)
	if h.ClientIDNull {
		b = append(b, `null`...)
	} else {
		b = appendString(b, h.ClientID)
	}
	if name := x.Request.Name(); name != "" {
		b = append(b, `,"requestApiKeyName":"`...)
		b = appendBrokerName(b, name)
		b = append(b, '"')
	}
	b = append(b, '}')
	b = l.appendPayload(b, `,"request":`, x.Request)
	b = l.appendPayload(b, `,"response":`, x.Response)
	b = append(b, `,"connection":"`...)
	c := x.Request.Connection
	b = append(b, c.ServerName...)
	b = append(b, '-')
	b = append(b, c.ClientName...)
	b = append(b, '-')
	b = appendInt(b, int64(c.ID))
	b = append(b, '"')
	if x.Response != nil {
		b = append(b, `,"totalTimeMs":`...)
		b = appendMillis(b, x.Response.Timing.Latency)
	}
	l.json.buf = append(b, '}', '\n')
	l.json.written()
	l.findings.note(x.Request, x.Request.Findings)
	if x.Response != nil {
		l.findings.note(x.Response, x.Response.Findings)
	}
}

// appendPayload appends a body under a name, or null where there is none: a broker logs no half messages.
func (l *RequestLog) appendPayload(b []byte, name string, m *dissect.Message) []byte {
	b = append(b, name...)
	if m == nil {
		return append(b, `null`...)
	}
	if b, plain := l.json.appendPlain(b, m); plain {
		return b
	}
	m.Tape() // also of what is withheld: its findings are told
	if m.Cut() || m.Secret() && !l.json.options.ShowSecrets || m.Body() == 0 {
		return append(b, `null`...)
	}
	return l.json.appendValue(b, &m.View, m, m.Body())
}

// Close implements Format.
func (l *RequestLog) Close(*dissect.Counts) {}

// Flush implements Format.
func (l *RequestLog) Flush() error {
	l.findings.Flush()
	return l.json.Flush()
}

// appendBrokerName spells an API as Kafka's ApiKeys does: FIND_COORDINATOR for FindCoordinator.
func appendBrokerName(b []byte, api string) []byte {
	for i, c := range []byte(api) {
		if 'A' <= c && c <= 'Z' && i > 0 {
			b = append(b, '_')
		}
		b = append(b, c&^0x20)
	}
	return b
}
