package dissect

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// apiVersions is a small request: ApiVersions v0, which has no body.
func apiVersions(correlationID int32) []byte {
	return framed(int16(18), int16(0), correlationID, text("c"))
}

// The cost of searching must be linear in the bytes, whatever they are: a capture that starts inside a connection that
// is not Kafka is searched at every byte.
func TestSearchIsLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	streams := map[string]func(i int) byte{
		// Every now and then begins what could be a response of 32 bytes, as in any protocol with int32 lengths.
		"plausible sizes": func(i int) byte { return ("\x00\x00\x00\x20" + strings.Repeat("\x00\x00\x00\x01xxxxyyyy", 3))[i%40] },
		"random bytes":    func(int) byte { return byte(r.Uint32()) },
		"sparse bytes":    func(int) byte { return byte(r.Uint32()) & -byte(r.Uint32()>>31&(r.Uint32()>>31)) },
		"small int32":     func(i int) byte { return byte(r.Uint32()) & -byte(i&1&(i>>1)) },
		"text":            func(i int) byte { return "the quick brown fox "[i%20] },
	}
	const packets, hang = 400, 30 * time.Second // it takes some milliseconds; without a bound on trials it takes hours
	for name, at := range streams {
		for _, dir := range []reassembly.Direction{fromClient, fromServer} {
			k := newTalk(NeedMessages, false)
			segment, sent := make([]byte, 1460), 0
			for start := time.Now(); sent < packets*len(segment); {
				for i := range segment {
					segment[i] = at(sent + i)
				}
				k.send(dir, segment)
				sent += len(segment)
				if spent := time.Since(start); spent > hang {
					t.Errorf("%s, direction %d: %v for %d bytes", name, dir, spent, sent)
					break
				}
			}
		}
	}
}

// Requests without answers pile up when only the client's side was captured: neither time nor memory may grow with the square,
// or without bound.
func TestOneDirectionIsLinear(t *testing.T) {
	const requests = 100_000
	k := newTalk(NeedMessages|NeedExchanges, true)
	k.light, k.conn.Seen[fromServer] = true, false
	start := time.Now()
	for i := range int32(requests) {
		k.client(apiVersions(i))
		k.messages = k.messages[:0]
		if time.Since(start) > 30*time.Second {
			t.Fatalf("30 s for %d requests", i)
		}
	}
	if n := len(k.conn.Consumer.(*conn).pending.items); n > 10_000 {
		t.Errorf("%d requests are kept", n)
	}
}

// A frame that is too short for a request costs the step, but none of the bytes behind it.
func TestBytesBehindAShortFrameAreNotLost(t *testing.T) {
	stream := pack(framed("abcd"), apiVersions(2), apiVersions(3), apiVersions(4))
	for _, cut := range []cutter{wholePiece, pieces(1), pieces(8), pieces(11)} {
		k := newTalk(NeedMessages, true)
		k.client(apiVersions(1))
		k.sendCut(fromClient, stream, cut)
		k.end(reassembly.EndOfInput)
		if len(k.messages) != 4 {
			t.Errorf("pieces of %d: %v, %v", cut(len(stream))[0], k.shorts(), k.reportCodes())
		}
	}
}

// The memory of a skimmed frame must not depend on where the first packet ends, not even inside the header.
func TestSkimmingBeginsWhereverTheHeaderEnds(t *testing.T) {
	const recordBytes = 4 << 20
	head := pack(int32(1), byte(0), // correlation id, no tagged fields
		int32(0), int16(0), int32(0), // throttle time, error, session
		byte(2), byte(2), "t", // a topic
		byte(2), int32(0), int16(0), int64(0), int64(0), int64(0), byte(0), int32(-1), // a partition
		unhex("81 80 80 02")) // records: a length of 4 MiB, plus one
	tail := unhex("00 00 00") // tagged fields of partition, topic, body
	batch := pack(int64(0), int32(recordBytes-12), int32(0), byte(2), make([]byte, recordBytes-17))
	frame := framed(head, batch, tail)
	for _, first := range []int{1, 4, 7, 8, 9, 10, 30, 50, 56, 57, 58, 60, 100, 130} {
		k := newTalk(NeedMessages, true)
		k.client(framed(int16(1), int16(12), int32(1), text("c"), byte(0), int32(-1), int32(0), int32(0), int32(0), byte(0), int32(0), int32(0), unhex("01 01 01 00")))
		k.server(frame[:first])
		k.sendCut(fromServer, frame[first:len(frame)-1], pieces(1460))
		h := &k.conn.Consumer.(*conn).halves[fromServer]
		if held := heldBySkim(h) + cap(h.buffer); held > 256<<10 {
			t.Errorf("first piece %d bytes: %d bytes held", first, held)
		}
		k.server(frame[len(frame)-1:])
		k.checkTapes(t)
		if len(k.messages) != 2 || k.messages[1].Undecoded != nil || len(k.messages[1].Batches) != 1 {
			t.Errorf("first piece %d bytes: %v", first, k.messages)
		}
	}
}

