package render

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// The result of an answer with error 15 (COORDINATOR_NOT_AVAILABLE) twice and 16 (NOT_COORDINATOR) once: what is there twice is not all there is.
func TestResultCountsEachErrorForItself(t *testing.T) {
	ask := request(unhex(t, `00000014 000a 0004 00000001 0000 00  00 04 02 61 02 62 02 63 00`))
	answer := response(frame(unhex(t, `00000001 00  00000000 04
		02 61 00000000 01 00000000 000f 00 00
		02 62 00000000 01 00000000 0010 00 00
		02 63 00000000 01 00000000 000f 00 00  00`)))
	var out bytes.Buffer
	summary := NewSummary(&out, io.Discard, Options{})
	converse(summary, ask, answer)
	summary.Flush()
	if want := "\tCOORDINATOR_NOT_AVAILABLE x2 +1\t"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %q", want, out.String())
	}
}
