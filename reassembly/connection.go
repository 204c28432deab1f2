package reassembly

// A conn is a Connection with what the assembler knows of it.
type conn struct {
	Connection
	halves   [2]half // indexed by Direction
	v6       bool    // which table it is in
	turned   bool    // Ends[0] is the greater endpoint, so it is second in the key
	mirrored bool    // both ends are the same
	ended    bool    // End was called
	muted    bool    // the twin of another: nothing but its end is handed on
	greeted  bool    // Assembler.greetings waits for its first payload
	doubled  bool    // it was told that packets come twice
	packets  uint32  // seen so far, to measure the distance between two
	repeats  uint32  // of the packets with payload, those that were captured twice
	loaded   uint32  // packets with payload
	fresh    uint32  // when bytes of it were handed on last, see freshUnit
	last     uint32  // Stats.TCPPackets, modulo 2^32, when the latest one came
	slot     int32   // index in Assembler.settled, -1 when not there
	charged  int     // how much of Connection.Memory is counted in Assembler.memory
}

// newConn begins the connection that s is the first packet of.
func newConn(id int, s *segment, turned bool) *conn {
	src, dst := s.src, s.dst
	if s.flags&(flagSYN|flagACK) == flagSYN|flagACK {
		src, dst = dst, src // the answer to the packet that opened the connection
		turned = !turned
	}
	c := &conn{v6: s.v6, turned: turned, slot: -1}
	c.ID = id
	c.connect(src, dst)
	return c
}

func (c *conn) connect(src, dst endpoint) {
	c.Ends[0], c.Ends[1] = src.addrPort(c.v6), dst.addrPort(c.v6)
	c.mirrored = src == dst
	for d := range c.halves {
		c.halves[d].conn, c.halves[d].dir = c, Direction(d)
	}
}

// direction returns the direction of a packet of c whose source is the greater endpoint, or is not.
func (c *conn) direction(turned bool) Direction {
	if turned == c.turned || c.mirrored {
		return FromA
	}
	return FromB
}

// sides returns the half of a direction, and the other one.
func (c *conn) sides(d Direction) (h, peer *half) {
	if d == FromA {
		return &c.halves[FromA], &c.halves[FromB]
	}
	return &c.halves[FromB], &c.halves[FromA]
}

// closed says that both directions have ended in order.
func (c *conn) closed() bool { return c.halves[FromA].ended && c.halves[FromB].ended }

// A tombstone is what is kept of a connection that has ended: enough to tell its late
// packets, which belong to nothing any more, from the SYN of a new connection.
type tombstone struct {
	isn   [2]uint32 // initial sequence numbers, that of the lesser endpoint first
	known [2]bool
}

func (c *conn) tombstone() (t tombstone) {
	for d := range c.halves {
		h := &c.halves[d]
		i := index(c.turned != (h.dir == FromB))
		t.isn[i], t.known[i] = h.isn, h.synSeen
	}
	return t
}

// covers says whether s is a late packet of the connection that has ended.
func (t *tombstone) covers(s *segment, turned bool) bool {
	if s.flags&flagSYN == 0 {
		return true
	}
	i := index(turned)
	return t.known[i] && t.isn[i] == s.seq
}

func index(turned bool) int {
	if turned {
		return 1
	}
	return 0
}

// A pairKey names a pair of endpoints.
type pairKey interface {
	comparable
	slot() uint8                          // for a small cache
	ends() (x, y endpoint)                // the lesser first
	sizes() (conn, embryo, tombstone int) // memory that one of each takes with its place in a table
}

// A table finds connections by the key of their endpoints.
type table[K pairKey] struct {
	live map[K]*conn

	// Connections found lately: most packets belong to few connections, and a look here takes a fraction of one in the map.
	recent [256]struct {
		key  K
		conn *conn
	}

	// Connections that have ended, in two generations. When the younger one is full it takes the place of the older.
	ended, endedBefore map[K]tombstone

	// Connections that have said nothing so far, in two generations likewise. Places count even
	// when their connection has been woken: a map does not shrink.
	asleep, asleepBefore map[K]embryo
	places, placesBefore int
}

// maxEnded bounds the tombstones of one generation. Late packets follow within seconds.
const maxEnded = 1 << 15

func newTable[K pairKey]() table[K] {
	return table[K]{live: make(map[K]*conn), ended: make(map[K]tombstone), endedBefore: make(map[K]tombstone), asleep: make(map[K]embryo)}
}

// latest returns the connection that was found last of those whose keys have a slot, if it is that of k, or nil.
func (t *table[K]) latest(k K, slot uint8) *conn {
	if r := &t.recent[slot]; r.key == k {
		return r.conn
	}
	return nil
}

// find returns the live connection of a key, or nil.
func (t *table[K]) find(k K) *conn {
	slot := k.slot()
	if c := t.latest(k, slot); c != nil {
		return c
	}
	c := t.live[k]
	if c != nil {
		r := &t.recent[slot]
		r.key, r.conn = k, c
	}
	return c
}

// unbury forgets the tombstones of a key, whose endpoints are used again. It returns by how much there are more of them then.
func (t *table[K]) unbury(k K) (stones int) {
	before := t.stones()
	delete(t.ended, k)
	delete(t.endedBefore, k)
	return t.stones() - before
}

func (t *table[K]) stones() int { return len(t.ended) + len(t.endedBefore) }

// remove forgets a live connection.
func (t *table[K]) remove(k K) {
	delete(t.live, k)
	if r := &t.recent[k.slot()]; r.key == k {
		r.conn = nil
	}
}

// bury replaces a live connection by its tombstone. It returns by how much there are more of them then.
func (t *table[K]) bury(k K, stone tombstone) (stones int) {
	before := t.stones()
	t.remove(k)
	if len(t.ended) >= maxEnded {
		t.ended, t.endedBefore = t.endedBefore, t.ended
		clear(t.ended)
	}
	t.ended[k] = stone
	return t.stones() - before
}

// tombstone returns that of the connection of a key that ended last, if it is remembered.
func (t *table[K]) tombstone(k K) (stone tombstone, buried bool) {
	if stone, buried = t.ended[k]; !buried {
		stone, buried = t.endedBefore[k]
	}
	return stone, buried
}
