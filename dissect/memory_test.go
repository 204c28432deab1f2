package dissect

import (
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// What is counted of a connection is what it takes: in step with a request that waits, and with a frame, a batch, an answer that
// is not whole.
func TestMemoryCounted(t *testing.T) {
	offer := framed(int32(1), int16(0), int32(2), int16(18), int16(0), int16(3), int16(3), int16(0), int16(12))
	request, _ := fetchV4(2, "topic", nil)
	type turn struct {
		dir  reassembly.Direction
		data []byte
	}
	for name, last := range map[string]turn{
		"a request waits":      {fromClient, request},
		"half a request":       {fromClient, request[:len(request)-3]},
		"a large one, in part": {fromClient, produceV3(3, "topic", make([]byte, 8000))[:7000]},
	} {
		const count = 5000
		d := New(schema.Embedded(), NeedMessages|NeedExchanges, &reports{})
		play := func(i int) *reassembly.Connection {
			c := &reassembly.Connection{ID: i, Opened: true, Seen: [2]bool{true, true}}
			c.Ends[0] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 40000)
			c.Ends[1] = netip.MustParseAddrPort("192.168.0.1:9092")
			var offsets [2]int64
			for _, t := range []turn{{fromClient, apiVersions(1)}, {fromServer, offer}, last} {
				d.Chunk(c, t.dir, &reassembly.Chunk{Data: t.data, Offset: offsets[t.dir], Origin: reassembly.Origin{Packet: 1, Time: 1}})
				offsets[t.dir] += int64(len(t.data))
			}
			return c
		}
		d.End(play(0), reassembly.EndOfInput, reassembly.Origin{}) // plans are compiled
		all, counted := make([]*reassembly.Connection, count), 0
		before := heapInUse()
		for i := range all {
			all[i] = play(i + 1)
			counted += all[i].Memory
		}
		own := count * 160 // what the test keeps
		used := heapInUse() - before - own
		t.Logf("%s: %d bytes a connection, %d counted", name, used/count, counted/count)
		if used > counted*5/4 || used < counted*3/4 {
			t.Errorf("%s: %d bytes a connection, %d counted", name, used/count, counted/count)
		}
		for _, c := range all {
			d.End(c, reassembly.EndOfInput, reassembly.Origin{})
			if c.Consumer != nil {
				t.Fatal("the state of a connection is kept after its end")
			}
		}
		runtime.KeepAlive(all)
	}
}

// What both sides say of themselves may be long, and is kept as long as the connection: it is counted.
func TestMemoryOfNames(t *testing.T) {
	const size = 30_000
	long := strings.Repeat("n", size)
	feature := pack(byte(2), compactOf(long), int16(1), int16(1), byte(0))
	login, loginAnswer := authenticate(2, "\x00"+long+"\x00p", "")
	for name, turns := range map[string][2][]byte{
		"client id": {framed(int16(3), int16(1), int32(2), text(long), int32(0)), metadataAnswer(2)},
		"user":      {login, loginAnswer},
		"feature": {flexible(18, 3, 2, compactOf("lib"), compactOf("1"), byte(0)),
			framed(int32(2), int16(0), byte(2), int16(18), int16(0), int16(3), byte(0), int32(0), byte(1), byte(2), uvarintOf(uint64(len(feature))), feature)},
	} {
		k := newTalk(NeedMessages, true)
		request, answer := handshake(1, "PLAIN")
		k.client(request)
		k.server(answer)
		before := k.conn.Memory
		k.client(turns[0])
		k.server(turns[1])
		if grown := k.conn.Memory - before; grown < size-100 { // shorter names make room
			t.Errorf("%s: %d bytes counted of %d", name, grown, size)
		}
	}
}

