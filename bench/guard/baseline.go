package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
)

// figures are what a baseline holds.
type figures struct {
	Ratios      map[string]float64     // of CPU times
	Allocations map[string]allocations // of an operation of a benchmark
}

type allocations struct{ Count, Bytes int64 }

func newFigures() *figures {
	return &figures{map[string]float64{}, map[string]allocations{}}
}

func readFigures(path string) (*figures, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := newFigures()
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *figures) write(path string) error {
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// What may be worse before it is told. Times vary with what else the machine does. Allocations do not, but for buffers that grow now and then and pools that
// the garbage collector empties.
const (
	ratioTolerance = 1.3
	moreCount      = 1
	moreBytes      = 1.25
	fewBytes       = 1024 // more of which are nothing
)

// compare prints what is worse in now, and returns how much that is. What only one of both has is not the same program any more, and counts, too;
// ratios that were not measured at all do not.
func (f *figures) compare(now *figures, out io.Writer) (worse int) {
	say := func(format string, args ...any) {
		worse++
		fmt.Fprintf(out, format+"\n", args...)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Allocations)) {
		before := f.Allocations[name]
		a, there := now.Allocations[name]
		switch {
		case !there:
			say("%s: no such benchmark any more", name)
		case a.Count > before.Count+moreCount:
			say("%s: %d allocations, %d before", name, a.Count, before.Count)
		case float64(a.Bytes) > float64(before.Bytes)*moreBytes+fewBytes:
			say("%s: %d bytes allocated, %d before", name, a.Bytes, before.Bytes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Allocations)) {
		if _, there := f.Allocations[name]; !there {
			say("%s: a benchmark that the baseline lacks", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.Ratios)) {
		r, before := now.Ratios[name], f.Ratios[name]
		switch {
		case before == 0:
			say("%s: a ratio that the baseline lacks", name)
		case r > before*ratioTolerance:
			say("%s: %.2f, %.2f before", name, r, before)
		case r*ratioTolerance < before:
			fmt.Fprintf(out, "%s: %.2f, better than the %.2f of the baseline\n", name, r, before)
		}
	}
	return worse
}

// round leaves the digits that mean something.
func round(r float64) float64 { return math.Round(r*100) / 100 }
