package reassembly

import (
	"cmp"
	"math"
	"slices"
	"unsafe"
)

// The state of connections is bounded in three steps, none of which looks at the clock: a Kafka
// connection may say nothing for hours and go on, and its requests and answers have to be paired all the same.
//
//	newcomers  the latest connections, which are left alone
//	asleep     those that said nothing while they were newcomers: as an embryo, without any loss
//	settled    all others
//
// Above Limits.Memory the connections that have been asleep for longest are forgotten, then the settled ones that
// have been silent for longest, and newcomers last. So a scan of ports costs those that do work nothing. The connection of
// the present packet stays.

// maxNewcomers bounds the connections that take their full size and have said nothing.
const maxNewcomers = 1024

// maxAsleep bounds the embryos of one generation.
const maxAsleep = 1 << 17

// holeMemory is what an open hole takes without what is pending, with some acknowledgements.
const holeMemory = 512

// sizesFor works out what sizes returns. Maps are between 7/16 and 7/8 full; those of a fixed
// number of entries may be at the lower end.
func sizesFor[K comparable]() (c, e, t int) {
	const pointer = int(unsafe.Sizeof((*conn)(nil)))
	key := int(unsafe.Sizeof(*new(K)))
	c = int(unsafe.Sizeof(conn{})) + pointer + (key+pointer)*2
	e = (key + int(unsafe.Sizeof(embryo{}))) * 5 / 2
	t = (key + int(unsafe.Sizeof(tombstone{}))) * 5 / 2
	return c, e, t
}

func (key4) sizes() (conn, embryo, tombstone int) { return sizesFor[key4]() }
func (key6) sizes() (conn, embryo, tombstone int) { return sizesFor[key6]() }

// An embryo is all there is to know of a connection that has said nothing: the Handler has not heard of it.
type embryo struct {
	id    uint32
	base  [2]uint32 // of its halves
	flags uint16
}

const (
	embryoSeen    = 1 << iota // these are of FromA, and one bit further of FromB
	_                         //
	embryoPinned              //
	_                         //
	embryoSYNSeen             //
	_                         //
	embryoOpened
	embryoTurned
	embryoGreeted
)

// embryo returns c as an embryo, if it is no more than that.
func (c *conn) embryo() (e embryo, ok bool) {
	if c.ID > math.MaxUint32 || c.Reset || c.muted || c.Consumer != nil {
		return e, false
	}
	e.id = uint32(c.ID)
	for d := range c.halves {
		h := &c.halves[d]
		if h.next != 0 || h.hole != nil || h.finSeen || h.synSeen && (!h.pinned || h.base != h.isn+1) {
			return e, false
		}
		e.base[d] = h.base
		e.flags |= (flag(h.seen, embryoSeen) | flag(h.pinned, embryoPinned) | flag(h.synSeen, embryoSYNSeen)) << d
	}
	e.flags |= flag(c.Opened, embryoOpened) | flag(c.turned, embryoTurned) | flag(c.greeted, embryoGreeted)
	return e, true
}

func flag(set bool, bit uint16) uint16 {
	if set {
		return bit
	}
	return 0
}

// A sleeper is an embryo with the endpoints of its connection.
type sleeper[K pairKey] struct {
	key K
	embryo
}

// conn returns the connection as it was when it fell asleep.
func (s sleeper[K]) conn() *conn {
	has := func(bit uint16) bool { return s.flags&bit != 0 }
	_, v6 := any(s.key).(key6)
	c := &conn{v6: v6, turned: has(embryoTurned), greeted: has(embryoGreeted)}
	c.ID, c.Opened = int(s.id), has(embryoOpened)
	src, dst := s.key.ends()
	if c.turned {
		src, dst = dst, src
	}
	c.connect(src, dst)
	for d := range c.halves {
		h := &c.halves[d]
		h.base = s.base[d]
		h.seen, h.pinned, h.synSeen = has(embryoSeen<<d), has(embryoPinned<<d), has(embryoSYNSeen<<d)
		if h.synSeen {
			h.isn = h.base - 1
		}
		c.Seen[d] = h.seen
	}
	return c
}

// nextID returns the ID of the first of some sleepers.
func nextID[K pairKey](s []sleeper[K]) int {
	if len(s) == 0 {
		return math.MaxInt
	}
	return int(s[0].id)
}

func sorted[K pairKey](generations ...map[K]embryo) []sleeper[K] {
	var all []sleeper[K]
	for _, g := range generations {
		for k, e := range g {
			all = append(all, sleeper[K]{k, e})
		}
	}
	slices.SortFunc(all, func(x, y sleeper[K]) int { return cmp.Compare(x.id, y.id) })
	return all
}

// sleepers returns the connections that are asleep, in the order of their IDs.
func (t *table[K]) sleepers() []sleeper[K] { return sorted(t.asleep, t.asleepBefore) }

func (t *table[K]) connections() []*conn {
	all := make([]*conn, 0, len(t.live))
	for _, c := range t.live {
		all = append(all, c)
	}
	return all
}

// arrive makes room for a live connection that is new, or has been woken.
func arrive[K pairKey](a *Assembler, c *conn, k K) {
	size, _, _ := k.sizes()
	a.memory += size
	i := a.arrivals % maxNewcomers
	a.arrivals++
	before := a.newcomers[i]
	a.newcomers[i], c.slot = c, ^int32(i)
	if before != nil {
		a.settle(before)
	}
}

