package state

import (
	"fmt"
	"testing"
)

// batch is a record batch without records: what is looked at is its header.
func batch(base int64, count int32, attributes int16) []byte {
	rest := pack(int32(0), int8(2), int32(0), attributes, count-1, int64(0), int64(0), int64(7), int16(0), int32(0), count)
	return pack(base, int32(len(rest)), raw(rest))
}

// fetch is an answered Fetch v4 of partition 1 of orders.
func (c *client) fetch(offset, highWatermark, lastStable int64, code int16, records []byte) {
	c.ask(1, 4, int32(-1), int32(500), int32(1), int32(1<<20), int8(0), array{all("orders", array{all(int32(1), offset, int32(1<<20))})})(
		int32(0), array{all("orders", array{all(int32(1), code, highWatermark, lastStable, int32(-1), records)})})
}

func TestOffsetsOfPartition(t *testing.T) {
	w := newWorld()
	a, b := w.client("app"), w.client("other")
	a.ask(0, 3, int16(-1), int16(1), int32(1000), array{all("orders", array{all(int32(1), batch(0, 5, 0))})})(
		array{all("orders", array{all(int32(1), int16(0), int64(100), int64(-1))})}, int32(0))
	p := w.Partitions()[0]
	expect(t, "name", fmt.Sprint(p.Name, p.Partition), "orders1")
	expect(t, "last produced", p.Produced, 104)
	expect(t, "high watermark", p.HighWatermark, -1)

	const control = 1 << 5
	a.fetch(100, 105, 103, 0, append(batch(100, 3, 0), batch(103, 1, control)...))
	b.fetch(105, 105, 103, 0, nil)
	b.fetch(7, 1, 1, 6, nil) // NOT_LEADER_OR_FOLLOWER
	expect(t, "last fetched", p.Fetched, 102)
	expect(t, "high watermark", p.HighWatermark, 105)
	expect(t, "last stable offset", p.LastStable, 103)
	lag, known := p.Lag(&p.Readers[0])
	expect(t, "reader", fmt.Sprint(p.Readers[0].Client, p.Readers[0].Host, p.Readers[0].Position, lag, known), "app10.0.0.1104 1 true")

	ask := func(isolation int8, timestamp, offset int64) {
		a.ask(2, 2, int32(-1), isolation, array{all("orders", array{all(int32(1), timestamp)})})(int32(0), array{all("orders", array{all(int32(1), int16(0), int64(-1), offset)})})
	}
	ask(0, -2, 50)
	ask(0, -1, 110)
	ask(1, -1, 108)
	ask(0, 1234567, 60)
	expect(t, "ends", fmt.Sprint(p.LogStart, p.LastStable, p.HighWatermark), "50 108 110")

	a.commit("billing", "orders", 1, 0) // of partition 0
	if _, known := w.Lag(w.group(t, "billing").Offsets()[0]); known {
		t.Error("the lag of a partition without a high watermark is known")
	}
}

// A leader of an earlier epoch is old news. Brokers are where the latest answer says.
func TestLeadersAndBrokers(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	metadata := func(leader, epoch int32, port int32, controller int32) {
		brokers := array{all(int32(1), "host-1", port, "rack-a"), all(int32(2), "host-2", int32(9092), int16(-1))}
		partition := all(int16(0), int32(0), leader, epoch, array{int32(1)}, array{int32(1)}, array{})
		a.ask(3, 7, array{"orders"}, true)(int32(0), brokers, "cluster", controller, array{all(int16(0), "orders", false, array{partition})})
	}
	metadata(1, 5, 9092, 1)
	metadata(2, 4, 9093, 2)
	p := w.Partitions()[0]
	expect(t, "leader", fmt.Sprint(p.Leader, p.LeaderEpoch), "1 5")
	metadata(2, 6, 9093, 2)
	expect(t, "leader", fmt.Sprint(p.Leader, p.LeaderEpoch), "2 6")
	first, second := w.Brokers()[0], w.Brokers()[1]
	expect(t, "broker", fmt.Sprint(first.ID, first.Host, first.Port, first.Rack, first.Controller), "1host-19093rack-afalse")
	expect(t, "controller", second.Controller, true)

	a.ask(10, 1, "billing", int8(0))(int32(0), int16(0), int16(-1), int32(2), "host-2", int32(9092))
	a.ask(10, 1, "pay", int8(1))(int32(0), int16(0), int16(-1), int32(1), "host-1", int32(9092))
	expect(t, "coordinator of the group", w.group(t, "billing").Coordinator, 2)
	expect(t, "coordinator of the transaction", w.transaction(t, "pay").Coordinator, 1)
}
