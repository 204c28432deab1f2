package render

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Intervals writes a block for each stretch of time: what was busiest in it, what was slow, what failed, and what hangs. Who reads the packets says when one ends.
type Intervals struct {
	sink
	options Options
	timer   timer
	size    func() (width, height int)
	colors  palette

	exchanges, errors, unanswered int64
	apis, clients, topics         tallies
	slowest, hanging              notables
	failures                      failures
	software                      recently // what clients are built on, by their names
	begun                         bool     // there was a block
	name                          []byte   // to be used again
}

// An Interval is a stretch of time, and what was captured in it.
type Interval struct {
	Begin, End     int64 // capture time, nanoseconds since the Unix epoch
	Packets, Bytes int64 // on the wire
	Lost           int64 // packets that the capture says it has not
	LostInAll      int64 // since its beginning
	Gaps           int64 // in streams, known now
	Connections    int64 // with Kafka that are open
}

// DefaultRows is how many rows a table of a block has at most, unless it is said.
const DefaultRows = 10

// NewIntervals returns a format that writes blocks of text. size returns width and height of the terminal, 0 where
// there is no bound.
func NewIntervals(w io.Writer, o Options, size func() (width, height int)) *Intervals {
	v := &Intervals{sink: sink{w: w}, options: o, size: size, colors: newPalette(o.Color)}
	v.timer = newTimer(&v.options)
	v.apis, v.clients, v.topics = newTallies(byExchanges), newTallies(byBytes), newTallies(byBytes)
	v.slowest.most, v.hanging.most = v.rows(), v.rows()
	v.failures.byName = map[string]*failure{}
	return v
}

func (v *Intervals) rows() int { return cmp.Or(v.options.Rows, DefaultRows) }

// Needs implements Format.
func (v *Intervals) Needs() dissect.Needs { return dissect.NeedExchanges }

// Message implements dissect.Output.
func (v *Intervals) Message(*dissect.Message) {}

// Report implements dissect.Output. What is odd is not told here.
func (v *Intervals) Report(*dissect.Report) {}

// Flush implements Format.
func (v *Intervals) Flush() error { return v.sink.Flush() }

// Exchange implements dissect.Output.
func (v *Intervals) Exchange(x *dissect.Exchange) {
	m := leading(x)
	if x.Open {
		v.hanging.add(x, m.Timing.Excess, m.Timing.Latency)
		return
	}
	v.exchanges++
	outcome := outcomeOf(x)
	switch {
	case x.Response != nil && outcome != "":
		v.errors++
	case outcome != "":
		v.unanswered++
	}
	api := v.apis.of(v.apiOf(x))
	client := v.clients.of(v.clientOf(m))
	for _, t := range [...]*tally{api, client} {
		t.count(x, outcome != "")
	}
	if x.Request != nil && x.Response != nil {
		excess := x.Response.Timing.Excess
		if api.excess == nil {
			api.excess = &histogram{}
		}
		api.excess.add(excess)
		api.worst, client.worst = max(api.worst, excess), max(client.worst, excess)
		v.slowest.add(x, excess, x.Response.Timing.Latency)
	}
	v.countTopics(x)
	if outcome != "" {
		v.failures.add(x, outcome)
	}
}

// count takes in the messages of an exchange.
func (t *tally) count(x *dissect.Exchange, failed bool) {
	t.exchanges++
	if failed {
		t.errors++
	}
	if x.Request != nil {
		t.in += int64(x.Request.Size)
	}
	if x.Response != nil {
		t.out += int64(x.Response.Size)
	}
}

// outcomeOf names what went wrong with an exchange, "" for nothing: the worst error of the answer, or what became of the request.
func outcomeOf(x *dissect.Exchange) string {
	switch {
	case x.Response != nil:
		if errors := x.Response.Facts().Errors; len(errors) > 0 {
			return schema.ErrorName(worst(errors))
		}
		return ""
	case x.NoAnswer || x.OneWay || uncertain(x):
		return ""
	case x.Closed:
		return "CLOSED"
	}
	return "UNANSWERED"
}

