package dissect

import (
	"slices"
	"testing"
)

// Whether an answer is expected is what the request says, also where the one before began alike.
func TestAcksOfRequestsThatBeginAlike(t *testing.T) {
	k := newTalk(NeedExchanges, true)
	one, two := produceOf(1, "orders", 0, oneRecord), produceOf(0, "orders", 0, oneRecord)
	var want []bool
	for _, frame := range [][]byte{one, one, two, two, two, one, one, two} {
		k.client(frame)
		expected := &frame[0] == &one[0]
		if expected {
			k.server(producedV3("orders", 0, 0, 100, 0))
		}
		want = append(want, !expected)
	}
	var got []bool
	for _, x := range k.exchanges {
		got = append(got, x.noAnswer)
	}
	if !slices.Equal(got, want) {
		t.Errorf("without an answer: %v, want %v", got, want)
	}
}