// settle takes a connection that is no newcomer any more.
func (a *Assembler) settle(c *conn) {
	if e, ok := c.embryo(); ok {
		x, y := endpointOf(c.Ends[0]), endpointOf(c.Ends[1])
		if c.v6 {
			k, _ := key6Of(x, y)
			sleep(a, &a.v6, k, e)
		} else {
			k, _ := key4Of(x, y)
			sleep(a, &a.v4, k, e)
		}
		return
	}
	c.slot = int32(len(a.settled))
	a.settled = append(a.settled, c)
}

// sleep puts the embryo of a live connection in its place.
func sleep[K pairKey](a *Assembler, t *table[K], k K, e embryo) {
	size, embryoSize, _ := k.sizes()
	t.remove(k)
	if t.places >= maxAsleep {
		turn(a, t)
	}
	t.asleep[k] = e
	t.places++
	a.memory += embryoSize - size
}

// turn forgets the older generation of those asleep, whose place the younger one takes.
func turn[K pairKey](a *Assembler, t *table[K]) {
	for _, s := range sorted(t.asleepBefore) {
		a.stats.Evicted++
		a.endEmbryo(s.conn(), Evicted)
	}
	_, size, _ := (*new(K)).sizes()
	a.memory -= t.placesBefore * size
	t.asleepBefore, t.asleep = t.asleep, make(map[K]embryo)
	t.placesBefore, t.places = t.places, 0
}

// forgetAll drops those asleep, all of which have ended.
func forgetAll[K pairKey](a *Assembler, t *table[K]) {
	_, size, _ := (*new(K)).sizes()
	a.memory -= (t.placesBefore + t.places) * size
	t.asleepBefore, t.asleep = nil, nil
	t.placesBefore, t.places = 0, 0
}

// wake returns the connection of a key that is asleep, or nil.
func wake[K pairKey](a *Assembler, t *table[K], k K) *conn {
	generation := t.asleep
	e, ok := generation[k]
	if !ok {
		generation = t.asleepBefore
		if e, ok = generation[k]; !ok {
			return nil
		}
	}
	delete(generation, k)
	c := sleeper[K]{k, e}.conn()
	t.add(k, c)
	arrive(a, c, k)
	return c
}

// endEmbryo tells the Handler of a connection that said nothing.
func (a *Assembler) endEmbryo(c *conn, cause EndCause) {
	c.ended = true
	c.Accepted = c.halves[FromB].pinned
	a.handler.End(&c.Connection, cause, a.now)
}

// depart takes a connection that has ended out of its table. One that was evicted leaves nothing behind: what comes
// on it later is as good as that of a connection whose beginning was not captured.
func depart[K pairKey](a *Assembler, t *table[K], k K, c *conn, cause EndCause) {
	size, _, stone := k.sizes()
	a.memory -= size + c.charged
	c.charged = 0
	if a.large == c {
		a.large = nil
	}
	if c.slot >= 0 {
		last := len(a.settled) - 1
		a.settled[c.slot] = a.settled[last]
		a.settled[c.slot].slot = c.slot
		a.settled[last] = nil
		a.settled = a.settled[:last]
	} else {
		a.newcomers[^c.slot] = nil
	}
	if cause == Evicted {
		t.remove(k)
		return
	}
	a.memory += t.bury(k, c.tombstone()) * stone
}

// shrink forgets connections until the rest is within the limit.
func (a *Assembler) shrink() {
	for a.memory > a.Limits.Memory {
		switch {
		case a.v4.places+a.v4.placesBefore > 0:
			turn(a, &a.v4)
		case a.v6.places+a.v6.placesBefore > 0:
			turn(a, &a.v6)
		case a.evict(a.silent()):
		case !a.settleNewcomers():
			return // the present connection, and what ended lately
		}
	}
}

// evict forgets a connection, if there is one.
func (a *Assembler) evict(c *conn) bool {
	if c == nil {
		return false
	}
	a.stats.Evicted++
	a.end(c, Evicted)
	return true
}

// settleNewcomers makes connections of the newcomers that can be forgotten like others.
func (a *Assembler) settleNewcomers() (some bool) {
	for i, c := range a.newcomers {
		if c == nil || c.last == uint32(a.stats.TCPPackets) {
			continue
		}
		a.newcomers[i] = nil
		a.settle(c)
		some = true
	}
	return some
}

// silent returns one of the settled connections that have been silent for longest: the first of some
// that come next in their turn. It returns nil where there is none but that of the present packet.
func (a *Assembler) silent() *conn {
	if len(a.settled) == 0 {
		return nil
	}
	const some = 16
	now := uint32(a.stats.TCPPackets)
	var found *conn
	for range some {
		a.hand = (a.hand + 1) % len(a.settled)
		if c := a.settled[a.hand]; c.last != now && (found == nil || now-c.last > now-found.last) {
			found = c
		}
	}
	return found
}

// maxMessage is up to which size a message counts in full. That of one connection at a time may be larger: to forget all the others for its
// sake would not bring the memory below the limit.
const maxMessage = 16 << 20

// charge counts what the Handler keeps for a connection.
func (a *Assembler) charge(c *conn) {
	if c.Memory == c.charged {
		return
	}
	counted := c.Memory
	switch {
	case counted > maxMessage && (a.large == nil || a.large == c):
		a.large, counted = c, maxMessage
	case a.large == c:
		a.large = nil
	}
	a.memory += counted - c.charged
	c.charged = counted
}