// uncertain tells whether a request may have been answered, though the capture has no answer: what was said of it is of no consequence then.
func uncertain(x *dissect.Exchange) bool {
	return !x.Closed && len(x.Findings) > 0 && !slices.ContainsFunc(x.Findings, func(f dissect.Finding) bool { return f.Severity != dissect.Info })
}

func (v *Intervals) apiOf(x *dissect.Exchange) []byte {
	if v.name = appendAPI(v.name[:0], x); len(v.name) == 0 {
		v.name = append(v.name, '-')
	}
	return v.name
}

// clientOf is a client and its host: it has several connections.
func (v *Intervals) clientOf(m *dissect.Message) []byte {
	v.name = v.name[:0]
	if id := m.Header.ClientID; id != "" {
		v.name = append(appendEscaped(v.name, id[:min(len(id), maxTallyName/2)], false), '@')
	}
	host := m.Connection.ClientName
	v.name = append(v.name, host[:strings.LastIndexByte(host, ':')]...)
	return v.name
}

// Learn takes what a client says it is built on. It wants to hear of all exchanges, those too that a filter keeps from the format.
func (v *Intervals) Learn(x *dissect.Exchange) {
	if x.Request == nil || x.Request.Name() != "ApiVersions" {
		return
	}
	q := x.Request.Facts()
	if len(q.Software) == 0 {
		return
	}
	b := appendEscaped(nil, q.Software[:min(len(q.Software), 40)], false)
	b = appendEscaped(append(b, ' '), q.SoftwareVersion[:min(len(q.SoftwareVersion), 40)], false)
	v.software.put(string(v.clientOf(x.Request)), string(b))
}

// countTopics takes in the topics whose records an exchange carries, and those that an answer has errors of.
func (v *Intervals) countTopics(x *dissect.Exchange) {
	if x.Request != nil {
		v.countRecords(x.Request.Facts(), func(t *tally, bytes, records int64) { t.in, t.recordsIn = t.in+bytes, t.recordsIn+records })
	}
	if x.Response != nil {
		r := x.Response.Facts()
		v.countRecords(r, func(t *tally, bytes, records int64) { t.out, t.recordsOut = t.out+bytes, t.recordsOut+records })
		v.countErrors(x.Response, r.Errors)
	}
}

func (v *Intervals) countRecords(f *dissect.Facts, add func(t *tally, bytes, records int64)) {
	if !f.HasRecords {
		return
	}
	for i := range f.Topics {
		if topic := &f.Topics[i]; topic.Bytes > 0 {
			v.name = appendTopicName(v.name[:0], topic)
			t := v.topics.of(v.name)
			t.exchanges++
			add(t, topic.Bytes, topic.Records)
		}
	}
}

// countErrors counts an answer once for each structure that has a topic and an error in it. An error may stand in front of its topic's name.
func (v *Intervals) countErrors(m *dissect.Message, errors []dissect.ErrorFact) {
	if len(errors) == 0 {
		return // it need not be decoded
	}
	tape := m.Tape()
	for i := m.Body(); i < len(tape) && len(errors) > 0; i++ {
		topic := topicIn(tape, i)
		if topic == 0 {
			continue
		}
		for len(errors) > 0 && errors[0].Node < i {
			errors = errors[1:]
		}
		if len(errors) > 0 && errors[0].Node < int(tape[i].Next) {
			if name := m.TopicOf(topic + 1); name != "" {
				v.name = appendEscaped(v.name[:0], name, false)
				v.topics.of(v.name).errors++
			}
		}
	}
}

// topicIn returns the index of the name or id of a topic that stands in the structure at an index itself, 0 where there is none.
func topicIn(tape []dissect.Node, at int) int {
	if tape[at].Kind != dissect.StructNode {
		return 0
	}
	for i := at + 1; i < int(tape[at].Next); i = int(tape[i].Next) {
		if n := &tape[i]; n.Kind == dissect.ValueNode && n.Op != nil && !n.Null && (n.Op.Role == schema.TopicName || n.Op.Role == schema.TopicID) {
			return i
		}
	}
	return 0
}

