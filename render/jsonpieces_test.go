package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A widest is a writer that keeps what it is given, and how much that was at most at a time.
type widest struct {
	bytes.Buffer
	most int
}

func (w *widest) Write(b []byte) (int, error) {
	w.most = max(w.most, len(b))
	return w.Buffer.Write(b)
}

// Values of several pieces read back as what they are, wherever a piece ends, and are not held until they are whole.
func TestPieces(t *testing.T) {
	for name, unit := range map[string]string{
		"text":             "x",
		"six times larger": "\x00",
		"two bytes":        "é",
		"three bytes":      "水",
		"four bytes":       "\U0001F600",
		"escaped":          "a\"\\\u2028",
		"not text":         "\xff",
		"cut characters":   "ab\xe6\xb0",
	} {
		for _, size := range []int{pieceSize - 1, pieceSize, pieceSize + 1, pieceSize + 2, 8*pieceSize + 1} {
			for _, shift := range []string{"", "-", "--", "---"} {
				value := []byte(shift + strings.Repeat(unit, size/len(unit)))
				var out widest
				j := NewJSON(&out, Options{})
				j.buf = append(j.appendTextOrBase64(append(j.buf, `{"number":1`...), "value", value), '}')
				j.Flush()
				var read struct {
					Value       *string
					ValueBase64 []byte
				}
				if err := json.Unmarshal(out.Bytes(), &read); err != nil {
					t.Fatalf("%s, %d bytes: %v", name, len(value), err)
				}
				got := read.ValueBase64
				if utf8.Valid(value) {
					got = []byte(*read.Value)
				}
				if !bytes.Equal(got, value) {
					t.Errorf("%s, %d bytes: another value is read back", name, len(value))
				}
				if out.most > spillSize+6*pieceSize+10 {
					t.Errorf("%s, %d bytes: %d were held", name, len(value), out.most)
				}
			}
		}
	}
}

// What may be taken back is given up once it is too large, in a value as well.
func TestPiecesTakenBack(t *testing.T) {
	var out widest
	j := NewJSON(&out, Options{})
	j.whole = true
	b := j.appendTextOrBase64([]byte("{"), "value", slices.Repeat([]byte("kdissect"), 1<<20))
	if out.most != 0 || !j.tooLarge(b) || len(b) > maxWhole+6*pieceSize {
		t.Errorf("%d bytes were written and %d are held", out.most, len(b))
	}
}
