package dissect

import (
	"net/netip"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// A Connection is the two ends of a TCP connection that carries Kafka. It does not change.
type Connection struct {
	ID             int // from 1, in the order of the first packets of all TCP connections
	Client, Server netip.AddrPort
	ClientName     string // Client as text
	ServerName     string // Server as text
	Opened         bool   // its handshake is in the capture
}

// A conn is a TCP connection that carries Kafka, or may, and what is remembered of it.
type conn struct {
	ends           *Connection // replaced when it turns out which end is the client
	dissector      *Dissector
	stream         *reassembly.Connection
	halves         [2]half // by reassembly.Direction
	role           role
	clientDir      reassembly.Direction // direction of the requests, once role is known
	rawTokens      bool                 // SASL tokens without a header are expected
	tokensPossible bool                 // a SaslHandshake v0 was sent, and its answer was not seen yet
	closed         [2]reassembly.Origin // the first FIN or RST of each side, by reassembly.Direction; number 0 where there was none
	serverClosed   bool                 // known at the end: the server sent FIN or RST before the client did
	serverReset    bool                 // that was an RST
	delivered      bool                 // some byte came
	named          bool                 // what it carries instead of Kafka was reported
	pending        queue
	clientID       string // the last one seen, so that it need not be copied again
	lastDone       int64  // when the answer before had left, for Timing
	lastAnswered   int64  // highest number of an answered request
	auth           authState
	offered        *offer                    // of the broker's ApiVersions answer; nil before it
	notOffered     []int16                   // keys of APIs that it does not offer and that were asked for all the same
	ending         *Ending                   // what is known of it so far; nil before the first message
	lastSilent     int64                     // number of the latest request, if it wants no answer, else 0
	lastSilentAt   int64                     // its capture time
	spoken         map[int16]schema.Versions // by API key, what responses without their requests were taken for
	messages       int
	counted        int          // of pending.held, when memory was told last
	recountAt      int          // messages, when all that makes up memory is added up again; 0 where a message has begun
	packets        int64        // that brought bytes
	shares         []sessionKey // share sessions opened on it
	rebalance      int64        // how long a member of its group may take to join, nanoseconds
	closedAt       int64        // when the server closed, capture time
	other          int64        // bytes that are no Kafka
	protocol       string       // what they are instead, "" where that is not known
}

// role says whether it is known which end is the client.
type role uint8

const (
	unknownRole role = iota
	guessedRole      // the client opened the connection, or its first packet came first
	kafkaRole        // a message has confirmed it
)

// kafka tells whether a message was found on the connection.
func (c *conn) kafka() bool { return c.messages > 0 }

// setClient notes which direction carries the requests.
func (c *conn) setClient(d reassembly.Direction, r role) {
	c.clientDir, c.role = d, r
	client, server := c.stream.Ends[d], c.stream.Ends[d.Other()]
	if c.ends == nil || c.ends.Client != client {
		c.ends = &Connection{c.stream.ID, client, server, client.String(), c.dissector.serverName(server), c.stream.Opened}
	}
}

// serverName returns a server as text. Mostly it is the one that was asked for last.
func (d *Dissector) serverName(server netip.AddrPort) string {
	if d.server != server || d.named == "" {
		d.server, d.named = server, server.String()
	}
	return d.named
}

// server is the direction of the responses.
func (c *conn) server() *half { return &c.halves[c.clientDir.Other()&1] }

func (c *conn) kindOf(d reassembly.Direction) schema.Kind {
	if d == c.clientDir {
		return schema.Request
	}
	return schema.Response
}

// intern returns the client id as a string without copying the one that came last.
func (c *conn) intern(b []byte) string {
	if c.clientID != string(b) {
		c.clientID = string(b)
	}
	return c.clientID
}

// tokens tells whether a frame of the client may be a raw SASL token.
func (c *conn) tokens() bool { return c.rawTokens || c.tokensPossible }

// report hands over findings of the connection, or of a message on it that was handed over before.
func (c *conn) report(message int64, f ...Finding) {
	now := c.dissector.now
	c.dissector.tell(Report{Connection: c.ends, Message: message, Packet: now.Packet, Time: now.Time, File: now.File, Findings: f})
}

// oneDirection tells whether only one side of the connection is in the capture.
func (c *conn) oneDirection() bool { return c.stream.Seen != [2]bool{true, true} }

// endReport says what can only be said when the connection has ended.
func (c *conn) endReport() {
	if !c.kafka() || !c.oneDirection() || c.dissector.Counts.Forgotten > 0 && !c.stream.Opened {
		return // the other side may have been forgotten
	}
	missing := "server's"
	if !c.stream.Seen[c.clientDir] {
		missing = "client's"
	}
	c.report(0, finding(OneDirection, Warn, -1, "nothing of the %s side was captured", missing))
}

// A request is a request that waits for its answer.
type request struct {
	outstanding
	snapshot Snapshot // of its message, if Needs asks for exchanges
	frame    []byte   // the arena of the snapshot
}

// An outstanding is a request without its message.
type outstanding struct {
	header    Header
	api       *schema.API
	number    int64             // of its message, 0 while its frame is not whole
	end       int64             // capture time of its last packet
	last      reassembly.Origin // that packet
	maxWait   int64             // how long the broker may wait by design, nanoseconds
	noAnswer  bool              // Produce with acks=0
	enveloped enveloped         // Envelope: what the request inside is
	whole     bool              // its frame is whole and its message was handed over
	detached  bool              // it was answered before its frame was whole, and is no longer in the queue
	answer    *Snapshot         // what it was answered with, then
	session   *session          // that it opens or goes on with
	ending    []Finding         // what was said of it when the connection ended without an answer
	refused   bool              // the server closed the connection instead of answering
	inFlight  int32             // requests that waited for an answer when it came, itself included
	told      bool              // that it waits, by TellWaiting
	passed    bool              // a later request was answered before it
	counted   int               // its memory, see queue.count
}

// A queue holds the requests of a connection that wait for an answer, oldest first.
type queue struct {
	items  []*request // a slice of ring, moved to its front when it reaches the end
	ring   []*request
	held   int // memory of the requests in it, as of their last count
	passed int // those of items that were passed over: their answers were lost

	ids map[int32]int // how many of items have a correlation id; nil as long as there are few
}

// Bounds of a queue. Producers have 5 requests in flight, some clients thousands; where one side of a connection is not captured nothing
// is ever answered.
const (
	maxPending       = 10_000
	maxPendingOneWay = 64
	maxPendingBytes  = 16 << 20 // of their frames and what else they take; the latest may be larger
)

// fewPending is how many requests are looked through one by one for each position at which an answer could begin.
const fewPending = 64

func (q *queue) push(r *request) {
	if len(q.items) == cap(q.items) && 2*len(q.items) <= cap(q.ring) {
		ring := q.ring[:cap(q.ring)]
		n := copy(ring, q.items)
		clear(ring[n:])
		q.items = ring[:n]
	}
	q.items = append(q.items, r)
	switch {
	case q.ids != nil:
		q.ids[r.header.CorrelationID]++
	case len(q.items) > fewPending:
		q.ids = make(map[int32]int, 2*fewPending)
		for _, r := range q.items {
			q.ids[r.header.CorrelationID]++
		}
	}
	if cap(q.items) > cap(q.ring) {
		q.ring = q.items
	}
}

// count takes note of what a request in the queue takes by now.
func (q *queue) count(r *request) {
	n := r.memory()
	q.held += n - r.counted
	r.counted = n
}

// maxLateRequest is how many packets of the capture a request may come behind its answer, which captures shuffle by less than 20.
const maxLateRequest = 64

// find returns the place of the oldest request with a correlation id that an answer in a packet can answer, or -1. Clients use ids
// again: so one that was passed over comes last, since its answer was lost, and one that came long after the answer does not count.
func (q *queue) find(correlationID int32, from reassembly.Origin) int {
	switch {
	case len(q.items) == 0:
		return -1
	case q.items[0].awaits(correlationID, from) && !q.items[0].passed: // mostly
		return 0
	case q.ids != nil && q.ids[correlationID] == 0:
		return -1
	}
	passed := -1
	for i, r := range q.items {
		switch {
		case !r.awaits(correlationID, from):
		case !r.passed:
			return i
		case passed < 0:
			passed = i
		}
	}
	return passed
}

// awaits tells whether an answer with a correlation id, in a packet, can be the request's.
func (r *request) awaits(correlationID int32, from reassembly.Origin) bool {
	return r.header.CorrelationID == correlationID && !r.header.Token && r.last.Since(from) <= maxLateRequest
}

// take removes the request at a place. It may be used until it is released.
func (q *queue) take(i int) *request {
	r := q.items[i]
	q.held -= r.counted
	r.counted = 0
	if r.passed {
		q.passed--
	}
	q.forget(r.header.CorrelationID)
	last := len(q.items) - 1
	if i == 0 {
		q.items[0] = nil // the ring would keep it
		if q.items = q.items[1:]; last == 0 {
			q.items = q.ring[:0]
		}
		return r
	}
	copy(q.items[i:], q.items[i+1:])
	q.items[last] = nil
	q.items = q.items[:last]
	return r
}

// forget takes note that a request with a correlation id has left.
func (q *queue) forget(correlationID int32) {
	if q.ids == nil {
		return
	}
	switch n := q.ids[correlationID]; {
	case len(q.items) == 1: // the last one
		q.ids = nil
	case n == 1:
		delete(q.ids, correlationID)
	default:
		q.ids[correlationID] = n - 1
	}
}

// remove takes a request out of the queue if it is in there.
func (q *queue) remove(r *request) {
	for i, other := range q.items {
		if other == r {
			q.take(i)
			return
		}
	}
}
