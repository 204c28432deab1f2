package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// A foreigner makes the messages of a protocol that is not Kafka: what the client says, or what the server does, as the i-th of them.
type foreigner func(r *rand.Rand, dir reassembly.Direction, i int) []byte

// pick returns one of some values.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// noise is up to n random bytes.
func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// sparse is up to n bytes of which most are 0 and the others small, as binary protocols with fixed integers have them.
func sparse(r *rand.Rand, n int) []byte {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		if r.IntN(4) == 0 {
			b[i] = byte(r.IntN(1 << r.IntN(9)))
		}
	}
	return b
}

// word is a short text.
func word(r *rand.Rand) string {
	return pick(r, "a", "key", "user:1001", "orders", "select 1", "sensor/12/temperature", "/index.html", "0123456789abcdef")
}

// lengthFirst puts the length in front of a body, which may be counted, too.
func lengthFirst(order binary.AppendByteOrder, counted int, body []byte) []byte {
	return append(order.AppendUint32(nil, uint32(len(body)+counted)), body...)
}

// protobufOf is a message of protobuf with a few fields.
func protobufOf(r *rand.Rand) []byte {
	var b []byte
	for field := range uint64(1 + r.IntN(5)) {
		if r.IntN(2) == 0 {
			b = binary.AppendUvarint(append(b, byte((field+1)<<3)), r.Uint64()>>r.IntN(64))
		} else {
			w := word(r)
			b = append(append(b, byte((field+1)<<3|2), byte(len(w))), w...)
		}
	}
	return b
}

