package state

import (
	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Needs is what a Cluster wants of the dissector.
const Needs = dissect.NeedMessages | dissect.NeedExchanges

// At is a place in the capture.
type At struct {
	Number int64 // of a message
	Time   int64 // its capture time, nanoseconds since the Unix epoch
}

func at(m *dissect.Message) At { return At{m.Number, m.Time} }

// A TopicID is the id of a topic, all zero for none.
type TopicID = dissect.TopicID

// A Topic is the name of a topic, or its id where the capture has not told the name. ID is zero where it was not said.
type Topic struct {
	Name string
	ID   TopicID
}

// Bounds of what is kept. What was heard of longest ago makes room.
const (
	maxBrokers      = 10_000
	maxPartitions   = 64 << 10
	maxGroups       = 10_000
	maxTransactions = 10_000
	partitionsRoom  = 24 << 20 // bytes
	groupsRoom      = 16 << 20
	txnsRoom        = 12 << 20
	brokersRoom     = 2 << 20
)

// Room is how much memory a Cluster takes at most, about.
const Room = partitionsRoom + groupsRoom + txnsRoom + brokersRoom

// A Cluster is what a capture has told so far. It is a dissect.Output.
type Cluster struct {
	brokers      *shelf[int32, Broker]
	partitions   *shelf[place, Partition]
	groups       *shelf[string, Group]
	transactions *shelf[string, Transaction]
	producers    map[int64]string // transactional ids of those transactions by their producer id
	controllerID int32            // as last seen, -1 for none
	now          At
}

// New returns a Cluster of which nothing is known.
func New() *Cluster {
	c := &Cluster{
		brokers:      newShelf[int32, Broker](maxBrokers, brokersRoom),
		partitions:   newShelf[place, Partition](maxPartitions, partitionsRoom),
		groups:       newShelf[string, Group](maxGroups, groupsRoom),
		transactions: newShelf[string, Transaction](maxTransactions, txnsRoom),
		producers:    map[int64]string{},
		controllerID: -1,
	}
	c.transactions.dropped = c.forget
	return c
}

// End is the last message that was looked at.
func (c *Cluster) End() At { return c.now }

// Dropped is what had to make room.
func (c *Cluster) Dropped() (brokers, partitions, groups, transactions int64) {
	return c.brokers.Dropped, c.partitions.Dropped, c.groups.Dropped, c.transactions.Dropped
}

// API keys of what is followed.
const (
	keyProduce                 = 0
	keyFetch                   = 1
	keyListOffsets             = 2
	keyMetadata                = 3
	keyOffsetCommit            = 8
	keyOffsetFetch             = 9
	keyFindCoordinator         = 10
	keyJoinGroup               = 11
	keyHeartbeat               = 12
	keyLeaveGroup              = 13
	keySyncGroup               = 14
	keyDescribeGroups          = 15
	keyListGroups              = 16
	keyInitProducerID          = 22
	keyAddPartitionsToTxn      = 24
	keyAddOffsetsToTxn         = 25
	keyEndTxn                  = 26
	keyWriteTxnMarkers         = 27
	keyTxnOffsetCommit         = 28
	keyDeleteGroups            = 42
	keyOffsetDelete            = 47
	keyDescribeCluster         = 60
	keyDescribeTransactions    = 65
	keyConsumerGroupHeartbeat  = 68
	keyConsumerGroupDescribe   = 69
	keyDescribeTopicPartitions = 75
	keyShareGroupHeartbeat     = 76
	keyShareGroupDescribe      = 77
	keyShareFetch              = 78
	keyStreamsGroupHeartbeat   = 88
	keyStreamsGroupDescribe    = 89
)

// An exchange is what is looked at: a request and its answer.
type exchange struct {
	request  *dissect.Message
	response *dissect.Message
	asked    object
	answer   object
}

// rules say what to do with exchanges, by API key.
var rules = map[int16]func(*Cluster, *exchange){
	keyProduce:                 (*Cluster).produce,
	keyFetch:                   (*Cluster).fetch,
	keyShareFetch:              (*Cluster).shareFetch,
	keyListOffsets:             (*Cluster).listOffsets,
	keyMetadata:                (*Cluster).metadata,
	keyDescribeTopicPartitions: (*Cluster).metadata,
	keyDescribeCluster:         (*Cluster).describeCluster,
	keyFindCoordinator:         (*Cluster).findCoordinator,
	keyJoinGroup:               (*Cluster).joinGroup,
	keySyncGroup:               (*Cluster).syncGroup,
	keyHeartbeat:               (*Cluster).heartbeat,
	keyLeaveGroup:              (*Cluster).leaveGroup,
	keyOffsetCommit:            (*Cluster).offsetCommit,
	keyOffsetFetch:             (*Cluster).offsetFetch,
	keyOffsetDelete:            (*Cluster).offsetDelete,
	keyDescribeGroups:          (*Cluster).describeGroups,
	keyConsumerGroupDescribe:   (*Cluster).describeGroups,
	keyShareGroupDescribe:      (*Cluster).describeGroups,
	keyStreamsGroupDescribe:    (*Cluster).describeGroups,
	keyListGroups:              (*Cluster).listGroups,
	keyDeleteGroups:            (*Cluster).deleteGroups,
	keyConsumerGroupHeartbeat:  (*Cluster).groupHeartbeat,
	keyShareGroupHeartbeat:     (*Cluster).groupHeartbeat,
	keyStreamsGroupHeartbeat:   (*Cluster).groupHeartbeat,
	keyInitProducerID:          (*Cluster).initProducerID,
	keyAddPartitionsToTxn:      (*Cluster).addPartitions,
	keyAddOffsetsToTxn:         (*Cluster).addOffsets,
	keyTxnOffsetCommit:         (*Cluster).txnOffsetCommit,
	keyEndTxn:                  (*Cluster).endTxn,
	keyWriteTxnMarkers:         (*Cluster).writeMarkers,
	keyDescribeTransactions:    (*Cluster).describeTransactions,
}

// Message implements dissect.Output. Of most messages only exchanges matter; but who asks to join is what makes a group rebalance, and the answer
// comes when that is over.
func (c *Cluster) Message(m *dissect.Message) {
	c.now = At{max(c.now.Number, m.Number), max(c.now.Time, m.Time)}
	if m.Kind != schema.Request || !m.Header.Known {
		return
	}
	switch m.Header.APIKey {
	case keyJoinGroup:
		if whole(m) {
			c.asksToJoin(m, body(m))
		}
	case keyEndTxn:
		if whole(m) {
			c.asksToEnd(body(m))
		}
	}
}

// Exchange implements dissect.Output. An answer whose request is not in the capture is left out, since what it answers would be a guess.
func (c *Cluster) Exchange(x *dissect.Exchange) {
	if x.Request == nil || !x.Request.Header.Known || x.Request.Header.Token {
		return
	}
	h := &x.Request.Header
	rule := rules[h.APIKey]
	if rule == nil {
		return
	}
	e := exchange{request: x.Request, response: x.Response}
	if x.Response == nil {
		c.unanswered(&e, x)
		return
	}
	partly := h.APIKey == keyProduce || h.APIKey == keyFetch || h.APIKey == keyShareFetch // captures are often cut inside record data
	if !partly && (!whole(x.Request) || !whole(x.Response)) {
		return
	}
	e.asked, e.answer = body(x.Request), body(x.Response)
	rule(c, &e)
}

// unanswered takes note of requests without an answer that leave it open how things stand.
func (c *Cluster) unanswered(e *exchange, x *dissect.Exchange) {
	if x.OneWay || x.NoAnswer || !whole(x.Request) {
		return
	}
	e.asked = body(x.Request)
	switch x.Request.Header.APIKey {
	case keyJoinGroup, keySyncGroup:
		c.noAnswer(e)
	case keyEndTxn:
		c.endUnanswered(e)
	}
}

// Report implements dissect.Output.
func (c *Cluster) Report(*dissect.Report) {}
