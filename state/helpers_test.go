package state

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// pack lays values out as Kafka did before flexible versions: integers big-endian by their Go type, texts and bytes behind their lengths, a list as its
// count and its elements.
func pack(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case bool:
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		case int8:
			b = append(b, byte(v))
		case int16:
			b = binary.BigEndian.AppendUint16(b, uint16(v))
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint16(b, uint16(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case raw:
			b = append(b, v...)
		case array:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), pack(v...)...)
		default:
			panic(fmt.Sprintf("pack: %T", p))
		}
	}
	return b
}

// raw is bytes that are laid out already, array an array of Kafka.
type (
	raw   []byte
	array []any
)

// all joins the fields of a structure.
func all(parts ...any) raw { return pack(parts...) }

// A world is a cluster that a test talks to.
type world struct {
	*Cluster
	dissector *dissect.Dissector
	packet    int64
	now       int64 // capture time, milliseconds
	conns     int
}

func newWorld() *world {
	w := &world{Cluster: New(), now: 1000}
	w.dissector = dissect.New(schema.Embedded(), Needs, w.Cluster)
	return w
}

// A client is a connection of a test.
type client struct {
	*world
	id      string
	conn    *reassembly.Connection
	offsets [2]int64
	corr    int32
}

func (w *world) client(id string) *client {
	w.conns++
	ends := [2]netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(40000+w.conns%20000)), netip.MustParseAddrPort("10.0.0.2:9092")}
	return &client{world: w, id: id, conn: &reassembly.Connection{ID: w.conns, Ends: ends, Opened: true, Seen: [2]bool{true, true}}}
}

func (c *client) send(dir reassembly.Direction, body []byte) {
	data := append(pack(int32(len(body))), body...)
	c.packet++
	c.now++
	at := reassembly.Origin{Packet: c.packet, Time: c.now * 1e6}
	c.dissector.Chunk(c.conn, dir, &reassembly.Chunk{Data: data, Offset: c.offsets[dir], Origin: at})
	c.offsets[dir] += int64(len(data))
}

// ask sends a request and returns what sends the answer.
func (c *client) ask(key, version int16, body ...any) func(answer ...any) {
	c.corr++
	corr := c.corr
	c.send(reassembly.FromA, pack(key, version, corr, c.id, raw(pack(body...))))
	return func(answer ...any) { c.send(reassembly.FromB, pack(corr, raw(pack(answer...)))) }
}

// end closes the connection.
func (c *client) end() {
	c.dissector.End(c.conn, reassembly.Closed, reassembly.Origin{Packet: c.packet, Time: c.now * 1e6})
}

// join asks to join with JoinGroup v5, which has a group.instance.id.
func (c *client) join(group, member, instance string, topics ...string) func(answer ...any) {
	wants := array{}
	for _, t := range topics {
		wants = append(wants, t)
	}
	id := any(instance)
	if instance == "" {
		id = int16(-1)
	}
	return c.ask(11, 5, group, int32(10_000), int32(60_000), member, id, "consumer", array{all("range", []byte(pack(int16(0), wants, int32(-1))))})
}

// joined is the answer to join; members are listed for the leader, those with a group.instance.id as "member instance".
func joined(generation int32, leader, member string, members ...string) []any {
	listed := array{}
	for _, m := range members {
		id, instance, static := strings.Cut(m, " ")
		if static {
			listed = append(listed, all(id, instance, []byte{}))
		} else {
			listed = append(listed, all(id, int16(-1), []byte{}))
		}
	}
	return []any{int32(0), int16(0), generation, "range", leader, member, listed}
}

// sync is an answered SyncGroup v0 that gives a member partitions of a topic.
func (c *client) sync(group, member string, generation int32, topic string, partitions ...any) {
	c.ask(14, 0, group, generation, member, array{})(int16(0), []byte(pack(int16(0), array{all(topic, array(partitions))}, int32(-1))))
}

// beat is an answered Heartbeat v0.
func (c *client) beat(group, member string, generation int32, code int16) {
	c.ask(12, 0, group, generation, member)(code)
}

func (w *world) group(t *testing.T, id string) *Group {
	t.Helper()
	for _, g := range w.Groups() {
		if g.ID == id {
			return g
		}
	}
	t.Fatalf("there is no group %q", id)
	return nil
}

func (w *world) transaction(t *testing.T, id string) *Transaction {
	t.Helper()
	for _, x := range w.Transactions() {
		if x.ID == id {
			return x
		}
	}
	t.Fatalf("there is no transactional id %q", id)
	return nil
}

// kinds lists what happened: the kind and the member of each event.
func kinds(t *Timeline) []string {
	var all []string
	for _, e := range t.Events {
		all = append(all, string(e.Kind)+" "+e.Member)
	}
	return all
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func expectAll[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are\n%v, want\n%v", what, got, want)
	}
}

// watch reads a capture.
func watch(t testing.TB, file string) *Cluster {
	t.Helper()
	source, err := pcaps.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	c := New()
	assembler := reassembly.New(dissect.New(schema.Embedded(), Needs, c))
	var batch pcaps.Batch
	for source.Next(&batch) == nil {
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	assembler.Close()
	return c
}
