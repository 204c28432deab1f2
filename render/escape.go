package render

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text from the wire may hold anything: escape sequences that drive a terminal, newlines that fake a line of
// output, marks that turn the direction of writing. None of it reaches the output as it is.

// appendQuoted appends text in double quotes, escaped.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	b = appendEscaped(b, s, true)
	return append(b, '"')
}

// appendEscaped appends text with everything escaped that is not a plain printable character: as \n, \x1b or \u202e, bytes
// that are no valid UTF-8 as \xff. A backslash is doubled; a double quote is escaped where the text stands in quotes.
func appendEscaped[T string | []byte](b []byte, s T, quoted bool) []byte {
	from := 0
	for i := plainLength(s); i < len(s); {
		if len(s)-i >= 8 {
			special := specialIn(wordAt(s, i))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f || c == '\\' || c == '"' && quoted {
				b = append(b, s[from:i]...)
				b = appendEscape(b, c, `\x`)
				from = i + 1
			}
			i++
			continue
		}
		r, size := decodeRune(s, i)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			b = append(b, s[from:i]...)
			b = appendEscapedRune(b, c, r, size)
			from = i + size
		}
		i += size
	}
	return append(b, s[from:]...)
}

// escapeAlso escapes some more ASCII characters in what was appended from an index on, those that separate parts of it: as \x2c.
func escapeAlso(b []byte, from int, chars string) []byte {
	n := 0
	for _, c := range b[from:] {
		if strings.IndexByte(chars, c) >= 0 {
			n++
		}
	}
	if n == 0 {
		return b
	}
	read := len(b)
	b = append(b, make([]byte, 3*n)...)
	for write := len(b); read < write; {
		read--
		c := b[read]
		if strings.IndexByte(chars, c) >= 0 {
			write -= 4
			copy(b[write:], []byte{'\\', 'x', hexDigits[c>>4], hexDigits[c&15]})
			continue
		}
		write--
		b[write] = c
	}
	return b
}

// decodeRune decodes the character at an index, without a copy of the text.
func decodeRune[T string | []byte](s T, at int) (rune, int) {
	var char [utf8.UTFMax]byte
	return utf8.DecodeRune(char[:copy(char[:], s[at:])])
}

// appendEscape escapes an ASCII character: by a letter of its own, or by the two hex digits behind code.
func appendEscape(b []byte, c byte, code string) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(append(b, code...), hexDigits[c>>4], hexDigits[c&15])
}

// appendEscapedRune escapes a character outside ASCII, or the byte c where that begins none.
func appendEscapedRune(b []byte, c byte, r rune, size int) []byte {
	if r == utf8.RuneError && size == 1 {
		return append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
	}
	quoted := strconv.AppendQuoteRuneToASCII(b, r) // '\u202e'
	copy(quoted[len(b):], quoted[len(b)+1:])
	return quoted[:len(quoted)-2]
}

// plainASCII returns how many bytes at the beginning are printable ASCII, which most text is to its end.
func plainASCII(s []byte) int {
	i := plainBlocks(s)
	for len(s)-i >= 8 && oddIn(wordAt(s, i)) == 0 {
		i += 8
	}
	for i < len(s) && s[i] >= ' ' && s[i] <= '~' {
		i++
	}
	return i
}

// plainBlocks returns how many bytes at the beginning are printable ASCII, in blocks of 32: together they take half the instructions of four words one by one. It
// is not inlined, where it would lack registers.
//
//go:noinline
func plainBlocks(s []byte) int {
	left := s
	for len(left) >= 32 {
		if oddIn(firstWord(left))|oddIn(firstWord(left[8:]))|oddIn(firstWord(left[16:]))|oddIn(firstWord(left[24:])) != 0 {
			break
		}
		left = left[32:]
	}
	return len(s) - len(left)
}

// oddIn is 0 when eight bytes are printable ASCII.
func oddIn(w uint64) uint64 {
	return (w | (w + each) | (w - ' '*each)) & highest // not ASCII, 0x7f, below the space
}

// printable tells whether bytes are text that needs no escape.
func printable(s []byte) bool {
	for i := plainASCII(s); i < len(s); {
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			return false
		}
		i += size
	}
	return true
}

// cutText returns the first n bytes of a text, less a character that is cut in half there.
func cutText(s []byte, n int) []byte {
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}
