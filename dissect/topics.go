package dissect

import (
	"bytes"
	"encoding/base64"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kdissect/kdissect/schema"
)

// Bounds of what is remembered of a capture's topics: 64 Ki of them take about 15 MB.
const (
	maxTopicNames     = 64 << 10
	maxTopicNameBytes = 4 << 20 // of all names together
)

// maxTopicName is how long a broker lets the name of a topic be, in bytes. What is longer is not remembered.
const maxTopicName = 249

// A TopicID is the id of a topic. Kafka gives each topic a new one and uses none twice (KIP-516).
type TopicID [16]byte

// String is the id as Kafka prints it: URL-safe base64 without padding.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// metadataTopicID is the fixed id of __cluster_metadata (KIP-516 reserves it).
var metadataTopicID = TopicID{15: 1}

// topicNames knows the names of topics by their ids, as far as messages of the capture have told them. Ids are never used twice, so what is
// learned stays true. A message sees only what it and messages before it have told, and what was looked for further on, whoever asks and when:
// output does not depend on timing.
type topicNames struct {
	mu     sync.RWMutex
	byID   map[TopicID]topicName
	byName map[string]namedTopic
	held   int         // bytes of the names
	later  *laterNames // nil when nobody may look further on
}

type topicName struct {
	name  []byte
	since int64 // number of the message that told it
}

// namedTopic is the topic that was the first to have a name.
type namedTopic struct {
	id    TopicID
	again bool // another one had it, too, and that has been said
}

func newTopicNames() *topicNames {
	t := &topicNames{byID: map[TopicID]topicName{}, byName: map[string]namedTopic{}}
	t.add(metadataTopicID, []byte(metadataTopic), 0)
	return t
}

// name returns the name that a message knows a topic by, nil when it knows none. It may look for it further on in the capture.
func (t *topicNames) name(id []byte, message int64) []byte {
	if len(id) != len(TopicID{}) || TopicID(id) == (TopicID{}) {
		return nil
	}
	if name := t.told(TopicID(id), message); name != nil || t.later == nil {
		return name
	}
	return t.later.name(TopicID(id))
}

// told returns the name of a topic if a message up to the given one has told it.
func (t *topicNames) told(id TopicID, message int64) []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if known, ok := t.byID[id]; ok && known.since <= message {
		return known.name
	}
	return nil
}

// add takes in a name that a message has told. It returns the topic that had the same name before, if there was one and it has not been said yet.
func (t *topicNames) add(id TopicID, name []byte, message int64) (before TopicID, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.byID[id]; known || id == (TopicID{}) || len(name) == 0 || len(name) > maxTopicName || len(t.byID) >= maxTopicNames || t.held+len(name) > maxTopicNameBytes {
		return before, false
	}
	t.held += len(name)
	t.byID[id] = topicName{bytes.Clone(name), message}
	first, known := t.byName[string(name)]
	if !known {
		t.byName[string(name)] = namedTopic{id: id}
		return before, false
	}
	if first.again {
		return before, false
	}
	t.byName[string(name)] = namedTopic{first.id, true}
	return first.id, true
}

// resolve adds the names of topics that a message has by their ids alone. Some clients leave the name empty, others say null.
func (t *topicNames) resolve(f *Facts, message int64) {
	for i := range f.Topics {
		topic := &f.Topics[i]
		if len(topic.Name) > 0 {
			continue
		}
		if name := t.name(topic.ID, message); name != nil {
			topic.Name, topic.Resolved = name, true
		}
	}
}

// NameTopic tells the name of a topic that the capture may not have. To be called before the first packet.
func (d *Dissector) NameTopic(id TopicID, name string) { d.topics.add(id, []byte(name), 0) }

// NameOf returns the name of the topic with an id, nil when the message cannot know it.
func (m *Message) NameOf(id []byte) []byte { return m.topics.name(id, m.Number) }

// Named tells whether the name of the topic stands beside its id, which is the node at an index.
func (v *View) Named(at int) bool {
	for _, i := range [...]int{at - 1, at + 1} {
		if i < 0 || i >= len(v.Nodes) {
			continue
		}
		n := &v.Nodes[i]
		if n.Kind == ValueNode && n.Op.Role == schema.TopicName && n.Op.Parent == v.Nodes[at].Op.Parent && len(v.Bytes(n)) > 0 {
			return true
		}
	}
	return false
}

// learnTopics takes the names out of a message that has them beside ids, so that the messages behind it know them: in its own fields, in what
// an Envelope holds, or in the records of a topic that Kafka keeps them in.
func (d *Dissector) learnTopics(m *Message, l *lead) {
	switch {
	case m.plan == nil:
	case m.plan.NamesTopics:
		m.findFacts()
		d.learnFrom(m.facts, m)
	case m.plan.HasRecords:
		d.learnFromLog(m, l)
	case m.Header.APIKey == keyEnvelope && m.Kind == schema.Response:
		for n := range m.Nested {
			d.learnFromNested(n, m)
		}
	}
}

func (d *Dissector) learnFrom(f *Facts, m *Message) {
	for i := range f.Topics {
		topic := &f.Topics[i]
		if topic.Resolved || len(topic.ID) != len(TopicID{}) {
			continue
		}
		id := TopicID(topic.ID)
		if before, again := d.topics.add(id, topic.Name, m.Number); again {
			m.add(finding(TopicRecreated, Info, -1,
				"topic %s has the id %s here and had %s before: it was deleted and created anew, or there are two clusters", topic.Name, id, before))
		}
	}
}