var foreigners = map[string]foreigner{
	"redis": func(r *rand.Rand, dir reassembly.Direction, _ int) []byte {
		if dir == fromServer {
			return []byte(pick(r, "+OK\r\n", "$-1\r\n", ":1\r\n", "$5\r\nhello\r\n", "-ERR unknown command\r\n"))
		}
		w := word(r)
		return fmt.Appendf(nil, "*2\r\n$3\r\n%s\r\n$%d\r\n%s\r\n", pick(r, "GET", "DEL", "TTL"), len(w), w)
	},
	"mqtt": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		switch {
		case i == 0 && dir == fromServer:
			return pack(unhex("20 02 00 00"))
		case i == 0:
			id := word(r)
			return pack(byte(0x10), byte(12+len(id)), text("MQTT"), byte(4), byte(2), int16(60), text(id))
		case dir == fromServer:
			return pack(byte(0x40), byte(2), int16(i))
		}
		w, payload := word(r), noise(r, 60)
		return pack(byte(0x32), byte(4+len(w)+len(payload)), text(w), int16(i), payload)
	},
	"http": func(r *rand.Rand, dir reassembly.Direction, _ int) []byte {
		if dir == fromServer {
			body := noise(r, 200)
			return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		return fmt.Appendf(nil, "%s /%s HTTP/1.1\r\nHost: example.com\r\n\r\n", pick(r, "GET", "POST", "HEAD"), word(r))
	},
	"tls": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		body := noise(r, 300)
		if i == 0 {
			return pack(unhex("16 03 01"), int16(len(body)+4), byte(1+dir), byte(0), int16(len(body)), body)
		}
		return pack(unhex("17 03 03"), int16(len(body)), body)
	},
	"smpp": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		command := pick[int32](r, 1, 2, 4, 9, 0x15)
		body := pack(word(r), byte(0), word(r), byte(0), sparse(r, 40))
		if dir == fromServer {
			command |= -1 << 31
			body = pack(word(r), byte(0))
		}
		return lengthFirst(binary.BigEndian, 4, pack(command, int32(0), int32(i+1), body))
	},
	"length, noise": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.BigEndian, 0, noise(r, 200))
	},
	"length, sparse": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.BigEndian, 0, sparse(r, 100))
	},
	"length that counts itself": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.BigEndian, 4, sparse(r, 100))
	},
	"length, number, text": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		return lengthFirst(binary.BigEndian, 0, pack(int32(i), int32(r.IntN(30)), text(word(r))))
	},
	"length, JSON": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		return lengthFirst(binary.BigEndian, 0, fmt.Appendf(nil, `{"id":%d,"method":%q}`, i, word(r)))
	},
	"little length, noise": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.LittleEndian, 0, noise(r, 200))
	},
	"little length, sparse": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.LittleEndian, 0, sparse(r, 100))
	},
	"mongodb": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		head := binary.LittleEndian.AppendUint32(nil, uint32(i+1))
		head = binary.LittleEndian.AppendUint32(head, uint32(dir)*uint32(i+1))
		return lengthFirst(binary.LittleEndian, 4, pack(binary.LittleEndian.AppendUint32(head, 2013), sparse(r, 60)))
	},
	"protobuf": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return lengthFirst(binary.BigEndian, 0, protobufOf(r))
	},
	"grpc": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return append([]byte{0}, lengthFirst(binary.BigEndian, 0, protobufOf(r))...)
	},
	"protobuf behind a varint": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		b := protobufOf(r)
		return append(uvarintOf(uint64(len(b))), b...)
	},
	"zookeeper": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		long := func(s string) []byte { return pack(int32(len(s)), s) }
		switch {
		case i == 0 && dir == fromClient: // ConnectRequest: version, last zxid, timeout, session, password, read-only
			return framed(int32(0), int64(0), int32(18000), int64(0), int32(16), make([]byte, 16), int8(0))
		case i == 0:
			return framed(int32(0), int32(18000), int64(r.Uint64()), int32(16), make([]byte, 16), int8(0))
		case dir == fromServer: // ReplyHeader: xid, zxid, error
			return framed(int32(i), int64(r.IntN(1<<20)), pick[int32](r, 0, -101, -110), sparse(r, 60))
		}
		return pick(r, framed(int32(-2), int32(11)), framed(int32(i), int32(pick(r, 1, 2, 3, 4, 5, 8, 12)), long("/"+word(r)), int8(0)))
	},
	"smb": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		return lengthFirst(binary.BigEndian, 0, pack(unhex("fe 53 4d 42 40 00 00 00 00 00 00 00"), byte(r.IntN(19)), byte(0), sparse(r, 80)))
	},
	"thrift": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		name := word(r)
		return lengthFirst(binary.BigEndian, 0, pack(unhex("80 01 00"), byte(1+dir), int32(len(name)), name, int32(i), sparse(r, 30), byte(0)))
	},
	"postgres": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		if i == 0 && dir == fromClient {
			return lengthFirst(binary.BigEndian, 4, pack(int32(196608), "user\x00"+word(r)+"\x00database\x00"+word(r)+"\x00\x00"))
		}
		return append([]byte(pick(r, "Q", "T", "D", "C", "Z", "P", "B")), lengthFirst(binary.BigEndian, 4, pack(word(r), byte(0), sparse(r, 20)))...)
	},
	"mysql": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		b := pack(byte(3), word(r), sparse(r, 40))
		return pack(byte(len(b)), int16(0), byte(i), b)
	},
	"dns": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		b := pack(int16(r.Uint32()), unhex("01 00 00 01 00 00 00 00 00 00"), byte(3), "www", byte(7), "example", byte(3), "com", byte(0), int16(1), int16(1))
		return pack(int16(len(b)), b)
	},
	"amqp": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		if i == 0 {
			return []byte("AMQP\x00\x00\x09\x01")
		}
		b := sparse(r, 60)
		return pack(byte(1), int16(1), int32(len(b)), b, byte(0xce))
	},
	"mqtt 5": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		w := word(r)
		switch {
		case i == 0 && dir == fromServer: // CONNACK with a receive maximum
			return pack(unhex("20 06 00 00 03 21 00 14"))
		case i == 0:
			return pack(byte(0x10), byte(13+len(w)), text("MQTT"), byte(5), byte(2), int16(60), byte(0), text(w))
		}
		payload := noise(r, 60)
		return pack(byte(0x30), byte(3+len(w)+len(payload)), text(w), byte(0), payload)
	},
	"clickhouse": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		short := func(s string) []byte { return append(uvarintOf(uint64(len(s))), s...) }
		switch {
		case i == 0 && dir == fromClient: // hello: name, version, revision, database, user, password
			return pack(byte(0), short("ClickHouse client"), byte(24), byte(3), uvarintOf(54465), short("default"), short("default"), short(""))
		case i == 0:
			return pack(byte(0), short("ClickHouse"), byte(24), byte(3), uvarintOf(54465), short("UTC"), short("host"), byte(2))
		case dir == fromClient:
			return pack(byte(1), short(word(r)), byte(1), sparse(r, 30), short(word(r)))
		}
		return pack(byte(r.IntN(8)), short(""), sparse(r, 60))
	},
	"cassandra": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		body := pack(int16(1), text("CQL_VERSION"), text("3.0.0"))
		if i > 0 {
			w := word(r)
			body = pack(int32(len(w)), w, int16(1), byte(0))
		}
		return pack(byte(4+0x80*int(dir)), byte(0), int16(i), byte(pick(r, 0, 1, 2, 7, 8)), lengthFirst(binary.BigEndian, 0, body))
	},
	"nats": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		switch {
		case i == 0 && dir == fromServer:
			return []byte("INFO {\"server_id\":\"x\",\"max_payload\":1048576}\r\n")
		case i == 0:
			return []byte("CONNECT {\"verbose\":false}\r\nPING\r\n")
		case dir == fromServer:
			return []byte("PONG\r\n")
		}
		return fmt.Appendf(nil, "PUB %s 5\r\nhello\r\n", word(r))
	},
	"bgp": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		body := pack(byte(4)) // KEEPALIVE
		if i == 0 {
			body = pack(byte(1), byte(4), int16(-535), int16(180), int32(r.Uint32()), byte(0))
		}
		return pack(bytes.Repeat([]byte{0xff}, 16), int16(18+len(body)), body)
	},
	"ldap": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		w := word(r)
		body := pack(unhex("02 01"), byte(i+1), byte(0x60+int(dir)), byte(7+len(w)), unhex("02 01 03 04"), byte(len(w)), w, unhex("80 00"))
		return pack(byte(0x30), byte(len(body)), body)
	},
	"elasticsearch": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		body := pack(int64(i+1), byte(dir), int32(8110099), int32(r.IntN(30)), sparse(r, 60), word(r))
		return append([]byte("ES"), lengthFirst(binary.BigEndian, 0, body)...)
	},
	"memcached": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		w := word(r)
		return pack(byte(0x80+int(dir)), byte(r.IntN(0x10)), int16(len(w)), byte(0), byte(0), int16(0), int32(len(w)), int32(i), int64(0), w)
	},
	"hadoop": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		if i == 0 && dir == fromClient {
			return append([]byte("hrpc\x09\x00\x00"), lengthFirst(binary.BigEndian, 0, protobufOf(r))...)
		}
		b := protobufOf(r)
		return lengthFirst(binary.BigEndian, 0, pack(uvarintOf(uint64(len(b))), b, protobufOf(r)))
	},
	"pulsar": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		command := append([]byte{8, byte(2 + r.IntN(40))}, protobufOf(r)...)
		return lengthFirst(binary.BigEndian, 0, pack(lengthFirst(binary.BigEndian, 0, command), sparse(r, 40)))
	},
	"rocketmq": func(r *rand.Rand, dir reassembly.Direction, i int) []byte {
		header := fmt.Appendf(nil, `{"code":%d,"flag":%d,"language":"JAVA","opaque":%d,"version":435}`, pick(r, 10, 11, 34, 105), dir, i)
		return lengthFirst(binary.BigEndian, 0, pack(lengthFirst(binary.BigEndian, 0, header), sparse(r, 40)))
	},
	"a word, then a length": func(r *rand.Rand, _ reassembly.Direction, i int) []byte {
		return pack(int32(pick(r, 1, 2, 0xcafe, 0x12345)), lengthFirst(binary.BigEndian, 0, sparse(r, 60)))
	},
	"noise": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return append(noise(r, 200), byte(r.Uint32()))
	},
	"sparse":     func(r *rand.Rand, _ reassembly.Direction, _ int) []byte { return append(sparse(r, 100), 1) },
	"zero bytes": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte { return make([]byte, 1+r.IntN(100)) },
	"small int32": func(r *rand.Rand, _ reassembly.Direction, _ int) []byte {
		return pack(int32(r.IntN(40)), int32(r.IntN(40)), int32(r.IntN(40)), int32(r.IntN(4)))
	},
}

