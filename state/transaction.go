package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/dissect"
)

// A TransactionState says how far the latest transaction of a transactional id is.
type TransactionState string

const (
	TxnInitialised TransactionState = "initialised" // the producer has its id and epoch, and no transaction
	TxnOngoing     TransactionState = "ongoing"
	TxnCommitted   TransactionState = "committed"
	TxnAborted     TransactionState = "aborted"
	TxnFenced      TransactionState = "fenced" // the producer was told that another one has taken its place
)

// A Transaction is what is known of a transactional id.
type Transaction struct {
	ID            string
	ProducerID    int64 // -1 where it is not known
	ProducerEpoch int64 // -1 where it is not known
	TimeoutMs     int64 // after which the coordinator aborts it; 0 where it is not known
	State         TransactionState
	Began         At         // the latest transaction; of one that began before the capture, the first sign of it
	Ended         At         // zero while it goes on
	Partitions    []Assigned // of the latest transaction
	Groups        []string   // whose offsets are part of it
	Committed     int        // transactions
	Aborted       int
	Coordinator   int32 // broker, -1 where it is not known
	Client        string
	Host          string
	Errors        []ErrorCount
	Timeline      Timeline
	Seen          At // the message that told of it last

	ending   bool          // it was asked to end, and the answer has not come
	topics   map[place]int // where Partitions has them
	included int           // partitions
	pending  map[groupPlace]pendingOffset
	size     int // bytes of partitions and offsets, about
}

// An ErrorCount is an error that requests of a producer were answered with.
type ErrorCount struct {
	Code  int16
	API   string
	Count int
	Last  At
}

// pendingOffset is an offset that counts once the transaction is committed.
type pendingOffset struct {
	group  string
	offset GroupOffset
}

type groupPlace struct {
	group string
	place place
}

// Bounds of a transaction.
const (
	maxTxnPartitions = 10_000
	maxTxnGroups     = 100
	maxTxnErrors     = 20
	maxPending       = 10_000
	txnSize          = 500
)

// Errors of transactions.
const (
	invalidProducerEpoch = 47
	producerFenced       = 90
)

// transaction returns the transaction of a transactional id.
func (c *Cluster) transaction(id []byte, m *dissect.Message) *Transaction {
	name := kept(id)
	t := c.transactions.use(name, func() *Transaction {
		return &Transaction{ID: name, ProducerID: -1, ProducerEpoch: -1, Coordinator: -1, topics: map[place]int{}, pending: map[groupPlace]pendingOffset{}}
	})
	t.Seen = at(m)
	return t
}

func (c *Cluster) settleTransaction(t *Transaction) {
	if t.ProducerID >= 0 {
		c.producers[t.ProducerID] = t.ID
	}
	c.transactions.weigh(t.ID, txnSize+2*len(t.ID)+t.size+t.Timeline.size)
}

// forget takes the producer id of a transaction away that is not kept any more.
func (c *Cluster) forget(t *Transaction) {
	if c.producers[t.ProducerID] == t.ID {
		delete(c.producers, t.ProducerID)
	}
}

// Transactions returns the transactions by transactional id.
func (c *Cluster) Transactions() []*Transaction {
	return slices.SortedFunc(c.transactions.all, func(a, b *Transaction) int { return strings.Compare(a.ID, b.ID) })
}

// Duration is how long the latest transaction took, or has been open by now; 0 where there was none.
func (t *Transaction) Duration(now At) int64 {
	switch {
	case t.Began == At{}:
		return 0
	case t.Ended == At{}:
		return now.Time - t.Began.Time
	}
	return t.Ended.Time - t.Began.Time
}

func (t *Transaction) event(when At, kind EventKind, e Event) {
	e.At, e.Kind = when, kind
	if e.Client == "" {
		e.Client = t.Client
	}
	if e.Epoch == 0 {
		e.Epoch = t.ProducerEpoch
	}
	t.Timeline.add(e)
}

// producer takes in who uses the transactional id: the producer id and epoch of a request that was accepted.
func (c *Cluster) producer(t *Transaction, id, epoch int64) {
	if id < 0 {
		return
	}
	if id != t.ProducerID {
		c.forget(t)
	}
	t.ProducerID, t.ProducerEpoch = id, epoch
}

