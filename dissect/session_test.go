package dissect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// sessionLog is an Output that notes what is said of sessions.
type sessionLog struct{ lines []string }

func (l *sessionLog) Message(m *Message) {
	s := m.Session
	if s == nil {
		return
	}
	line := fmt.Sprintf("%s %s %t %d +%d -%d", m.Kind, s.Step, s.Known, s.Partitions, s.Added, s.Forgotten)
	for _, a := range s.Asks {
		line += fmt.Sprintf(" %s/%d@%d", a.Name, a.Partition, a.Offset)
	}
	m.Tape() // its findings must outlast decoding
	for _, f := range m.Findings {
		if f.Code == FetchSession {
			line += " !"
		}
	}
	l.lines = append(l.lines, line)
}
func (l *sessionLog) Exchange(*Exchange) {}
func (l *sessionLog) Report(*Report)     {}

// fetch is a Fetch v7 request. A partition is written topic/partition@offset, one that is forgotten -topic/partition.
func fetch(correlation int32, id, epoch int32, partitions ...string) []byte {
	var topics, forgotten []byte
	var asked, given int32
	for _, p := range partitions {
		name, rest, _ := strings.Cut(strings.TrimPrefix(p, "-"), "/")
		var partition int32
		var offset int64
		fmt.Sscanf(rest, "%d@%d", &partition, &offset)
		if strings.HasPrefix(p, "-") {
			given++
			forgotten = append(forgotten, pack(text(name), int32(1), partition)...)
		} else {
			asked++
			topics = append(topics, pack(text(name), int32(1), partition, offset, int64(-1), int32(1<<20))...)
		}
	}
	return framed(int16(1), int16(7), correlation, text("c"), int32(-1), int32(500), int32(1), int32(1<<20), byte(0), id, epoch, asked, topics, given, forgotten)
}

func fetchAnswer(correlation int32, code int16, id int32) []byte {
	return framed(correlation, int32(0), code, id, int32(0))
}

