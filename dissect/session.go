package dissect

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdissect/kdissect/schema"
)

// A consumer or follower that fetches from many partitions names them once and from then on only what changes: that is a fetch session
// (KIP-227). A share consumer does the same (KIP-932). What such a request asks for, and what an answer that says nothing says, only the
// session tells, so the dissector keeps it: of fetches by broker and session id, whatever connection it goes on with; of share consumers by
// broker, group and member, as long as their connection.

// A SessionStep is what a message does with its session.
type SessionStep uint8

const (
	SessionOpens     SessionStep = iota // request: a new session is wanted, with the partitions listed
	SessionContinues                    // goes on: what the request lists is added or changed, what the answer lists has news
	SessionCloses                       // the session is given up
	SessionOpened                       // response: the broker keeps the session from now on
	SessionNotKept                      // response: the broker keeps no session; its cache may be full
	SessionLost                         // response: the session is over, by an error
)

func (s SessionStep) String() string {
	return [...]string{"opens", "continues", "closes", "opened", "not-kept", "lost"}[s]
}

// A Session is what a fetch or share session holds, as of one message. It does not change. Its id and epoch are in the message's Facts.
type Session struct {
	Step       SessionStep
	Share      bool
	Known      bool    // what it holds is known: its opening is in the capture, and so is all that changed it
	Partitions int     // that it holds, behind the request
	Added      int     // of a request that goes on: partitions that are new in it
	Forgotten  int     // and those it gives up
	Asks       []Asked // what the request really asks for, up to maxAsked partitions; if Needs asks for it
}

// Asked is a partition of a session.
type Asked struct {
	Name      string // of the topic; "" where there is only the id
	ID        [16]byte
	Partition int32
	Offset    int64 // to read from, as the client has said last; -1 where the broker chooses
}

// Bounds of what is kept of sessions: a broker keeps 1000 for consumers at first (max.incremental.fetch.session.cache.slots).
const (
	maxSessions          = 4096
	maxSessionPartitions = 64 << 10          // of all of them together: about 6 MB
	maxSessionMember     = 1024              // bytes of a group's name and a member's id; sessions of longer ones are not kept
	maxSessionAge        = 3600 * int64(1e9) // capture time that a session may say nothing, nanoseconds
	maxAsked             = 100
	maxShares            = 16 // share sessions of a connection; a consumer has one
)

// A sessionKey names a session.
type sessionKey struct {
	broker        netip.AddrPort
	id            int32 // of a fetch session
	group, member string
}

// heldKey names a partition.
type heldKey struct {
	name      string
	id        TopicID
	partition int32
}

func (a *Asked) key() heldKey { return heldKey{a.Name, a.ID, a.Partition} }

// A session is what is remembered of one.
type session struct {
	key    sessionKey
	held   []Asked
	index  map[heldKey]int
	due    int32 // the epoch of the next request
	conn   int   // the connection that it was used on last
	used   int64 // when, capture time
	number int64 // of the message that used it last
	view   *Session

	doubtful bool // it may hold others: a request was missed, or there are more than are kept
}

// sessions are those of a capture.
type sessions struct {
	byKey      map[sessionKey]*session
	partitions int // of all
}

// sessionRequest takes note of what a request does with its session.
func (c *conn) sessionRequest(m *Message, r *request) {
	if m.plan == nil || m.Header.Token {
		return
	}
	switch m.Header.APIKey {
	case keyFetch:
		id, ok := m.leading(schema.SessionID)
		if !ok {
			return // before version 7
		}
		epoch, _ := m.leading(schema.SessionEpoch)
		c.useSession(m, r, sessionKey{broker: c.ends.Server, id: int32(id)}, int32(epoch))
	case keyShareFetch, keyShareAcknowledge:
		m.findFacts()
		f := m.facts
		if len(f.Group)+len(f.Member) <= maxSessionMember {
			c.useSession(m, r, sessionKey{broker: c.ends.Server, group: string(f.Group), member: string(f.Member)}, int32(f.SessionEpoch))
		}
	}
}