// Connections of other protocols whose first message has the shape of a Kafka header, captured from their opening on. What is behind the header does
// not decode as the request that it would be, or the client's side is plainly not Kafka: neither side may become messages.
func TestForeignOpenings(t *testing.T) {
	for _, c := range []struct{ name, client, server string }{
		// ConnectRequest: protocol version, last zxid, timeout of 18 s, session, password of 16 bytes, read-only. As Kafka it is Produce v0 of a client with an
		// empty id.
		{"ZooKeeper", "0000002d 00000000 0000000000000000 00004650 0000000000000000 00000010 00000000000000000000000000000000 00",
			"00000025 00000000 00004650 0123456789abcdef 00000010 00000000000000000000000000000000 00"},
		// bind_receiver: command 1, status 0, sequence number 1, system id, password. As Kafka it is Produce v1.
		{"SMPP", "0000001f 00000001 00000000 00000001 736d7070 00 70617373 00 00 34 00 00 00",
			"00000014 80000001 00000000 00000001 736d7000"},
		// ping: xid -2, operation 11. As Kafka it is a request of API -1, so the client's first bytes are refused; the server's must not then be taken for
		// responses whose requests are missing.
		{"ZooKeeper's ping", "00000008 fffffffe 0000000b", "00000010 fffffffe 0000000000000007 00000000"},
		// Protobuf behind its length.
		{"protobuf", "00000011 08e39b84beba2012 0873656c65637420 31", "00000012 0a10303132333435 3637383961626364 6566"},
		{"a version from nowhere", "0000000e 0003 7fff 00000001 0000 00000000", "00000008 00000001 00000000"},
		{"a client id beyond the frame", "0000000e 0003 0001 00000001 0063 00000000", "00000008 00000001 00000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, ends := range foreignEnds {
				k := newTalk(NeedMessages, true)
				k.conn.Ends = ends
				for range 3 {
					k.client(unhex(c.client))
					k.server(unhex(c.server))
				}
				k.end(reassembly.Closed)
				if len(k.messages) > 0 {
					t.Errorf("%s: %q", ends[1], k.shorts())
				}
			}
		})
	}
}