func TestFetchSessions(t *testing.T) {
	for _, test := range []struct {
		name string
		play func(k *talk)
		want string
	}{
		{"opened, changed, closed", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5", "a/1@6"))
			k.server(fetchAnswer(1, 0, 42))
			k.client(fetch(2, 42, 1))
			k.server(fetchAnswer(2, 0, 42))
			k.client(fetch(3, 42, 2, "a/0@9", "b/7@0", "-a/1"))
			k.server(fetchAnswer(3, 0, 42))
			k.client(fetch(4, 42, -1))
		}, `request opens true 2 +0 -0 a/0@5 a/1@6
			response opened true 2 +0 -0
			request continues true 2 +0 -0 a/0@5 a/1@6
			response continues true 2 +0 -0
			request continues true 2 +1 -1 a/0@9 b/7@0
			response continues true 2 +0 -0
			request closes true 2 +0 -0`},
		{"no session", func(k *talk) {
			k.client(fetch(1, 0, -1, "a/0@5"))
			k.server(fetchAnswer(1, 0, 0))
		}, ""},
		{"the broker keeps none", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 0))
		}, "request opens true 1 +0 -0 a/0@5\nresponse not-kept true 1 +0 -0"},
		{"opened before the capture", func(k *talk) {
			k.client(fetch(1, 42, 7, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
		}, "request continues false 0 +0 -0"},
		{"lost", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
			k.client(fetch(2, 42, 1))
			k.server(fetchAnswer(2, 70, 0))
			k.client(fetch(3, 42, 2))
		}, `request opens true 1 +0 -0 a/0@5
			response opened true 1 +0 -0
			request continues true 1 +0 -0 a/0@5
			response lost false 0 +0 -0 !
			request continues false 0 +0 -0`},
		{"replaced", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
			k.client(fetch(2, 42, 0, "b/0@1"))
			k.server(fetchAnswer(2, 0, 43))
			k.client(fetch(3, 43, 1), fetch(4, 42, 1))
		}, `request opens true 1 +0 -0 a/0@5
			response opened true 1 +0 -0
			request opens true 1 +0 -0 b/0@1
			response opened true 1 +0 -0
			request continues true 1 +0 -0 b/0@1
			request continues false 0 +0 -0`},
		{"another connection, and an epoch that was missed", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
			k.end(reassembly.Closed)
			k.open(true)
			k.client(fetch(2, 42, 1))
			k.server(fetchAnswer(2, 0, 42))
			k.client(fetch(3, 42, 3))
		}, `request opens true 1 +0 -0 a/0@5
			response opened true 1 +0 -0
			request continues true 1 +0 -0 a/0@5 !
			response continues true 1 +0 -0
			request continues false 1 +0 -0 a/0@5 !`},
		{"closed behind an epoch that was missed", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
			k.client(fetch(2, 42, 2), fetch(3, 42, -1))
		}, `request opens true 1 +0 -0 a/0@5
			response opened true 1 +0 -0
			request continues false 1 +0 -0 a/0@5 !
			request closes false 1 +0 -0`},
		{"a name that is none", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5", strings.Repeat("b", maxTopicName+1)+"/0@1"))
			k.server(fetchAnswer(1, 0, 42))
			k.client(fetch(2, 42, 1))
		}, `request opens false 1 +0 -0 a/0@5
			response opened false 1 +0 -0
			request continues false 1 +0 -0 a/0@5`},
		{"behind the highest epoch comes 1", func(k *talk) {
			k.client(fetch(1, 0, 0, "a/0@5"))
			k.server(fetchAnswer(1, 0, 42))
			k.dissector.sessions.byKey[sessionKey{broker: talkEnds[1], id: 42}].due = 1<<31 - 1
			k.client(fetch(2, 42, 1<<31-1), fetch(3, 42, 1))
		}, `request opens true 1 +0 -0 a/0@5
			response opened true 1 +0 -0
			request continues true 1 +0 -0 a/0@5
			request continues true 1 +0 -0 a/0@5`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log sessionLog
			k := newTalk(NeedMessages|NeedSessions, true)
			k.dissector = New(schema.Embedded(), NeedMessages|NeedSessions, &log)
			test.play(k)
			k.end(reassembly.EndOfInput)
			want := strings.ReplaceAll(test.want, "\t", "")
			if got := strings.Join(log.lines, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestSessionsAreBounded opens more than are kept, and counts.
func TestSessionsAreBounded(t *testing.T) {
	k := newTalk(NeedMessages, true)
	for i := range int32(3 * maxSessions) {
		var asks []string
		for p := range 10 {
			asks = append(asks, fmt.Sprintf("topic/%d@1", p))
		}
		k.client(fetch(i, 0, 0, asks...))
		k.server(fetchAnswer(i, 0, i+1))
		k.messages = k.messages[:0]
	}
	s := &k.dissector.sessions
	total := 0
	for _, one := range s.byKey {
		total += len(one.held)
	}
	if len(s.byKey) > maxSessions || total > maxSessionPartitions || total != s.partitions || len(s.byKey) < maxSessions/2 {
		t.Errorf("%d sessions with %d partitions, said to be %d", len(s.byKey), total, s.partitions)
	}
	if s.byKey[sessionKey{broker: talkEnds[1], id: 3 * maxSessions}] == nil {
		t.Error("the latest one is forgotten")
	}
}

func TestShareSessions(t *testing.T) {
	share := func(correlation, epoch int32, topics ...any) []byte {
		body := pack(int16(78), int16(1), correlation, text("c"), byte(0), unhex("02 67 02 6d"), epoch, int32(500), int32(1), int32(1<<20), int32(500), int32(500))
		return framed(body, pack(topics...), byte(0))
	}
	one := append([]any{byte(2)}, slices.Repeat([]any{byte(7)}, 16)...)
	one = append(one, byte(2), int32(3), byte(1), byte(0), byte(0), byte(1)) // partition 3, nothing acknowledged; nothing forgotten
	answer := func(correlation int32, code int16) []byte {
		return framed(correlation, byte(0), int32(0), code, byte(0), int32(30000), byte(1), byte(1), byte(0))
	}
	var log sessionLog
	k := newTalk(NeedMessages, true)
	k.dissector = New(schema.Embedded(), NeedMessages, &log)
	k.client(share(1, 0, one...))
	k.server(answer(1, 0))
	k.client(share(2, 1, byte(1), byte(1)))
	k.server(answer(2, 0))
	k.end(reassembly.Closed)
	k.open(true)
	k.client(share(3, 2, byte(1), byte(1)))
	k.server(answer(3, 122))
	want := `request opens true 1 +0 -0
response opened true 1 +0 -0
request continues true 1 +0 -0
response continues true 1 +0 -0
request continues false 0 +0 -0`
	if got := strings.Join(log.lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := len(k.dissector.sessions.byKey); n != 0 {
		t.Errorf("%d share sessions outlive their connection", n)
	}
}
