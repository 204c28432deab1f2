package pcaps

import (
	"math"
	"math/bits"
)

// A clock turns the time stamps of a pcapng interface, 64-bit counts of units since the
// epoch, into nanoseconds. A unit is numerator / (divisor * 2^shift) nanoseconds.
type clock struct {
	numerator uint64
	divisor   uint64
	shift     uint
	offset    int64 // nanoseconds to add
}

// microseconds is the clock of an interface that does not describe its own.
var microseconds = clock{numerator: 1000, divisor: 1}

// setResolution takes the value of if_tsresol: units are negative powers of 2 where
// the top bit is set, of 10 where it is not.
func (c *clock) setResolution(value byte) {
	c.numerator, c.divisor, c.shift = 1, 1, 0
	exponent := int(value & 0x7f)
	switch {
	case value&0x80 != 0:
		c.numerator, c.shift = 1e9, uint(exponent)
	case exponent <= 9:
		c.numerator = pow10(9 - exponent)
	case exponent <= 9+19:
		c.divisor = pow10(exponent - 9)
	default:
		c.numerator = 0 // 2^64 such units are less than a nanosecond
	}
}

// pow10 returns 10^n for n up to 19.
func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// setOffset takes the value of if_tsoffset in seconds.
func (c *clock) setOffset(seconds int64) {
	const limit = math.MaxInt64 / int64(1e9)
	c.offset = max(-limit, min(seconds, limit)) * 1e9
}

// nanoseconds returns the time of a time stamp since the Unix epoch, rounded down. What 64
// bits cannot hold, some 292 years, becomes the nearest time that they can.
func (c *clock) nanoseconds(stamp uint64) int64 {
	high, low := bits.Mul64(stamp, c.numerator)
	if c.shift > 0 {
		// Of the two shifts of high one is by 64 bits or more, by which nothing is left.
		low = low>>c.shift | high<<(64-c.shift) | high>>(c.shift-64)
		high >>= c.shift
	}
	if c.divisor > 1 {
		low /= c.divisor // high is 0: the numerator is 1
	}
	if high > 0 || low > math.MaxInt64 {
		low = math.MaxInt64
	}
	sum := int64(low) + c.offset
	if sum < 0 && c.offset > 0 {
		return math.MaxInt64
	}
	return sum
}
