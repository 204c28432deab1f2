package dissect

import (
	"testing"

	"github.com/kdissect/kdissect/reassembly"
)

// TestCutOffersTellNothing: what is not there of a list that was cut, the broker may have offered all the same.
func TestCutOffersTellNothing(t *testing.T) {
	k := newTalk(NeedMessages, true)
	k.client(apiVersions(1))
	offers := offering(1, 0, 0, 13, 1, 4, 18, 3, 0, 13)
	k.server(offers[:len(offers)-8]) // up to Fetch
	k.gap(fromServer, 8, reassembly.Snaplen)
	k.client(metadata(2))
	k.server(metadataAnswer(2))
	k.end(reassembly.Closed)
	for _, m := range k.messages {
		for _, code := range m.codes() {
			if code == VersionNotOffered {
				t.Errorf("%s: said not to be offered", m.short())
			}
		}
	}
	if len(k.messages) != 4 {
		t.Errorf("%d messages", len(k.messages))
	}
}