// useSession follows a request by its session's id and epoch: (0, -1) wants none, (id, 0) opens one in place of what was there, (id, -1)
// closes it, (id, n) goes on.
func (c *conn) useSession(m *Message, r *request, key sessionKey, epoch int32) {
	d := c.dissector
	share := m.Header.APIKey != keyFetch
	switch {
	case epoch < 0 && key.id == 0 && !share:
		return
	case epoch == 0:
		d.sessions.drop(key)
		if m.cut != nil {
			m.Session = &Session{Step: SessionOpens, Share: share}
			return
		}
		r.session = &session{key: key, index: map[heldKey]int{}}
		r.session.take(m)
		m.Session = r.session.show(d, Session{Step: SessionOpens, Share: share})
		return
	case epoch < 0:
		m.Session = &Session{Step: SessionCloses, Share: share}
		if s := d.sessions.byKey[key]; s != nil {
			m.Session.Known, m.Session.Partitions = !s.doubtful, len(s.held)
			d.sessions.drop(key)
		}
		return
	}
	s := d.sessions.byKey[key]
	if s == nil || m.cut != nil {
		d.sessions.drop(key)
		m.Session = &Session{Step: SessionContinues, Share: share}
		return
	}
	s.check(c, m, epoch)
	r.session = s
	before := len(s.held)
	view := Session{Step: SessionContinues, Share: share}
	view.Added, view.Forgotten = s.take(m)
	d.sessions.partitions += len(s.held) - before
	s.use(c, m, epoch)
	d.sessions.trim(m.Time)
	m.Session = s.show(d, view)
}

// check notes what is odd about a request that goes on with a session.
func (s *session) check(c *conn, m *Message, epoch int32) {
	if s.conn != c.ends.ID && s.key.id != 0 {
		m.add(finding(FetchSession, Info, -1, "session %d goes on from another connection than before, c%d", s.key.id, s.conn))
	}
	if s.due != epoch {
		s.doubtful = true
		m.add(finding(FetchSession, Info, -1, "epoch %d follows on %d: requests of the session in between are not in the capture, so it may hold others than shown", epoch, s.due-1))
	}
}

func (s *session) use(c *conn, m *Message, epoch int32) {
	s.conn, s.used, s.number = c.ends.ID, m.Time, m.Number
	if s.due = epoch + 1; s.due <= 0 {
		s.due = 1 // behind the highest comes 1, since 0 would open a new one
	}
}

// sessionResponse takes note of what an answer says of the session.
func (c *conn) sessionResponse(m *Message, r *request) {
	if m.plan == nil || m.Header.Token || r.session == nil {
		return
	}
	d, s := c.dissector, r.session
	opening := s.number == 0
	share := m.Header.APIKey != keyFetch
	code, _ := m.leading(schema.ErrorCode)
	if lost := sessionErrors[code]; lost != "" {
		d.sessions.drop(s.key)
		m.Session = &Session{Step: SessionLost, Share: share}
		m.add(finding(FetchSession, Info, -1, "%s", lost))
		return
	}
	if !opening {
		m.Session = s.show(nil, Session{Step: SessionContinues, Share: share})
		return
	}
	if !share {
		id, ok := m.leading(schema.SessionID)
		if !ok || id == 0 || code != 0 {
			m.Session = &Session{Step: SessionNotKept, Known: !s.doubtful, Partitions: len(s.held)}
			return
		}
		s.key.id = int32(id)
	} else if code != 0 {
		m.Session = &Session{Step: SessionNotKept, Share: true, Known: !s.doubtful, Partitions: len(s.held)}
		return
	}
	s.use(c, m, 0)
	d.sessions.keep(s, m.Time)
	if share && d.sessions.byKey[s.key] == s {
		c.ownShare(s.key)
	}
	m.Session = s.show(nil, Session{Step: SessionOpened, Share: share})
}

// sessionErrors are the errors that end a session, with what they mean for it.
var sessionErrors = map[int64]string{
	70:  "the broker has no such session: it was evicted from the broker's cache, or the broker has restarted; the client opens another",
	71:  "the epoch is not the one that the broker expects next in the session: a request was lost or sent twice; the client opens another session",
	106: "requests with topic ids and requests with names were mixed in one session, as while brokers are upgraded; the client opens another",
	122: "the broker has no such share session: it was evicted, or went with its connection; the consumer opens another",
	123: "the epoch is not the one that the broker expects next in the share session; the consumer opens another",
	133: "the broker keeps as many share sessions as it may; the consumer has to try again",
}

// ownShare notes that a share session goes with the connection. Of more than a connection has, the earliest is given up.
func (c *conn) ownShare(key sessionKey) {
	if slices.Contains(c.shares, key) {
		return
	}
	if len(c.shares) == maxShares {
		c.dissector.sessions.drop(c.shares[0])
		c.shares = slices.Delete(c.shares, 0, 1)
	}
	c.shares = append(c.shares, key)
}

// endShares forgets the share sessions of a connection that has ended: brokers do so too.
func (c *conn) endShares() {
	for _, key := range c.shares {
		if s := c.dissector.sessions.byKey[key]; s != nil && s.conn == c.ends.ID {
			c.dissector.sessions.drop(key)
		}
	}
	c.shares = nil
}

