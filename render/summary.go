package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Summary writes a line an exchange, in the order of completion: aligned on a terminal, tab-separated otherwise, the free text last.
type Summary struct {
	sink
	options  Options
	findings findingLog
	timer    timer
	parties  [16]parties // of connections, by their number modulo as many
	topics   topicTexts
	scratch  []byte // the line that is being aligned
}

// summaryColumns are the names of the columns and their widths on a terminal; a negative one is aligned to the right.
var summaryColumns = [...]struct {
	name  string
	width int
}{
	{"NUM", -6}, {"TIME", 15}, {"CONN", 5}, {"CLIENT", 34}, {"BROKER", 21}, {"API", 20}, {"VER", -3}, {"CORR", -7},
	{"REQ", -6}, {"RESP", -6}, {"MS", -8}, {"EXCESS", -8}, {"RESULT", 12}, {"WHAT", 0},
}

// leading is the request, or the response where the request is not in the capture.
func leading(x *dissect.Exchange) *dissect.Message {
	if x.Request == nil {
		return x.Response
	}
	return x.Request
}

func appendClient(b []byte, m *dissect.Message) []byte {
	if id := m.Header.ClientID; id != "" {
		b = appendEscaped(b, id, false)
		b = append(b, '@')
	}
	return append(b, m.Connection.ClientName...)
}

// appendAPI appends the API's name, with a question mark where it is inferred.
func appendAPI(b []byte, x *dissect.Exchange) []byte {
	m := leading(x)
	name := m.Name()
	switch {
	case name != "" && m.Inferred != nil:
		return append(append(b, name...), '?')
	case name != "":
		return append(b, name...)
	case x.Request == nil:
		return b
	}
	return appendInt(b, int64(m.Header.APIKey))
}

func appendVersion(b []byte, x *dissect.Exchange) []byte {
	m := leading(x)
	if i := m.Inferred; i != nil && i.Clear {
		return append(b, i.Taken.Versions.String()...)
	}
	return appendUnless(b, m.Header.Token || x.Request == nil, int64(m.Header.Version))
}

func appendUnless(b []byte, absent bool, n int64) []byte {
	if absent {
		return b
	}
	return appendInt(b, n)
}

func appendLatencyMillis(b []byte, r *dissect.Message) []byte {
	if r.Request == 0 {
		return b
	}
	return appendMillis(b, round(r.Timing.Latency))
}

func appendExcess(b []byte, r *dissect.Message) []byte {
	if r.Timing.Allowed == 0 {
		return b
	}
	return appendMillis(b, round(r.Timing.Excess))
}

// NewSummary returns the format "summary"; findings are written to log.
func NewSummary(w, log io.Writer, o Options) *Summary {
	if o.Errors == nil {
		o.Errors = &atomic.Int64{}
	}
	s := &Summary{sink: sink{w: w}, options: o}
	s.timer = newTimer(&s.options)
	s.findings = findingLog{sink{w: log}, &s.options}
	if !o.Continued {
		s.title()
	}
	return s
}

// Needs implements Format.
func (s *Summary) Needs() dissect.Needs { return dissect.NeedExchanges }

// Message implements dissect.Output.
func (s *Summary) Message(*dissect.Message) {}

// Report implements dissect.Output.
func (s *Summary) Report(r *dissect.Report) { s.findings.report(r) }

// Flush implements Format.
func (s *Summary) Flush() error {
	err := s.sink.Flush()
	s.findings.Flush()
	return err
}

// Close implements Format: the counts go to the log.
func (s *Summary) Close(c *dissect.Counts) {
	s.writeRanking(s.options.Ranking, &s.findings)
	b := s.findings.buf
	if n := s.options.Selected; n != nil {
		b = appendCount(b, n.Load(), "exchange selected", "exchanges selected")
		b = s.appendErrors(append(b, ", "...))
		b = append(b, "; in all "...)
	}
	b = appendCount(b, c.Messages, "message", "messages")
	b = appendCount(append(b, " on "...), c.KafkaConnections, "connection", "connections")
	if others := c.Connections - c.KafkaConnections; others > 0 {
		b = appendCount(append(b, " ("...), others, "other", "others")
		b = append(b, ')')
	}
	if s.options.Selected == nil {
		b = s.appendErrors(append(b, ", "...))
	}
	b = fmt.Appendf(b, ", %d unanswered", c.Unanswered)
	b = appendCount(append(b, ", "...), c.Gaps, "gap", "gaps")
	if c.Cut > 0 {
		b = fmt.Appendf(b, ", %d cut", c.Cut)
	}
	s.findings.buf = append(b, '\n')
}