// Responses to requests that are not in the capture are handed over, all of them, also when the stream ends while they wait.
func TestOrphansAreNotLost(t *testing.T) {
	const orphans = 100
	var responses []byte
	for i := range int32(orphans) {
		responses = append(responses, framed(1000+i, int16(0), int32(0))...)
	}
	for _, piece := range []int{len(responses), 14, 7, 1} {
		k := newTalk(NeedMessages, true)
		k.client(apiVersions(1))
		k.server(framed(int32(1), int16(0), int32(0)))
		k.client(apiVersions(2))
		k.sendCut(fromServer, responses, pieces(piece))
		k.end(reassembly.EndOfInput)
		if len(k.messages) != 3+orphans {
			t.Errorf("pieces of %d: %d messages, want %d", piece, len(k.messages), 3+orphans)
		}
	}
}

// A response that waits for its request when the stream ends, before anything else of the server was seen, is handed over, too.
func TestFirstOrphanAtTheEnd(t *testing.T) {
	for _, piece := range []int{14, 7, 1} {
		k := newTalk(NeedMessages, true)
		k.client(apiVersions(1))
		k.sendCut(fromServer, framed(int32(1000), int16(0), int32(0)), pieces(piece))
		k.end(reassembly.EndOfInput)
		if len(k.messages) != 2 {
			t.Errorf("pieces of %d: %v", piece, k.shorts())
		}
	}
}

// An answer can stand in the capture before the last packet of its request. What is kept of the request must not be given back
// twice, even if that turns out to be one that expects no answer.
func TestAnswerBeforeTheEndOfItsRequest(t *testing.T) {
	k := newTalk(NeedMessages|NeedExchanges, true)
	k.client(apiVersions(1))
	k.server(framed(int32(1), int16(0), int32(0)))
	produce := framed(int16(0), int16(0), int32(9), text("c"), int16(0), int32(0), int32(0)) // acks=0
	k.client(produce[:20])
	k.server(framed(int32(9), int32(0)))
	k.client(produce[20:])
	k.client(apiVersions(21), apiVersions(22))
	k.server(framed(int32(21), int16(0), int32(0)), framed(int32(22), int16(0), int32(0)))
	k.end(reassembly.EndOfInput)
	answers := map[int32]int64{} // request by correlation id of the response
	for _, m := range k.messages {
		if m.Kind == schema.Response {
			answers[m.Header.CorrelationID] = m.request
		}
	}
	if len(k.messages) != 8 || answers[21] == 0 || answers[22] == 0 || answers[21] == answers[22] {
		t.Errorf("%v, answers to %v, exchanges %v, %v", k.shorts(), answers, k.exchanges, k.reportCodes())
	}
}

// A gap inside a request's header hides what it is, but not where the next one begins.
func TestGapInAHeaderKeepsStep(t *testing.T) {
	lost := framed(int16(0), int16(3), int32(2), text("c"), int16(-1), int16(1), int32(0), int32(0))
	for at := 4; at < 16; at++ {
		k := newTalk(NeedMessages, true)
		k.client(apiVersions(1))
		k.client(lost[:at])
		k.gap(fromClient, int64(len(lost)-at-2), reassembly.NotCaptured)
		k.client(lost[len(lost)-2:], apiVersions(3), apiVersions(4))
		k.end(reassembly.EndOfInput)
		k.checkTapes(t)
		if n := len(k.messages); n < 3 || k.messages[n-2].Header.CorrelationID != 3 || k.messages[n-1].Header.CorrelationID != 4 {
			t.Errorf("gap at %d: %v, %v", at, k.shorts(), k.reportCodes())
		}
	}
}

// The leaves tile a frame of which bytes are missing behind the end of its body, too.
func TestCutBehindTheBody(t *testing.T) {
	k := newTalk(NeedMessages, true)
	k.client(apiVersions(1))
	k.client(pack(int32(100), int16(18), int16(0), int32(2), text("c")))
	k.end(reassembly.EndOfInput)
	if k.checkTapes(t); len(k.messages) != 2 {
		t.Error(k.shorts())
	}
}