// End writes the block of an interval at once, since a terminal shows each in place of the one before, and begins the next.
func (v *Intervals) End(i *Interval) {
	if v.begun {
		v.buf = append(v.buf, '\n')
	}
	v.begun = true
	v.block(i)
	v.Flush()
	v.exchanges, v.errors, v.unanswered = 0, 0, 0
	for _, t := range [...]*tallies{&v.apis, &v.clients, &v.topics} {
		t.reset()
	}
	v.slowest.reset()
	v.hanging.reset()
	v.failures.reset()
}

// A notable is an exchange that has a line of its own. Its texts are escaped.
type notable struct {
	time, excess, latency int64
	number                int64
	inFlight              int32
	connection            int
	api, client, what     string
}

func newNotable(x *dissect.Exchange) *notable {
	m := leading(x)
	n := &notable{time: m.Time, number: m.Number, connection: m.Connection.ID, inFlight: m.Timing.InFlight}
	n.api = string(appendAPI(nil, x))
	n.client = string(cutEscaped(appendClient(nil, leading(x)), maxWhat))
	n.what = string(cutEscaped(appendWhat(nil, x, nil), maxWhat))
	return n
}

// maxWhat is how much is kept of what an exchange is about.
const maxWhat = 400

func cutEscaped(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	return cutText(b, n)
}

// notables are those exchanges with the highest excess.
type notables struct {
	most int
	all  int64
	held []*notable // the highest first
}

func (s *notables) add(x *dissect.Exchange, excess, latency int64) {
	s.all++
	if len(s.held) == s.most && excess <= s.held[s.most-1].excess {
		return
	}
	n := newNotable(x)
	n.excess, n.latency = excess, latency
	at, _ := slices.BinarySearchFunc(s.held, n, func(a, b *notable) int {
		return cmp.Or(cmp.Compare(b.excess, a.excess), cmp.Compare(a.number, b.number))
	})
	s.held = slices.Insert(s.held, at, n)
	s.held = s.held[:min(len(s.held), s.most)]
}

func (s *notables) reset() { s.all, s.held = 0, s.held[:0] }

// A failure is what went wrong in one way with an API: the first exchange, and how many there were.
type failure struct {
	*notable
	outcome string
	count   int64
}

// failures are kept by API and outcome.
type failures struct {
	byName map[string]*failure
	name   []byte
	others int64 // that were not told apart
}

// maxFailures is how many are told apart.
const maxFailures = 200

func (f *failures) add(x *dissect.Exchange, outcome string) {
	f.name = append(append(appendAPI(f.name[:0], x), ' '), outcome...)
	switch one := f.byName[string(f.name)]; {
	case one != nil:
		one.count++
	case len(f.byName) < maxFailures:
		f.byName[string(f.name)] = &failure{newNotable(x), outcome, 1}
	default:
		f.others++
	}
}

// size is how many rows all of it would take.
func (f *failures) size() int { return len(f.byName) + int(min(f.others, 1)) }

// top returns the most frequent, as many as there is room for, and how many exchanges else failed. Together they are no more than room.
func (f *failures) top(room int) (few []*failure, others int64) {
	for _, one := range f.byName {
		few = append(few, one)
	}
	slices.SortFunc(few, func(a, b *failure) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.number, b.number))
	})
	if f.size() <= room {
		return few, f.others
	}
	others = f.others
	for _, one := range few[min(len(few), room-1):] {
		others += one.count
	}
	return few[:min(len(few), room-1)], others
}

func (f *failures) reset() {
	clear(f.byName)
	f.others = 0
}

// recently remembers texts by name, those that were put or asked for lately.
type recently struct{ now, before map[string]string }

// maxRecent is how many it remembers at least.
const maxRecent = 2000

func (r *recently) put(name, text string) {
	if r.now == nil || len(r.now) == maxRecent {
		r.now, r.before = map[string]string{}, r.now
	}
	r.now[name] = text
}

func (r *recently) get(name string) string {
	if text, ok := r.now[name]; ok {
		return text
	}
	text, ok := r.before[name]
	if ok {
		r.put(name, text)
	}
	return text
}
