package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/kdissect/kdissect/dissect"
)

// batchOf is a record batch of magic 2 that says it has so many records; nobody opens it.
func batchOf(t *testing.T, records byte) []byte {
	t.Helper()
	b := unhex(t, `0000000000000000 00000031 00000000 02 00000000 0000 00000000 0000000000000000 0000000000000000 ffffffffffffffff ffff ffffffff 000000`)
	return append(b, records) // 61 bytes in all, 49 behind its length
}

// conversation is one of known times: a step a millisecond.
//
//	0 to 1 ms   ApiVersions v3 of acme 1.0
//	2 to 3 ms   Produce v3 of 3 records (61 bytes) to topic t; error 6, NOT_LEADER_OR_FOLLOWER
//	4 to 5 ms   Fetch v4 that may wait 500 ms, so nothing is in excess; batches of 5 and 1 records (122 bytes) of topic t
//	6 to 8 ms   Metadata v1 of topic u
//	7 to 9 ms   the same; error 3, UNKNOWN_TOPIC_OR_PARTITION; 1 ms of it behind the answer before
func conversation(t *testing.T) []step {
	t.Helper()
	client := []byte("app") // with length 0003
	two := append(batchOf(t, 5), batchOf(t, 1)...)
	metadata := func(id byte) step {
		return request(frame(unhex(t, `0003 0001 000000`), []byte{id}, unhex(t, `0003`), client, unhex(t, `00000001 0001 75`)))
	}
	return []step{
		request(frame(unhex(t, `0012 0003 00000001 0003`), client, unhex(t, `00 05`), []byte("acme"), unhex(t, `04`), []byte("1.0"), unhex(t, `00`))),
		response(frame(unhex(t, `00000001 0000 02 0012 0000 0003 00 00000000 00`))),
		request(frame(unhex(t, `0000 0003 00000002 0003`), client, unhex(t, `ffff ffff 00007530 00000001 0001 74 00000001 00000000 0000003d`), batchOf(t, 3))),
		response(frame(unhex(t, `00000002 00000001 0001 74 00000001 00000000 0006 ffffffffffffffff ffffffffffffffff 00000000`))),
		request(frame(unhex(t, `0001 0004 00000003 0003`), client, unhex(t, `ffffffff 000001f4 00000001 00100000 00 00000001 0001 74 00000001 00000000 0000000000000000 00100000`))),
		response(frame(unhex(t, `00000003 00000000 00000001 0001 74 00000001 00000000 0000 0000000000000006 0000000000000006 ffffffff 0000007a`), two)),
		metadata(4),
		metadata(5),
		response(frame(unhex(t, `00000004 00000000 00000000 00000001 0000 0001 75 00 00000000`))),
		response(frame(unhex(t, `00000005 00000000 00000000 00000001 0003 0001 75 00 00000000`))),
	}
}

// Sizes, size prefix included: ApiVersions 4+8+2+3+1+5+4+1 = 28 and 4+4+2+1+7+4+1 = 23; Produce 4+8+5+2+2+4+4+3+4+4+4+61 = 105 and 4+4+4+3+4+4+2+8+8+4 = 45;
// Fetch 4+8+5+4+4+4+4+1+4+3+4+4+8+4 = 61 and 4+4+4+4+3+4+4+2+8+8+4+4+122 = 175; Metadata 4+8+5+4+3 = 24 and 4+4+4+4+4+2+3+1+4 = 30. In all 28+105+61+2*24 = 242
// and 23+45+175+2*30 = 303, which is "303". The excess: ApiVersions and Produce 1 ms, Fetch 0, the first Metadata 2 ms, the second 1 ms, so at most 1.008 ms is that of
// half of them: see the steps of a histogram.
const conversationBlock = `2026-11-28 10:00:00.412  2.0 s  x.pcap
50.0 packets/s, 0.4 Mbit/s, 7 connections, 2 packets lost (9 in all), 1 gap
5 exchanges, 2.5/s, 2 answers with errors, 0 unanswered, 0 hanging

    NUM      /S     IN    OUT   ERR   EXC.50   EXC.99  EXC.MAX API
      2     1.0     48     60     1    1.008        2        2 Metadata
      1     0.5     28     23     0        1        1        1 ApiVersions
      1     0.5     61    175     0        0        0        0 Fetch
      1     0.5    105     45     1        1        1        1 Produce

    NUM      /S     IN    OUT   ERR  EXC.MAX CLIENT
      5     2.5    242    303     2        2 app@10.0.0.1  acme 1.0

    NUM      /S     IN    OUT   ERR   REC.IN  REC.OUT TOPIC
      2     1.0     61    122     1        3        6 t
      0     0.0      0      0     1        0        0 u

           TIME CONN    FAILED API              RESULT, CLIENT, WHAT
10:00:00.414307 c3           1 Produce          NOT_LEADER_OR_FOLLOWER  app@10.0.0.1:40000  t/0 acks=-1 1 batch 3 records
10:00:00.419307 c3           1 Metadata         UNKNOWN_TOPIC_OR_PARTITION  app@10.0.0.1:40000  u

           TIME CONN    EXCESS       MS API              CLIENT, WHAT
10:00:00.418307 c3           2        2 Metadata         app@10.0.0.1:40000  u
10:00:00.412307 c3           1        1 ApiVersions      app@10.0.0.1:40000  acme 1.0
10:00:00.414307 c3           1        1 Produce          app@10.0.0.1:40000  t/0 acks=-1 1 batch 3 records
10:00:00.419307 c3           1        2 Metadata         app@10.0.0.1:40000  u
10:00:00.416307 c3           0        1 Fetch            app@10.0.0.1:40000  t/0@0+6
`

