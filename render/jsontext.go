package render

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string. What is not valid UTF-8 becomes U+FFFD; what drives a terminal is written as an escape, which reads the same.
func appendString[T string | []byte](b []byte, s T) []byte {
	return appendStringFrom(b, s, plainLength(s))
}

// appendStringFrom appends a JSON string whose first bytes, up to an index, are known to stand in it as they are.
func appendStringFrom[T string | []byte](b []byte, s T, i int) []byte {
	b = append(b, '"')
	b = append(b, s[:i]...)
	if i < len(s) {
		b = appendStringText(b, s, i)
	}
	return append(b, '"')
}

// appendStringText appends what stands between the quotes of a JSON string, from an index on.
func appendStringText[T string | []byte](b []byte, s T, i int) []byte {
	for i < len(s) {
		if len(s)-i >= 8 {
			b, i = appendWords(b, s, i)
		}
		from := i
		for i < len(s) && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\' {
			i++
		}
		b = append(b, s[from:i]...)
		switch {
		case i == len(s):
		case s[i] < utf8.RuneSelf:
			b = appendEscape(b, s[i], `\u00`)
			i++
		default:
			b, i = appendBeyondASCII(b, s, i)
		}
	}
	return b
}

// plainLength returns how many of a text's first bytes stand in a JSON string as they are: all of most texts, which are then copied at once. It may be a few
// less than there are.
func plainLength[T string | []byte](s T) int {
	i := 0
	for ; len(s)-i >= 32; i += 32 { // half the instructions of four times one
		if four := s[i : i+32]; specialIn(firstWord(four))|specialIn(firstWord(four[8:]))|specialIn(firstWord(four[16:]))|specialIn(firstWord(four[24:])) != 0 {
			break
		}
	}
	for ; len(s)-i >= 8; i += 8 {
		if specialIn(wordAt(s, i)) != 0 {
			return i
		}
	}
	switch left := len(s) - i; {
	case left == 0:
		return i
	case len(s) >= 8:
		i = len(s) - 8 // some bytes again
		if specialIn(wordAt(s, i)) != 0 {
			return i
		}
	case specialIn(shortWord(s)) != 0:
		return 0
	}
	return len(s)
}

// shortWord returns a text of one to seven bytes as a number: each of them is in it, the rest are bytes of the text again, or spaces.
func shortWord[T string | []byte](s T) uint64 {
	if n := len(s); n < 4 {
		return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | spaces>>24<<24
	}
	return halfWordAt(s, 0) | halfWordAt(s, len(s)-4)<<32
}

func halfWordAt[T string | []byte](s T, at int) uint64 {
	s = s[at : at+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// appendWords appends text from an index on, eight bytes at a time, and returns how far it came: to the last bytes, or to eight with more in them than printable
// ASCII. A text in JSON, with a quote every few bytes, takes a third of the time that it takes by single bytes.
func appendWords[T string | []byte](b []byte, s T, i int) ([]byte, int) {
	const most = 24 // what is stored for eight bytes that are all escaped
	at := len(b)
	b = b[:cap(b)]
	for ; len(s)-i >= 8; i += 8 {
		if len(b)-at < most {
			b = slices.Grow(b[:at], len(s)-i+most)
			b = b[:cap(b)]
		}
		w := wordAt(s[i:i+8], 0) // at i its bounds would be checked byte by byte, which takes a fifth longer
		if oddIn(w) != 0 {
			break
		}
		out := (*[most]byte)(b[at:])
		binary.LittleEndian.PutUint64(out[:], w)
		n := 0 // escapes so far
		for escapes := bytesToEscape(w); escapes != 0; escapes &= escapes - 1 {
			k := bits.TrailingZeros64(escapes) / 8
			out[(k+n)&15] = '\\'
			binary.LittleEndian.PutUint64(out[(k+n+1)&15:], w>>(k*8&63)) // the rest again, a byte further
			n++
		}
		at += 8 + n
	}
	return b[:at], i
}

// Numbers with the same byte eight times, to look at eight bytes at once.
const (
	each    = 0x0101010101010101
	highest = 0x80 * each
	lower   = 0x7f * each
	spaces  = ' ' * each
)

// wordAt returns eight bytes as a number, the first of them lowest.
func wordAt[T string | []byte](s T, at int) uint64 {
	s = s[at : at+8]
	return firstWord(s)
}

// firstWord returns the first eight bytes. The compiler makes one load of it.
func firstWord[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// bytesToEscape marks quotes and backslashes among eight bytes of ASCII by their highest bits: all other bytes are not 0 without the bits of these, so they
// get it by 0x7f more.
func bytesToEscape(w uint64) uint64 {
	return ^(((w ^ '"'*each) + lower) & ((w ^ '\\'*each) + lower)) & highest
}

// specialIn marks the first of eight bytes that does not stand in a JSON string as it is, or is not ASCII, by its highest bit. What is marked above
// it may be by carries. It is 0 when there is none.
func specialIn(w uint64) uint64 {
	return (w | (w + each) | ((w ^ 2*each) - 0x21*each) | ((w ^ '\\'*each) - each)) & highest // a quote is the 2 above a space
}

// appendBeyondASCII appends the characters outside ASCII from an index on, up to the next that is in it.
func appendBeyondASCII[T string | []byte](b []byte, s T, i int) ([]byte, int) {
	from := i
	for i < len(s) && s[i] >= utf8.RuneSelf {
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
	return append(b, s[from:i]...), i
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
	n := uint64(ns)
	if ns < 0 {
		b, n = append(b, '-'), -n
	}
	b = appendInt(b, int64(n/1e6))
	if n%1e6 == 0 {
		return b
	}
	digits := eightDigits(n % 1e6)
	b = appendBytes(append(b, '.'), digits+'0'*each, 2)
	return b[:len(b)-bits.LeadingZeros64(digits)/8]
}
