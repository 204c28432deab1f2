package main

import (
	"testing"
	"time"

	"github.com/kdissect/kdissect/bench/internal/measure"
)

// measured is a set of medians, in milliseconds of wall and CPU time and in MiB, of captures of a million bytes.
func measured(of map[place][3]int) *options {
	o := &options{medians: map[place]figures{}}
	for where, m := range of {
		cost := measure.Cost{Wall: time.Duration(m[0]) * time.Millisecond, CPU: time.Duration(m[1]) * time.Millisecond, Memory: int64(m[2]) << 20}
		o.medians[where] = figures{cost, 1e6}
	}
	return o
}

func TestGoals(t *testing.T) {
	o := measured(map[place][3]int{
		{"empty", "summary"}:                             {5, 4, 2},
		{"small", "summary"}:                             {40, 90, 20},
		{"small", "floor"}:                               {100, 100, 300},
		{"real", "summary"}:                              {50, 90, 20},
		{"small" + besideTshark, "summary"}:              {10, 10, 20},
		{"small" + besideTshark, "tshark, three fields"}: {990, 990, 270},
		{"small" + throughFilters, "summary"}:            {10, 10, 20},
		{"small" + throughFilters, "requestlog"}:         {10, 14, 20},
		{"small" + throughFilters, "summary --grep x"}:   {10, 30, 20},
		{"batches-zstd", "unpacking alone"}:              {80, 80, 110},
		{"batches-zstd", lookingInto}:                    {100, 99, 20},
		{"batches-lz4", "unpacking alone"}:               {70, 70, 110},
		{"batches-lz4", lookingInto}:                     {100, 104, 101},
	})
	want := []string{"5.0 ms", "0.40 times", "0.90 times", "", "not reached: 99 x", "", "", "1.40 times at most", "not reached: 0.80 times", "not reached: 70 %", "not reached: 101 MiB at most"}
	for i, g := range allGoals {
		if got := g.measured(o); got != want[i] {
			t.Errorf("%s: %q, want %q", g.about, got, want[i])
		}
	}
	for _, g := range allGoals { // nothing was measured
		if got := g.measured(measured(nil)); got != "" {
			t.Errorf("%s: %q of nothing", g.about, got)
		}
	}
}
