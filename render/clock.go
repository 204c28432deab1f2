package render

import "time"

// A clock writes capture times, in UTC unless it has another zone. It keeps the text of the latest second: formatting a date anew for
// every message took a fifth of the time of JSON output.
type clock struct {
	zone   *time.Location // nil is UTC
	second int64
	text   []byte // 2006-01-02T15:04:05.
	offset []byte // of a zone other than UTC: +01:00
}

const dateLen = len("2006-01-02T")

// at sets the clock and returns what remains of the time in nanoseconds.
func (c *clock) at(ns int64) int64 {
	second, rest := ns/1e9, ns%1e9
	if rest < 0 {
		second, rest = second-1, rest+1e9
	}
	if second != c.second || c.text == nil {
		c.second = second
		at := time.Unix(second, 0).UTC()
		if c.zone != nil {
			at = at.In(c.zone)
			c.offset = at.AppendFormat(c.offset[:0], "-07:00")
		}
		c.text = append(at.AppendFormat(c.text[:0], "2006-01-02T15:04:05"), '.')
	}
	return rest
}

// appendTime appends date and time with nine decimals: 2026-11-29T10:00:00.000150000Z.
func (c *clock) appendTime(b []byte, ns int64) []byte {
	rest := c.at(ns)
	b = append(b, c.text...)
	return c.appendZone(appendDigits(b, uint64(rest), 9))
}

func (c *clock) appendZone(b []byte) []byte {
	if c.zone != nil {
		return append(b, c.offset...)
	}
	return append(b, 'Z')
}

// appendInstantMillis appends milliseconds since the Unix epoch as date and time: 2026-11-29T10:00:00.150Z.
func (c *clock) appendInstantMillis(b []byte, ms int64) []byte {
	rest := c.at(ms * 1e6)
	b = append(b, c.text...)
	return c.appendZone(appendDigits(b, uint64(rest/1e6), 3))
}

// appendWhen appends date and time with microseconds, or with nanoseconds where the capture has them.
func (c *clock) appendWhen(b []byte, ns int64) []byte {
	rest := c.at(ns)
	b = append(b, c.text[:dateLen-1]...)
	b = append(b, ' ')
	b = append(b, c.text[dateLen:]...)
	if rest%1e3 == 0 {
		return appendDigits(b, uint64(rest/1e3), 6)
	}
	return appendDigits(b, uint64(rest), 9)
}

// appendDateMillis appends milliseconds since the Unix epoch as date and time: 2026-11-29 10:00:00.150.
func (c *clock) appendDateMillis(b []byte, ms int64) []byte {
	rest := c.at(ms * 1e6)
	b = append(b, c.text...)
	b[len(b)-len(c.text)+dateLen-1] = ' '
	return appendDigits(b, uint64(rest/1e6), 3)
}

// appendTimeMillis appends milliseconds since the Unix epoch as time of day: 10:00:00.150.
func (c *clock) appendTimeMillis(b []byte, ms int64) []byte {
	rest := c.at(ms * 1e6)
	b = append(b, c.text[dateLen:]...)
	return appendDigits(b, uint64(rest/1e6), 3)
}

// appendTimeOfDay appends hours to microseconds: 10:00:00.000150.
func (c *clock) appendTimeOfDay(b []byte, ns int64) []byte {
	rest := c.at(ns)
	b = append(b, c.text[dateLen:]...)
	return appendDigits(b, uint64(rest/1e3), 6)
}