// Connections that are forgotten are told of once, and what comes on them later is dissected like any other in mid-stream.
func TestForgottenConnections(t *testing.T) {
	out := &reports{}
	d := New(schema.Embedded(), NeedMessages, out)
	conn := func(id int, opened bool) *reassembly.Connection {
		c := &reassembly.Connection{ID: id, Opened: opened, Seen: [2]bool{true, true}}
		c.Ends[0], c.Ends[1] = netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("192.168.0.1:9092")
		return c
	}
	send := func(c *reassembly.Connection, dir reassembly.Direction, data []byte) {
		d.Chunk(c, dir, &reassembly.Chunk{Data: data, Origin: reassembly.Origin{Packet: 1, Time: 1}})
	}
	for id := range 3 {
		c := conn(id, true)
		send(c, fromClient, apiVersions(1))
		d.End(c, reassembly.Evicted, reassembly.Origin{})
	}
	scan := conn(3, true)
	d.End(scan, reassembly.Evicted, reassembly.Origin{}) // nothing came on it
	again := conn(4, false)
	send(again, fromClient, apiVersions(2))
	d.End(again, reassembly.EndOfInput, reassembly.Origin{})
	d.Close()
	if d.Counts.Forgotten != 3 || d.Counts.Requests != 4 {
		t.Errorf("%+v", d.Counts)
	}
	told := 0
	for _, r := range *out {
		for _, f := range r.Findings {
			if f.Code != MemoryLimit {
				continue
			}
			told++
			if r.Connection != nil || f.Severity != Warn || f.Text[:2] != "3 " {
				t.Errorf("%+v", r)
			}
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// A connection takes the place of one that has ended, of which nothing is left as soon as it has. As many are kept as bounds say.
func TestConnIsEmpty(t *testing.T) {
	d := New(schema.Embedded(), NeedExchanges, &reports{})
	var all []*reassembly.Connection
	for id := range 2 * maxFreeConns {
		k := &talk{dissector: d, conn: &reassembly.Connection{ID: id, Ends: talkEnds, Opened: true, Seen: [2]bool{true, true}}}
		request, answer := handshake(0, "PLAIN")
		k.client(apiVersions(1))
		k.server(framed(int32(1), int16(0), int32(2), int16(18), int16(0), int16(3), int16(3), int16(0), int16(12)))
		k.client(request)
		k.server(answer)
		k.client(framed("\x00user\x00secret"))
		k.client(request[:len(request)-3])
		all = append(all, k.conn)
	}
	for _, c := range all {
		d.End(c, reassembly.Reset, reassembly.Origin{Packet: 9, Time: 9})
	}
	if n := len(d.conns); n != maxFreeConns {
		t.Fatalf("%d are kept", n)
	}
	for _, c := range append(d.conns, reused(&d.conns)) {
		if !reflect.DeepEqual(c, &conn{}) {
			t.Fatalf("%+v", c)
		}
	}
}

// What is kept to be used again is bounded, however many requests wait at a time and however large they are, and is counted.
func TestKeptBuffers(t *testing.T) {
	k := newTalk(NeedExchanges|NeedRecords, true)
	for _, size := range []int{100, 200 << 10, 3 << 20, 5 << 20} {
		for id := range int32(40) {
			k.sendCut(fromClient, produceV3(id, "t", make([]byte, size)), pieces(1<<16))
		}
		for id := range int32(40) {
			k.server(framed(id, int32(0), int32(0)))
		}
		kept := 0
		for _, b := range k.dissector.buffers {
			kept += cap(b)
		}
		if kept != k.dissector.kept || kept > maxKeptBytes || size > maxFreeFrame && size < maxKeptBytes/4 && kept < size {
			t.Errorf("%d bytes are kept behind requests of %d, %d are counted", kept, size, k.dissector.kept)
		}
		for _, r := range k.dissector.free {
			if cap(r.frame) > maxFreeFrame {
				t.Errorf("a request is kept with %d bytes", cap(r.frame))
			}
		}
	}
}

// A large request leaves its buffer to the next large one, and not to a small one that waits: what waits counts against the memory limit.
func TestLargeBuffersAreForLargeRequests(t *testing.T) {
	const size = 200 << 10
	k := newTalk(NeedExchanges|NeedRecords, true)
	large := func(id int32) {
		k.client(produceV3(id, "t", make([]byte, size)))
		k.server(framed(id, int32(0), int32(0)))
	}
	for id := range int32(50) {
		large(1000 + id)
		small, _ := fetchV4(id, "topic", nil)
		k.client(small)
	}
	if held := k.conn.Memory; held > size {
		t.Errorf("50 small requests that wait take %d bytes", held)
	}
	for id := range 50 {
		other := newTalk(0, true)
		other.dissector, other.conn.ID = k.dissector, 100+id
		k.sendCut(fromClient, produceV3(1500, "t", make([]byte, size)), pieces(1<<16))
		k.server(framed(int32(1500), int32(0), int32(0)))
		other.client(apiVersions(1)[:10])
		if other.conn.Memory > 32<<10 {
			t.Fatalf("half a small frame takes %d bytes", other.conn.Memory)
		}
	}
	before := k.dissector.kept
	large(2000)
	if k.dissector.kept != before || before < size {
		t.Errorf("%d bytes are kept, then %d", before, k.dissector.kept)
	}
}