func (d *Dissector) learnFromNested(n *Nested, m *Message) {
	f := &d.nested
	f.reset()
	f.collectTape(&n.View, n.body)
	d.learnFrom(f, m)
}

// A lead is how the latest body of a direction began, up to the name of its first topic, where that is none whose records name others. The next one begins
// so as well, mostly, which is seen in a fifth of the time that the way along its outline takes. What a request says in front of its topics goes with it.
type lead struct {
	plan     *schema.Plan
	body     []byte
	noAnswer bool
	message  int64 // number of the latest one that begins so
}

// maxLead bounds the bytes of a lead.
const maxLead = 64

// begins tells whether a message begins so.
func (l *lead) begins(m *Message) bool {
	if l.message == m.Number {
		return true
	}
	if l.plan != m.plan {
		return false
	}
	at := m.plainHeader()
	if body := m.data[at:]; at == 0 || len(body) < len(l.body) || string(body[:len(l.body)]) != string(l.body) {
		return false
	}
	l.message = m.Number
	return true
}

// learnFromLog takes the names out of a message with records, if they are those of a topic that names others.
func (d *Dissector) learnFromLog(m *Message, l *lead) {
	if l.begins(m) {
		return
	}
	at := m.plainHeader()
	if at == 0 {
		return
	}
	switch topic, end := d.firstTopic(m.plan, m.data, at); {
	case namesTopics(topic):
		d.learnFromRecords(m, string(topic))
	case end > at && end-at <= maxLead:
		l.plan, l.body, l.message, l.noAnswer = m.plan, append(l.body[:0], m.data[at:end]...), m.Number, m.wantsNoAnswer()
	}
}

// learnFromRecords takes the names out of records. What is wrong with those is said when they are printed.
func (d *Dissector) learnFromRecords(m *Message, topic string) {
	tape := m.Tape()
	behind := len(m.Findings) - m.before
	for i := range tape {
		n := &tape[i]
		if n.Kind != ValueNode || n.Op.Code != schema.OpRecords || n.Null {
			continue
		}
		for b := range m.Batches(n) {
			if b.Partial {
				break
			}
			d.learnFromBatch(m, topic, b)
		}
	}
	m.Findings = m.Findings[:m.before+behind]
}

func (d *Dissector) learnFromBatch(m *Message, topic string, b *Batch) {
	set := m.Open(b)
	if set == nil {
		return
	}
	for r := range set.Each {
		if value := m.DecodeValue(topic, b, r); value != nil {
			d.learnFromNested(value, m)
		}
	}
}

// maxNamingFrame is how large a frame may be to be kept whole for the sake of the names in its records. Snapshots come in parts of 8 MiB.
const maxNamingFrame = 16 << 20

// remoteLogTopic is where brokers tell each other about segments in remote storage (KIP-405), with names and ids of topics.
const remoteLogTopic = "__remote_log_metadata"

// namesTopics tells whether the records of a topic have names of topics beside ids.
func namesTopics(topic []byte) bool {
	return string(topic) == metadataTopic || string(topic) == remoteLogTopic
}

// firstTopic returns the name of the topic that stands first in a body, nil when there is none or no message so far has told it, and where the name
// ends, 0 where it does not stand there itself. at is where the body begins. Those who read the topics that name others ask for nothing else at the same time.
func (d *Dissector) firstTopic(plan *schema.Plan, data []byte, at int) (name []byte, end int) {
	switch step, from, end := seek(plan.Outline, data, at, schema.TopicName, schema.TopicID); {
	case step == nil:
		return nil, 0
	case step.Role == schema.TopicName:
		return data[from:end], end
	default:
		return d.topics.told(TopicID(data[from:end]), d.number), 0
	}
}

// firstTopicEnd is how many bytes of a frame are enough to see whether its first topic is one with names in its records.
const firstTopicEnd = 64

// keepsNames tells whether a response, of which the beginning is there, may have records with names of topics and so is worth being kept whole.
func (d *Dissector) keepsNames(plan *schema.Plan, data []byte, total int) bool {
	at := 8
	if plan.Header.Flexible {
		at++
	}
	if total > maxNamingFrame || plan.Message.Kind != schema.Response {
		return false
	}
	topic, _ := d.firstTopic(plan, data, at)
	return namesTopics(topic)
}

// laterNames are the names that messages further on in the capture tell. They are looked for when one is wanted that no message so far has
// told, and only as far as it takes: the capture is read a second time at most.
type laterNames struct {
	names *topicNames // those that have been found
	mu    sync.Mutex
	more  func() bool
	end   atomic.Bool // there is no more
}

// LookAhead lets d look further on in the capture for the names of topics that no message so far has told. It returns a Dissector that learns names and
// hands over nothing; more is to feed it the capture from its beginning, some packets a call, and to return false once all was fed. It
// is called from any goroutine that reads messages, one at a time.
func (d *Dissector) LookAhead(more func() bool) *Dissector {
	ahead := New(d.catalog, 0, silence{})
	ahead.namesOnly = true
	d.topics.later = &laterNames{names: ahead.topics, more: more}
	return ahead
}

// name returns the name of a topic if any message of the capture tells it.
func (l *laterNames) name(id TopicID) []byte {
	name := l.names.told(id, math.MaxInt64)
	if name != nil || l.end.Load() {
		return name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name = l.names.told(id, math.MaxInt64); name == nil && !l.end.Load(); name = l.names.told(id, math.MaxInt64) {
		if !l.more() {
			l.end.Store(true)
		}
	}
	return name
}

// silence is an Output that nothing comes out of.
type silence struct{}

func (silence) Message(*Message)   {}
func (silence) Exchange(*Exchange) {}
func (silence) Report(*Report)     {}