// foreignEnds are ports that nobody knows for Kafka, and those that are.
var foreignEnds = [][2]netip.AddrPort{
	{talkEnds[0], netip.MustParseAddrPort("10.0.0.3:7777")}, talkEnds,
	{talkEnds[0], netip.MustParseAddrPort("10.0.0.3:2181")}, {talkEnds[0], netip.MustParseAddrPort("10.0.0.3:9094")},
}

// knownForeign is how many of a million connections, of all kinds, become messages nevertheless: where the opening was seen, and where it
// was not. There must not become more of them.
var knownForeign = map[string][2]int{
	"a word, then a length":     {3, 0},
	"length that counts itself": {3, 0},
	"length, sparse":            {2, 1},
	"small int32":               {2, 0},
}

// What is not Kafka must not become messages, whatever port it is on, whether its beginning was captured or not, whether both sides were, and however
// it is cut. These are 50,000 small connections; KDISSECT_FOREIGN says how many there shall be.
func TestForeignStreams(t *testing.T) {
	total := 50_000
	if n, err := strconv.Atoi(os.Getenv("KDISSECT_FOREIGN")); err == nil {
		total = n
	}
	for name, say := range foreigners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := fnv.New64()
			seed.Write([]byte(name))
			p := foreignPlay{r: rand.New(rand.NewPCG(seed.Sum64(), 1)), say: say}
			for unseen, state := range []string{"seen", "not seen"} {
				wrong, streams, example := 0, total/len(foreigners)/2, ""
				for i := range streams {
					if messages := p.play(unseen == 0, i); messages != "" {
						wrong++
						example = messages
					}
				}
				switch known := knownForeign[name][unseen]; {
				case wrong > known:
					t.Errorf("opening %s: %d of %d connections become messages, %d did; %s", state, wrong, streams, known, example)
				case wrong > 0:
					t.Logf("known: opening %s: %d of %d connections become messages; %s", state, wrong, streams, example)
				}
			}
		})
	}
}

// A foreignPlay plays connections of a protocol.
type foreignPlay struct {
	talk
	r   *rand.Rand
	say foreigner
}

// play plays the i-th connection, a few messages in turns. It returns what messages came out of it, "" for none.
func (p *foreignPlay) play(opened bool, i int) string {
	if p.dissector == nil || len(p.messages) > 0 { // a server that has spoken Kafka is trusted
		p.talk = talk{recorder: recorder{light: true}}
		p.dissector = New(schema.Embedded(), NeedMessages, &p.recorder)
	}
	p.open(opened)
	p.conn.Ends = foreignEnds[i%len(foreignEnds)]
	p.reports = p.reports[:0]
	var sent []run
	sides := pick(p.r, []reassembly.Direction{0, 1}, []reassembly.Direction{0, 1}, []reassembly.Direction{0, 1}, []reassembly.Direction{0}, []reassembly.Direction{1})
	p.conn.Seen = [2]bool{len(sides) == 2, len(sides) == 2}
	for n := range 1 + p.r.IntN(6) {
		for _, dir := range sides {
			data := p.say(p.r, dir, n)
			if !opened && n == 0 && dir == fromClient {
				data = data[p.r.IntN(len(data)):] // the capture begins somewhere
			}
			sent = append(sent, run{dir, data})
			cut := wholePiece
			if i%3 == 0 {
				cut = randomPieces(p.r)
			}
			p.sendCut(dir, data, cut)
		}
	}
	p.end(reassembly.EndOfInput)
	if len(p.messages) == 0 {
		return ""
	}
	text := fmt.Sprintf("%q, port %d:", p.shorts(), p.conn.Ends[1].Port())
	for _, s := range sent {
		text += fmt.Sprintf("\n\t%d: % x", s.dir, s.data)
	}
	return text
}
