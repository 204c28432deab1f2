package dissect

import (
	"fmt"

	"github.com/kdissect/kdissect/schema"
)

// Facts are what a message is about, the same for every API and version. Byte slices are part of the frame.
type Facts struct {
	Topics          []TopicFacts
	Group           []byte // nil when there is none
	Member          []byte
	TransactionalID []byte
	Errors          []ErrorFact // every error code that is not 0
	HasRecords      bool
	Records         int64 // of batches of magic 2; a compressed wrapper of older magic counts as one
	RecordBytes     int64
	Batches         int
	Acks            int16
	HasAcks         bool
	ThrottleMs      int64
	SessionID       int64 // fetch session, 0 none
	SessionEpoch    int64
	HasSession      bool

	partitions []int32
	codes      []codeCount // of Errors, each once
}

// TopicFacts is one topic that a message names, or whose id it has.
type TopicFacts struct {
	Name       []byte // nil when it is not known
	Resolved   bool   // the message has only the id; the name is from another message of the capture
	ID         []byte // 16 bytes; nil when there is only the name
	Partitions []int32
	Offset     int64 // that the first partition is about
	HasOffset  bool
	Records    int64

	firstPartition int
}

// An ErrorFact is an error code that is not 0.
type ErrorFact struct {
	Code int16
	Node int // index on the tape
}

// Facts returns what the message is about. It is valid as long as the message is.
func (m *Message) Facts() *Facts {
	m.decode(m.tools.facts)
	return &m.facts
}

// collectFacts reads the tape once.
func (m *Message) collectFacts() {
	f := &m.facts
	*f = Facts{Topics: f.Topics[:0], Errors: f.Errors[:0], partitions: f.partitions[:0], codes: f.codes[:0]}
	if m.body == 0 {
		return
	}
	lastTopic := 0 // node that began the last topic
	for i := m.body + 1; i < int(m.Nodes[m.body].Next); i++ {
		n := &m.Nodes[i]
		if n.Op == nil || n.Op.Role == schema.NoRole || n.Null {
			continue
		}
		switch n.Kind {
		case ValueNode:
			m.collectValue(f, n, i, &lastTopic)
		case ElementsNode:
			m.collectElements(f, n)
		}
	}
	f.slicePartitions()
	m.noteFacts()
}

func (m *Message) collectValue(f *Facts, n *Node, i int, lastTopic *int) {
	switch n.Op.Role {
	case schema.TopicName:
		f.topic(i, lastTopic, func(t *TopicFacts) *[]byte { return &t.Name }, m.Bytes(n))
	case schema.TopicID:
		f.topic(i, lastTopic, func(t *TopicFacts) *[]byte { return &t.ID }, m.Bytes(n))
	case schema.Partition:
		f.partition(int32(m.Int(n)))
	case schema.ErrorCode:
		if code := int16(m.Int(n)); code != 0 {
			f.addError(ErrorFact{code, i})
		}
	case schema.GroupID:
		first(&f.Group, m.Bytes(n))
	case schema.MemberID:
		first(&f.Member, m.Bytes(n))
	case schema.TransactionalID:
		first(&f.TransactionalID, m.Bytes(n))
	case schema.Acks:
		f.Acks, f.HasAcks = int16(m.Int(n)), true
	case schema.RecordData:
		m.collectRecords(f, n)
	case schema.Offset:
		if t := f.lastTopic(); t != nil && !t.HasOffset {
			t.Offset, t.HasOffset = m.Int(n), true
		}
	case schema.ThrottleTime:
		f.ThrottleMs = m.Int(n)
	case schema.SessionID:
		f.SessionID, f.HasSession = m.Int(n), true
	case schema.SessionEpoch:
		f.SessionEpoch, f.HasSession = m.Int(n), true
	}
}

func (m *Message) collectElements(f *Facts, n *Node) {
	switch n.Op.Role {
	case schema.Partition:
		for i := range int(n.Count) {
			f.partition(int32(m.ElementInt(n, i)))
		}
	case schema.TopicID:
		for i := range int(n.Count) {
			f.Topics = append(f.Topics, TopicFacts{ID: m.Element(n, i), firstPartition: len(f.partitions)})
		}
	}
}

func first(to *[]byte, value []byte) {
	if *to == nil {
		*to = value
	}
}

// topic begins a topic, or adds the id to the name that stands just before it, or the other way round.
func (f *Facts) topic(node int, last *int, part func(*TopicFacts) *[]byte, value []byte) {
	if t := f.lastTopic(); t != nil && node-*last <= 2 && len(f.partitions) == t.firstPartition && *part(t) == nil {
		*part(t) = value
		return
	}
	f.Topics = append(f.Topics, TopicFacts{firstPartition: len(f.partitions)})
	*part(f.lastTopic()) = value
	*last = node
}

func (f *Facts) lastTopic() *TopicFacts {
	if len(f.Topics) == 0 {
		return nil
	}
	return &f.Topics[len(f.Topics)-1]
}

func (f *Facts) partition(p int32) {
	if len(f.Topics) > 0 {
		f.partitions = append(f.partitions, p)
	}
}

// slicePartitions gives each topic its part of the list, which has stopped growing.
func (f *Facts) slicePartitions() {
	end := len(f.partitions)
	for i := len(f.Topics) - 1; i >= 0; i-- {
		t := &f.Topics[i]
		t.Partitions = f.partitions[t.firstPartition:end:end]
		end = t.firstPartition
	}
}

func (m *Message) collectRecords(f *Facts, n *Node) {
	f.HasRecords = true
	f.RecordBytes += int64(n.Length) - int64(n.Prefix)
	t := f.lastTopic()
	for b := range m.Batches(n) {
		if b.Partial {
			break
		}
		f.Batches++
		f.Records += int64(max(0, b.Count))
		if t != nil {
			t.Records += int64(max(0, b.Count))
		}
	}
}

// noteFacts adds the findings that facts give rise to: error codes, each once, and throttling.
func (m *Message) noteFacts() {
	for i := range m.facts.codes {
		m.noteError(&m.facts.codes[i])
	}
	if ms := m.facts.ThrottleMs; ms > 0 {
		m.Findings = append(m.Findings, finding(Throttled, Info, -1, "throttled for %d ms by a quota", ms))
	}
}

// maxCodes is how many different error codes of a message are told apart; Kafka has fewer than 150 in all.
const maxCodes = 150

// A codeCount is an error code with its first place and how often it occurs.
type codeCount struct {
	ErrorFact
	count int
}

func (f *Facts) addError(e ErrorFact) {
	f.Errors = append(f.Errors, e)
	for i := range f.codes {
		if f.codes[i].Code == e.Code {
			f.codes[i].count++
			return
		}
	}
	if len(f.codes) < maxCodes {
		f.codes = append(f.codes, codeCount{e, 1})
	}
}

func (m *Message) noteError(e *codeCount) {
	code, severity := ErrorCode, Info
	if m.API != nil && (m.API.Name == "SaslAuthenticate" || m.API.Name == "SaslHandshake") {
		code, severity = SASLFailed, Warn
	}
	more := ""
	if e.count > 1 {
		more = fmt.Sprintf(" and %d more", e.count-1)
	}
	m.Findings = append(m.Findings, finding(code, severity, int(m.Nodes[e.Node].Offset), "%s (%d) at %s%s",
		schema.ErrorName(e.Code), e.Code, m.AppendPath(nil, e.Node), more))
}
