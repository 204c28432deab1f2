package state

import (
	"fmt"
	"strings"
	"testing"
)

// Two members come together, and each gets its part.
func TestRebalance(t *testing.T) {
	w := newWorld()
	a, b := w.client("app-a"), w.client("app-b")
	a.join("billing", "a-1", "", "orders")(joined(1, "a-1", "a-1", "a-1")...)
	a.sync("billing", "a-1", 1, "orders", int32(0), int32(1), int32(2))
	expect(t, "state", w.group(t, "billing").State, Stable)

	answerB := b.join("billing", "b-1", "", "orders")
	expect(t, "state while b waits", w.group(t, "billing").State, PreparingRebalance)
	expect(t, "b while it waits", w.group(t, "billing").Members()[1].State, Joining)
	a.beat("billing", "a-1", 1, 27)
	a.beat("billing", "a-1", 1, 27)
	answerA := a.join("billing", "a-1", "", "orders")
	answerB(joined(2, "a-1", "b-1")...)
	answerA(joined(2, "a-1", "a-1", "a-1", "b-1")...)
	expect(t, "state before the sync", w.group(t, "billing").State, CompletingRebalance)
	a.sync("billing", "a-1", 2, "orders", int32(0))
	b.sync("billing", "b-1", 2, "orders", int32(2), int32(1))

	g := w.group(t, "billing")
	expect(t, "type", g.Type, Classic)
	expect(t, "protocol", g.ProtocolType+" "+g.Protocol, "consumer range")
	expect(t, "state", g.State, Stable)
	expect(t, "generation", g.Epoch, 2)
	expect(t, "leader", g.Leader, "a-1")
	expect(t, "size", g.Size(), 2)
	m := g.Members()[1]
	expect(t, "member", fmt.Sprint(m.ID, m.Client, m.Host, m.Epoch, m.State, m.SessionTimeout, m.Rebalance, m.Topics), "b-1app-b10.0.0.1:400022stable10000 60000 [orders]")
	expect(t, "assignment", fmt.Sprint(m.Assignment[0].Name, m.Assignment[0].Partitions), "orders[1 2]")
	expectAll(t, "events", kinds(&g.Timeline), "joins a-1", "generation ", "synced a-1", "joins b-1", "rebalancing a-1", "rejoins a-1", "generation ", "synced a-1", "synced b-1")
	formed := g.Timeline.Events[6]
	expect(t, "members", formed.Partitions, 2)
	expect(t, "cause", formed.Why, fmt.Sprintf("b-1 joined (#%d)", g.Timeline.Events[3].Number))
	expect(t, "partitions of a", g.Timeline.Events[7].Partitions, 1)
}

// A member that says nothing for longer than its session timeout has timed out, whoever tells that it is gone.
func TestTimeOut(t *testing.T) {
	w := newWorld()
	a := w.client("app-a")
	a.join("billing", "a-1", "", "orders")(joined(1, "a-1", "a-1", "a-1")...)
	a.sync("billing", "a-1", 1, "orders", int32(0))
	a.beat("billing", "a-1", 1, 0)
	w.now += 12_000
	a.beat("billing", "a-1", 1, 25)
	g := w.group(t, "billing")
	expect(t, "state", g.State, Empty)
	expect(t, "member", g.Members()[0].State, Lost)
	last := g.Timeline.Events[len(g.Timeline.Events)-1]
	expect(t, "event", last.Kind, TimedOut)
	expect(t, "error", last.Error, 25)
	expect(t, "why", last.Why, "it was silent for 12002 ms, its session timeout is 10000 ms") // two packets a millisecond each

	// The next generation of another group lacks a member: it is the cause.
	b, c := w.client("app-b"), w.client("app-c")
	answer := b.join("stock", "b-1", "", "items")
	c.join("stock", "c-1", "", "items")(joined(1, "b-1", "c-1")...)
	answer(joined(1, "b-1", "b-1", "b-1", "c-1")...)
	b.sync("stock", "b-1", 1, "items", int32(0))
	c.sync("stock", "c-1", 1, "items", int32(1))
	w.now += 5_000
	b.beat("stock", "b-1", 1, 0)
	w.now += 6_000
	b.beat("stock", "b-1", 1, 27)
	b.join("stock", "b-1", "", "items")(joined(2, "b-1", "b-1", "b-1")...)
	g = w.group(t, "stock")
	expect(t, "c", g.Members()[1].State, Lost)
	expect(t, "size", g.Size(), 1)
	for _, e := range g.Timeline.Events {
		if e.Kind == Generation && e.Epoch == 2 && !strings.HasPrefix(e.Why, "c-1 timed out (#") {
			t.Errorf("cause of generation 2 is %q", e.Why)
		}
	}
}

// One that was heard of a moment ago has not timed out.
func TestRemoved(t *testing.T) {
	w := newWorld()
	a := w.client("app-a")
	a.join("billing", "a-1", "", "orders")(joined(1, "a-1", "a-1", "a-1")...)
	a.beat("billing", "a-1", 1, 0)
	a.beat("billing", "a-1", 1, 25)
	a.beat("billing", "a-1", 1, 25)
	g := w.group(t, "billing")
	expect(t, "member", g.Members()[0].State, Expelled)
	expectAll(t, "events", kinds(&g.Timeline), "joins a-1", "generation ", "removed a-1", "refused a-1")
}

