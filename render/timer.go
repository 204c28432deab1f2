package render

import (
	"math"
	"sync/atomic"
	"time"
)

// A TimeMode says how the time of a line is written.
type TimeMode uint8

const (
	TimeUTC TimeMode = iota
	TimeLocal
	TimeRelative // seconds since the first packet of the capture
	TimeDelta    // seconds since the line before, which a single instance of the format has to have written
)

// A timer writes the times of lines, by the mode that is asked for.
type timer struct {
	clock
	mode  TimeMode
	start *atomic.Int64 // capture time of the first packet
	last  int64         // that was written
	begun bool          // there was one
}

func newTimer(o *Options) timer {
	t := timer{mode: o.Time, start: o.Start}
	if t.mode == TimeLocal {
		t.zone = time.Local
	}
	if t.start == nil {
		t.start = &atomic.Int64{}
	}
	return t
}

// appendElapsed appends the seconds that stand in place of a time. done is false where the time itself is wanted.
func (t *timer) appendElapsed(b []byte, ns int64) (line []byte, done bool) {
	from := ns
	switch {
	case t.mode == TimeRelative:
		from = t.start.Load()
	case t.mode != TimeDelta:
		return b, false
	case t.begun:
		from = t.last
	}
	t.last, t.begun = ns, true
	return appendSeconds(b, ns-from), true
}

// appendDay appends the time of day, or the seconds that stand in its place.
func (t *timer) appendDay(b []byte, ns int64) []byte {
	if b, done := t.appendElapsed(b, ns); done {
		return b
	}
	return t.appendTimeOfDay(b, ns)
}

// appendDate appends date and time as people read them, or the seconds that stand in their place.
func (t *timer) appendDate(b []byte, ns int64) []byte {
	if b, done := t.appendElapsed(b, ns); done {
		return b
	}
	return t.appendWhen(b, ns)
}

// appendInstant appends date, time and zone as programs read them, or the seconds that stand in their place.
func (t *timer) appendInstant(b []byte, ns int64) []byte {
	if b, done := t.appendElapsed(b, ns); done {
		return b
	}
	return t.appendTime(b, ns)
}

// farthest is how far from 1970 a time in milliseconds may be to be written as a date: nanoseconds reach to the year 2262.
const farthest = math.MaxInt64 / 1_000_000

// appendStamp appends the timestamp of a record, which is in milliseconds: one that is no time of our centuries as the number it is.
func (t *timer) appendStamp(b []byte, ms int64) []byte {
	if ms < -farthest || ms > farthest {
		return appendInt(b, ms)
	}
	if b, done := t.appendElapsed(b, ms*1e6); done {
		return b
	}
	return t.appendInstantMillis(b, ms)
}

// appendSeconds appends nanoseconds as seconds with six decimals, or nine where it takes these.
func appendSeconds(b []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		b, n = append(b, '-'), -n
	}
	b = append(appendInt(b, int64(n/1e9)), '.')
	rest := int64(n % 1e9)
	if rest%1e3 == 0 {
		return appendDigits(b, uint64(rest/1e3), 6)
	}
	return appendDigits(b, uint64(rest), 9)
}
