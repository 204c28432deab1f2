package reassembly

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
)

// A crowd feeds an assembler segments of many connections: the client of connection n has the address 10.0.0.0 + n.
type crowd struct {
	t      testing.TB
	a      *Assembler
	v6     bool
	number int64
}

func (c *crowd) send(n int, s sent) {
	c.number++
	p := s.packet(c.number, c.number*1000)
	binary.BigEndian.PutUint32(p.Data[12+4*int(s.from):], 10<<24+uint32(n))
	if c.v6 {
		p.Data = asIPv6(p.Data)
		p.WireLen += 20
	}
	if err := c.a.Packet(p); err != nil {
		c.t.Fatal(err)
	}
}

// asIPv6 puts what an IPv4 packet carries into IPv6, the addresses in the last bytes of ::.
func asIPv6(packet []byte) []byte {
	b := make([]byte, 40, 20+len(packet))
	b[0], b[6] = 0x60, packet[9]
	binary.BigEndian.PutUint16(b[4:], uint16(len(packet)-20))
	copy(b[20:], packet[12:16])
	copy(b[36:], packet[16:20])
	return append(b, packet[20:]...)
}

// An ends is a Handler that counts what connections it is told of.
type ends struct {
	nothing
	causes [6]int
	last   int
}

func (e *ends) End(c *Connection, cause EndCause, _ Origin) {
	e.causes[cause]++
	e.last = c.ID
}

// heap returns how much memory is in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestHalfOpenConnections(t *testing.T) {
	const count = 1 << 20
	for _, v6 := range []bool{false, true} {
		e := &ends{}
		before := heap()
		c := &crowd{t: t, a: New(e), v6: v6}
		for n := range count {
			c.send(n, sent{seq: uint32(n), flags: flagSYN})
			if n%(count/8) == count/8-1 {
				used := heap() - before
				t.Logf("v6 %v: after %d connections %d MiB, %d MiB counted", v6, n+1, used>>20, c.a.memory>>20)
				if used > 64<<20 {
					t.Errorf("%d MiB in use", used>>20)
				}
			}
		}
		if c.a.memory > DefaultMemory {
			t.Errorf("%d bytes counted", c.a.memory)
		}
		// The latest ones go on under their IDs.
		c.send(count-50000, sent{from: FromB, seq: 7, ack: count - 50000 + 1, flags: flagSYN | flagACK})
		c.send(count-50000, sent{seq: count - 50000 + 1, ack: 8, flags: flagACK, data: "abc"})
		c.send(count-50000, sent{seq: count - 50000 + 4, ack: 8, flags: flagACK, data: "def"})
		if e.bytes != 6 || c.a.Stats().Connections != count {
			t.Errorf("%d bytes, %d connections", e.bytes, c.a.Stats().Connections)
		}
		c.a.Close()
		checkEmpty(t, c.a)
		if e.causes[Evicted]+e.causes[EndOfInput] != count || e.last != count || int64(e.causes[Evicted]) != c.a.Stats().Evicted {
			t.Errorf("%v, the last is %d", e.causes, e.last)
		}
		runtime.KeepAlive(c)
	}
}

func TestManyConnectionsWithTraffic(t *testing.T) {
	const count = 100000
	for _, v6 := range []bool{false, true} {
		limit := DefaultMemory
		e := &ends{}
		before := heap()
		c := &crowd{t: t, a: New(e), v6: v6}
		for round := range 3 {
			for n := range count {
				if round == 0 {
					c.send(n, sent{seq: 99, flags: flagSYN})
					c.send(n, sent{from: FromB, seq: 499, ack: 100, flags: flagSYN | flagACK})
				}
				c.send(n, sent{seq: 100 + 5*uint32(round), ack: 500, flags: flagACK, data: "hello"})
			}
		}
		used := heap() - before
		t.Logf("v6 %v: %d bytes a connection, %d counted", v6, used/count, c.a.memory/count)
		if used > limit || c.a.memory > limit || used > c.a.memory*5/4 {
			t.Errorf("%d MiB in use, %d counted", used>>20, c.a.memory>>20)
		}
		if e.bytes != 3*5*count || c.a.Stats().Connections != count || c.a.Stats().Evicted > 0 {
			t.Errorf("%d bytes, %+v", e.bytes, c.a.Stats())
		}
		c.a.Close()
		checkEmpty(t, c.a)
		runtime.KeepAlive(c)
	}
}

