package state

import (
	"path/filepath"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// bodies hands the bodies of exchanges to a function.
type bodies func(key, version int16, request, response []byte)

func (bodies) Message(*dissect.Message) {}
func (bodies) Report(*dissect.Report)   {}

func (f bodies) Exchange(x *dissect.Exchange) {
	if x.Request == nil || x.Response == nil || rules[x.Request.Header.APIKey] == nil || !whole(x.Request) || !whole(x.Response) {
		return
	}
	body := func(m *dissect.Message) []byte { return append([]byte{}, m.Raw(&m.Nodes[m.Body()])...) }
	f(x.Request.Header.APIKey, x.Request.Header.Version, body(x.Request), body(x.Response))
}

// FuzzCluster follows exchanges with bodies of any bytes, after those that make a group and a transaction: what is kept stays within its bounds.
func FuzzCluster(f *testing.F) {
	files, _ := filepath.Glob("../testdata/*.pcap")
	more, _ := filepath.Glob(filepath.Join(real, "java-4.4-*[a-z8].pcap"))
	for _, file := range append(files, more...) {
		source, err := pcaps.Open(file)
		if err != nil {
			continue
		}
		seen := map[int16]int{}
		a := reassembly.New(dissect.New(schema.Embedded(), dissect.NeedExchanges, bodies(func(key, version int16, q, r []byte) {
			if seen[key]++; seen[key] < 3 && len(q)+len(r) < 2000 {
				f.Add(key, version, q, r)
			}
		})))
		var batch pcaps.Batch
		for source.Next(&batch) == nil {
			for i := range batch.Packets {
				a.Packet(&batch.Packets[i])
			}
			batch.Release()
		}
		a.Close()
		source.Close()
	}
	f.Fuzz(func(t *testing.T, key, version int16, request, response []byte) {
		w := newWorld()
		c := w.client("app")
		c.join("billing", "a-1", "host-1", "orders")(joined(1, "a-1", "a-1", "a-1 host-1")...)
		c.sync("billing", "a-1", 1, "orders", int32(0))
		producer{c, "pay"}.init(0, 0)
		producer{c, "pay"}.add("out", 0, 0, int32(0))
		head, tail := raw{}, raw{}
		if api := schema.Embedded().API(key); api != nil && api.Flexible.Contains(version) {
			head, tail = raw{0}, raw{0}
		}
		for range 2 {
			c.ask(key, version, head, raw(request))(tail, raw(response))
		}
		c.end()
		for _, g := range w.Groups() {
			size := 0
			for _, m := range g.Members() {
				size += m.size
			}
			for _, o := range g.Offsets() {
				size += offsetSize + 2*len(o.Name)
			}
			if g.size != size || len(g.members) > maxMembers || len(g.offsets) > maxOffsets || len(g.Timeline.Events) > maxEvents {
				t.Errorf("group %q: %d bytes, counted %d", g.ID, g.size, size)
			}
			for i, e := range g.Timeline.Events {
				if i > 0 && e.Number < g.Timeline.Events[i-1].Number {
					t.Errorf("group %q: event %d is out of order", g.ID, i)
				}
			}
		}
		for _, x := range w.Transactions() {
			if x.included > maxTxnPartitions || len(x.pending) > maxPending {
				t.Errorf("transaction %q holds too much", x.ID)
			}
		}
		w.Brokers()
		w.Partitions()
	})
}
