package render

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A Ranking puts the lines of exchanges into another order than that in which they were completed. All instances of a format share one. It holds the
// lines until the end: those that come first in its order, as many as are wanted, and no more bytes than maxRanked.
type Ranking struct {
	key   rankKey
	most  int // lines that are wanted, 0 for all
	mutex sync.Mutex
	held  rankedLines
	bytes int
	limit int         // of bytes
	seen  int         // lines in all
	bound *rankedLine // the first that there was no room for, without its text: what comes behind it has no place either
}

// maxRanked is how many bytes of lines are held, and lineOverhead what each takes besides its text.
const (
	maxRanked    = 16 << 20
	lineOverhead = 80
)

// A rankKey is what lines are ordered by.
type rankKey struct {
	name   string
	rising bool // the lowest value first
	of     func(x *dissect.Exchange) (n int64, ok bool)
}

var rankKeys = [...]rankKey{
	{"latency", false, timing(func(t *dissect.Timing) int64 { return t.Latency })},
	{"queued", false, timing(func(t *dissect.Timing) int64 { return t.Queued })},
	{"service", false, timing(func(t *dissect.Timing) int64 { return t.Service })},
	{"transfer", false, timing(func(t *dissect.Timing) int64 { return t.Transfer })},
	{"excess", false, timing(func(t *dissect.Timing) int64 { return t.Excess })},
	{"size", false, func(x *dissect.Exchange) (int64, bool) {
		if x.Request == nil {
			return 0, false
		}
		return int64(x.Request.Size), true
	}},
	{"responseSize", false, func(x *dissect.Exchange) (int64, bool) {
		if x.Response == nil {
			return 0, false
		}
		return int64(x.Response.Size), true
	}},
	{"records", false, recorded(func(f *dissect.Facts) int64 { return f.Records })},
	{"recordBytes", false, recorded(func(f *dissect.Facts) int64 { return f.RecordBytes })},
	{"time", true, func(x *dissect.Exchange) (int64, bool) { return leading(x).Time, true }},
	{"number", true, func(x *dissect.Exchange) (int64, bool) { return number(x), true }},
}

// timing is a part of the time of an exchange, where both its messages are there.
func timing(of func(*dissect.Timing) int64) func(*dissect.Exchange) (int64, bool) {
	return func(x *dissect.Exchange) (int64, bool) {
		if x.Request == nil || x.Response == nil {
			return 0, false
		}
		return of(&x.Response.Timing), true
	}
}

// recorded is a figure of the message that carries records.
func recorded(of func(*dissect.Facts) int64) func(*dissect.Exchange) (int64, bool) {
	return func(x *dissect.Exchange) (int64, bool) {
		f := recordFacts(x)
		if f == nil {
			return 0, false
		}
		return of(f), true
	}
}

// RankKeys are the names of what lines can be ordered by.
func RankKeys() []string {
	var names []string
	for i := range rankKeys {
		names = append(names, rankKeys[i].name)
	}
	return names
}

// NewRanking returns a ranking by one of [RankKeys]: the highest first, but of times and numbers the lowest. most is how many lines are
// wanted, 0 for all that there is room for.
func NewRanking(by string, most int) (*Ranking, error) {
	for i := range rankKeys {
		if rankKeys[i].name == by {
			return &Ranking{key: rankKeys[i], most: most, limit: maxRanked}, nil
		}
	}
	guess := schema.DidYouMean(by, RankKeys())
	if guess == "" {
		guess = "; there are " + strings.Join(RankKeys(), ", ")
	}
	return nil, fmt.Errorf("lines have no %s to be sorted by%s", by, guess)
}

// A rankedLine is a line and its place in the order. Exchanges that lack the value come last; those of one value in the order of completion.
type rankedLine struct {
	lacks  bool
	value  int64 // the lower the earlier
	number int64
	text   []byte
}

func (l *rankedLine) compare(m *rankedLine) int {
	if l.lacks != m.lacks {
		if m.lacks {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(l.value, m.value), cmp.Compare(l.number, m.number))
}

// rankedLines is a heap with the last line in the order on top.
type rankedLines []*rankedLine

func (h rankedLines) Len() int           { return len(h) }
func (h rankedLines) Less(i, k int) bool { return h[i].compare(h[k]) > 0 }
func (h rankedLines) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *rankedLines) Push(l any)        { *h = append(*h, l.(*rankedLine)) }
func (h *rankedLines) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return l
}

// place returns where the line of an exchange stands in the order.
func (r *Ranking) place(x *dissect.Exchange) rankedLine {
	n, ok := r.key.of(x)
	if !r.key.rising {
		n = -n
	}
	return rankedLine{lacks: !ok, value: n, number: number(x)}
}

// add takes the line of an exchange in, whose text is copied, and gives up those that have no place any more. Which lines remain does not depend on
// the order in which they come, and so not on the number of workers.
func (r *Ranking) add(x *dissect.Exchange, text []byte) {
	l := r.place(x)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.seen++
	if r.bound != nil && l.compare(r.bound) > 0 || r.most > 0 && len(r.held) == r.most && l.compare(r.held[0]) > 0 {
		return
	}
	l.text = slices.Clone(text)
	heap.Push(&r.held, &l)
	r.bytes += len(l.text) + lineOverhead
	if r.most > 0 && len(r.held) > r.most {
		r.drop()
	}
	for r.bytes > r.limit {
		r.bound = r.drop()
	}
}

// drop gives up the last line.
func (r *Ranking) drop() *rankedLine {
	l := heap.Pop(&r.held).(*rankedLine)
	r.bytes -= len(l.text) + lineOverhead
	l.text = nil
	return l
}

// rank takes the line that was appended from an index on back out of the output, and into the ranking if there is one.
func (s *sink) rank(r *Ranking, x *dissect.Exchange, from int) {
	if r != nil {
		r.add(x, s.buf[from:])
		s.buf = s.buf[:from]
	}
}

// writeRanking writes the lines in their order, and to the log how many there was no room for.
func (s *sink) writeRanking(r *Ranking, log *findingLog) {
	if r == nil {
		return
	}
	slices.SortFunc(r.held, (*rankedLine).compare)
	for _, l := range r.held {
		s.buf = append(s.buf, l.text...)
		s.written()
	}
	wanted := r.seen
	if r.most > 0 {
		wanted = min(wanted, r.most)
	}
	if missing := wanted - len(r.held); missing > 0 {
		log.buf = fmt.Appendf(log.buf, "%d of %d lines are left out, the last by %s: sorting holds %d MiB of them\n", missing, r.seen, r.key.name, r.limit>>20)
	}
}
