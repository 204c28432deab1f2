package render

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestTimer(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("", -(3*3600 + 30*60))
	const first, second = 1764446834_889432000, 1764446835_000000001 // 2025-11-29 20:07:14.889432
	start := &atomic.Int64{}
	start.Store(first)
	for _, c := range []struct {
		mode TimeMode
		add  func(*timer, []byte, int64) []byte
		want string
	}{
		{TimeUTC, (*timer).appendDay, "20:07:14.889432 20:07:15.000000"},
		{TimeUTC, (*timer).appendDate, "2025-11-29 20:07:14.889432 2025-11-29 20:07:15.000000001"},
		{TimeUTC, (*timer).appendInstant, "2025-11-29T20:07:14.889432000Z 2025-11-29T20:07:15.000000001Z"},
		{TimeLocal, (*timer).appendDay, "16:37:14.889432 16:37:15.000000"},
		{TimeLocal, (*timer).appendDate, "2025-11-29 16:37:14.889432 2025-11-29 16:37:15.000000001"},
		{TimeLocal, (*timer).appendInstant, "2025-11-29T16:37:14.889432000-03:30 2025-11-29T16:37:15.000000001-03:30"},
		{TimeRelative, (*timer).appendDay, "0.000000 0.110568001"},
		{TimeRelative, (*timer).appendInstant, "0.000000 0.110568001"},
		{TimeDelta, (*timer).appendDate, "0.000000 0.110568001"},
	} {
		at := newTimer(&Options{Time: c.mode, Start: start})
		got := string(c.add(&at, append(c.add(&at, nil, first), ' '), second))
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	at := newTimer(&Options{Time: TimeDelta})
	if got := string(at.appendDay(append(at.appendDay(nil, second), ' '), first)); got != "0.000000 -0.110568001" {
		t.Errorf("back in time: %s", got)
	}
	at = newTimer(&Options{})
	for ms, want := range map[int64]string{0: "1970-01-01T00:00:00.000Z", 1764446834889: "2025-11-29T20:07:14.889Z", math.MaxInt64: "9223372036854775807", math.MinInt64: "-9223372036854775808"} {
		if got := string(at.appendStamp(nil, ms)); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
	if got := string(appendSeconds(nil, math.MinInt64)); got != "-9223372036.854775808" {
		t.Error(got)
	}
}
