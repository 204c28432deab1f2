package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", `""`},
		{"orders", `"orders"`},
		{`a "b" \c`, `"a \"b\" \\c"`},
		{"\x1b[31mred\x1b]0;title\x07", `"\x1b[31mred\x1b]0;title\x07"`},
		{"a\nb\r\tc", `"a\nb\r\tc"`},
		{"nul\x00del\x7f", `"nul\x00del\x7f"`},
		{"ab\u202egnp.exe", `"ab\u202egnp.exe"`}, // turns the direction of writing
		{"\u2066x\u2069\u200b\ufeff", `"\u2066x\u2069\u200b\ufeff"`},
		{"csi \u009b31m", `"csi \u009b31m"`}, // CSI as one character
		{"line\u2028para\u2029", `"line\u2028para\u2029"`},
		{"tag\U000e0041", `"tag\U000e0041"`},
		{"Grüße 中文 😀", `"Grüße 中文 😀"`},
		{"bad\xff\xfe", `"bad\xff\xfe"`},
		{"cut \xe4\xb8", `"cut \xe4\xb8"`},
		{"raw \x9b31m", `"raw \x9b31m"`},
		{"surrogate \xed\xa0\x80", `"surrogate \xed\xa0\x80"`},
		{"real \ufffd", "\"real \ufffd\""},
	} {
		if got := string(appendQuoted(nil, test.in)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.in, got, test.want)
		}
		if got := string(appendQuoted(nil, []byte(test.in))); got != test.want {
			t.Errorf("bytes %q: got %s, want %s", test.in, got, test.want)
		}
	}
	if got, want := string(appendEscaped(nil, "say \"hi\"\n", false)), `say "hi"\n`; got != want {
		t.Errorf("out of quotes: got %s, want %s", got, want)
	}
}

// Text is looked at eight bytes at a time: what is escaped is found wherever it stands, in texts of all lengths.
func TestEscapeEachByte(t *testing.T) {
	for c := range 256 {
		escaped := string(appendEscaped(nil, []byte{byte(c)}, true))
		plain := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
		if plain != (escaped == string(rune(c))) {
			t.Errorf("byte %#x is %s", c, escaped)
		}
		for length := range 20 {
			for at := range length {
				in := bytes.Repeat([]byte{'x'}, length)
				in[at] = byte(c)
				want := strings.Repeat("x", at) + escaped + strings.Repeat("x", length-at-1)
				if got := string(appendEscaped(nil, in, true)); got != want {
					t.Fatalf("byte %#x at %d of %d: got %s, want %s", c, at, length, got, want)
				}
			}
		}
	}
}

func TestEscapeAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 256)
	for _, text := range []string{"orders.v1", "Grüße 中文", "\x1b[31m\u202e\xff"} {
		if n := testing.AllocsPerRun(100, func() { appendQuoted(buf, text) }); n > 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("orders")
	f.Add("\x1b[2J\u202e\xff\\\"")
	f.Fuzz(func(t *testing.T, text string) {
		got := appendQuoted(nil, text)
		if !printable(got) {
			t.Errorf("%q became %q", text, got)
		}
		inner := got[1 : len(got)-1]
		if quotes := strings.Count(strings.ReplaceAll(string(inner), `\\`, ""), `"`) - strings.Count(strings.ReplaceAll(string(inner), `\\`, ""), `\"`); quotes != 0 {
			t.Errorf("%q ends its quotes: %q", text, got)
		}
	})
}

func TestCutText(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 3, "abc"},
		{"aé", 2, "a"},
		{"aéb", 3, "aé"},
		{"x😀y", 4, "x"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
	} {
		if got := string(cutText([]byte(test.in), test.n)); got != test.want {
			t.Errorf("%q cut at %d: %q, want %q", test.in, test.n, got, test.want)
		}
	}
}

// JSON reads as the text that was written, and has nothing in it that drives a terminal.
func TestJSONString(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"orders", `"orders"`},
		{"\x1b[31m\r\n\x7f", `"\u001b[31m\r\n\u007f"`},
		{"ab\u202egnp", `"ab\u202egnp"`},
		{"\u2066x\u2069\u200e\u200f\u061c", `"\u2066x\u2069\u200e\u200f\u061c"`},
		{"\u009b31m\u0085", `"\u009b31m\u0085"`},
		{"\u2028\u2029", `"\u2028\u2029"`},
		{"Grüße 中文 😀 👩\u200d💻", "\"Grüße 中文 😀 👩\u200d💻\""},
		{"bad\xff", "\"bad\ufffd\""},
	} {
		got := string(appendString(nil, test.in))
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.in, got, test.want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(test.in, "\ufffd") {
			t.Errorf("%q: reads as %q, %v", test.in, back, err)
		}
	}
}

// Text is looked at eight bytes at a time: each byte is told from its neighbours, whatever they are and wherever it stands.
func TestJSONStringEachByte(t *testing.T) {
	escaped := map[byte]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, 0x7f: `\u007f`}
	want := func(c byte) string {
		text, known := escaped[c]
		switch {
		case known:
			return text
		case c < ' ':
			return fmt.Sprintf(`\u%04x`, c)
		case c >= 0x80:
			return "\ufffd"
		}
		return string(rune(c))
	}
	for c := range 256 {
		for _, beside := range []byte{'x', ' ', '~', '!', '#', '[', ']', '"', 0, 0x1f, 0x7f, 0xff} {
			for at := range 170 { // blocks of 64 bytes, words of eight and single bytes
				in := bytes.Repeat([]byte{beside}, 171)
				in[at] = byte(c)
				expected := `"` + strings.Repeat(want(beside), at) + want(byte(c)) + strings.Repeat(want(beside), 170-at) + `"`
				if got := string(appendString(nil, in)); got != expected {
					t.Fatalf("byte %#x at %d of %#x: got %s, want %s", c, at, beside, got, expected)
				}
			}
		}
	}
}

// Text is passed over by words exactly as far as a look at each byte says, at the end of it at least.
func TestPlainLength(t *testing.T) {
	for _, filler := range []byte{' ', '!', '#', '[', ']', '~'} {
		for length := range 48 {
			text := bytes.Repeat([]byte{filler}, length)
			if got := plainLength(text); got != length {
				t.Errorf("%d times %q: %d bytes are plain", length, filler, got)
			}
			for at := range length {
				for c := range 256 {
					text[at] = byte(c)
					plain := c >= ' ' && c < 0x7f && c != '"' && c != '\\'
					if got := plainLength(text); plain && got != length || !plain && got > at {
						t.Errorf("%d times %q, %#x at %d: %d bytes are plain", length, filler, c, at, got)
					}
				}
				text[at] = filler
			}
		}
	}
}

// Text is plain where nothing in it is escaped, wherever in blocks and words a character stands.
func TestPlainTextOfEveryLength(t *testing.T) {
	for length := 1; length < 80; length++ {
		for at := range length {
			for _, c := range []byte{'a', '~', ' ', '"', '\\', '\n', 0x1f, 0x7f, 0x80, 0xe9} {
				s := bytes.Repeat([]byte("x"), length)
				s[at] = c
				if got, want := plainText(s), string(appendQuoted(nil, s)) == `"`+string(s)+`"`; got != want {
					t.Fatalf("%q is plain: %t", s, got)
				}
				want := length
				if c < ' ' || c > '~' {
					want = at
				}
				if got := plainASCII(s); got != want {
					t.Fatalf("%d bytes of %q are ASCII, want %d", got, s, want)
				}
			}
		}
	}
}
