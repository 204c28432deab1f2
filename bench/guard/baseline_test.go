package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	before := &figures{
		Ratios:      map[string]float64{"same": 2, "slower": 2, "faster": 2, "not measured": 2},
		Allocations: map[string]allocations{"same": {10, 5000}, "one more": {10, 5000}, "more": {10, 5000}, "larger": {10, 50_000}, "gone": {}},
	}
	now := &figures{
		Ratios:      map[string]float64{"same": 2.5, "slower": 2.7, "faster": 1, "new": 1},
		Allocations: map[string]allocations{"same": {10, 6000}, "one more": {11, 5000}, "more": {12, 5000}, "larger": {10, 70_000}, "new": {}},
	}
	var out strings.Builder
	worse := before.compare(now, &out)
	want := `gone: no such benchmark any more
larger: 70000 bytes allocated, 50000 before
more: 12 allocations, 10 before
new: a benchmark that the baseline lacks
faster: 1.00, better than the 2.00 of the baseline
new: a ratio that the baseline lacks
slower: 2.70, 2.00 before
`
	if worse != 6 || out.String() != want {
		t.Errorf("%d worse:\n%s", worse, out.String())
	}
}

func TestBaselineFile(t *testing.T) {
	f := &figures{map[string]float64{"a": 1.25}, map[string]allocations{"b": {1, 2}}}
	path := filepath.Join(t.TempDir(), "baseline.json")
	if err := f.write(path); err != nil {
		t.Fatal(err)
	}
	if again, err := readFigures(path); err != nil || !reflect.DeepEqual(f, again) {
		t.Errorf("%+v, %v", again, err)
	}
}