func (s *Summary) appendErrors(b []byte) []byte {
	return appendCount(b, s.options.Errors.Load(), "answer with an error", "answers with errors")
}

func (s *Summary) title() {
	for i := range summaryColumns {
		if i > 0 {
			s.buf = append(s.buf, '\t')
		}
		s.buf = append(s.buf, summaryColumns[i].name...)
	}
	s.endLine(0)
}

// endLine ends the line that begins at an index. On a terminal its columns are put under those of other lines.
func (s *Summary) endLine(start int) {
	if s.options.Aligned {
		s.align(start)
	}
	s.buf = append(s.buf, '\n')
}

// align replaces the tabs behind columns. There are no others: what is from the wire has them escaped.
func (s *Summary) align(start int) {
	s.scratch = append(s.scratch[:0], s.buf[start:]...)
	b, line := s.buf[:start], s.scratch
	for i := range summaryColumns[1:] {
		end := bytes.IndexByte(line, '\t')
		from := len(b)
		b = endColumn(append(b, line[:end]...), from, summaryColumns[i].width, true)
		line = line[end+1:]
	}
	s.buf = append(b, line...)
}

// endCell ends a column that begins at an index and that another one follows.
func endCell(b []byte, start int) []byte {
	if len(b) == start {
		b = append(b, '-')
	}
	return append(b, '\t')
}

// endColumn pads a column that another one follows to its width, or ends it with a tab.
func endColumn(b []byte, start, width int, aligned bool) []byte {
	if !aligned {
		return append(b, '\t')
	}
	used := utf8.RuneCount(b[start:])
	pad := max(width, -width) - used
	if width < 0 && pad > 0 {
		n := len(b) - start
		for range pad {
			b = append(b, ' ')
		}
		copy(b[start+pad:], b[start:start+n])
		for i := range pad {
			b[start+i] = ' '
		}
		pad = 0
	}
	for ; pad > 0; pad-- {
		b = append(b, ' ')
	}
	return append(b, ' ')
}

// The columns from CONN to VER say who speaks in which call. They are the same for many lines of a connection, and made anew only where they
// are not: that is a tenth of the time of a line.

// parties are the columns of a connection's latest line that say who speaks.
type parties struct {
	connection *dissect.Connection
	clientID   string
	api        *schema.API
	version    int16
	text       []byte
}

func (s *Summary) appendParties(b []byte, x *dissect.Exchange) []byte {
	m := x.Request
	if m == nil || m.API == nil || !m.Header.Known || m.Header.Token {
		return appendParties(b, x)
	}
	p := &s.parties[m.Connection.ID%len(s.parties)]
	if p.connection != m.Connection || p.api != m.API || p.version != m.Header.Version || p.clientID != m.Header.ClientID {
		*p = parties{m.Connection, m.Header.ClientID, m.API, m.Header.Version, appendParties(p.text[:0], x)}
	}
	return append(b, p.text...)
}

func appendParties(b []byte, x *dissect.Exchange) []byte {
	m := leading(x)
	b = append(appendInt(append(b, 'c'), int64(m.Connection.ID)), '\t')
	b = endCell(appendClient(b, m), len(b))
	b = endCell(append(b, m.Connection.ServerName...), len(b))
	b = endCell(appendAPI(b, x), len(b))
	return endCell(appendVersion(b, x), len(b))
}

// appendLine appends the columns, each but the last with a tab behind it.
func (s *Summary) appendLine(b []byte, x *dissect.Exchange) []byte {
	m := leading(x)
	b = append(appendInt(b, number(x)), '\t')
	b = append(s.timer.appendDay(b, m.Time), '\t')
	b = s.appendParties(b, x)
	b = endCell(appendUnless(b, !m.Correlated() && m.Kind == schema.Response || m.Header.Token, int64(m.Header.CorrelationID)), len(b))
	b = appendMeasured(b, x)
	b = append(appendResult(b, x), '\t')
	start := len(b)
	if b = appendWhat(b, x, &s.topics); len(b) == start {
		b = append(b, '-')
	}
	return b
}

