package render

import (
	"cmp"
	"slices"
)

// A tally is what was counted of one API, client or topic during an interval.
type tally struct {
	name                  string // as it is printed
	exchanges, errors     int64
	in, out               int64 // bytes to the broker and from it: of messages, of a topic those of its records
	recordsIn, recordsOut int64
	worst                 int64      // excess, nanoseconds
	excess                *histogram // of APIs, nil where nothing was timed
}

func (t *tally) merge(other *tally) {
	t.exchanges += other.exchanges
	t.errors += other.errors
	t.in += other.in
	t.out += other.out
	t.recordsIn += other.recordsIn
	t.recordsOut += other.recordsOut
	t.worst = max(t.worst, other.worst)
	if other.excess != nil {
		if t.excess == nil {
			t.excess = &histogram{}
		}
		t.excess.merge(other.excess)
	}
}

// byExchanges and byBytes are orders of tallies, the highest first.
func byExchanges(a, b *tally) int {
	return cmp.Or(cmp.Compare(b.exchanges, a.exchanges), cmp.Compare(a.name, b.name))
}

func byBytes(a, b *tally) int {
	return cmp.Or(cmp.Compare(b.in+b.out, a.in+a.out), byExchanges(a, b))
}

// tallies are those of one kind. Names come from the wire, so there may be any number of them: when there are too many, the lower half is put together as others.
type tallies struct {
	order  func(a, b *tally) int
	byName map[string]*tally
	others tally // that are not told apart any more
}

// maxTallies is how many of a kind are told apart, and maxTallyName how much of a name tells them apart.
const (
	maxTallies   = 2000
	maxTallyName = 300
)

func newTallies(order func(a, b *tally) int) tallies {
	return tallies{order: order, byName: map[string]*tally{}}
}

// of returns the tally of a name.
func (t *tallies) of(name []byte) *tally {
	if len(name) > maxTallyName {
		name = cutText(name, maxTallyName)
	}
	if one := t.byName[string(name)]; one != nil {
		return one
	}
	if len(t.byName) == maxTallies {
		t.drop()
	}
	one := &tally{name: string(name)}
	t.byName[one.name] = one
	return one
}

// drop puts the lower half together.
func (t *tallies) drop() {
	for _, one := range t.sorted()[maxTallies/2:] {
		t.others.merge(one)
		delete(t.byName, one.name)
	}
}

func (t *tallies) sorted() []*tally {
	all := make([]*tally, 0, len(t.byName))
	for _, one := range t.byName {
		all = append(all, one)
	}
	slices.SortFunc(all, t.order)
	return all
}

// top returns the highest, as many as there is room for, and all else together: nil where there is nothing else. Together they are no more than room.
func (t *tallies) top(room int) (highest []*tally, others *tally) {
	highest = t.sorted()
	if t.others.exchanges == 0 && t.others.errors == 0 && len(highest) <= room {
		return highest, nil
	}
	rest := tally{name: "others"}
	rest.merge(&t.others)
	for n := min(len(highest), max(0, room-1)); len(highest) > n; highest = highest[:len(highest)-1] {
		rest.merge(highest[len(highest)-1])
	}
	return highest, &rest
}

// size is how many rows all of it would take.
func (t *tallies) size() int {
	if t.others.exchanges == 0 && t.others.errors == 0 {
		return len(t.byName)
	}
	return len(t.byName) + 1
}

// reset begins anew.
func (t *tallies) reset() {
	clear(t.byName)
	t.others = tally{}
}
