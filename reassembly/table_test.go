package reassembly

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/kdissect/kdissect/pcaps"
)

// from moves a packet to another client address, so to another connection.
func from(p *pcaps.Packet, client byte, d Direction) *pcaps.Packet {
	p.Data[15+4*int(d)] = client
	return p
}

func TestSilentConnectionIsReviewed(t *testing.T) {
	r := &recorder{}
	a := New(r)
	for i, s := range []sent{
		{from: FromA, seq: 100, flags: flagSYN},
		{from: FromB, seq: 500, ack: 101, flags: flagSYN | flagACK},
		{from: FromA, seq: 104, ack: 501, flags: flagACK, data: "def"},
		{from: FromB, seq: 501, ack: 107, flags: flagACK},
	} {
		a.Packet(s.packet(int64(i+1), int64(i)))
	}
	other := sent{from: FromA, seq: 7, data: "x"}
	a.Packet(from(other.packet(5, 2*settleAlone), 9, FromA))
	want := []string{"2: A 0 x #5", "A 0 gap 3 not-captured #5", "A 3 def #3"}
	if !slices.Equal(r.events, want) {
		t.Errorf("got %q, want %q", r.events, want)
	}
}

func TestCloseEndsInOrder(t *testing.T) {
	r := &recorder{}
	a := New(r)
	v6 := serialize(t, ip6(layers.IPProtocolTCP))
	for n := range byte(6) {
		p := from(sent{from: FromA, seq: 1}.packet(int64(n+1), 0), n+1, FromA)
		if n == 2 {
			p = &pcaps.Packet{Number: 3, Data: v6, Link: pcaps.LinkTypeRaw}
		}
		a.Packet(p)
	}
	a.Close()
	checkEmpty(t, a)
	want := []string{
		"3: A 0 " + payload + " #3",
		"end end-of-input #0", "2: end end-of-input #0", "3: end end-of-input #0",
		"4: end end-of-input #0", "5: end end-of-input #0", "6: end end-of-input #0",
	}
	if !slices.Equal(r.events, want) {
		t.Errorf("got %q, want %q", r.events, want)
	}
}

// The memory of ended connections is bounded, and the latest of them are known for what they are.
func TestTombstonesAreBounded(t *testing.T) {
	table := newTable[key4]()
	stone := tombstone{isn: [2]uint32{1, 2}, known: [2]bool{true, true}}
	const ended = 5 * maxEnded
	for n := range uint64(ended) {
		k := key4{n, n + 1}
		table.live[k] = &conn{}
		table.bury(k, stone)
	}
	if n := table.ended.count(); n > 2*maxEnded || len(table.live) != 0 {
		t.Errorf("%d tombstones, %d live", n, len(table.live))
	}
	marked := 0
	for _, word := range table.ended.younger.marks {
		marked += bits.OnesCount64(word)
	}
	if n := len(table.ended.younger.stones); marked > n {
		t.Errorf("%d marks of %d tombstones", marked, n)
	}
	for n := uint64(ended - maxEnded); n < ended; n++ {
		k := key4{n, n + 1}
		stone, buried := table.ended.find(k)
		if !buried || !stone.covers(&segment{seq: 1, flags: flagSYN}, false) || stone.covers(&segment{seq: 3, flags: flagSYN}, false) {
			t.Fatalf("connection %d of %d is forgotten, or takes a new SYN for an old one", n, ended)
		}
		if table.find(k) != nil {
			t.Fatal("a connection that has ended is found")
		}
	}
}

// A connection that has ended is known for that no longer than its tombstone is remembered, whether it was found lately or not.
func TestEndedIsForgotten(t *testing.T) {
	table := newTable[key4]()
	k := key4{1, 2}
	end := func(k key4) {
		table.add(k, &conn{ended: true})
		table.bury(k, tombstone{})
	}
	end(k)
	if table.latest(k, slotOf(k)) == nil || table.find(k) != nil {
		t.Error("it is not found as one that has ended")
	}
	for n := uint64(10); n < 10+3*maxEnded; n++ {
		if other := (key4{n, n + 1}); slotOf(other) != slotOf(k) {
			end(other)
		}
	}
	_, buried := table.ended.find(k)
	if latest := table.latest(k, slotOf(k)) != nil; buried || latest {
		t.Errorf("tombstone %v, found lately %v", buried, latest)
	}
}

// Endpoints that are used again have no tombstone: were the new connection forgotten, what comes on it would be taken for late packets of the old one.
func TestUsedAgainIsUnburied(t *testing.T) {
	a := New(&recorder{})
	for i, s := range []sent{
		{seq: 100, flags: flagSYN},
		{from: FromB, seq: 500, ack: 101, flags: flagSYN | flagACK},
		{seq: 101, ack: 501, flags: flagFIN | flagACK},
		{from: FromB, seq: 501, ack: 102, flags: flagFIN | flagACK},
		{seq: 700, flags: flagSYN},
	} {
		a.Packet(s.packet(int64(i+1), 0))
		if want := index(i == 3); a.v4.ended.count() != want {
			t.Errorf("%d tombstones behind packet %d, want %d", a.v4.ended.count(), i+1, want)
		}
	}
}
