package filter

import (
	"slices"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/render"
)

// heads hands on what matches as far as that is known without decoding.
type heads struct {
	render.Format
	criteria *Criteria
	part     []byte // that every record has in it that is wanted
}

// Heads stands in front of a format that Exchanges stands in, or of one that runs several of them.
func Heads(c *Criteria, out render.Format) render.Format { return &heads{out, c, c.requiredPart()} }

// Exchange implements dissect.Output.
func (h *heads) Exchange(x *dissect.Exchange) {
	if h.criteria.matchHead(x) && (!h.criteria.readsRecords() || mayCarry(x, h.part, false)) {
		h.Format.Exchange(x)
	}
}

// Report implements dissect.Output: what is said of the capture is handed on. What is said of an exchange at its end stands with it.
func (h *heads) Report(r *dissect.Report) {
	if r.Connection == nil {
		h.Format.Report(r)
	}
}

func (c *Criteria) matchHead(x *dissect.Exchange) bool {
	m := x.Request
	if m == nil {
		m = x.Response
	}
	return c.matchEnds(m) && c.matchHeader(m) && c.matchNumber(x) && c.matchTime(m.Time) && c.matchAnswer(x)
}

func (c *Criteria) matchEnds(m *dissect.Message) bool {
	if len(c.Connections) > 0 && !slices.Contains(c.Connections, m.Connection.ID) {
		return false
	}
	return len(c.Hosts) == 0 || slices.ContainsFunc(c.Hosts, func(h Host) bool {
		return h.match(m.Connection.Client) || h.match(m.Connection.Server)
	})
}

func (c *Criteria) matchHeader(m *dissect.Message) bool {
	h := &m.Header
	known := h.Known && !h.Token
	switch {
	case len(c.APIs) > 0 && !(known && slices.Contains(c.APIs, h.APIKey)):
		return false
	case len(c.CorrelationIDs) > 0 && !(m.Correlated() && slices.Contains(c.CorrelationIDs, h.CorrelationID)):
		return false
	case len(c.Clients) > 0:
		return known && !h.ClientIDNull && anyMatch(c.Clients, []byte(h.ClientID))
	}
	return true
}

func (c *Criteria) matchNumber(x *dissect.Exchange) bool {
	return len(c.Numbers) == 0 || slices.ContainsFunc(c.Numbers, func(r Range) bool {
		in := func(m *dissect.Message) bool { return m != nil && r.First <= m.Number && m.Number <= r.Last }
		return in(x.Request) || in(x.Response)
	})
}

func (c *Criteria) matchTime(nanos int64) bool {
	return (!c.From.set || c.From.compare(nanos) >= 0) && (!c.To.set || c.To.compare(nanos) <= 0)
}

func (c *Criteria) matchAnswer(x *dissect.Exchange) bool {
	if c.Unanswered && (x.Response != nil || x.NoAnswer || x.OneWay) {
		return false
	}
	return c.Slow == 0 || x.Request != nil && x.Response != nil && x.Response.Timing.Excess >= int64(c.Slow)
}
