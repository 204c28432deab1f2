package render

import (
	"strconv"

	"github.com/kdissect/kdissect/dissect"
)

// appendReport appends findings as lines of text, for people and standard error.
func appendReport(b []byte, r *dissect.Report) []byte {
	for i := range r.Findings {
		f := &r.Findings[i]
		b = append(b, f.Severity.String()...)
		b = append(b, ' ')
		b = append(b, f.Code...)
		if r.Connection != nil {
			b = append(b, " c"...)
			b = strconv.AppendInt(b, int64(r.Connection.ID), 10)
			b = append(append(b, ' '), r.Connection.ClientName...)
			b = append(append(b, " > "...), r.Connection.ServerName...)
		}
		if r.Message > 0 {
			b = append(b, " message "...)
			b = strconv.AppendInt(b, r.Message, 10)
		}
		if r.Packet > 0 {
			b = append(b, " packet "...)
			b = strconv.AppendInt(b, r.Packet, 10)
		}
		if f.Offset >= 0 {
			b = append(b, " offset "...)
			b = strconv.AppendInt(b, int64(f.Offset), 10)
		}
		b = append(b, ": "...)
		b = appendEscaped(b, f.Text, false)
		b = append(b, '\n')
	}
	return b
}