// appendMeasured appends the columns from REQ to EXCESS.
func appendMeasured(b []byte, x *dissect.Exchange) []byte {
	if x.Request == nil {
		b = append(b, "-\t"...)
	} else {
		b = append(appendSize(b, x.Request.Size), '\t')
	}
	r := x.Response
	if r == nil {
		return append(b, "-\t-\t-\t"...)
	}
	b = append(appendSize(b, r.Size), '\t')
	b = endCell(appendLatencyMillis(b, r), len(b))
	return endCell(appendExcess(b, r), len(b))
}

// Exchange implements dissect.Output.
func (s *Summary) Exchange(x *dissect.Exchange) {
	if x.Response != nil && len(x.Response.Facts().Errors) > 0 {
		s.options.Errors.Add(1)
	}
	start := len(s.buf)
	s.buf = s.appendLine(s.buf, x)
	s.endLine(start)
	s.rank(s.options.Ranking, x, start)
	s.written()
	s.findings.exchange(x)
}

// number is the number of the message that completed the exchange.
func number(x *dissect.Exchange) int64 {
	if x.Response != nil {
		return x.Response.Number
	}
	return x.Request.Number
}

// round rounds a duration to three significant digits or a microsecond, which is what a reader compares.
func round(ns int64) int64 {
	n := max(ns, -ns)
	if n < 1e7 { // as most are: nothing to divide by that is not known here
		return (ns + 500) / 1000 * 1000
	}
	unit := int64(10_000)
	for ; n/unit >= 10000; unit *= 10 {
	}
	return (ns + unit/2) / unit * unit
}

// appendSize appends a size in bytes: 86, 41.2K, 3.1M.
func appendSize(b []byte, n int) []byte {
	units := "KMG"
	if n < 1000 {
		return appendInt(b, int64(n))
	}
	tenths := (n*10 + 512) / 1024
	for len(units) > 1 && tenths >= 10000 {
		tenths = (tenths + 512) / 1024
		units = units[1:]
	}
	b = appendInt(b, int64(tenths/10))
	if tenths < 1000 {
		b = append(b, '.', byte('0'+tenths%10))
	}
	return append(b, units[0])
}

// appendResult appends the worst error of the answer, or what became of the request.
func appendResult(b []byte, x *dissect.Exchange) []byte {
	switch {
	case x.NoAnswer:
		return append(b, "no-answer"...)
	case x.Closed:
		return append(b, "CLOSED"...)
	case x.Response == nil && x.OneWay:
		return append(b, "not-captured"...)
	case x.Response == nil:
		return append(b, "UNANSWERED"...)
	case x.Response.Cut():
		return append(b, "CUT"...)
	case x.Request == nil && !x.Response.Header.Known:
		return append(b, "ORPHAN"...)
	case x.Response.Undecoded() != nil:
		return append(b, "UNDECODED"...)
	}
	errors := x.Response.Facts().Errors
	if len(errors) == 0 {
		return append(b, "ok"...)
	}
	code, same := worst(errors), 0
	for _, e := range errors {
		if e.Code == code {
			same++
		}
	}
	b = append(b, schema.ErrorName(code)...)
	if same > 1 {
		b = appendInt(append(b, " x"...), int64(same))
	}
	if others := len(errors) - same; others > 0 {
		b = appendInt(append(b, " +"...), int64(others))
	}
	return b
}

// worst is the first error that a client cannot mend by trying again, else the first.
func worst(errors []dissect.ErrorFact) int16 {
	for _, e := range errors {
		if known := schema.ErrorByCode(e.Code); known == nil || !known.Retriable {
			return e.Code
		}
	}
	return errors[0].Code
}

// maxTopics is how many topics a line names before it only counts them.
const maxTopics = 3

// appendWhat appends what the exchange is about, in a few words. Credentials are never among them. What others said of topics may be nil.
func appendWhat(b []byte, x *dissect.Exchange, said *topicTexts) []byte {
	start := len(b)
	request := leading(x)
	if i := request.Inferred; i != nil && !i.Clear {
		return append(append(b, "orphan: "...), i.String()...)
	}
	if a := request.Auth; a != nil {
		b = appendEscaped(b, a.Mechanism, false)
		if a.Step != "handshake" && a.Step != "" { // the API's name says it of a handshake
			b = append(append(b, ' '), a.Step...)
		}
		b = appendLabelled(b, start, "user", []byte(a.User))
	}
	if request.Secret() || x.Response != nil && x.Response.Secret() {
		return b
	}
	q := request.Facts()
	b = appendWho(b, start, request, q)
	b = appendContents(b, start, x, q, said)
	return appendHeld(b, start, request.Session, q)
}

