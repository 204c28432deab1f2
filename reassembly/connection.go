package reassembly

// A conn is a Connection with what the assembler knows of it.
type conn struct {
	Connection
	halves  [2]half // indexed by Direction
	v6      bool    // which table it is in
	turned  bool    // Ends[0] is the greater endpoint, so it is second in the key
	packets uint32  // seen so far, to measure the distance between two
	ended   bool    // End was called

	rst         origin // of the first RST, zero before that
	rstPosition int64  // how many TCP packets of the capture there were then
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
	c.Ends[0], c.Ends[1] = src.addrPort(s.v6), dst.addrPort(s.v6)
	for d := range c.halves {
		c.halves[d].conn, c.halves[d].dir = c, Direction(d)
	}
	return c
}

// direction returns the direction of a packet of c whose source is the greater endpoint, or is not.
func (c *conn) direction(turned bool) Direction {
	if turned == c.turned || c.Ends[0] == c.Ends[1] {
		return FromA
	}
	return FromB
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
	slot() uint8 // for a small cache
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
}

// maxEnded bounds the tombstones of one generation. Late packets follow within seconds.
const maxEnded = 1 << 15

func newTable[K pairKey]() table[K] {
	return table[K]{live: make(map[K]*conn), ended: make(map[K]tombstone)}
}

// find returns the live connection of a key, or nil.
func (t *table[K]) find(k K) *conn {
	r := &t.recent[k.slot()]
	if r.conn != nil && r.key == k {
		return r.conn
	}
	c := t.live[k]
	if c != nil {
		r.key, r.conn = k, c
	}
	return c
}

func (t *table[K]) add(k K, c *conn) {
	t.live[k] = c
	delete(t.ended, k)
	delete(t.endedBefore, k)
}

// bury replaces a live connection by its tombstone.
func (t *table[K]) bury(k K, stone tombstone) {
	delete(t.live, k)
	if r := &t.recent[k.slot()]; r.key == k {
		r.conn = nil
	}
	if len(t.ended) >= maxEnded {
		t.ended, t.endedBefore = make(map[K]tombstone), t.ended
	}
	t.ended[k] = stone
}

// late says whether s belongs to a connection that has ended.
func (t *table[K]) late(k K, s *segment, turned bool) bool {
	stone, ok := t.ended[k]
	if !ok {
		stone, ok = t.endedBefore[k]
	}
	return ok && stone.covers(s, turned)
}
