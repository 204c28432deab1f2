package dissect

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Sizes and counts that no client or broker would come to must not take memory that is not counted.

// An answered request must not live on in the places behind the queue.
func TestQueueLetsGo(t *testing.T) {
	var q queue
	push := func(n int) {
		for range n {
			q.push(&request{})
		}
	}
	push(5)
	for range 3 {
		q.take(0)
	}
	push(10) // moved to the front on the way
	for len(q.items) > 2 {
		q.take(1)
	}
	kept := 0
	for _, r := range q.ring[:cap(q.ring)] {
		if r != nil {
			kept++
		}
	}
	if kept > 2 {
		t.Errorf("%d requests are kept, 2 wait", kept)
	}
	for range 2 {
		q.take(0)
	}
	if q.held != 0 || len(q.ids) != 0 {
		t.Errorf("an empty queue holds %d bytes and %d ids", q.held, len(q.ids))
	}
}

// A queue finds the same request with ids noted as by looking through all of it.
func TestQueueFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	for step := range 20_000 {
		id := int32(r.IntN(150))
		switch n := r.IntN(100); {
		case n < 52 && len(q.items) < 4*fewPending:
			q.push(&request{outstanding: outstanding{header: Header{CorrelationID: id, Token: n == 0}}})
		case n < 95 && len(q.items) > 0:
			q.take(r.IntN(len(q.items)))
		case n >= 99:
			for len(q.items) > 0 {
				q.take(0)
			}
		}
		want := -1
		for i, one := range q.items {
			if one.header.CorrelationID == id && !one.header.Token {
				want = i
				break
			}
		}
		if got := q.find(id, reassembly.Origin{}); got != want {
			t.Fatalf("step %d, %d requests: %d is at %d, want %d", step, len(q.items), id, got, want)
		}
	}
}

// Requests that are never answered are given up when they take too much, and that is said.
func TestPendingBytes(t *testing.T) {
	k := newTalk(NeedMessages|NeedExchanges, true)
	const count, size = 1000, 60_000
	request := func(i int32) []byte {
		return framed(int16(3), int16(1), i, text(fmt.Sprint(i)+strings.Repeat("c", 32_000-10)), int32(1), text(strings.Repeat("t", size-32_000)))
	}
	k.client(apiVersions(0))
	k.server(framed(int32(0), int16(0), int32(1), int16(18), int16(0), int16(3)))
	for i := int32(1); i <= count; i++ {
		k.client(request(i))
		if k.conn.Memory > maxPendingBytes+4*size {
			t.Fatalf("%d requests take %d bytes", i, k.conn.Memory)
		}
	}
	givenUp := 0
	for _, r := range k.reports {
		for _, f := range r.Findings {
			if f.Code == Unanswered && strings.Contains(f.Text, "given up: the requests that wait for answers take more than 16 MiB") {
				givenUp++
			}
		}
	}
	if waiting := len(k.conn.Consumer.(*conn).pending.items); givenUp+waiting != count || waiting < 100 {
		t.Errorf("%d are given up and %d wait, of %d", givenUp, waiting, count)
	}
}

func TestSessionGivesBack(t *testing.T) {
	k := newTalk(NeedMessages, true)
	k.dissector = New(schema.Embedded(), NeedMessages, &sessionLog{})
	const count = 20_000
	body := func(id, epoch int32, listed, forgotten bool) []byte {
		b := pack(int32(-1), int32(500), int32(1), int32(1<<20), byte(0), id, epoch)
		if listed {
			b = append(b, pack(int32(1), text("t"), int32(count))...)
			for p := range int32(count) {
				b = append(b, pack(p, int64(0), int64(-1), int32(1))...)
			}
		} else {
			b = append(b, pack(int32(0))...)
		}
		if !forgotten {
			return append(b, pack(int32(0))...)
		}
		b = append(b, pack(int32(1), text("t"), int32(count-1))...)
		for p := range int32(count - 1) {
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		}
		return b
	}
	ask := func(correlation int32, body []byte) {
		k.client(framed(int16(1), int16(7), correlation, text("c"), body))
		k.server(fetchAnswer(correlation, 0, 9))
	}
	ask(1, body(0, 0, true, false))
	ask(2, body(9, 1, false, true))
	for _, one := range k.dissector.sessions.byKey {
		if len(one.held) != 1 || cap(one.held) > 16 || one.held[0].Partition != count-1 || len(one.index) != 1 || k.dissector.sessions.partitions != 1 {
			t.Errorf("%d partitions in the place of %d, %d in the index", len(one.held), cap(one.held), len(one.index))
		}
	}
	ask(3, body(9, 2, true, false))
	if k.dissector.sessions.partitions != count {
		t.Errorf("%d partitions, want %d", k.dissector.sessions.partitions, count)
	}
}

