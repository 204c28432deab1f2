package dissect

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kdissect/kdissect/schema"
)

// Facts are what a message is about, the same for every API and version. Byte slices are part of the frame.
type Facts struct {
	Topics          []TopicFacts
	Group           []byte // nil when there is none
	Member          []byte
	TransactionalID []byte
	Errors          []ErrorFact // every error code that is not 0
	LookupKey       []byte      // group or transactional id whose coordinator is asked for
	Resource        []byte      // the first resource whose configs or rights are meant
	Software        []byte      // name of the client's library
	SoftwareVersion []byte
	ProducerID      int64 // that a broker has given; -1 none
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
	Replica         int64 // the node that asks as a follower; -1 none

	tagged     bool // there are tagged fields
	partitions []int32
	codes      []codeCount // of Errors, each once
	fields     *[]stretch  // the records fields, nil where nobody wants them: to list them costs a summary 0.5 %
}

// A stretch is bytes of a frame, by their offsets.
type stretch struct{ from, to int }

// TopicFacts is one topic that a message names, or whose id it has.
type TopicFacts struct {
	Name       []byte // nil when it is not known
	Resolved   bool   // the message has only the id; the name is from another message of the capture
	ID         []byte // 16 bytes; nil when there is only the name
	Partitions []int32
	Offset     int64 // that the first partition is about
	HasOffset  bool
	Records    int64
	Bytes      int64 // of its records

	firstPartition int
	parent         int32 // the structure that it stands in
	behind         int32 // index of the Op behind the latest of its fields
}

// An ErrorFact is an error code that is not 0.
type ErrorFact struct {
	Code int16
	Node int // index on the tape
}

// Facts returns what the message is about. It is valid as long as the message is. The facts of an ordinary message do not need its tape.
func (m *Message) Facts() *Facts {
	if !m.resolved { // outputs ask again and again: what they ask is inlined
		m.resolveFacts()
	}
	return m.facts
}

func (m *Message) resolveFacts() {
	m.findFacts()
	m.resolved = true
	m.topics.resolve(m.facts, m.Number)
}

// findFacts reads the facts, without the names of topics that only other messages tell.
func (m *Message) findFacts() {
	if m.known {
		return
	}
	if m.decoded || !m.quickFacts() {
		m.Tape()
	}
	m.known = true
}

func (f *Facts) reset() {
	topics, errors, partitions, codes, fields := f.Topics[:0], f.Errors[:0], f.partitions[:0], f.codes[:0], f.fields
	*f = Facts{} // field by field: a literal would be copied
	f.Topics, f.Errors, f.partitions, f.codes, f.fields = topics, errors, partitions, codes, fields
	f.ProducerID, f.Replica = -1, -1
	if fields != nil {
		*fields = (*fields)[:0]
	}
}

// collectFacts reads the tape once.
func (m *Message) collectFacts() {
	m.known, m.facts = true, &m.own
	m.facts.reset()
	if m.body == 0 {
		return
	}
	m.facts.collectTape(&m.View, m.body)
	if m.resolved { // who has them already keeps the names
		m.topics.resolve(m.facts, m.Number)
	}
	m.noteFacts()
}

// collectTape collects the values inside the structure at an index.
func (f *Facts) collectTape(v *View, at int) {
	for i := at + 1; i < int(v.Nodes[at].Next); i++ {
		n := &v.Nodes[i]
		switch {
		case n.Op == nil || n.Null:
			continue
		case n.Op.Quiet && !n.Kind.Leaf():
			i = int(n.Next) - 1
			continue
		case n.Op.Role == schema.NoRole:
			continue
		}
		at, end := int(n.Offset)+int(n.Prefix), int(n.Offset)+int(n.Length)
		switch n.Kind {
		case ValueNode:
			f.collect(n.Op, v, at, end, i)
		case ElementsNode:
			for ; at < end; at += int(n.Op.Fixed) {
				f.collect(n.Op, v, at, at+int(n.Op.Fixed), i)
			}
		}
	}
	f.slicePartitions()
}

