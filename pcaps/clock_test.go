package pcaps

import (
	"math"
	"math/big"
	"testing"
)

// TestClock holds every resolution against exact arithmetic.
func TestClock(t *testing.T) {
	stamps := []uint64{0, 1, 999, 1_000_000_007, 1790000000123456, 1 << 40, 1<<62 + 12345, math.MaxInt64, math.MaxUint64}
	for resolution := range 256 {
		var c clock
		c.setResolution(byte(resolution))
		for _, stamp := range stamps {
			want := exactNanoseconds(byte(resolution), stamp)
			if got := c.nanoseconds(stamp); got != want {
				t.Errorf("resolution %#x: %d is %d ns, want %d", resolution, stamp, got, want)
			}
		}
	}
}

func exactNanoseconds(resolution byte, stamp uint64) int64 {
	base, exponent := int64(10), int64(resolution&0x7f)
	if resolution&0x80 != 0 {
		base = 2
	}
	units := new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
	ns := new(big.Int).Mul(new(big.Int).SetUint64(stamp), big.NewInt(1e9))
	ns.Quo(ns, units)
	if !ns.IsInt64() {
		return math.MaxInt64
	}
	return ns.Int64()
}

func TestClockOffset(t *testing.T) {
	for _, test := range []struct {
		offset int64
		stamp  uint64
		want   int64
	}{
		{0, 5, 5000},
		{100, 5, 100_000_005_000},
		{-100, 5, -99_999_995_000},
		{math.MaxInt64, 5, 9223372036000005000},
		{math.MinInt64, 5, -9223372035999995000},
		{math.MaxInt64, math.MaxUint64, math.MaxInt64},
		{1, math.MaxUint64, math.MaxInt64},
	} {
		c := microseconds
		c.setOffset(test.offset)
		if got := c.nanoseconds(test.stamp); got != test.want {
			t.Errorf("offset %d s, stamp %d: got %d, want %d", test.offset, test.stamp, got, test.want)
		}
	}
}