// appendWho appends who asks, and after what.
func appendWho(b []byte, start int, request *dissect.Message, q *dissect.Facts) []byte {
	if name := request.Enveloped(); name != "" {
		b = append(space(b, start), name...)
	}
	b = appendLabelled(b, start, "key", q.LookupKey)
	b = appendLabelled(b, start, "resource", q.Resource)
	if len(q.Software) > 0 {
		b = appendEscaped(space(b, start), q.Software, false)
		b = append(b, ' ')
		b = appendEscaped(b, q.SoftwareVersion, false)
	}
	if q.Replica >= 0 {
		b = appendInt(append(space(b, start), "replica "...), q.Replica)
	}
	b = appendLabelled(b, start, "group", q.Group)
	b = appendLabelled(b, start, "member", q.Member)
	return appendLabelled(b, start, "txn", q.TransactionalID)
}

// appendContents appends topics and records: those of the answer where the request names none, or where the answer brings records.
func appendContents(b []byte, start int, x *dissect.Exchange, q *dissect.Facts, said *topicTexts) []byte {
	topics, partly := q.Topics, false
	if x.Response != nil {
		if r := x.Response.Facts(); len(r.Topics) > 0 && (len(topics) == 0 || r.HasRecords) {
			topics, partly = r.Topics, r.HasRecords
		}
	}
	for i := range topics {
		if i == maxTopics {
			b = fmt.Appendf(space(b, start), "+%d topics", len(topics)-maxTopics)
			break
		}
		b = said.append(space(b, start), &topics[i], q, partly)
	}
	b = appendOutcome(b, start, x)
	if q.HasAcks {
		b = append(space(b, start), "acks="...)
		b = appendInt(b, int64(q.Acks))
	}
	if q.HasRecords {
		b = appendCount(space(b, start), int64(q.Batches), "batch", "batches")
		b = appendCount(space(b, start), q.Records, "record", "records")
	}
	return b
}

// appendOutcome appends what some calls are for: the producer id that was given, the coordinator that was found, how a transaction is to end.
func appendOutcome(b []byte, start int, x *dissect.Exchange) []byte {
	switch request := leading(x); request.Name() {
	case "InitProducerId":
		if x.Response == nil {
			break
		}
		if id := x.Response.Facts().ProducerID; id >= 0 {
			b = appendInt(append(space(b, start), "producer id "...), id)
		}
	case "FindCoordinator":
		b = appendCoordinator(b, start, x.Response)
	case "EndTxn", "WriteTxnMarkers":
		if commits := valueNamed(request, "Committed", "TransactionResult"); commits == nil {
			break
		} else if request.Int(commits) != 0 {
			b = append(space(b, start), "commit"...)
		} else {
			b = append(space(b, start), "abort"...)
		}
	}
	return b
}

// appendCoordinator appends the node that a FindCoordinator answer names first.
func appendCoordinator(b []byte, start int, answer *dissect.Message) []byte {
	if answer == nil {
		return b
	}
	id, host, port := valueNamed(answer, "NodeId"), valueNamed(answer, "Host"), valueNamed(answer, "Port")
	if id == nil || host == nil || port == nil || answer.Int(id) < 0 {
		return b
	}
	b = appendInt(append(space(b, start), "-> "...), answer.Int(id))
	b = appendEscaped(append(b, '@'), answer.Bytes(host), false)
	return appendInt(append(b, ':'), answer.Int(port))
}

// valueNamed returns the first value in the body whose field has one of some names, nil when it is not there.
func valueNamed(m *dissect.Message, names ...string) *dissect.Node {
	tape := m.Tape()
	for i := m.Body() + 1; m.Body() > 0 && i < len(tape); i++ {
		if n := &tape[i]; n.Kind == dissect.ValueNode && !n.Null && slices.Contains(names, n.Op.Name) && len(m.Bytes(n)) >= int(n.Op.Fixed) {
			return n
		}
	}
	return nil
}

