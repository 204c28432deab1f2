package render

import (
	"github.com/kdissect/kdissect/dissect"
)

// A findingLog writes findings to standard error, beside an output that has no place for them.
type findingLog struct {
	sink
	options *Options
}

// report writes what has not been said there already.
func (l *findingLog) report(r *dissect.Report) {
	if r.Told {
		return
	}
	l.buf = l.appendReport(l.buf, r)
	l.written()
}

// note writes findings of a message.
func (l *findingLog) note(m *dissect.Message, findings []dissect.Finding) {
	if len(findings) > 0 {
		l.report(&dissect.Report{Connection: m.Connection, Message: m.Number, Findings: findings})
	}
}

// warn writes what is wrong with a message, less what is for information only, and what its line says.
func (l *findingLog) warn(m *dissect.Message, said dissect.Code) {
	for i := range m.Findings {
		if f := &m.Findings[i]; f.Severity > dissect.Info && f.Code != said {
			l.note(m, m.Findings[i:i+1])
		}
	}
}

// exchange writes what is wrong with an exchange beyond what its line says.
func (l *findingLog) exchange(x *dissect.Exchange) {
	if x.Request != nil && len(x.Request.Findings) > 0 {
		l.warn(x.Request, "")
	}
	if x.Response != nil && len(x.Response.Findings) > 0 {
		l.warn(x.Response, dissect.OrphanResponse)
	}
}

// appendFile appends the file behind the number of a packet, where there are several.
func appendFile(b []byte, o *Options, file uint16) []byte {
	if !o.several() {
		return b
	}
	return appendEscaped(append(b, " of "...), o.file(file), false)
}

// appendReport appends findings as lines of text, for people and standard error.
func (l *findingLog) appendReport(b []byte, r *dissect.Report) []byte {
	for i := range r.Findings {
		f := &r.Findings[i]
		b = append(b, f.Severity.String()...)
		b = append(b, ' ')
		b = append(b, f.Code...)
		if r.Connection != nil {
			b = append(b, " c"...)
			b = appendInt(b, int64(r.Connection.ID))
			b = append(append(b, ' '), r.Connection.ClientName...)
			b = append(append(b, " > "...), r.Connection.ServerName...)
		} else if l.options.several() {
			b = appendEscaped(append(b, ' '), l.options.file(r.File), false)
		}
		if r.Message > 0 {
			b = append(b, " message "...)
			b = appendInt(b, r.Message)
		}
		if r.Packet > 0 {
			b = append(b, " packet "...)
			b = appendInt(b, r.Packet)
			b = appendFile(b, l.options, r.File)
		}
		if f.Offset >= 0 {
			b = append(b, " offset "...)
			b = appendInt(b, int64(f.Offset))
		}
		b = append(b, ": "...)
		b = appendEscaped(b, f.Text, false)
		b = append(b, '\n')
	}
	return b
}
