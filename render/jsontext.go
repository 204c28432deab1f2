package render

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. What is not valid UTF-8 becomes U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			b = appendEscape(b, c, `\u00`)
			i++
			from = i
			continue
		}
		size := validRune(s[i:min(i+utf8.UTFMax, len(s))])
		if size == 0 {
			b = append(b, s[from:i]...)
			b = append(b, "\uFFFD"...)
			i++
			from = i
			continue
		}
		i += size
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// validRune returns how many bytes the first character takes, 0 when it is not valid.
func validRune[T string | []byte](s T) int {
	r, size := utf8.DecodeRuneInString(string(s))
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
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
