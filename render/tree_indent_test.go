package render

import (
	"fmt"
	"testing"
)

// Lines end as they would if the one before had not been kept, wherever in the frame they are.
func TestEnding(t *testing.T) {
	var kept ending
	for _, size := range []uint32{4, 4, 170000} {
		for _, offset := range []uint32{0, 0xfffc, 0xffff, 0x10000, 0x1fffe, 0x20000, 0x20001, 0xffff0000, 0xffffffff, 1} {
			got := string(kept.append([]byte("|"), ")", "B] why\n", offset, size))
			if want := fmt.Sprintf("|)%04x, %dB] why\n", offset, size); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if digits := len(fmt.Sprintf("%04x", offset)); offsetDigits(offset) != digits {
				t.Errorf("%#x: %d digits, want %d", offset, offsetDigits(offset), digits)
			}
		}
	}
}