// A static member that restarts takes the place of its predecessor, which is fenced.
func TestFencedInstance(t *testing.T) {
	w := newWorld()
	a, b := w.client("app"), w.client("app")
	a.join("billing", "", "host-1", "orders")(joined(1, "a-1", "a-1", "a-1 host-1")...)
	a.sync("billing", "a-1", 1, "orders", int32(0))
	b.join("billing", "", "host-1", "orders")(joined(1, "a-1", "a-2", "a-2 host-1")...)
	a.beat("billing", "a-1", 1, 82)
	g := w.group(t, "billing")
	expect(t, "old member", g.Members()[0].State, Displaced)
	expect(t, "new member", g.Members()[1].State, AwaitingSync)
	expectAll(t, "events", kinds(&g.Timeline), "joins ", "generation ", "synced a-1", "joins ", "fenced a-1", "fenced a-1")
	expect(t, "why", g.Timeline.Events[5].Why, "member a-2 has taken its group.instance.id")
	expect(t, "why it joins", g.Timeline.Events[3].Why, "in place of member a-1")
}

func TestLeave(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	a.join("billing", "a-1", "", "orders")(joined(1, "a-1", "a-1", "a-1")...)
	a.ask(13, 0, "billing", "a-1")(int16(0))
	g := w.group(t, "billing")
	expect(t, "state", g.State, Empty)
	expect(t, "member", g.Members()[0].State, Gone)
	// v3 names members in a list, and has a code for each of them
	a.join("billing", "a-2", "", "orders")(joined(2, "a-2", "a-2", "a-2")...)
	a.ask(13, 3, "billing", array{all("a-2", int16(-1)), all("x", int16(-1))})(int32(0), int16(0), array{all("a-2", int16(-1), int16(0)), all("x", int16(-1), int16(25))})
	expect(t, "second", g.Members()[1].State, Gone)
	expectAll(t, "events", kinds(&g.Timeline), "joins a-1", "generation ", "left a-1", "joins a-2", "generation ", "left a-2", "refused x")
	expect(t, "cause", strings.HasPrefix(g.Timeline.Events[4].Why, "a-1 left (#"), true)
}

// A request that is not answered leaves a member joining.
func TestJoinWithoutAnswer(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	a.beat("billing", "a-0", 1, 0)
	a.join("billing", "a-1", "", "orders")
	a.end()
	g := w.group(t, "billing")
	expect(t, "member", g.members["a-1"].State, Joining)
	expectAll(t, "events", kinds(&g.Timeline), "joins a-1", "no-answer a-1")
	expect(t, "state", g.State, PreparingRebalance)
}

// commit is an answered OffsetCommit v2 for partition 0.
func (c *client) commit(group, topic string, offset int64, code int16) {
	c.ask(8, 2, group, int32(-1), "", int64(-1), array{all(topic, array{all(int32(0), offset, "")})})(array{all(topic, array{all(int32(0), code)})})
}

func TestCommit(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	a.commit("billing", "orders", 5, 0)
	a.commit("billing", "orders", 9, 16) // refused
	a.commit("billing", "items", 1, 0)
	var got []string
	for _, o := range w.group(t, "billing").Offsets() {
		got = append(got, fmt.Sprint(o.Name, o.Partition, o.Offset))
	}
	expectAll(t, "offsets", got, "items0 1", "orders0 5")
}

// What is kept is bounded, and what was heard of longest ago is let go.
func TestBounds(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	for i := range maxGroups + 7 {
		a.beat(fmt.Sprint("g", i), "m", 1, 0)
	}
	_, _, dropped, _ := w.Dropped()
	expect(t, "groups", len(w.Groups()), maxGroups)
	expect(t, "dropped groups", dropped, 7)
	if w.groups.find("g6") != nil || w.groups.find("g7") == nil {
		t.Error("the oldest groups are not those that were let go")
	}
	for i := range maxMembers + 50 {
		a.beat("crowd", fmt.Sprint("m", i), 1, 0)
	}
	g := w.group(t, "crowd")
	expect(t, "members", len(g.members)+g.MembersDropped, maxMembers+50)
	if len(g.members) > maxMembers || g.members[fmt.Sprint("m", maxMembers+49)] == nil || g.members["m0"] != nil {
		t.Errorf("%d members are kept", len(g.members))
	}
	for i := range maxEvents + 11 {
		a.beat("crowd", fmt.Sprint("m", i), int32(i), 22)
	}
	expect(t, "events", len(g.Timeline.Events), maxEvents)
	expect(t, "dropped events", g.Timeline.Dropped, 11)
	for i := range maxOffsets + 3 {
		a.commit("crowd", fmt.Sprint("t", i), 1, 0)
	}
	expect(t, "offsets", len(g.offsets)+g.OffsetsDropped, maxOffsets+3)
	if len(g.offsets) > maxOffsets {
		t.Errorf("%d offsets are kept", len(g.offsets))
	}
	long := strings.Repeat("x", 2000)
	a.beat(long, long, 1, 0)
	expect(t, "length of a name", len(w.group(t, long[:maxText]).ID), maxText)
}

// The size of all groups together is bounded as well, and comes down to what is there.
func TestRoom(t *testing.T) {
	w := newWorld()
	a := w.client("app")
	long := strings.Repeat("x", 400)
	for i := range 60 {
		for k := range 900 {
			a.beat(fmt.Sprint("g", i), fmt.Sprint(long, k), 1, 0)
		}
	}
	if w.groups.size > groupsRoom || len(w.Groups()) == 60 || len(w.Groups()) < 10 {
		t.Errorf("%d groups take %d bytes", len(w.Groups()), w.groups.size)
	}
	size := 0
	for _, g := range w.Groups() {
		members := 0
		for _, m := range g.members {
			members += m.size
		}
		expect(t, "size of a group", g.size, members)
		size += groupSize + 2*len(g.ID) + g.size + g.Timeline.size
	}
	expect(t, "size", w.groups.size, size)
}