// When memory is short, those that do work stay, and what waits is handed on behind a gap.
func TestEviction(t *testing.T) {
	r := &recorder{}
	c := &crowd{t: t, a: New(r)}
	c.a.Limits.Memory = 3 << 20
	c.send(0, sent{seq: 100, data: "ab"})
	c.send(0, sent{seq: 104, data: "ef"})
	for n := 1; n < 20000; n++ {
		c.send(1, sent{seq: 100 + uint32(n), data: "x"})
		c.send(1+n, sent{seq: 7, data: "y"})
		r.events = slices.DeleteFunc(r.events, func(e string) bool { return e[0] >= '2' && e[0] <= '9' || len(e) > 7 && e[1] != ' ' && e[:3] != "end" })
		if c.a.memory > c.a.Limits.Memory {
			t.Fatalf("%d bytes", c.a.memory)
		}
	}
	if len(r.events) != 4 || r.events[1][:17] != "A 2 gap 2 limit #" || r.events[2] != "A 4 ef #2" || r.events[3][:13] != "end evicted #" {
		t.Errorf("%q", r.events)
	}
	before := c.a.Stats()
	c.send(1, sent{seq: 20100, data: "x"})
	if s := c.a.Stats(); s.Connections != before.Connections || s.Evicted < 8000 {
		t.Errorf("%+v", s)
	}
	// One that was forgotten is new when it comes back.
	c.send(0, sent{seq: 106, data: "gh"})
	if s := c.a.Stats(); s.Connections != before.Connections+1 || s.Late > 0 {
		t.Errorf("%+v", s)
	}
	c.a.Close()
	checkEmpty(t, c.a)
}

// An embryo is all there is to know of a connection that has said nothing.
func TestEmbryos(t *testing.T) {
	for _, s := range []sent{
		{seq: 100, flags: flagSYN},
		{from: FromB, seq: 100, ack: 50, flags: flagSYN | flagACK},
		{from: FromB, seq: 100, ack: 50, flags: flagACK},
		{seq: 1 << 31},
	} {
		for _, v6 := range []bool{false, true} {
			c := &crowd{t: t, a: New(&nothing{}), v6: v6}
			c.send(5, s)
			before := *c.a.newcomers[0]
			before.packets, before.last, before.slot = 0, 0, 0
			e, ok := before.embryo()
			if !ok {
				t.Fatalf("%+v: no embryo", s)
			}
			var after *conn
			x, y := endpointOf(before.Ends[0]), endpointOf(before.Ends[1])
			if v6 {
				k, _ := key6Of(x, y)
				after = sleeper[key6]{k, e}.conn()
			} else {
				k, _ := key4Of(x, y)
				after = sleeper[key4]{k, e}.conn()
			}
			for d := range after.halves {
				after.halves[d].conn, before.halves[d].conn = nil, nil
			}
			if *after != before {
				t.Errorf("%+v\nbefore %+v\nafter  %+v", s, before, *after)
			}
		}
	}
}

// What is asleep ends in order with all others.
func TestSleepersEndInOrder(t *testing.T) {
	w := &inOrder{t: t}
	c := &crowd{t: t, a: New(w)}
	for n := range 3 * maxNewcomers {
		c.v6 = n%3 == 0
		s := sent{seq: 5, flags: flagSYN}
		if n%5 == 0 {
			s = sent{seq: 5, data: "abc"}
		}
		c.send(n, s)
	}
	if len(c.a.v4.asleep) == 0 || len(c.a.v6.asleep) == 0 || len(c.a.settled) == 0 {
		t.Fatal("nothing is asleep")
	}
	c.a.Close()
	checkEmpty(t, c.a)
	if w.last != 3*maxNewcomers {
		t.Errorf("%d connections ended", w.last)
	}
}

type inOrder struct {
	nothing
	t    *testing.T
	last int
}

func (w *inOrder) End(c *Connection, cause EndCause, _ Origin) {
	if c.ID != w.last+1 || cause != EndOfInput || !c.Ends[0].Addr().IsValid() {
		w.t.Fatalf("connection %d %v ends behind %d, cause %d", c.ID, c.Ends, w.last, cause)
	}
	w.last = c.ID
}