// A connection that opens share sessions without end does not collect them.
func TestSharesOfAConnection(t *testing.T) {
	k := newTalk(NeedMessages, true)
	for i := range 100 {
		group := fmt.Sprintf("%03d", i)
		k.client(framed(int16(78), int16(1), int32(i), text("c"), byte(0), byte(4), group, unhex("02 6d"), int32(0), int32(500), int32(1), int32(1<<20), int32(500), int32(500), byte(1), byte(1), byte(0)))
		k.server(framed(int32(i), byte(0), int32(0), int16(0), byte(0), int32(0), byte(1), byte(1), byte(0)))
	}
	if got := len(k.conn.Consumer.(*conn).shares); got != maxShares || len(k.dissector.sessions.byKey) != maxShares {
		t.Errorf("%d share sessions of the connection, %d in all", got, len(k.dissector.sessions.byKey))
	}
	k.end(reassembly.EndOfInput)
	if got := len(k.dissector.sessions.byKey); got != 0 {
		t.Errorf("%d share sessions outlive their connection", got)
	}
}

// Names of topics are remembered up to so many bytes.
func TestTopicNameBytes(t *testing.T) {
	names := newTopicNames()
	long := []byte(strings.Repeat("n", maxTopicName-8))
	for i := range 2 * maxTopicNameBytes / maxTopicName {
		id := TopicID{0: byte(i >> 16), 1: byte(i >> 8), 2: byte(i), 3: 1}
		names.add(id, fmt.Append(nil, i, string(long)), 1)
	}
	if names.held > maxTopicNameBytes || names.held < maxTopicNameBytes/2 {
		t.Errorf("%d bytes of names", names.held)
	}
}

// Names of configs that say that they hold a secret, and some that sound like it and do not.
func TestSensitiveConfigs(t *testing.T) {
	for name, want := range map[string]bool{
		"ssl.keystore.password": true, "SSL.KEY.PASSWORD": true, "sasl.jaas.config": true, "basic.auth.user.info": true, "db.passwd": true, "db.pwd": true,
		"confluent.license": true, "fs.s3a.access.key": true, "fs.azure.account.key.x": true, "github.access.token": true, "vault.auth.token": true, "schema.registry.api.key": true,
		"sasl.oauthbearer.token.endpoint.url": false, "delegation.token.max.lifetime.ms": false, "key.converter": false, "retention.ms": false, "sasl.login.class": false,
	} {
		if got := isSensitiveConfig([]byte(name)); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// A login that was pasted without its size and its end is withheld, though its first bytes could be the size of something else.
func TestCutLoginIsWithheld(t *testing.T) {
	frame := framed(int16(36), int16(0), int32(1), text("x"), int32(21), "\x00alice\x00Hunter2Secret!")
	for cut := range len(frame) - 22 {
		NewGiven(schema.Embedded()).Frames(frame[4:len(frame)-cut], nil, func(m *Message) bool {
			if !m.Secret() {
				t.Errorf("%d bytes less: taken for %s", cut, m.Name())
			}
			return true
		})
	}
}

// What the dissector found when it decoded a message for itself is told by every output, on whatever goroutine it runs.
func TestSnapshotKeepsFindings(t *testing.T) {
	k := newTalk(NeedMessages, true)
	var codes []Code
	k.dissector = New(schema.Embedded(), NeedMessages, snapshots(func(m *Message) {
		for _, f := range m.Findings {
			codes = append(codes, f.Code)
		}
	}))
	k.client(fetch(1, 0, 0, "a\xff/0@5"))
	k.server(fetchAnswer(1, 0, 9))
	if len(codes) != 1 || codes[0] != BadUTF8 {
		t.Errorf("got %v", codes)
	}
}

// snapshots is an Output that looks at messages as a worker does.
type snapshots func(*Message)

func (f snapshots) Message(m *Message) {
	var s Snapshot
	s.Take(m, nil)
	f(NewReader().Message(&s))
}
func (snapshots) Exchange(*Exchange) {}
func (snapshots) Report(*Report)     {}
