package render

import (
	"bytes"
	"testing"
)

// Whatever the bytes are, they are printed without a raw character, in every form of the tree.
func FuzzTree(f *testing.F) {
	ask, answer := coordinators(f)
	f.Add(ask.frame, answer.frame)
	f.Add(unhex(f, alterDirsRequest), oddResponse(f))
	f.Add(produce(f, 1).frame, []byte{})
	f.Fuzz(func(t *testing.T, asked, answered []byte) {
		for _, o := range []Options{{Full: true}, {}, {Hex: true, ShowSecrets: true}} {
			var out bytes.Buffer
			converse(NewTree(&out, o), request(asked), response(answered))
			wantPlain(t, out.String())
		}
	})
}