// from takes note of the producer's connection.
func (t *Transaction) from(m *dissect.Message) {
	t.Client, t.Host = kept(m.Header.ClientID), m.Connection.ClientName
}

// begin takes note of a sign that a transaction goes on.
func (t *Transaction) begin(e *exchange) {
	if t.State == TxnOngoing {
		return
	}
	t.Began, t.Ended, t.State = at(e.request), At{}, TxnOngoing
	t.ending = false
	t.empty()
	t.event(at(e.request), Began, Event{Partitions: -1, Why: "with " + e.request.Name()})
}

// finish takes note of the end of a transaction.
func (c *Cluster) finish(t *Transaction, when At, commit bool, why string) {
	if t.State != TxnOngoing {
		t.Began, t.Ended = At{}, At{} // nothing of it is in the capture but its end
		t.empty()
	}
	kind := Aborted
	if commit {
		kind = Committed
		t.Committed++
		t.State = TxnCommitted
		c.apply(t, when)
	} else {
		t.Aborted++
		t.State = TxnAborted
	}
	if t.Began != (At{}) {
		t.Ended = when
		if why == "" {
			why = fmt.Sprintf("after %.3f ms", float64(t.Ended.Time-t.Began.Time)/1e6)
		}
	}
	t.ending = false
	t.event(when, kind, Event{Partitions: -1, Why: why})
	clear(t.pending)
}

// apply makes the offsets of a transaction those of their groups.
func (c *Cluster) apply(t *Transaction, when At) {
	for _, p := range t.pending {
		g := c.groups.find(p.group)
		if g == nil {
			continue
		}
		p.offset.Seen = when
		g.commit(p.offset)
		c.settle(g)
	}
}

// refuse takes note of an error.
func (t *Transaction) refuse(e *exchange, epoch int64, code int16) {
	t.count(e, code)
	why, client := e.request.Name(), kept(e.request.Header.ClientID)
	if code != producerFenced && code != invalidProducerEpoch {
		t.event(at(e.response), Refused, Event{Error: code, Epoch: epoch, Client: client, Partitions: -1, Why: why})
		return
	}
	t.ending = false
	if epoch >= 0 && epoch < t.ProducerEpoch {
		why += fmt.Sprintf(" came with epoch %d; the transactional id is at epoch %d, of another producer", epoch, t.ProducerEpoch)
	} else {
		t.State = TxnFenced
		if t.Began != (At{}) && t.Ended == (At{}) {
			t.Ended = at(e.response)
		}
		why += ": another producer has initialised the transactional id, or the coordinator has timed the transaction out"
	}
	t.event(at(e.response), Fenced, Event{Error: code, Epoch: epoch, Client: client, Partitions: -1, Why: why})
}

func (t *Transaction) count(e *exchange, code int16) {
	api := e.request.Name()
	for i := range t.Errors {
		if c := &t.Errors[i]; c.Code == code && c.API == api {
			c.Count++
			c.Last = at(e.response)
			return
		}
	}
	if len(t.Errors) < maxTxnErrors {
		t.Errors = append(t.Errors, ErrorCount{code, api, 1, at(e.response)})
	}
}

// initProducerID follows a producer that takes over a transactional id. What another one has begun under it is aborted.
func (c *Cluster) initProducerID(e *exchange) {
	id := e.asked.bytes("TransactionalId")
	if len(id) == 0 {
		return // an idempotent producer without transactions
	}
	t := c.transaction(id, e.response)
	defer c.settleTransaction(t)
	if code := e.answer.code("ErrorCode"); code != 0 {
		t.refuse(e, e.asked.int("ProducerEpoch", -1), code)
		return
	}
	if t.State == TxnOngoing {
		c.finish(t, at(e.response), false, "since the transactional id was initialised again")
	}
	t.from(e.request)
	t.TimeoutMs = e.asked.int("TransactionTimeoutMs", 0)
	c.producer(t, e.answer.int("ProducerId", -1), e.answer.int("ProducerEpoch", -1))
	t.State, t.Began, t.Ended = TxnInitialised, At{}, At{}
	t.empty()
	t.event(at(e.response), Initialised, Event{Partitions: -1, Epoch: t.ProducerEpoch, Why: fmt.Sprintf("producer %d", t.ProducerID)})
}

