package render

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Up to 64 µs a step is 1 µs, from there to 128 µs it is 2, from 1024 µs to 2048 it is 32.
func TestHistogramSteps(t *testing.T) {
	for _, test := range []struct{ us, end int64 }{
		{0, 1}, {1, 2}, {63, 64}, {64, 66}, {65, 66}, {66, 68}, {127, 128}, {128, 132}, {1024, 1056}, {1055, 1056}, {1056, 1088},
		{1<<32 - 1, 1 << 32}, {1 << 40, 1 << 32},
	} {
		var h histogram
		h.add(test.us * 1e3)
		h.most = 1 << 62 // so that it is no bound
		if got := h.quantile(50); got != test.end*1e3-1 {
			t.Errorf("%d µs: %d ns, want %d", test.us, got, test.end*1e3-1)
		}
	}
}

// A hundred times of 1 to 100 ms. 50 ms lie in the step of 49152 µs and 1024 more, 98 ms in that of 96256 µs and 2048 more, 1 ms in that of 992 and 16 more; 99 ms in one that
// ends behind the longest.
func TestHistogramQuantiles(t *testing.T) {
	var h, half histogram
	for ms := int64(1); ms <= 100; ms++ {
		if ms%2 == 0 {
			h.add(ms * 1e6)
		} else {
			half.add(ms * 1e6)
		}
	}
	h.merge(&half)
	for percent, want := range map[int64]int64{50: 50_175_999, 99: 100_000_000, 98: 98_303_999, 100: 100_000_000, 1: 1_007_999} {
		if got := h.quantile(percent); got != want {
			t.Errorf("%d %%: %d ns, want %d", percent, got, want)
		}
	}
	if got := new(histogram).quantile(99); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

// A quantile is never below the true one, and above it by no more than a thirty-second and a microsecond.
func TestHistogramIsClose(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var h histogram
		var all []int64
		for range 1 + random.IntN(300) {
			ns := random.Int64N(1 << (10 + random.IntN(30)))
			all = append(all, ns)
			h.add(ns)
		}
		slices.Sort(all)
		for _, percent := range []int64{1, 50, 99, 100} {
			want := all[(int64(len(all))*percent+99)/100-1]
			if got := h.quantile(percent); got < want || got > want+want/32+1000 {
				t.Errorf("%d %% of %d: %d, want %d", percent, len(all), got, want)
			}
		}
	}
}
