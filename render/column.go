package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A Column is a column of a table: a fact about an exchange, or a field of a body. Where there is nothing it is empty.
type Column struct {
	Name string
	add  cellWriter
}

// A cellWriter appends the cell of an exchange.
type cellWriter = func(t *Table, b []byte, x *dissect.Exchange) []byte

// DefaultFields are the columns of a table unless others are asked for: those of the summary.
const DefaultFields = "number,time,connection,clientId,client,server,api,version,correlationId,size,responseSize,latency,excess,result,what"

// tableColumns are the facts that a table can have as columns. Sizes are in bytes, times of an exchange in milliseconds.
var tableColumns = [...]Column{
	{"number", func(_ *Table, b []byte, x *dissect.Exchange) []byte { return appendInt(b, number(x)) }},
	{"request", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if x.Request == nil {
			return b
		}
		return appendInt(b, x.Request.Number)
	}},
	{"time", func(t *Table, b []byte, x *dissect.Exchange) []byte { return t.timer.appendInstant(b, leading(x).Time) }},
	{"connection", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		return appendInt(b, int64(leading(x).Connection.ID))
	}},
	{"client", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		return append(b, leading(x).Connection.ClientName...)
	}},
	{"clientId", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		return appendEscaped(b, leading(x).Header.ClientID, false)
	}},
	{"server", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		return append(b, leading(x).Connection.ServerName...)
	}},
	{"api", func(_ *Table, b []byte, x *dissect.Exchange) []byte { return append(b, leading(x).Name()...) }},
	{"apiKey", ofHeader(func(h *dissect.Header) int64 { return int64(h.APIKey) })},
	{"version", func(_ *Table, b []byte, x *dissect.Exchange) []byte { return appendVersion(b, x) }},
	{"correlationId", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		m := leading(x)
		return appendUnless(b, !m.Correlated(), int64(m.Header.CorrelationID))
	}},
	{"size", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if x.Request == nil {
			return b
		}
		return appendInt(b, int64(x.Request.Size))
	}},
	{"responseSize", ofAnswer(func(b []byte, r *dissect.Message) []byte { return appendInt(b, int64(r.Size)) })},
	{"latency", ofTiming(func(t *dissect.Timing) int64 { return t.Latency })},
	{"queued", ofTiming(func(t *dissect.Timing) int64 { return t.Queued })},
	{"service", ofTiming(func(t *dissect.Timing) int64 { return t.Service })},
	{"transfer", ofTiming(func(t *dissect.Timing) int64 { return t.Transfer })},
	{"excess", ofTiming(func(t *dissect.Timing) int64 { return t.Excess })},
	{"waitAllowed", ofTiming(func(t *dissect.Timing) int64 { return t.Allowed })},
	{"inFlight", ofAnswer(func(b []byte, r *dissect.Message) []byte {
		return appendUnless(b, r.Request == 0, int64(r.Timing.InFlight))
	})},
	{"result", func(_ *Table, b []byte, x *dissect.Exchange) []byte { return appendResult(b, x) }},
	{"error", func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if x.Response == nil || len(x.Response.Facts().Errors) == 0 {
			return b
		}
		return append(b, schema.ErrorName(worst(x.Response.Facts().Errors))...)
	}},
	{"errors", ofAnswer(appendErrorNames)},
	{"throttle", ofAnswer(func(b []byte, r *dissect.Message) []byte {
		return appendUnless(b, r.Facts().ThrottleMs == 0, r.Facts().ThrottleMs)
	})},
	{"what", func(_ *Table, b []byte, x *dissect.Exchange) []byte { return appendWhat(b, x, nil) }},
	{"topics", ofFacts(appendTopicNames)},
	{"partitions", ofFacts(appendPartitions)},
	{"group", ofText(func(f *dissect.Facts) []byte { return f.Group })},
	{"member", ofText(func(f *dissect.Facts) []byte { return f.Member })},
	{"transactionalId", ofText(func(f *dissect.Facts) []byte { return f.TransactionalID })},
	{"acks", ofFacts(func(b []byte, f *dissect.Facts) []byte { return appendUnless(b, !f.HasAcks, int64(f.Acks)) })},
	{"records", ofRecords(func(f *dissect.Facts) int64 { return f.Records })},
	{"recordBytes", ofRecords(func(f *dissect.Facts) int64 { return f.RecordBytes })},
	{"session", ofFacts(func(b []byte, f *dissect.Facts) []byte {
		return appendUnless(b, !f.HasSession || f.SessionID == 0, f.SessionID)
	})},
	{"sessionEpoch", ofFacts(func(b []byte, f *dissect.Facts) []byte { return appendUnless(b, !f.HasSession, f.SessionEpoch) })},
	{"sessionStep", ofSession(func(b []byte, s *dissect.Session) []byte { return append(b, s.Step.String()...) })},
	{"sessionPartitions", ofSession(func(b []byte, s *dissect.Session) []byte {
		return appendUnless(b, !s.Known, int64(s.Partitions))
	})},
	{"replica", ofFacts(func(b []byte, f *dissect.Facts) []byte { return appendUnless(b, f.Replica < 0, f.Replica) })},
	{"software", ofText(func(f *dissect.Facts) []byte { return f.Software })},
	{"softwareVersion", ofText(func(f *dissect.Facts) []byte { return f.SoftwareVersion })},
	{"mechanism", ofAuth(func(a *dissect.Auth) string { return a.Mechanism })},
	{"user", ofAuth(func(a *dissect.Auth) string { return a.User })},
}

