package dissect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
)

// A hanger writes down the open exchanges that it is told of.
type hanger struct{ told []string }

func (h *hanger) Message(*Message) {}
func (h *hanger) Report(*Report)   {}
func (h *hanger) Exchange(x *Exchange) {
	if x.Open {
		t := x.Request.Timing
		h.told = append(h.told, fmt.Sprintf("%s %d: latency %d, queued %d, allowed %d, excess %d, in flight %d", x.Request.Name(), x.Request.Header.CorrelationID,
			t.Latency/1e6, t.Queued/1e6, t.Allowed/1e6, t.Excess/1e6, t.InFlight))
	}
	if x.Response != nil && x.Request.Timing != (Timing{}) {
		h.told = append(h.told, "the time of an open exchange was kept")
	}
}

// TellWaiting tells the same, each request once.
func TestTellWaiting(t *testing.T) {
	k := newTalk(NeedExchanges, true)
	metadata := func(id int32) []byte { return framed(int16(3), int16(1), id, text("c"), int32(0)) }
	k.client(metadata(1)) // at 1 ms
	k.client(metadata(2))
	sc := []*reassembly.Connection{k.conn}
	for _, now := range []int64{4000, 6001, 7000} {
		k.dissector.TellWaiting(sc, now*1e6, 5e9)
	}
	k.packet = 7999
	k.server(framed(int32(1), int32(0), int32(0), int32(0))) // at 8000 ms: the turn of the other one
	for _, now := range []int64{8001, 13001} {
		k.dissector.TellWaiting(sc, now*1e6, 5e9)
	}
	var told []string
	for _, r := range k.reports {
		for _, f := range r.Findings {
			told = append(told, fmt.Sprintf("%d %s: %s", r.Message, f.Code, f.Text))
		}
	}
	want := []string{"1 waiting: Metadata v1 with correlation id 1 has had no answer for 6.0 s", "2 waiting: Metadata v1 with correlation id 2 has had no answer for 13.0 s"}
	if !slices.Equal(told, want) {
		t.Errorf("\n got %q\nwant %q", told, want)
	}
}

// A packet comes a millisecond after the one before, the first after 1 ms. The hello takes packets 1 and 2.
func TestWaiting(t *testing.T) {
	fetch := func(id, wait int32) []byte {
		return framed(int16(1), int16(4), id, text("c"), int32(-1), wait, int32(1), int32(1<<20), int8(0), int32(1), text("t"), int32(1), int32(0), int64(0), int32(1<<20))
	}
	metadata := func(id int32) []byte { return framed(int16(3), int16(1), id, text("c"), int32(0)) }
	metadataAnswer := func(id int32) []byte { return framed(id, int32(0), int32(0), int32(0)) }
	silent := framed(int16(0), int16(3), int32(9), text("c"), int16(-1), int16(0), int32(30000), int32(0)) // acks=0
	for _, test := range []struct {
		name     string
		say      func(k *talk)
		now      int64 // ms
		want     []string
		noKafka  bool
		patience int64 // ms, 1000 if it is 0
	}{
		{name: "answered", say: func(k *talk) { k.client(metadata(2)); k.server(metadataAnswer(2)) }, now: 9000},
		{name: "not long", say: func(k *talk) { k.client(metadata(2)) }, now: 1002},
		{name: "a second", say: func(k *talk) { k.client(metadata(2)) }, now: 1003,
			want: []string{"Metadata 2: latency 1000, queued 0, allowed 0, excess 1000, in flight 1"}},
		{name: "as long as it asked for", say: func(k *talk) { k.client(fetch(2, 5000)) }, now: 6002},
		{name: "longer than it asked for", say: func(k *talk) { k.client(fetch(2, 5000)) }, now: 6013,
			want: []string{"Fetch 2: latency 6010, queued 0, allowed 5000, excess 1010, in flight 1"}},
		{name: "behind one that may wait", say: func(k *talk) { k.client(fetch(2, 5000)); k.client(metadata(3)) }, now: 5500},
		{name: "the oldest alone", say: func(k *talk) { k.client(metadata(2)); k.client(metadata(3)); k.client(metadata(4)) }, now: 2003,
			want: []string{"Metadata 2: latency 2000, queued 0, allowed 0, excess 2000, in flight 3"}},
		{name: "its turn came late", say: func(k *talk) {
			k.client(metadata(2)) // at 3
			k.client(metadata(3)) // at 4
			k.packet = 1999
			k.server(metadataAnswer(2)) // at 2000
		}, now: 3004, want: []string{"Metadata 3: latency 3000, queued 1996, allowed 0, excess 1004, in flight 1"}},
		{name: "its turn came just now", say: func(k *talk) {
			k.client(metadata(2))
			k.client(metadata(3))
			k.packet = 1999
			k.server(metadataAnswer(2))
		}, now: 2999},
		{name: "no answer is wanted", say: func(k *talk) { k.client(silent) }, now: 9000},
		{name: "half a request", say: func(k *talk) { k.client(fetch(2, 0)[:30]) }, now: 9000},
		{name: "half an answer", say: func(k *talk) { k.client(metadata(2)); k.server(metadataAnswer(2)[:10]) }, now: 9000},
		{name: "the answer may be lost", say: func(k *talk) { k.client(metadata(2)); k.gap(fromServer, 20, reassembly.NotCaptured) }, now: 9000},
		{name: "passed over", say: func(k *talk) { k.client(metadata(2)); k.client(metadata(3)); k.server(metadataAnswer(3)) }, now: 9000},
		{name: "ended", say: func(k *talk) { k.client(metadata(2)); k.end(reassembly.Closed) }, now: 9000, noKafka: true},
		{name: "more patience", say: func(k *talk) { k.client(metadata(2)) }, now: 9000, patience: 10_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, h := newTalk(NeedExchanges, true), &hanger{}
			k.dissector.out = h
			k.client(apiVersions(1))
			k.server(apiVersionsAnswer(1))
			test.say(k)
			patience := test.patience * 1e6
			if patience == 0 {
				patience = 1e9
			}
			other := &reassembly.Connection{ID: 9, Ends: talkEnds} // without a byte
			kafka := k.dissector.Waiting([]*reassembly.Connection{k.conn, other}, test.now*1e6, patience)
			if !slices.Equal(h.told, test.want) || kafka != 1 && !test.noKafka {
				t.Errorf("%d connections, %q, want %q", kafka, h.told, test.want)
			}
			k.server(metadataAnswer(2))
			if len(h.told) != len(test.want) {
				t.Error(h.told[len(test.want):])
			}
		})
	}
}

// Where one side of a connection is not captured nothing is known to wait.
func TestNothingWaitsForWhatIsNotCaptured(t *testing.T) {
	k, h := newTalk(NeedExchanges, false), &hanger{}
	k.dissector.out = h
	k.knowBroker()
	k.client(apiVersions(1))
	k.client(apiVersions(2))
	if kafka := k.dissector.Waiting([]*reassembly.Connection{k.conn}, 1e12, 1e9); kafka != 1 || len(h.told) > 0 {
		t.Errorf("%d connections, %q", kafka, h.told)
	}
}