func newTestIntervals(out *bytes.Buffer, o Options, width, height int) *Intervals {
	o.Files = []string{"x.pcap"}
	return NewIntervals(out, o, func() (int, int) { return width, height })
}

// introduced is a format without a filter in front.
type introduced struct{ *Intervals }

func (i introduced) Exchange(x *dissect.Exchange) {
	i.Learn(x)
	i.Intervals.Exchange(x)
}

func TestIntervals(t *testing.T) {
	var out bytes.Buffer
	v := newTestIntervals(&out, Options{}, 0, 0)
	converse(introduced{v}, conversation(t)...)
	v.End(&Interval{Begin: at, End: at + 2e9, Packets: 100, Bytes: 100_000, Lost: 2, LostInAll: 9, Gaps: 1, Connections: 7})
	v.Flush()
	if got := out.String(); got != conversationBlock {
		t.Errorf("got\n%swant\n%s", got, conversationBlock)
	}
	out.Reset()
	v.End(&Interval{Begin: at + 2e9, End: at + 2e9})
	v.Flush()
	want := "\n2026-11-28 10:00:02.412  0.0 s  x.pcap\n- packets/s, - Mbit/s, 0 connections, 0 packets lost\n0 exchanges, -/s, 0 answers with errors, 0 unanswered, 0 hanging\n"
	if got := out.String(); got != want {
		t.Errorf("behind it\n%swant\n%s", got, want)
	}
}

// A block has no more lines than the terminal, and no line more columns, whatever clients call themselves. Its figures add up.
func TestIntervalsFitATerminal(t *testing.T) {
	for _, name := range []string{"client-%d", "\x1b[31m\n\u202e%d", "名前の長いクライアント名前の長いクライアント%d", "\xff\u0301%d" + strings.Repeat("x", 1000)} {
		for _, size := range [][2]int{{80, 24}, {80, 9}, {40, 60}, {20, 10}, {250, 12}, {1, 4}} {
			var out bytes.Buffer
			hello := conversation(t) // with which the connection is known to be Kafka
			v := newTestIntervals(&out, Options{}, size[0], size[1])
			for i := range 100 {
				id := fmt.Sprintf(name, i)
				ask := frame(unhex(t, `0003 0001 00000004`), []byte{byte(len(id) >> 8), byte(len(id))}, []byte(id), unhex(t, `00000001 0001 75`))
				converse(introduced{v}, hello[0], hello[1], request(ask), response(frame(unhex(t, `00000004 00000000 00000000 00000001 0003 0001 75 00 00000000`))))
			}
			v.End(&Interval{Begin: at, End: at + 1e9})
			v.Flush()
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) > max(size[1], headLines) {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if wide := columnsOf(line); wide > size[0] {
					t.Errorf("%v: %d columns: %q", size, wide, line)
				}
			}
			wantPlain(t, out.String())
			if size[1] >= headLines+2*(titleLines+2) && !strings.Contains(out.String(), "FAILED") {
				t.Errorf("%v: failures have no room:\n%s", size, out.String())
			}
			if size == [2]int{80, 24} {
				wantSum(t, out.String(), "CLIENT", 200)
			}
		}
	}
}

// columnsOf counts two for each character of the scripts that take two, and none for a mark on the one before.
func columnsOf(line string) (n int) {
	for _, r := range line {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x3000:
			n += 2
		default:
			n++
		}
	}
	return n
}