// ofHeader is a column about the header, empty where it is not known.
func ofHeader(of func(*dissect.Header) int64) cellWriter {
	return func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		h := &leading(x).Header
		return appendUnless(b, !h.Known || h.Token, of(h))
	}
}

// ofAnswer is a column about the response, empty where there is none.
func ofAnswer(add func([]byte, *dissect.Message) []byte) cellWriter {
	return func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if x.Response == nil {
			return b
		}
		return add(b, x.Response)
	}
}

// ofTiming is a part of the time of an exchange, in milliseconds.
func ofTiming(of func(*dissect.Timing) int64) cellWriter {
	return ofAnswer(func(b []byte, r *dissect.Message) []byte {
		if r.Request == 0 {
			return b
		}
		return appendMillis(b, of(&r.Timing))
	})
}

// ofFacts is a column about the facts of the request or, where that says nothing of it, of the response. Those of withheld bodies are not shown.
func ofFacts(add func([]byte, *dissect.Facts) []byte) cellWriter {
	return func(t *Table, b []byte, x *dissect.Exchange) []byte {
		start := len(b)
		for _, m := range [...]*dissect.Message{x.Request, x.Response} {
			if m != nil && len(b) == start && !t.withholds(m) {
				b = add(b, m.Facts())
			}
		}
		return b
	}
}

func ofText(of func(*dissect.Facts) []byte) cellWriter {
	return ofFacts(func(b []byte, f *dissect.Facts) []byte { return appendEscaped(b, of(f), false) })
}

func ofRecords(of func(*dissect.Facts) int64) cellWriter {
	return func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if f := recordFacts(x); f != nil {
			return appendInt(b, of(f))
		}
		return b
	}
}

func ofSession(add func([]byte, *dissect.Session) []byte) cellWriter {
	return func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		if s := leading(x).Session; s != nil {
			return add(b, s)
		}
		return b
	}
}

// ofAuth is a column about a login: what the client has said, else what came of it.
func ofAuth(of func(*dissect.Auth) string) cellWriter {
	return func(_ *Table, b []byte, x *dissect.Exchange) []byte {
		start := len(b)
		for _, m := range [...]*dissect.Message{x.Request, x.Response} {
			if m != nil && m.Auth != nil && len(b) == start {
				b = appendEscaped(b, of(m.Auth), false)
			}
		}
		return b
	}
}

// recordFacts returns the facts of the message that carries records, nil where none does.
func recordFacts(x *dissect.Exchange) *dissect.Facts {
	for _, m := range [...]*dissect.Message{x.Request, x.Response} {
		if m != nil && m.Facts().HasRecords {
			return m.Facts()
		}
	}
	return nil
}

func (t *Table) withholds(m *dissect.Message) bool { return m.Secret() && !t.options.ShowSecrets }

