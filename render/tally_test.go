package render

import (
	"fmt"
	"strings"
	"testing"
)

// However many names there are, few are kept, all figures add up, and one that comes again and again is told apart.
func TestTalliesAreBoundedAndAddUp(t *testing.T) {
	all := newTallies(byBytes)
	const names = 10 * maxTallies
	for i := range names {
		one := all.of(fmt.Appendf(nil, "client-%d", i))
		one.exchanges, one.in, one.out, one.errors, one.worst = one.exchanges+1, one.in+2, one.out+3, one.errors+4, int64(i)
		if i%50 == 0 {
			all.of([]byte("busy")).in += 1000
		}
	}
	if len(all.byName) > maxTallies {
		t.Errorf("%d are kept", len(all.byName))
	}
	for _, room := range []int{1, 2, 10, 5 * maxTallies} {
		rows, others := all.top(room)
		if others == nil || len(rows)+1 > room {
			t.Fatalf("room for %d: %d rows, others: %v", room, len(rows), others)
		}
		if room > 1 && (rows[0].name != "busy" || rows[0].in != names/50*1000) {
			t.Errorf("first is %+v", rows[0])
		}
		sum := tally{}
		for _, row := range append(rows, others) {
			sum.merge(row)
		}
		if sum.exchanges != names || sum.in != 2*names+names/50*1000 || sum.out != 3*names || sum.errors != 4*names || sum.worst != names-1 {
			t.Errorf("room for %d: in all %+v", room, sum)
		}
	}
	all.reset()
	if rows, others := all.top(10); len(rows) > 0 || others != nil {
		t.Errorf("behind a reset: %v, %v", rows, others)
	}
}

func TestTalliesOfFew(t *testing.T) {
	all := newTallies(byExchanges)
	for i, name := range []string{"b", "a", "c"} {
		all.of([]byte(name)).exchanges = int64(1 + i/2)
	}
	rows, others := all.top(3)
	if len(rows) != 3 || others != nil || rows[0].name != "c" || rows[1].name != "a" || rows[2].name != "b" {
		t.Errorf("%v, %v", rows, others)
	}
	if rows, others = all.top(2); len(rows) != 1 || others.exchanges != 2 {
		t.Errorf("%v, %v", rows, others)
	}
	long := strings.Repeat("é", maxTallyName)
	if name := all.of([]byte(long)).name; len(name) > maxTallyName || !strings.HasPrefix(long, name) || len(name)%2 != 0 {
		t.Errorf("a name of %d bytes: %q", len(long), name)
	}
}

// What was put or asked for lately is known; all else takes no more than twice the bound.
func TestRecently(t *testing.T) {
	var r recently
	r.put("old", "librdkafka 2.3.0")
	for i := range 10 * maxRecent {
		r.put(fmt.Sprint(i), "")
		if got := r.get("old"); got != "librdkafka 2.3.0" {
			t.Fatalf("%q behind %d", got, i)
		}
	}
	if n := len(r.now) + len(r.before); n > 2*maxRecent {
		t.Errorf("%d are kept", n)
	}
	if got := r.get("0"); got != "" {
		t.Errorf("unknown: %q", got)
	}
}