// include takes in partitions of a transaction.
func (t *Transaction) include(topic Topic, partitions ...int32) {
	for _, partition := range partitions {
		if t.included >= maxTxnPartitions {
			return
		}
		key := placeOf(topic, 0)
		at, known := t.topics[key]
		if !known {
			at = len(t.Partitions)
			t.topics[key] = at
			t.Partitions = append(t.Partitions, Assigned{Topic: topic})
			t.size += 2 * (assignedSize + len(topic.Name))
		}
		list := &t.Partitions[at].Partitions
		if place, there := slices.BinarySearch(*list, partition); !there {
			*list = slices.Insert(*list, place, partition)
			t.included++
			t.size += keptPartition
		}
	}
}

// empty forgets what belonged to the transaction before.
func (t *Transaction) empty() {
	t.Partitions, t.Groups, t.included, t.size = nil, nil, 0, 0
	clear(t.topics)
	clear(t.pending)
}

// addPartitions follows AddPartitionsToTxn: of a producer, or since v4 of a broker, which adds or verifies partitions for several producers.
func (c *Cluster) addPartitions(e *exchange) {
	if e.asked.has("V3AndBelowTransactionalId") {
		c.addTo(e, e.asked, e.answer, "V3AndBelow", "ResultsByTopicV3AndBelow")
		return
	}
	answers := map[string]object{}
	for o := range e.answer.list("ResultsByTransaction") {
		answers[o.text("TransactionalId")] = o
	}
	for o := range e.asked.list("Transactions") {
		if answer, ok := answers[o.text("TransactionalId")]; ok && o.int("VerifyOnly", 0) == 0 {
			c.addTo(e, o, answer, "", "TopicResults")
		}
	}
}

// addTo takes in the partitions that were added to one transaction. The fields of the request begin with a prefix.
func (c *Cluster) addTo(e *exchange, asked, answer object, prefix, results string) {
	t := c.transaction(asked.bytes(prefix+"TransactionalId"), e.response)
	defer c.settleTransaction(t)
	epoch := asked.int(prefix+"ProducerEpoch", -1)
	var code int16
	for topic := range answer.list(results) {
		for p := range topic.list("ResultsByPartition") {
			if refused := p.code("PartitionErrorCode"); refused != 0 {
				code = refused
				continue
			}
			c.ongoing(e, t, asked.int(prefix+"ProducerId", -1), epoch, prefix != "")
			t.include(topic.topic("Name"), int32(p.int("PartitionIndex", -1)))
		}
	}
	if code != 0 {
		t.refuse(e, epoch, code)
	}
}

// ongoing takes note of a request of a transaction that was accepted. direct says that the producer itself has sent it.
func (c *Cluster) ongoing(e *exchange, t *Transaction, id, epoch int64, direct bool) {
	if direct {
		t.from(e.request)
	}
	c.producer(t, id, epoch)
	t.begin(e)
}

// produced takes in records that were stored under a transactional id. Since KIP-890 that adds the partition to the transaction.
func (c *Cluster) produced(e *exchange, id []byte, epoch int64, stored []placed, code int16) {
	t := c.transaction(id, e.response)
	defer c.settleTransaction(t)
	for _, p := range stored {
		t.from(e.request)
		t.begin(e)
		t.include(p.topic, p.partition)
	}
	if code != 0 {
		t.refuse(e, epoch, code)
	}
}

func (c *Cluster) addOffsets(e *exchange) {
	t := c.transaction(e.asked.bytes("TransactionalId"), e.response)
	defer c.settleTransaction(t)
	epoch := e.asked.int("ProducerEpoch", -1)
	if code := e.answer.code("ErrorCode"); code != 0 {
		t.refuse(e, epoch, code)
		return
	}
	c.ongoing(e, t, e.asked.int("ProducerId", -1), epoch, true)
	t.includeGroup(e.asked.text("GroupId"))
}

func (t *Transaction) includeGroup(group string) {
	if len(t.Groups) < maxTxnGroups && !slices.Contains(t.Groups, group) {
		t.Groups = append(t.Groups, group)
		t.size += 16 + len(group)
	}
}