// translated moves a packet to another pair of addresses.
func translated(s sent, client, server string) *pcaps.Packet {
	p := s.packet(0, 0)
	for d, addr := range [2]string{client, server} {
		at := 12
		if Direction(d) != s.from {
			at = 16
		}
		a4 := netip.MustParseAddr(addr).As4()
		copy(p.Data[at:], a4[:])
	}
	return p
}

func TestTwins(t *testing.T) {
	syn := sent{seq: 100, flags: flagSYN}
	synACK := sent{from: FromB, seq: 500, ack: 101, flags: flagSYN | flagACK}
	otherACK := sent{from: FromB, seq: 501, ack: 101, flags: flagSYN | flagACK}
	ask := sent{seq: 101, ack: 501, flags: flagACK, data: "ask"}
	asc := sent{seq: 101, ack: 501, flags: flagACK, data: "asc"}
	answer := sent{from: FromB, seq: 501, ack: 104, flags: flagACK, data: "answer"}
	fin := sent{seq: 104, ack: 507, flags: flagFIN | flagACK}
	const inside, outside = true, false
	type seen struct {
		sent
		inside bool
		after  int64 // milliseconds
	}
	for _, tt := range []struct {
		name     string
		notNoter bool
		packets  []seen
		twins    int64
		wanted   []string
	}{
		{
			name:    "each packet on both sides",
			packets: []seen{{syn, inside, 0}, {syn, outside, 0}, {synACK, outside, 1}, {synACK, inside, 0}, {ask, inside, 1}, {ask, outside, 0}, {answer, outside, 1}, {answer, inside, 0}, {fin, inside, 5}, {fin, outside, 0}},
			twins:   1,
			wanted:  []string{"A 0 ask #5", "2: A 0 twin 3 #6/#5 of 1", "B 0 answer #8", "A fin #9", "end end-of-input #0", "2: end end-of-input #0"},
		},
		{
			name: "the Handler does not listen", notNoter: true,
			packets: []seen{{syn, inside, 0}, {syn, outside, 0}, {synACK, outside, 1}, {synACK, inside, 0}, {ask, inside, 1}, {ask, outside, 0}},
			wanted:  []string{"A 0 ask #5", "2: A 0 ask #6", "end end-of-input #0", "2: end end-of-input #0"},
		},
		{
			name:    "another answer",
			packets: []seen{{syn, inside, 0}, {syn, outside, 0}, {synACK, outside, 1}, {otherACK, inside, 0}, {ask, inside, 1}, {ask, outside, 0}},
			wanted:  []string{"A 0 ask #5", "2: A 0 ask #6", "end end-of-input #0", "2: end end-of-input #0"},
		},
		{
			name:    "another payload",
			packets: []seen{{syn, inside, 0}, {syn, outside, 0}, {synACK, outside, 1}, {synACK, inside, 0}, {ask, inside, 1}, {asc, outside, 0}},
			wanted:  []string{"A 0 ask #5", "2: A 0 asc #6", "end end-of-input #0", "2: end end-of-input #0"},
		},
		{
			name:    "a second later",
			packets: []seen{{syn, inside, 0}, {syn, outside, 0}, {synACK, outside, 1}, {synACK, inside, 0}, {ask, inside, 1}, {ask, outside, 1000}},
			wanted:  []string{"A 0 ask #5", "2: A 0 ask #6", "end end-of-input #0", "2: end end-of-input #0"},
		},
		{
			name:    "one after the other",
			packets: []seen{{syn, inside, 0}, {synACK, inside, 1}, {ask, inside, 1}, {syn, outside, 0}, {synACK, outside, 0}, {ask, outside, 0}},
			wanted:  []string{"A 0 ask #3", "2: A 0 ask #6", "end end-of-input #0", "2: end end-of-input #0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &notingRecorder{}
			a := New(r)
			if tt.notNoter {
				a = New(&r.recorder)
			}
			var now int64
			for i, s := range tt.packets {
				now += s.after * millisecond
				p := translated(s.sent, "192.168.0.1", "10.0.0.2")
				if !s.inside {
					p = translated(s.sent, "203.0.113.1", "10.9.9.9")
				}
				p.Number, p.Time = int64(i+1), now
				if err := a.Packet(p); err != nil {
					t.Fatal(err)
				}
			}
			a.Close()
			checkEmpty(t, a)
			if !slices.Equal(r.events, tt.wanted) || a.Stats().Twins != tt.twins {
				t.Errorf("got %q, want %q", r.events, tt.wanted)
			}
		})
	}
}

