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
	f.Add(produceTo(f, "__consumer_offsets", recordBatch(f, 0, 1, unhex(f, offsetCommit))).frame, []byte{})
	f.Add(produceTo(f, "t", recordBatch(f, 1, 2, gzipped(f, unhex(f, twoRecords)))).frame, []byte{})
	f.Add(produceTo(f, "t", message(f, 3, 1, gzipped(f, message(f, 0, 0, []byte("abc"))))).frame, []byte{})
	f.Fuzz(func(t *testing.T, asked, answered []byte) {
		for _, o := range []Options{{Full: true}, {Records: RecordsFull}, {Full: true, Hex: true, ShowSecrets: true, Records: RecordsFull}} {
			var out bytes.Buffer
			converse(NewTree(&out, o), request(asked), response(answered))
			wantPlain(t, out.String())
		}
	})
}
