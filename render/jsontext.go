package render

import (
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. What is not valid UTF-8 becomes U+FFFD; what drives a terminal is written as an escape, which reads the same.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		if len(s)-i >= 8 { // text of 300 bytes took four times as long without
			special := specialIn(wordAt(s, i))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			b = appendEscape(b, c, `\u00`)
			i++
			from = i
			continue
		}
		r, size := decodeRune(s, i)
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[from:i]...), "\uFFFD"...)
			from = i + size
		case drivesTerminal(r):
			b = append(b, s[from:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			from = i + size
		}
		i += size
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// wordAt returns eight bytes as a number, the first of them lowest. The compiler makes one load of it.
func wordAt[T string | []byte](s T, at int) uint64 {
	s = s[at : at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// specialIn marks the first byte of a word that does not stand in a JSON string as it is, or is not ASCII, by its highest bit. What is marked above
// it may be by carries. It is 0 when there is none.
func specialIn(w uint64) uint64 {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	return (w | // not ASCII
		(w + each) | // 0x7f
		(w - ' '*each) |
		((w ^ '"'*each) - each) |
		((w ^ '\\'*each) - each)) & highest
}

// drivesTerminal tells whether a character outside ASCII, of the first 2^16, moves the cursor, begins a command of a terminal, or turns the
// direction of writing. The rest is harmless, and text that people read in their own script stays as it is.
func drivesTerminal(r rune) bool {
	return r < 0xa0 || // C1 controls
		r == 0x61c || r == 0x200e || r == 0x200f || // marks of direction
		r >= 0x2028 && r <= 0x202e || // separators of lines and paragraphs, embeddings and overrides
		r >= 0x2066 && r <= 0x2069 // isolates
}

// appendFloat appends a float64. JSON has no infinities; Kafka's own JSON writes them as strings.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendMillis appends nanoseconds as milliseconds, without trailing zeros.
func appendMillis(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = strconv.AppendInt(b, ns/1e6, 10)
	rest := ns % 1e6
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for unit := int64(1e5); rest > 0; unit /= 10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}
