package hextext

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse returns the bytes that a text stands for. It finds out what form the text has:
//
//   - a dump with offsets, as of hexdump -C, xxd, od -A x -t x1, tcpdump -x, -X and -XX, tshark -x and Wireshark's "copy as hex dump"
//   - hex digits, with or without spaces, colons, dashes or 0x between the bytes
//   - a list of numbers, as of arrays in C, Go, Java or Python
//   - a string with escapes such as \x00, in quotes or not
//   - base64, of either alphabet
//   - the bytes themselves, where they are no text
//
// The error says why the text is none of these. The result may share memory with the text.
func Parse(text []byte) ([]byte, error) {
	if !isText(text) {
		return text, nil
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, errors.New("there is nothing to read")
	}
	if isDump(text) {
		return parseDump(text)
	}
	s := string(text)
	digits, err := parseDigits(s)
	switch {
	case err == nil:
		return digits, nil
	case isEscaped(s):
		return parseEscapes(s)
	case isList(s):
		return parseList(s)
	}
	if b, ok := parseBase64(s); ok {
		return b, nil
	}
	return nil, fmt.Errorf("this is neither hex nor a dump nor base64: %w", err)
}

// isText tells whether bytes are text: valid UTF-8 without control characters.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(b)
}

// parseDigits reads hex digits, of which two that stand together are a byte. What may stand between bytes is left out.
func parseDigits(s string) ([]byte, error) {
	b := make([]byte, 0, len(s)/2)
	high := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		d, digit := digitOf(c)
		switch {
		case c == '0' && high < 0 && i+1 < len(s) && (s[i+1] == 'x' || s[i+1] == 'X'):
			i++
		case digit && high < 0:
			high = d
		case digit:
			b, high = append(b, byte(high<<4|d)), -1
		case !strings.ContainsRune(" \t\r\n:-_", rune(c)):
			r, _ := utf8.DecodeRuneInString(s[i:])
			return nil, fmt.Errorf("%q at byte %d is no hex digit", r, i)
		case high >= 0:
			return nil, fmt.Errorf("the digit at byte %d stands alone, bytes have two", i-1)
		}
	}
	if high >= 0 {
		return nil, errors.New("the number of hex digits is odd")
	}
	return b, nil
}

func digitOf(c byte) (int, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

// isEscaped tells whether the text is a string with escaped bytes.
func isEscaped(s string) bool { return strings.Contains(s, `\x`) || strings.Contains(s, `\0`) }

// quoted matches the strings of a source text, in either kind of quotes.
var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'`)

// parseEscapes reads a string with escapes as C, Python, Go and Java have them. Of a text with quotes only what stands in them counts; strings one behind the other are one.
func parseEscapes(s string) ([]byte, error) {
	if s[0] == '"' || s[0] == '\'' || strings.HasPrefix(s, "b'") || strings.HasPrefix(s, `b"`) || strings.HasPrefix(s, "$'") {
		var inner strings.Builder
		for _, m := range quoted.FindAllStringSubmatch(s, -1) {
			inner.WriteString(m[1] + m[2])
		}
		s = inner.String()
	}
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		if s[0] != '\\' {
			b, s = append(b, s[0]), s[1:]
			continue
		}
		c, n := unescape(s[1:])
		if n == 0 {
			return nil, fmt.Errorf("the escape %.4q is not known", s)
		}
		b, s = append(b, c), s[1+n:]
	}
	return b, nil
}

var plainEscapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"'}

// unescape returns the byte that an escape stands for and how long it is, without the backslash; 0 when it is none.
func unescape(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	if s[0] == 'x' && len(s) >= 3 {
		if v, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			return byte(v), 3
		}
		return 0, 0
	}
	for n < min(3, len(s)) && '0' <= s[n] && s[n] <= '7' {
		n++
	}
	if n > 0 {
		v, err := strconv.ParseUint(s[:n], 8, 8)
		if err != nil {
			return 0, 0
		}
		return byte(v), n
	}
	if c, known := plainEscapes[s[0]]; known {
		return c, 1
	}
	return 0, 0
}

// isList tells whether the text is a list of numbers.
func isList(s string) bool { return strings.Contains(s, ",") }

// parseList reads a list of numbers: what stands in the outermost braces or brackets behind the last equals sign, or all of the text. Bytes may have a sign, as in Java.
func parseList(s string) ([]byte, error) {
	if at := strings.LastIndexByte(s, '='); at >= 0 {
		s = s[at+1:]
	}
	if at := strings.IndexByte(s, '{'); at >= 0 {
		s = s[at:]
	}
	s = strings.Trim(s, "{}[]();, \t\r\n")
	var b []byte
	for s != "" {
		item, rest, _ := strings.Cut(s, ",")
		s = strings.TrimSpace(rest)
		item = strings.TrimPrefix(strings.TrimSpace(item), "(byte)")
		v, err := strconv.ParseInt(strings.TrimSpace(item), 0, 16)
		if err != nil || v < -128 || v > 255 {
			return nil, fmt.Errorf("%.20q in the list is not a byte", item)
		}
		b = append(b, byte(v))
	}
	return b, nil
}

// minBase64 is how long base64 is at least: the shortest request takes 10 bytes. A word is not taken for it.
const minBase64 = 12

// parseBase64 reads base64 of the usual or the URL-safe alphabet, with padding or without, on one line or several.
func parseBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "=")
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	return b, err == nil && len(s) >= minBase64
}
