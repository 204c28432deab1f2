package render

import (
	"strings"
	"testing"
)

func TestHex(t *testing.T) {
	text := tree(Options{Hex: true}, request(unhex(t, alterDirsRequest)), response(oddResponse(t)))
	first, second, _ := strings.Cut(text, "\n\n")
	wantLines(t, first[strings.Index(first, "\n0000  ")+1:], `0000  00 00 00 17 00 22 00 02  00 00 00 00 00 00 00 02  |....."..........|
0010  01 02 01 02 00 00 00 00  00 00 00                 |...........|`)
	second, _, _ = strings.Cut(second, "\n\n")
	wantLines(t, second[strings.Index(second, "\n0000  ")+1:], `0000  00 00 00 1d 00 00 00 00  00 00 00 00 00 02 02 61  |...............a|
0010  02 00 00 00 05 00 38 01  07 02 be ef 00 00 78 79  |......8.......xy|
0020  7a                                                |z|`)
}

func TestHexOfSecrets(t *testing.T) {
	// The header stays: size, SaslAuthenticate v1, correlation id 2, client id "me". Of the body nothing is shown.
	ask := request(frame(unhex(t, `0024 0001 00000002 0002 6d65  00000006`), []byte("\x00me\x00pw")))
	text := tree(Options{Hex: true}, ask)
	wantLines(t, text[strings.Index(text, "\n0000  ")+1:strings.Index(text, "\n\n!")], `0000  00 00 00 16 00 24 00 01  00 00 00 02 00 02 6d 65  |.....$........me|
0010  .. .. .. .. .. .. .. ..  .. ..                    |..........|`)
}

func TestHexColors(t *testing.T) {
	text := tree(Options{Hex: true, Color: true}, request(unhex(t, alterDirsRequest)), produce(t, 0))
	c := newPalette(true)
	for what, want := range map[string]string{
		"size, then header":        c.frame.on + "00 00 00 17 " + c.frame.off + c.header.on + "00 22 ",
		"header, then its tags":    "00 00 " + c.header.off + c.tags.on + "00 " + c.tags.off,
		"body, then tags":          "00 00 " + c.body.off + c.tags.on + "00 00 00" + c.tags.off,
		"header and rest of batch": "00 00 00 03 " + c.batch.off + c.record.on + "01 02 03 04 05" + c.record.off,
	} {
		if !strings.Contains(strings.ReplaceAll(text, "  ", " "), want) {
			t.Errorf("%s: no %q in\n%q", what, want, text)
		}
	}
}
