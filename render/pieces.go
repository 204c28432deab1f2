package render

import (
	"iter"
	"unicode/utf8"
)

// pieceSize is how much of a large key or value is escaped at once, and written before the next piece is: escaped, it may be six times as long. It is a multiple
// of three, as base64 wants it.
const pieceSize = 192 << 10

// pieces yields a value piece by piece. Characters of text stay whole.
func pieces(value []byte, text bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(value) > 0 {
			n := min(pieceSize, len(value))
			for text && n < len(value) && n > pieceSize-utf8.UTFMax && !utf8.RuneStart(value[n]) {
				n--
			}
			if !yield(value[:n]) {
				return
			}
			value = value[n:]
		}
	}
}