// appendErrorNames appends the errors of an answer, each once, separated by commas.
func appendErrorNames(b []byte, r *dissect.Message) []byte {
	var told []int16
	for _, e := range r.Facts().Errors {
		if slices.Contains(told, e.Code) {
			continue
		}
		if told = append(told, e.Code); len(told) > 1 {
			b = append(b, ',')
		}
		b = append(b, schema.ErrorName(e.Code)...)
	}
	return b
}

// appendTopicNames appends the topics, each once where it stands twice in a row, separated by commas.
func appendTopicNames(b []byte, f *dissect.Facts) []byte {
	start := len(b)
	for i := range f.Topics {
		if i > 0 && sameTopic(&f.Topics[i], &f.Topics[i-1]) {
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = appendListedTopic(b, &f.Topics[i])
	}
	return b
}

func sameTopic(t, u *dissect.TopicFacts) bool {
	return string(t.Name) == string(u.Name) && string(t.ID) == string(u.ID)
}

// appendListedTopic appends a topic's name such that a comma may follow.
func appendListedTopic(b []byte, t *dissect.TopicFacts) []byte {
	start := len(b)
	return escapeAlso(appendTopicName(b, t), start, ",")
}

// appendPartitions appends the partitions with their topics: orders/0,orders/1.
func appendPartitions(b []byte, f *dissect.Facts) []byte {
	start := len(b)
	for i := range f.Topics {
		for _, p := range f.Topics[i].Partitions {
			if len(b) > start {
				b = append(b, ',')
			}
			b = append(appendListedTopic(b, &f.Topics[i]), '/')
			b = appendInt(b, int64(p))
		}
	}
	return b
}

// Columns returns the columns that a list of names asks for, separated by commas: those of [ColumnNames], and fields of bodies, by their paths
// behind "payload.", "request." or "response.".
func Columns(list string, catalog *schema.Catalog) ([]Column, error) {
	var columns []Column
	for name := range strings.SplitSeq(list, ",") {
		c, err := columnOf(strings.TrimSpace(name), catalog)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// ColumnNames lists the facts that can be columns.
func ColumnNames() []string {
	var names []string
	for i := range tableColumns {
		names = append(names, tableColumns[i].Name)
	}
	return names
}

func columnOf(name string, catalog *schema.Catalog) (Column, error) {
	whose, rest, inBody := strings.Cut(name, ".")
	if inBody {
		if kinds := bodies[whose]; kinds != nil {
			p, err := parsePath(rest)
			if err == nil {
				err = p.check(catalog, kinds)
			}
			if err != nil {
				return Column{}, fmt.Errorf("%s: %w", name, err)
			}
			return Column{name, p.column(whose)}, nil
		}
	}
	for i := range tableColumns {
		if tableColumns[i].Name == name {
			return tableColumns[i], nil
		}
	}
	names := ColumnNames()
	guess := schema.DidYouMean(name, names)
	if guess == "" {
		guess = "; there are " + strings.Join(names, ", ") + ", and payload.PATH, request.PATH, response.PATH"
	}
	return Column{}, fmt.Errorf("there is no field %s%s", name, guess)
}

// bodies says where the fields of bodies are looked for.
var bodies = map[string][]schema.Kind{
	"payload":  {schema.Response, schema.Request},
	"request":  {schema.Request},
	"response": {schema.Response},
}

// column returns a column of what a path leads to: in the request, in the response, or in whichever has it, the response first.
func (p path) column(whose string) cellWriter {
	return func(t *Table, b []byte, x *dissect.Exchange) []byte {
		has := false
		if whose != "request" {
			b, has = p.in(t, b, x.Response)
		}
		if whose != "response" && !has {
			b, _ = p.in(t, b, x.Request)
		}
		return b
	}
}

// in appends what the path leads to in a message. has is false where it lacks the field.
func (p path) in(t *Table, b []byte, m *dissect.Message) (line []byte, has bool) {
	switch {
	case m == nil || m.Body() == 0:
		return b, false
	case t.withholds(m):
		if depth, _ := p.follow(m.Plan().Message); depth < len(p) {
			return b, false
		}
		return append(b, withheldCell...), true
	}
	return t.finder.append(b, m, p)
}
