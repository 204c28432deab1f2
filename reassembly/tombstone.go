package reassembly

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

// tombstones are those of the connections that ended lately, in two generations. When the younger one is full it takes the place of the older.
type tombstones[K pairKey] struct {
	younger, older *generation[K]
}

// maxEnded bounds the tombstones of one generation. Late packets follow within seconds.
const maxEnded = 1 << 15

// A generation is tombstones of connections that ended one after the other.
type generation[K pairKey] struct {
	stones map[K]tombstone

	// A bit for each hash of a key. Mostly a key is asked for that has no tombstone, and the memory of so large a map is slow: 150 ns a connection.
	marks [1 << (markBits - 6)]uint64
}

// markBits makes the marks eight times as many as keys.
const markBits = 18

func newTombstones[K pairKey]() tombstones[K] {
	return tombstones[K]{&generation[K]{stones: make(map[K]tombstone)}, &generation[K]{stones: make(map[K]tombstone)}}
}

// mark returns the place of a key's mark.
func mark[K pairKey](k K) (word uint64, bit uint64) {
	at := k.hash() >> (64 - markBits)
	return at / 64, 1 << (at % 64)
}

func (g *generation[K]) find(k K) (stone tombstone, ok bool) {
	if word, bit := mark(k); g.marks[word]&bit != 0 {
		stone, ok = g.stones[k]
	}
	return stone, ok
}

func (g *generation[K]) clear() {
	clear(g.stones)
	clear(g.marks[:])
}

// count returns how many there are.
func (t *tombstones[K]) count() int { return len(t.younger.stones) + len(t.older.stones) }

// find returns the tombstone of the connection of a key that ended last, if it is remembered.
func (t *tombstones[K]) find(k K) (stone tombstone, ok bool) {
	if stone, ok = t.younger.find(k); !ok {
		stone, ok = t.older.find(k)
	}
	return stone, ok
}

// add puts up a tombstone. It says whether the older generation was forgotten for it.
func (t *tombstones[K]) add(k K, stone tombstone) (turned bool) {
	if turned = len(t.younger.stones) >= maxEnded; turned {
		t.younger, t.older = t.older, t.younger
		t.younger.clear()
	}
	t.younger.stones[k] = stone
	word, bit := mark(k)
	t.younger.marks[word] |= bit
	return turned
}

// remove takes away the tombstone of a key, whose endpoints are used again. It returns by how much there are more of them then.
func (t *tombstones[K]) remove(k K) (stones int) {
	before := t.count()
	delete(t.younger.stones, k)
	delete(t.older.stones, k)
	return t.count() - before
}