// wantSum adds up the first column of a table.
func wantSum(t *testing.T, text, table string, want int) {
	t.Helper()
	_, rows, found := strings.Cut(text, " "+table+"\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	sum, n := 0, 0
	for row := range strings.Lines(rows) {
		fmt.Sscan(row, &n)
		sum += n
	}
	if !found || sum != want {
		t.Errorf("%s: %d in all, want %d\n%s", table, sum, want, text)
	}
}

// Rows are no more than wanted.
func TestIntervalsRows(t *testing.T) {
	var out bytes.Buffer
	v := newTestIntervals(&out, Options{Rows: 2}, 0, 0)
	converse(introduced{v}, conversation(t)...)
	v.End(&Interval{Begin: at, End: at + 2e9})
	v.Flush()
	for _, line := range []string{"2     1.0     48     60     1    1.008        2        2 Metadata\n", "3     1.5    194    243     1        1        1        1 others\n",
		"10:00:00.412307 c3           1        1 ApiVersions      app@10.0.0.1:40000  acme 1.0\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 3+3*2+2+1+2+2*(2+2) {
		t.Errorf("%d lines\n%s", n, out.String())
	}
}

// Colours end in their line, and without them the block is the same.
func TestIntervalsColors(t *testing.T) {
	var out bytes.Buffer
	v := newTestIntervals(&out, Options{Color: true}, 0, 0)
	converse(introduced{v}, conversation(t)...)
	v.End(&Interval{Begin: at, End: at + 2e9, Packets: 100, Bytes: 100_000, Lost: 2, LostInAll: 9, Gaps: 1, Connections: 7})
	v.Flush()
	sequence := regexp.MustCompile("\x1b\\[[0-9;]*m")
	if got := sequence.ReplaceAllString(out.String(), ""); got != conversationBlock {
		t.Errorf("without colours\n%s", got)
	}
	if !strings.Contains(out.String(), "\x1b[31;1m    1") {
		t.Errorf("errors are not told by colour:\n%q", out.String())
	}
}

// Failures that have no row are counted together, those that are not told apart with them.
func TestFailuresAddUp(t *testing.T) {
	var out bytes.Buffer
	v := newTestIntervals(&out, Options{}, 0, 0)
	const codes = maxFailures + 40 // there are not so many
	for round := range 2 {
		for code := range codes {
			metadata := request(frame(unhex(t, `0003 0001 00000001 0000 00000001 0001 75`)))
			answer := frame(unhex(t, `00000001 00000000 00000000 00000001`), []byte{byte((1000 + code) >> 8), byte(1000 + code)}, unhex(t, `0001 75 00 00000000`))
			if converse(v, metadata, response(answer)); round == 1 && code == 0 {
				break // the first has come twice
			}
		}
	}
	for _, room := range []int{1, 2, 10, maxFailures, maxFailures + 1} {
		few, others := v.failures.top(room)
		all := others
		for _, f := range few {
			all += f.count
		}
		if all != codes+1 || len(few) != min(room-1, maxFailures) || len(few) > 0 && few[0].count != 2 {
			t.Errorf("room for %d: %d rows, %d others", room, len(few), others)
		}
	}
	v.End(&Interval{Begin: at, End: at + 1e9})
	v.Flush()
	if want := fmt.Sprintf("\n%15s %-5s %8d %-16s %s\n", "-", "-", 231, "-", "others"); !strings.Contains(out.String(), want) { // 241 less 2 and 8
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

// What failed is told by API and outcome, however often it comes; an answer that may only be missing from the capture is no failure.
func TestOutcomes(t *testing.T) {
	request := &dissect.Message{Head: &dissect.Head{}}
	said := func(s dissect.Severity) []dissect.Finding { return []dissect.Finding{{Severity: s}} }
	for _, test := range []struct {
		x    dissect.Exchange
		want string
	}{
		{dissect.Exchange{NoAnswer: true}, ""},
		{dissect.Exchange{OneWay: true}, ""},
		{dissect.Exchange{Closed: true, Findings: said(dissect.Warn)}, "CLOSED"},
		{dissect.Exchange{Findings: said(dissect.Warn)}, "UNANSWERED"},
		{dissect.Exchange{}, "UNANSWERED"},
		{dissect.Exchange{Findings: said(dissect.Info)}, ""}, // the capture ended, or bytes are missing
	} {
		test.x.Request = request
		if got := outcomeOf(&test.x); got != test.want {
			t.Errorf("%+v: %q, want %q", test.x, got, test.want)
		}
	}
}
