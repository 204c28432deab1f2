package render

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
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

// large yields values of a piece and more, of several kinds, and shifted so that pieces end anywhere in a character.
func large(yield func(name string, value []byte) bool) {
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
				if !yield(name, []byte(shift+strings.Repeat(unit, size/len(unit)))) {
					return
				}
			}
		}
	}
}

// Values of several pieces read back as what they are, wherever a piece ends, and are not held until they are whole.
func TestJSONPieces(t *testing.T) {
	for name, value := range large {
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

// The same of trees: text is quoted as in Go, JSON stands as it is, other bytes in hex.
func TestTreePieces(t *testing.T) {
	check := func(name string, value []byte) bool {
		var out widest
		tree := NewTree(&out, Options{Full: true, Records: RecordsFull})
		tree.buf = tree.appendPayload(tree.buf, value)
		tree.Flush()
		got, err := out.Bytes(), error(nil)
		switch {
		case bytes.HasPrefix(got, []byte("0x")):
			digits, behind, _ := bytes.Cut(got[2:], []byte(" "))
			if name == "Avro" && string(behind) != "(schema id 7)" {
				t.Errorf("%q stands behind the bytes", behind)
			}
			got, err = hex.AppendDecode(nil, digits)
		case got[0] == '"':
			var text string
			text, err = strconv.Unquote(string(got))
			got = []byte(text)
		}
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s, %d bytes: another value is read back, %v", name, len(value), err)
		}
		if out.most > spillSize+6*pieceSize+10 {
			t.Errorf("%s, %d bytes: %d were held", name, len(value), out.most)
		}
		return true
	}
	large(check)
	check("JSON", []byte(`["`+strings.Repeat("é", pieceSize)+`"]`))
	check("Avro", append([]byte{0, 0, 0, 0, 7}, bytes.Repeat([]byte{0xff}, pieceSize)...))
}

// Pieces of what is no text end as well, and are all of it.
func TestPiecesOfStrayBytes(t *testing.T) {
	value := bytes.Repeat([]byte{0x80}, 2*pieceSize)
	if got := slices.Concat(slices.Collect(pieces(value, true))...); !bytes.Equal(got, value) {
		t.Errorf("%d bytes of %d", len(got), len(value))
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