// The places of greetings are used again, and nothing of the one before is left in them.
func TestTwinsBehindManyOthers(t *testing.T) {
	const pairs = 3 * maxGreetings
	a := New(&notingRecorder{})
	for n := range pairs {
		seq, data := uint32(100*n), strings.Repeat("x", 1+n%7)
		for _, s := range []sent{
			{seq: seq, flags: flagSYN},
			{from: FromB, seq: seq + 50, ack: seq + 1, flags: flagSYN | flagACK},
			{seq: seq + 1, ack: seq + 51, flags: flagACK, data: data},
		} {
			a.Packet(translated(s, fmt.Sprintf("192.168.%d.%d", n/250, n%250), "10.0.0.2"))
			a.Packet(translated(s, fmt.Sprintf("203.0.%d.%d", n/250, n%250), "10.0.0.9"))
		}
	}
	if n := a.Stats().Twins; n != pairs {
		t.Errorf("%d twins of %d", n, pairs)
	}
}

// A keeper is a Handler that keeps for each connection as many bytes as came, times a thousand, or 64 MiB where an x came.
type keeper struct {
	ends
	total int
}

func (k *keeper) Chunk(c *Connection, d Direction, chunk *Chunk) {
	before := c.Memory
	c.Memory += 1000 * len(chunk.Data)
	if chunk.Data[0] == 'x' {
		c.Memory = 64 << 20
	}
	k.total += c.Memory - before
}

func (k *keeper) End(c *Connection, cause EndCause, at Origin) {
	k.total -= c.Memory
	k.ends.End(c, cause, at)
}

func TestHandlerMemoryCounts(t *testing.T) {
	k := &keeper{}
	c := &crowd{t: t, a: New(k)}
	c.a.Limits.Memory = 8 << 20
	const count = 20000 // newcomers alone are above the limit
	for n := range count {
		c.send(n, sent{seq: 100, data: "abcdefghij"})
		if k.total > c.a.Limits.Memory || c.a.memory > c.a.Limits.Memory {
			t.Fatalf("after %d connections: %d bytes are kept, %d counted", n+1, k.total, c.a.memory)
		}
	}
	if k.total < c.a.Limits.Memory/2 {
		t.Errorf("%d bytes are kept, of %d", k.total, c.a.Limits.Memory)
	}
	before := k.causes[Evicted]
	for range 100 { // the present connection stays
		c.send(count-1, sent{seq: 110, data: "x"})
	}
	if k.causes[Closed]+k.causes[Reset]+k.causes[EndOfInput] > 0 || k.total < 64<<20 {
		t.Errorf("%v, %d bytes are kept", k.causes, k.total)
	}
	if k.causes[Evicted] == before {
		t.Error("nothing was forgotten for a message of 16 MiB and more")
	}
	c.a.Close()
	checkEmpty(t, c.a)
	if k.total != 0 {
		t.Errorf("%d bytes are kept after the end", k.total)
	}
}

// A single message may be larger than the limit: the other connections stay, as many as there is room for beside maxMessage.
func TestLargeMessageLeavesOthersAlone(t *testing.T) {
	k := &keeper{}
	c := &crowd{t: t, a: New(k)}
	c.a.Limits.Memory = 32 << 20
	c.send(0, sent{seq: 100, data: "x"})
	for n := 1; n < 1000; n++ {
		c.send(n, sent{seq: 100, data: "abc"})
		c.send(0, sent{seq: 100 + uint32(n), data: "x"})
	}
	if k.causes[Evicted] > 0 {
		t.Errorf("%d connections were forgotten", k.causes[Evicted])
	}
	c.send(1, sent{seq: 103, data: "x"}) // a second one counts in full
	c.send(2, sent{seq: 103, data: "a"})
	if k.causes[Evicted] == 0 {
		t.Error("no connection was forgotten for a second large message")
	}
	c.a.Close()
	checkEmpty(t, c.a)
}