// appendHeld appends the session that a fetch goes on with, and how many partitions that holds.
func appendHeld(b []byte, start int, s *dissect.Session, q *dissect.Facts) []byte {
	if q.HasSession && q.SessionID != 0 {
		b = append(space(b, start), "session "...)
		b = appendInt(b, q.SessionID)
		b = append(b, '/')
		b = appendInt(b, q.SessionEpoch)
	}
	if s != nil && s.Known && s.Step == dissect.SessionContinues {
		b = appendInt(append(space(b, start), "holds "...), int64(s.Partitions))
		if s.Added+s.Forgotten > 0 {
			b = fmt.Appendf(b, " (+%d -%d)", s.Added, s.Forgotten)
		}
	}
	return b
}

func space(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ' ')
	}
	return b
}

// appendLabelled appends a value that may be there. Most are not, so that is found without a call.
func appendLabelled(b []byte, start int, label string, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return appendLabel(b, start, label, value)
}

func appendLabel(b []byte, start int, label string, value []byte) []byte {
	b = append(space(b, start), label...)
	b = append(b, ' ')
	return appendEscaped(b, value, false)
}

func appendCount(b []byte, n int64, one, many string) []byte {
	b = appendInt(b, n)
	b = append(b, ' ')
	if n == 1 {
		return append(b, one...)
	}
	return append(b, many...)
}

// topicTexts are what lines said of a topic and its only partition, by the number of that modulo as many. Lines about records and groups mostly say it again,
// and to put it together takes a tenth of the instructions of a line.
type topicTexts [16]struct {
	name, text []byte
	partition  int32
}

// maxTopicText is how long the name of a topic may be that is kept: brokers allow for no more.
const maxTopicText = 249

// append does what appendTopic does.
func (s *topicTexts) append(b []byte, t *dissect.TopicFacts, request *dissect.Facts, answered bool) []byte {
	if s == nil || answered || len(t.Partitions) != 1 || t.HasOffset || len(request.Topics) > 1 || len(t.Name) == 0 || len(t.Name) > maxTopicText {
		return appendTopic(b, t, request, answered)
	}
	said := &s[uint32(t.Partitions[0])%uint32(len(s))]
	if string(said.name) != string(t.Name) || said.partition != t.Partitions[0] {
		said.name, said.partition = append(said.name[:0], t.Name...), t.Partitions[0]
		said.text = appendTopic(said.text[:0], t, request, false)
	}
	return append(b, said.text...)
}

// appendTopic appends a topic with its partitions, and where one is asked for, the offset and the records that came:
// orders/0@1200+139.
func appendTopic(b []byte, t *dissect.TopicFacts, request *dissect.Facts, answered bool) []byte {
	b = appendTopicName(b, t)
	for i, p := range t.Partitions {
		if i == maxTopics {
			b = fmt.Appendf(b, ",+%d", len(t.Partitions)-maxTopics)
			break
		}
		if i == 0 {
			b = append(b, '/')
		} else {
			b = append(b, ',')
		}
		b = appendInt(b, int64(p))
	}
	if len(t.Partitions) != 1 {
		if answered {
			b = append(b, '+')
			b = appendInt(b, t.Records)
		}
		return b
	}
	if offset, ok := offsetOf(t, request); ok {
		b = append(b, '@')
		b = appendInt(b, offset)
	}
	if answered {
		b = append(b, '+')
		b = appendInt(b, t.Records)
	}
	return b
}

// appendTopicName appends the name of a topic, or its id where the name is not known.
func appendTopicName(b []byte, t *dissect.TopicFacts) []byte {
	if t.Name != nil {
		return appendEscaped(b, t.Name, false)
	}
	return base64.RawURLEncoding.AppendEncode(b, t.ID)
}

// offsetOf is the offset that the request asked for in a topic, or that the topic itself has.
func offsetOf(t *dissect.TopicFacts, request *dissect.Facts) (int64, bool) {
	for i := range request.Topics {
		q := &request.Topics[i]
		if q.HasOffset && string(q.Name) == string(t.Name) && string(q.ID) == string(t.ID) && len(q.Partitions) == 1 && q.Partitions[0] == t.Partitions[0] {
			return q.Offset, true
		}
	}
	return t.Offset, t.HasOffset
}
