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
	slot     int32   // index in Assembler.settled, or the complement of that in Assembler.newcomers
	charged  int     // how much of Connection.Memory is counted in Assembler.memory
}

// newConn begins the connection that s is the first packet of.
func newConn(id int, s *segment, turned bool) *conn {
	src, dst := s.src, s.dst
	if s.flags&(flagSYN|flagACK) == flagSYN|flagACK {
		src, dst = dst, src // the answer to the packet that opened the connection
		turned = !turned
	}
	c := &conn{v6: s.v6, turned: turned}
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

// A pairKey names a pair of endpoints.
type pairKey interface {
	comparable
	hash() uint64                         // its first bits are as good as any
	ends() (x, y endpoint)                // the lesser first
	sizes() (conn, embryo, tombstone int) // memory that one of each takes with its place in a table
}

// A table finds connections by the key of their endpoints.
type table[K pairKey] struct {
	live map[K]*conn

	// Connections found lately: most packets belong to few connections, and a look here takes a fraction of one in the map. One that has ended
	// stays, as long as it has a tombstone: a last acknowledgement follows most.
	recent [256]struct {
		key  K
		conn *conn
	}

	ended tombstones[K]

	// Connections that have said nothing so far, in two generations likewise. Places count even
	// when their connection has been woken: a map does not shrink.
	asleep, asleepBefore map[K]embryo
	places, placesBefore int
}

func newTable[K pairKey]() table[K] {
	return table[K]{live: make(map[K]*conn), ended: newTombstones[K](), asleep: make(map[K]embryo)}
}

// slotOf returns the place in table.recent of a key.
func slotOf[K pairKey](k K) uint8 { return uint8(k.hash() >> 56) }

// latest returns the connection that was found last of those whose keys have a slot, if it is that of k, or nil. It may have ended.
func (t *table[K]) latest(k K, slot uint8) *conn {
	if r := &t.recent[slot]; r.key == k {
		return r.conn
	}
	return nil
}

// find returns the live connection of a key, or nil.
func (t *table[K]) find(k K) *conn {
	if c := t.latest(k, slotOf(k)); c != nil && !c.ended {
		return c
	}
	c := t.live[k]
	if c != nil {
		t.note(k, c)
	}
	return c
}

// note takes a connection for the one that was found last.
func (t *table[K]) note(k K, c *conn) {
	r := &t.recent[slotOf(k)]
	r.key, r.conn = k, c
}

// add takes a connection that is live from now on.
func (t *table[K]) add(k K, c *conn) {
	t.live[k] = c
	t.note(k, c)
}

// remove forgets a live connection.
func (t *table[K]) remove(k K) {
	delete(t.live, k)
	if r := &t.recent[slotOf(k)]; r.key == k {
		r.conn = nil
	}
}

// bury replaces a live connection by its tombstone. It returns by how much there are more of them then.
func (t *table[K]) bury(k K, stone tombstone) (stones int) {
	before := t.ended.count()
	delete(t.live, k)
	if t.ended.add(k, stone) {
		for i := range t.recent { // nothing is known any longer of those that ended before the older generation
			if r := &t.recent[i]; r.conn != nil && r.conn.ended {
				r.conn = nil
			}
		}
	}
	return t.ended.count() - before
}
