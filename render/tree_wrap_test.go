package render

import (
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"
)

// The width of a text is how many characters are left when the colours are taken out, wherever they stand.
func TestVisible(t *testing.T) {
	colours := regexp.MustCompile("\x1b[^m]*(m|$)")
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "word of some length ", "é", "水", "\U0001F600", "\x1b[1;31m", "\x1b[m", "m", "[", "\x1a\x1c", "\x9b", "\x1b["}
	for range 20_000 {
		var text string
		for range r.IntN(12) {
			text += pieces[r.IntN(len(pieces))]
		}
		want := 0
		for _, b := range colours.ReplaceAll([]byte(text), nil) {
			if utf8.RuneStart(b) {
				want++
			}
		}
		if got := visible([]byte(text)); got != want {
			t.Fatalf("%q has %d columns, want %d", text, got, want)
		}
	}
}
