package render

import (
	"fmt"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// openingLine appends a line about a connection in front of its first message.
func (t *Tree) openingLine(b []byte) []byte {
	if !t.m.First {
		return b
	}
	b = t.connectionStart(b, t.m.Connection)
	if t.m.Connection.Opened {
		b = append(b, " opens"...)
	} else {
		b = append(b, " was open before the capture"...)
	}
	if f := t.m.Facts(); f.Software != nil && !t.withheld {
		b = appendSoftware(append(b, ',', ' '), string(f.Software), string(f.SoftwareVersion))
	}
	return append(b, '\n')
}

func (t *Tree) connectionStart(b []byte, c *dissect.Connection) []byte {
	b = append(b, t.colors.title.on...)
	b = t.ends.append(append(b, "== "...), c, schema.Request)
	return append(b, t.colors.title.off...)
}

func appendSoftware(b []byte, name, version string) []byte {
	b = appendEscaped(b, name, false)
	if version != "" {
		b = appendEscaped(append(b, ' '), version, false)
	}
	return b
}

// endingLine appends what a connection turned out to be.
func (t *Tree) endingLine(b []byte, c *dissect.Connection, e *dissect.Ending) []byte {
	b = t.connectionStart(b, c)
	b = append(append(b, ' '), endingText(e)...)
	if e.End > e.Start {
		b = fmt.Appendf(b, " after %.3f s", float64(e.End-e.Start)/1e9)
	}
	b = append(b, ':')
	if e.ClientID != "" {
		b = append(appendEscaped(append(b, " client "...), e.ClientID, false), ',')
	}
	if e.Software != "" {
		b = append(appendSoftware(append(b, ' '), e.Software, e.SoftwareLevel), ',')
	}
	if a := e.Auth; a != nil {
		b = appendAuthWords(append(b, ' '), a)
		b = append(b, ',')
	}
	if e.Requests > 0 || e.Responses == 0 {
		b = appendCount(append(b, ' '), e.Requests, "request", "requests")
	} else {
		b = appendCount(append(b, ' '), e.Responses, "response", "responses")
	}
	if e.Unanswered > 0 {
		b = fmt.Appendf(b, ", %d unanswered", e.Unanswered)
	}
	for i := range e.Used {
		b = t.appendUsed(b, i, e)
	}
	return append(b, '\n')
}

// appendUsed appends an API with its version and how often it was called. The compact tree names some.
func (t *Tree) appendUsed(b []byte, i int, e *dissect.Ending) []byte {
	const some = 8
	u := &e.Used[i]
	switch {
	case i == 0:
		b = append(b, "; "...)
	case i == some && !t.options.Full:
		return fmt.Appendf(b, " and %d more", len(e.Used)-some)
	case i > some && !t.options.Full:
		return b
	default:
		b = append(b, ", "...)
	}
	if u.Name != "" {
		b = append(b, u.Name...)
	} else {
		b = strconv.AppendInt(append(b, "API "...), int64(u.Key), 10)
	}
	b = strconv.AppendInt(append(b, " v"...), int64(u.Version), 10)
	if u.Count > 1 {
		b = strconv.AppendInt(append(b, " x"...), u.Count, 10)
	}
	return b
}

func endingText(e *dissect.Ending) string {
	switch e.Cause {
	case reassembly.EndOfInput:
		return "is still open when the capture ends"
	case reassembly.Reset:
		if e.ServerReset {
			return "was reset by the server"
		}
		return "was reset by the client"
	case reassembly.Replaced:
		return "was replaced by a new one"
	case reassembly.Evicted:
		return "was forgotten, within the memory limit"
	}
	if e.ServerFirst {
		return "was closed by the server"
	}
	return "was closed by the client"
}

// endingCause is the word for it in JSON.
func endingCause(e *dissect.Ending) string {
	switch e.Cause {
	case reassembly.EndOfInput:
		return "open"
	case reassembly.Reset:
		if e.ServerReset {
			return "reset-by-server"
		}
		return "reset-by-client"
	case reassembly.Replaced:
		return "replaced"
	case reassembly.Evicted:
		return "forgotten"
	}
	if e.ServerFirst {
		return "closed-by-server"
	}
	return "closed-by-client"
}

// ending appends a connection that has ended as an object of its own.
func (j *JSON) ending(b []byte, c *dissect.Connection, e *dissect.Ending) []byte {
	b = append(b, `{"kind":"connection","v":1`...)
	b = appendConnection(b, c)
	b = append(j.clock.appendTime(append(b, `,"time":"`...), e.Start), '"')
	b = append(j.clock.appendTime(append(b, `,"end":"`...), e.End), '"')
	b = strconv.AppendBool(append(b, `,"opened":`...), c.Opened)
	b = append(append(append(b, `,"cause":"`...), endingCause(e)...), '"')
	b = append(b, `,"clientId":`...)
	b = appendString(b, e.ClientID)
	if e.Software != "" {
		b = appendString(append(b, `,"software":{"name":`...), e.Software)
		b = appendString(append(b, `,"version":`...), e.SoftwareLevel)
		b = append(b, '}')
	}
	b = j.appendAuth(b, "login", e.Auth)
	b = appendNumber(b, "requests", e.Requests)
	b = appendNumber(b, "responses", e.Responses)
	b = appendNumber(b, "unanswered", e.Unanswered)
	b = append(b, `,"used":[`...)
	for i := range e.Used {
		u := &e.Used[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"apiKey":`...), int64(u.Key), 10)
		if u.Name != "" {
			b = appendString(append(b, `,"apiName":`...), u.Name)
		}
		b = appendNumber(b, "apiVersion", int64(u.Version))
		b = append(appendNumber(b, "count", u.Count), '}')
	}
	b = append(b, ']')
	if e.Offered > 0 {
		b = appendNumber(b, "apisOffered", int64(e.Offered))
	}
	for i := range e.Features {
		if i == 0 {
			b = append(b, `,"features":{`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(appendString(b, e.Features[i].Name), ':'), int64(e.Features[i].Level), 10)
	}
	if len(e.Features) > 0 {
		b = append(b, '}')
	}
	return append(b, '}', '\n')
}
