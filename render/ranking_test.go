package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// A timedLine is a line of a test: an exchange of some latency, or one without an answer.
type timedLine struct {
	number, latency int64
	answered        bool
	text            string
}

func (l *timedLine) exchange() *dissect.Exchange {
	x := &dissect.Exchange{Request: &dissect.Message{Head: &dissect.Head{Number: l.number}}}
	if l.answered {
		x.Response = &dissect.Message{Head: &dissect.Head{Number: l.number, Timing: dissect.Timing{Latency: l.latency}}}
	}
	return x
}

// sorted is the order that is wanted: the slowest first, those without an answer last, else as they came.
func sorted(lines []timedLine) []timedLine {
	return slices.SortedStableFunc(slices.Values(lines), func(l, m timedLine) int {
		if l.answered != m.answered {
			return map[bool]int{true: -1, false: 1}[l.answered]
		}
		if !l.answered {
			return cmp.Compare(l.number, m.number)
		}
		return cmp.Or(cmp.Compare(m.latency, l.latency), cmp.Compare(l.number, m.number))
	})
}

// Whatever the order in which lines come, the same ones are kept: the first in the order, as many as are wanted and there is room for.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var lines []timedLine
		for n := range random.IntN(40) {
			text := fmt.Sprintf("%d%s\n", n, strings.Repeat("x", random.IntN(20)))
			lines = append(lines, timedLine{int64(n + 1), int64(random.IntN(8)), random.IntN(5) > 0, text})
		}
		most, limit := random.IntN(12), 200+random.IntN(3000)
		want, size := "", 0
		for i, l := range sorted(lines) {
			if size += len(l.text) + lineOverhead; size > limit || most > 0 && i == most {
				break
			}
			want += l.text
		}
		for range 3 {
			random.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
			r, err := NewRanking("latency", most)
			if err != nil {
				t.Fatal(err)
			}
			r.limit = limit
			for i := range lines {
				r.add(lines[i].exchange(), []byte(lines[i].text))
			}
			var out, log bytes.Buffer
			s := sink{w: &out}
			notes := findingLog{sink: sink{w: &log}}
			s.writeRanking(r, &notes)
			s.Flush()
			notes.Flush()
			if out.String() != want {
				t.Fatalf("top %d of %d bytes:\n%s\nwant\n%s", most, limit, out.String(), want)
			}
			missing := len(lines) - strings.Count(want, "\n")
			if most > 0 {
				missing = min(len(lines), most) - strings.Count(want, "\n")
			}
			if said := strings.HasPrefix(log.String(), fmt.Sprintf("%d of %d lines are left out", missing, len(lines))); said != (missing > 0) {
				t.Fatalf("%d lines are missing, and this was said: %s", missing, log.String())
			}
		}
	}
	if _, err := NewRanking("latenzy", 0); err == nil {
		t.Error("an unknown order is taken")
	}
}

// The lines of a capture are the same in another order, and the first ones are the first ones of that.
func TestSortedSummary(t *testing.T) {
	lines := func(by string, most int) []string {
		o := Options{}
		if by != "" {
			var err error
			if o.Ranking, err = NewRanking(by, most); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := dissectFile(t, "../testdata/midstream.pcap", NewSummary(&out, io.Discard, o)); err != nil {
			t.Fatal(err)
		}
		return strings.Split(out.String(), "\n")
	}
	plain := lines("", 0)
	for _, by := range RankKeys() {
		all, first := lines(by, 0), lines(by, 5)
		if !slices.Equal(all[:6], first[:6]) || len(first) != 7 {
			t.Errorf("%s: the first lines differ", by)
		}
		if by != "number" && slices.Equal(all, plain) {
			t.Errorf("%s changes nothing", by)
		}
		slices.Sort(all)
		if unsorted := slices.Sorted(slices.Values(plain)); !slices.Equal(all, unsorted) {
			t.Errorf("%s: the lines differ", by)
		}
	}
}