// txnOffsetCommit takes in offsets that count once the transaction is committed.
func (c *Cluster) txnOffsetCommit(e *exchange) {
	t := c.transaction(e.asked.bytes("TransactionalId"), e.response)
	defer c.settleTransaction(t)
	epoch := e.asked.int("ProducerEpoch", -1)
	accepted, code := commits(e)
	if len(accepted) > 0 {
		c.ongoing(e, t, e.asked.int("ProducerId", -1), epoch, true)
		group := c.group(e.asked.bytes("GroupId"), e.response)
		t.includeGroup(group.ID)
		for _, o := range accepted {
			key := groupPlace{group.ID, placeOf(o.Topic, o.Partition)}
			if _, there := t.pending[key]; !there {
				if len(t.pending) == maxPending {
					break
				}
				t.size += offsetSize + 2*len(o.Name)
			}
			t.pending[key] = pendingOffset{group.ID, o}
		}
		c.settle(group)
	}
	if code != 0 {
		t.refuse(e, epoch, code)
	}
}

// asksToEnd takes note of a request to end a transaction: the markers of its end may be written before it is answered.
func (c *Cluster) asksToEnd(o object) {
	if t := c.transactions.find(o.text("TransactionalId")); t != nil {
		t.ending = true
	}
}

func (c *Cluster) endTxn(e *exchange) {
	t := c.transaction(e.asked.bytes("TransactionalId"), e.response)
	defer c.settleTransaction(t)
	epoch := e.asked.int("ProducerEpoch", -1)
	if code := e.answer.code("ErrorCode"); code != 0 {
		t.ending = false
		t.refuse(e, epoch, code)
		return
	}
	t.from(e.request)
	c.producer(t, e.answer.int("ProducerId", e.asked.int("ProducerId", -1)), e.answer.int("ProducerEpoch", epoch))
	c.finish(t, at(e.response), e.asked.int("Committed", 0) != 0, "")
}

// endUnanswered takes note of a transaction whose end was asked for without an answer.
func (c *Cluster) endUnanswered(e *exchange) {
	t := c.transaction(e.asked.bytes("TransactionalId"), e.request)
	defer c.settleTransaction(t)
	what := "abort"
	if e.asked.int("Committed", 0) != 0 {
		what = "commit"
	}
	t.event(at(e.request), NoAnswer, Event{Partitions: -1, Why: "EndTxn (" + what + ") was not answered"})
}

// writeMarkers follows what a coordinator tells the brokers that have partitions of a transaction: how it has ended. One that its producer has not asked
// to end was ended by the coordinator.
func (c *Cluster) writeMarkers(e *exchange) {
	for o := range e.asked.list("Markers") {
		id, known := c.producers[o.int("ProducerId", -1)]
		if !known {
			continue
		}
		t := c.transactions.find(id)
		if t == nil || t.State != TxnOngoing || t.ending || e.request.Number < t.Began.Number {
			continue // the markers are of the transaction before, or its producer has asked for them
		}
		why := "by the coordinator: it has timed out, or an admin client or another producer has ended it"
		c.finish(t, at(e.request), o.int("TransactionResult", 0) != 0, why)
		c.settleTransaction(t)
	}
}

// describeTransactions takes in what an admin client was told of transactions.
func (c *Cluster) describeTransactions(e *exchange) {
	for o := range e.answer.list("TransactionStates") {
		if o.code("ErrorCode") != 0 {
			continue
		}
		t := c.transaction(o.bytes("TransactionalId"), e.response)
		c.producer(t, o.int("ProducerId", -1), o.int("ProducerEpoch", -1))
		t.TimeoutMs = o.int("TransactionTimeoutMs", t.TimeoutMs)
		if o.text("TransactionState") == "Ongoing" && t.State != TxnOngoing {
			t.begin(e)
			if ms := o.int("TransactionStartTimeMs", -1); ms > 0 && ms < t.Began.Time/1e6 {
				t.Began.Time = ms * 1e6
			}
			for topic := range o.list("Topics") {
				t.include(topic.topic("Topic"), topic.numbers("Partitions", maxTxnPartitions)...)
			}
		}
		c.settleTransaction(t)
	}
}