// collect takes in a value that has a role: the bytes between two offsets of the frame. node is its place on the tape, if there is one.
func (f *Facts) collect(op *schema.Op, v *View, at, end, node int) {
	if op.Role == schema.RecordData {
		f.takeRecords(v, at, end)
		return
	}
	value := v.slice(at, end-at)
	if len(value) < int(op.Fixed) {
		return // not captured
	}
	f.take(op, value, node)
}

// take takes in a value that has a role.
func (f *Facts) take(op *schema.Op, value []byte, node int) {
	switch op.Role {
	case schema.TopicName:
		f.topic(op).Name = value
	case schema.TopicID:
		f.topic(op).ID = value
	case schema.Partition:
		f.partition(int32(Int(op.Code, value)))
	case schema.ErrorCode:
		if code := int16(Int(op.Code, value)); code != 0 {
			f.addError(ErrorFact{code, node})
		}
	case schema.GroupID:
		first(&f.Group, value)
	case schema.MemberID:
		first(&f.Member, value)
	case schema.TransactionalID:
		first(&f.TransactionalID, value)
	case schema.LookupKey:
		first(&f.LookupKey, value)
	case schema.ResourceName:
		first(&f.Resource, value)
	case schema.SoftwareName:
		first(&f.Software, value)
	case schema.SoftwareVersion:
		first(&f.SoftwareVersion, value)
	case schema.ProducerID:
		f.ProducerID = Int(op.Code, value)
	case schema.ReplicaID:
		if f.Replica < 0 {
			f.Replica = Int(op.Code, value)
		}
	case schema.Acks:
		f.Acks, f.HasAcks = int16(Int(op.Code, value)), true
	case schema.Offset:
		f.offset(Int(op.Code, value))
	case schema.ThrottleTime:
		f.ThrottleMs = Int(op.Code, value)
	case schema.SessionID:
		f.SessionID, f.HasSession = Int(op.Code, value), true
	case schema.SessionEpoch:
		f.SessionEpoch, f.HasSession = Int(op.Code, value), true
	}
}

func first(to *[]byte, value []byte) {
	if *to == nil {
		*to = value
	}
}

// topic returns the topic that a name or id belongs to: the one that was begun in the same structure, else a new one. A field that is not behind the
// one before it stands in the next structure: names may be null.
func (f *Facts) topic(op *schema.Op) *TopicFacts {
	t := f.lastTopic()
	if t == nil || t.parent != op.Parent || op.Element || len(f.partitions) != t.firstPartition || op.Next <= t.behind {
		n := len(f.Topics)
		f.Topics = slices.Grow(f.Topics, 1)[:n+1]
		t = &f.Topics[n]
		*t = TopicFacts{} // field by field: a literal would be copied
		t.firstPartition, t.parent = len(f.partitions), op.Parent
	}
	t.behind = op.Next
	return t
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

// offset takes in an offset. That of the first partition counts.
func (f *Facts) offset(at int64) {
	if t := f.lastTopic(); t != nil && !t.HasOffset {
		t.Offset, t.HasOffset = at, true
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

func (f *Facts) takeRecords(v *View, at, end int) {
	f.HasRecords = true
	if f.fields != nil {
		*f.fields = append(*f.fields, stretch{at, end})
	}
	f.RecordBytes += int64(end - at)
	if t := f.lastTopic(); t != nil {
		t.Bytes += int64(end - at)
	}
	if count, only := onlyBatch(v.slice(at, batchHeaderLen), end-at); only {
		f.addBatch(count)
		return
	}
	for b := range batches(space{view: v}, at, end) {
		if b.Partial {
			break
		}
		f.addBatch(b.Count)
	}
}

// onlyBatch returns the number of records of the batch of magic 2 that fills a records field of some size, as most do, and whether
// there is one.
func onlyBatch(header []byte, size int) (count int32, only bool) {
	if size < batchHeaderLen || len(header) < batchHeaderLen || int8(header[magicOffset]) != newestMagic || batchSize(header, size) != size {
		return 0, false
	}
	return int32(binary.BigEndian.Uint32(header[batchCountOffset:])), true
}

func (f *Facts) addBatch(count int32) {
	n := int64(max(0, count))
	f.Batches++
	f.Records += n
	if t := f.lastTopic(); t != nil {
		t.Records += n
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
