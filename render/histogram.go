package render

import "math/bits"

// A histogram counts durations in microseconds, in steps that grow with them: each is at most a thirty-second of what it begins with. Longer ones than the
// last step has, 71 minutes, are counted there.
type histogram struct {
	counts [histogramSteps]uint32
	all    int64
	most   int64 // nanoseconds
}

// Below 64 µs a step is a microsecond, above it each power of two has 32 of them.
const (
	histogramFine  = 5 // log2 of these 32
	histogramPower = 32
	histogramSteps = (histogramPower - histogramFine + 1) << histogramFine
)

func (h *histogram) add(ns int64) {
	h.all++
	h.most = max(h.most, ns)
	us := min(max(0, ns)/1e3, 1<<histogramPower-1)
	shift := max(0, bits.Len64(uint64(us))-histogramFine-1)
	h.counts[shift<<histogramFine+int(us>>shift)]++
}

// merge adds what another one has counted.
func (h *histogram) merge(other *histogram) {
	h.all += other.all
	h.most = max(h.most, other.most)
	for i, n := range other.counts {
		h.counts[i] += n
	}
}

// quantile returns the time that so many of a hundred do not exceed, in nanoseconds: the end of its step, or the longest there was.
func (h *histogram) quantile(percent int64) int64 {
	left := (h.all*percent + 99) / 100
	for i, n := range h.counts {
		if left -= int64(n); left <= 0 && n > 0 {
			return min(stepEnd(i), h.most)
		}
	}
	return h.most
}

// stepEnd is the highest duration that a step counts, in nanoseconds.
func stepEnd(i int) int64 {
	shift := max(0, i>>histogramFine-1)
	first := int64(i-shift<<histogramFine) << shift
	return (first+1<<shift)*1e3 - 1
}