// take adds the partitions that a request lists and removes those that it forgets. It returns how many were new, and how many were there to be removed.
func (s *session) take(m *Message) (added, forgotten int) {
	if m.Header.APIKey == keyShareAcknowledge {
		return 0, 0 // what it lists is acknowledged
	}
	m.eachPartition("Topics", func(p Asked) {
		key := p.key()
		if i, ok := s.index[key]; ok {
			s.held[i].Offset = p.Offset
			return
		}
		if len(s.held) == maxSessionPartitions || len(p.Name) > maxTopicName {
			s.doubtful = true
			return
		}
		s.index[key] = len(s.held)
		s.held = append(s.held, p)
		added++
	})
	m.eachPartition("ForgottenTopicsData", func(p Asked) {
		key := p.key()
		i, ok := s.index[key]
		if !ok {
			return
		}
		last := len(s.held) - 1
		s.held[i] = s.held[last]
		s.index[s.held[i].key()] = i
		delete(s.index, key)
		s.held[last] = Asked{}
		s.held = s.held[:last]
		forgotten++
	})
	if cap(s.held) > 1024 && len(s.held) < cap(s.held)/4 {
		s.compact()
	}
	return added, forgotten
}

// compact gives back the memory of partitions that have gone.
func (s *session) compact() {
	s.held = slices.Clone(s.held)
	s.index = make(map[heldKey]int, len(s.held))
	for i, p := range s.held {
		s.index[p.key()] = i
	}
}

// eachPartition yields the partitions of an array of topics of the body.
func (m *Message) eachPartition(array string, yield func(Asked)) {
	tape := m.Tape()
	if m.body == 0 {
		return
	}
	for i := m.body + 1; i < int(tape[m.body].Next); i = int(tape[i].Next) {
		if n := &tape[i]; n.Kind == ArrayNode && n.Op.Name == array {
			m.partitionsIn(i, yield)
		}
	}
}

// partitionsIn yields the partitions of topics that an array holds.
func (m *Message) partitionsIn(at int, yield func(Asked)) {
	var p Asked
	open := false // a partition was begun
	end := func() {
		if open {
			yield(p)
		}
		open = false
	}
	for i := at; i < int(m.Nodes[at].Next); i++ {
		n := &m.Nodes[i]
		if n.Op == nil || n.Null {
			continue
		}
		switch {
		case n.Kind == ElementsNode && n.Op.Role == schema.Partition:
			for k := range n.Length / uint32(n.Op.Fixed) {
				yield(Asked{p.Name, p.ID, int32(Int(n.Op.Code, m.Element(n, int(k)))), -1})
			}
		case n.Kind != ValueNode:
		case n.Op.Role == schema.TopicName:
			end()
			p = Asked{Name: string(m.Bytes(n))}
		case n.Op.Role == schema.TopicID:
			end()
			p = Asked{}
			copy(p.ID[:], m.Bytes(n))
		case n.Op.Role == schema.Partition:
			end()
			p.Partition, p.Offset, open = int32(m.Int(n)), -1, true
		case n.Op.Role == schema.Offset:
			p.Offset = m.Int(n)
		}
	}
	end()
}

// show returns view with the figures of the session. The last one is handed out again where nothing differs. d is given where what is asked for may be shown.
func (s *session) show(d *Dissector, view Session) *Session {
	view.Known, view.Partitions = !s.doubtful, len(s.held)
	if d != nil && d.needs&NeedSessions != 0 {
		view.Asks = slices.Clone(s.held[:min(len(s.held), maxAsked)])
	} else if s.view != nil && s.view.same(&view) {
		return s.view
	}
	s.view = &view
	return s.view
}

// same tells whether two views that list no partitions say the same.
func (v *Session) same(w *Session) bool {
	return v.Step == w.Step && v.Share == w.Share && v.Known == w.Known && v.Partitions == w.Partitions &&
		v.Added == w.Added && v.Forgotten == w.Forgotten && v.Asks == nil
}

// keep remembers a session. When there are too many, those that were used longest ago make room.
func (l *sessions) keep(s *session, now int64) {
	l.drop(s.key)
	l.byKey[s.key] = s
	l.partitions += len(s.held)
	l.trim(now)
}

// trim holds the sessions within their bounds.
func (l *sessions) trim(now int64) {
	for len(l.byKey) > maxSessions || l.partitions > maxSessionPartitions {
		l.shrink(now)
	}
}

// shrink forgets the sessions that have said nothing for long, and at least an eighth of all.
func (l *sessions) shrink(now int64) {
	all := make([]*session, 0, len(l.byKey))
	for _, s := range l.byKey {
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y *session) int { return cmp.Compare(x.number, y.number) })
	for i, s := range all {
		if i <= len(all)/8 || now-s.used > maxSessionAge {
			l.drop(s.key)
		}
	}
}

func (l *sessions) drop(key sessionKey) {
	if s := l.byKey[key]; s != nil {
		l.partitions -= len(s.held)
		delete(l.byKey, key)
	}
}
