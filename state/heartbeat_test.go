package state

import (
	"fmt"
	"testing"
)

// compact is a text behind its length as flexible versions have it.
func compact(s string) raw { return append(raw{byte(len(s) + 1)}, s...) }

// consumerBeat is an answered ConsumerGroupHeartbeat v0 that says what a member wants, and is not told what it has.
func (c *client) consumerBeat(member string, epoch int32, instance string, code int16, newEpoch int32, topics ...string) {
	wants := raw{0}
	if topics != nil {
		wants = raw{byte(len(topics) + 1)}
		for _, t := range topics {
			wants = append(wants, compact(t)...)
		}
	}
	named := raw{0}
	if instance != "" {
		named = compact(instance)
	}
	c.ask(68, 0, raw{0}, compact("billing"), compact(member), epoch, named, raw{0}, int32(-1), wants, raw{0}, raw{0}, raw{0})(
		raw{0}, int32(0), code, raw{0}, compact(member), newEpoch, int32(1000), int8(-1), raw{0})
}

func TestConsumerGroup(t *testing.T) {
	w := newWorld()
	a, b := w.client("app-a"), w.client("app-b")
	a.consumerBeat("a", 0, "host-1", 0, 1, "orders")
	b.consumerBeat("b", 0, "", 0, 2, "orders")
	a.consumerBeat("a", 1, "", 0, 2)
	a.consumerBeat("a", 2, "", 0, 3, "orders", "items")
	g := w.group(t, "billing")
	expect(t, "type", g.Type, Consumer)
	expect(t, "epoch", g.Epoch, 3)
	expect(t, "topics", fmt.Sprint(g.members["a"].Topics), "[items orders]")
	w.now += 50_000
	b.consumerBeat("b", 2, "", 25, 0)
	expect(t, "b", g.members["b"].State, Expelled)
	a.consumerBeat("a", 3, "", 110, 0)
	expect(t, "a", g.members["a"].State, Displaced)
	expect(t, "state", g.State, Empty)
	a.consumerBeat("a", 0, "", 0, 4, "orders")
	expect(t, "a again", g.members["a"].State.Over(), false)
	a.consumerBeat("a", -1, "", 0, -1)
	expect(t, "a at the end", g.members["a"].State, Gone)
	expectAll(t, "events", kinds(&g.Timeline), "joins a", "generation ", "joins b", "generation ", "subscribes a", "generation ",
		"removed b", "fenced a", "joins a", "generation ", "left a")
	why := func(i int) string { return g.Timeline.Events[i].Why }
	expect(t, "cause of epoch 3", why(5), fmt.Sprintf("host-1 changed its subscription (#%d)", g.Timeline.Events[4].Number))
	expect(t, "why b is gone", why(6), "the coordinator does not know it any more; it was silent for 50006 ms") // its last request was six packets before
}
