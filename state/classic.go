package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kdissect/kdissect/dissect"
)

// The classic protocol: members join (JoinGroup), all of them are answered at once when the group is complete, the leader hands in who gets what
// (SyncGroup), and heartbeats tell members when to do it all again.

// asksToJoin takes note of a request to join: it is what a rebalance begins with.
func (c *Cluster) asksToJoin(m *dissect.Message, o object) {
	id, instance := o.text("MemberId"), o.text("GroupInstanceId")
	if id == "" && instance == "" && m.Header.Version >= 4 {
		return // it is given an id, and asks again with it (KIP-394)
	}
	g := c.group(o.bytes("GroupId"), m)
	g.Type = Classic
	when := at(m)
	entry := Event{Epoch: -1, Partitions: -1, Instance: instance, Client: kept(m.Header.ClientID), Why: o.text("Reason"), told: g.State == PreparingRebalance}
	switch member := g.members[id]; {
	case id == "":
		if holder := g.byInstance(instance); holder != nil {
			entry.Why = "in place of member " + holder.ID
		}
		g.event(when, Joins, nil, entry)
	case member == nil || member.State.Over() || member.State == Joining && member.Epoch < 0:
		member = g.member(id, m)
		member.called(instance)
		member.State, member.Epoch, member.Topics = Joining, -1, nil
		member.Client = entry.Client
		g.event(when, Joins, member, entry)
	default:
		if member.told == member.Epoch && member.told >= 0 {
			entry.told = true
		}
		entry.Epoch = member.Epoch
		member.State = Joining
		g.event(when, Rejoins, member, entry)
	}
	g.State = PreparingRebalance
	c.settle(g)
}

// joinGroup follows a join and its answer.
func (c *Cluster) joinGroup(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	g.Type = Classic
	instance := e.asked.text("GroupInstanceId")
	if code := e.answer.code("ErrorCode"); code != 0 {
		g.refuse(e, e.asked.text("MemberId"), instance, -1, code)
		return
	}
	when := at(e.response)
	m := g.member(e.answer.text("MemberId"), e.request)
	if holder := g.byInstance(instance); holder != nil && holder != m {
		g.depart(when, holder, Displaced, Fenced, Event{Partitions: -1, Why: "member " + m.ID + " has taken its group.instance.id"})
	}
	m.from(e.request)
	m.called(instance)
	m.State, m.told = AwaitingSync, -1
	m.Epoch = e.answer.int("GenerationId", -1)
	m.SessionTimeout = e.asked.int("SessionTimeoutMs", 0)
	m.Rebalance = e.asked.int("RebalanceTimeoutMs", 0)
	if all := subscriptions(e.request); len(all) > 0 { // one for each protocol that it offers, of the same topics
		g.subscribe(at(e.request), m, all[slices.Min(slices.Collect(maps.Keys(all)))])
	}
	g.ProtocolType = e.asked.text("ProtocolType")
	g.Protocol, g.Leader = e.answer.text("ProtocolName"), e.answer.text("Leader")
	if m.Epoch != g.Epoch {
		g.form(when, m.Epoch)
		g.State = CompletingRebalance
	} else if g.State == PreparingRebalance && e.answer.int("SkipAssignment", 0) == 0 {
		g.State = CompletingRebalance
	}
	g.weigh(m)
	g.gather(e)
}

// gather takes in the list of members, which the leader is given.
func (g *Group) gather(e *exchange) {
	topics := subscriptions(e.response)
	when := at(e.response)
	listed := map[string]bool{}
	for o := range e.answer.list("Members") {
		if len(listed) == maxMembers {
			break
		}
		m := g.member(o.text("MemberId"), e.response)
		listed[m.ID] = true
		m.called(o.text("GroupInstanceId"))
		m.Epoch, m.told = g.Epoch, -1
		if m.State == Joining || m.State == "" || m.State.Over() {
			m.State = AwaitingSync
		}
		if wants, ok := topics[o.field("Metadata")]; ok {
			m.Topics = wants
		}
		g.weigh(m)
	}
	if len(listed) == 0 || g.formed == nil || g.formed.Epoch != g.Epoch {
		return
	}
	for _, m := range g.Members() {
		if !listed[m.ID] && !m.State.Over() && m.Joined.Number < e.request.Number {
			g.missing(when, m)
		}
	}
	g.formed.Partitions = len(listed)
	g.formed.Why = g.cause(when.Number)
}

// missing takes note of a member that is not in a new generation, though nothing has said that it left.
func (g *Group) missing(when At, m *Member) {
	silent := (when.Time - m.Heard.Time) / 1e6
	switch {
	case m.SessionTimeout > 0 && silent >= m.SessionTimeout:
		g.depart(when, m, Lost, TimedOut, Event{Partitions: -1,
			Why: fmt.Sprintf("not in generation %d; it was silent for %d ms, its session timeout is %d ms", g.Epoch, silent, m.SessionTimeout)})
	default:
		g.depart(when, m, Expelled, Removed, Event{Partitions: -1,
			Why: fmt.Sprintf("not in generation %d; it did not join again, and was silent for %d ms", g.Epoch, silent)})
	}
}

// subscribe takes note of the topics that a member wants.
func (g *Group) subscribe(when At, m *Member, topics []string) {
	slices.Sort(topics)
	if m.Topics != nil && !slices.Equal(m.Topics, topics) {
		g.event(when, Subscribes, m, Event{Epoch: m.Epoch, Partitions: -1})
	}
	m.Topics = topics
}

// syncGroup follows the handing out of partitions.
func (c *Cluster) syncGroup(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	g.Type = Classic
	id, instance, epoch := e.asked.text("MemberId"), e.asked.text("GroupInstanceId"), e.asked.int("GenerationId", -1)
	if code := e.answer.code("ErrorCode"); code != 0 {
		g.refuse(e, id, instance, epoch, code)
		return
	}
	g.handOut(e)
	m := g.member(id, e.request)
	m.from(e.request)
	m.called(instance)
	m.Epoch, m.State = epoch, InSync
	for _, has := range assignments(e.response) {
		m.Assignment, m.Assigned = has, true
	}
	if len(e.answer.bytes("Assignment")) == 0 {
		m.Assignment, m.Assigned = nil, true // the leader gave it nothing
	}
	g.weigh(m)
	g.event(at(e.response), Synced, m, Event{Epoch: epoch, Partitions: m.Count()})
	if g.Epoch < 0 || epoch == g.Epoch {
		g.Epoch, g.State = epoch, Stable
	}
	if t := e.asked.text("ProtocolType"); t != "" {
		g.ProtocolType, g.Protocol = t, e.asked.text("ProtocolName")
	}
}

// handOut takes in what the leader of a group gives each member.
func (g *Group) handOut(e *exchange) {
	given := assignments(e.request)
	for o := range e.asked.list("Assignments") {
		m := g.members[o.text("MemberId")]
		if has, ok := given[o.field("Assignment")]; ok && m != nil {
			m.Assignment, m.Assigned = has, true
			g.weigh(m)
		}
	}
}

// Count is how many partitions or tasks a member has, -1 where that is not known.
func (m *Member) Count() int {
	if !m.Assigned {
		return -1
	}
	n := 0
	for i := range m.Assignment {
		n += len(m.Assignment[i].Partitions)
	}
	return n
}

// heartbeat follows the sign of life of a member.
func (c *Cluster) heartbeat(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	g.Type = Classic
	id, instance, epoch := e.asked.text("MemberId"), e.asked.text("GroupInstanceId"), e.asked.int("GenerationId", -1)
	if code := e.answer.code("ErrorCode"); code != 0 {
		if g.Epoch < 0 {
			g.Epoch = epoch
		}
		if code == rebalanceInProgress {
			g.heard(e, id, instance, epoch)
		}
		g.refuse(e, id, instance, epoch, code)
		return
	}
	m := g.heard(e, id, instance, epoch)
	if g.Epoch < 0 {
		g.Epoch = epoch
	}
	if epoch == g.Epoch && !m.State.Over() && m.State != Joining {
		m.State = InSync
		if g.State == "" || g.State == Empty || g.State == CompletingRebalance {
			g.State = Stable
		}
	}
}

// heard takes note of a request of a member that the coordinator took as a sign of life.
func (g *Group) heard(e *exchange, id, instance string, epoch int64) *Member {
	m := g.member(id, e.request)
	m.from(e.request)
	m.called(instance)
	if m.State == "" || m.State.Over() {
		m.State = InSync
	}
	if m.Epoch < epoch {
		m.Epoch = epoch
	}
	g.weigh(m)
	return m
}

// leaveGroup follows members that leave, or are taken out by an admin client.
func (c *Cluster) leaveGroup(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	g.Type = Classic
	code := e.answer.code("ErrorCode")
	if e.asked.has("MemberId") {
		g.leave(e, e.asked.text("MemberId"), "", "", code)
		g.lessOf()
		return
	}
	type leaver struct{ id, instance string }
	codes := map[leaver]int16{}
	for o := range e.answer.list("Members") {
		codes[leaver{o.text("MemberId"), o.text("GroupInstanceId")}] = o.code("ErrorCode")
	}
	n := 0
	for o := range e.asked.list("Members") {
		if n++; n > maxMembers {
			break
		}
		who := leaver{o.text("MemberId"), o.text("GroupInstanceId")}
		if code != 0 {
			codes[who] = code
		}
		g.leave(e, who.id, who.instance, o.text("Reason"), codes[who])
	}
	g.lessOf()
}

// lessOf takes note that the members that are left have to divide the partitions anew.
func (g *Group) lessOf() {
	if g.departed && g.Size() > 0 {
		g.State = PreparingRebalance
	}
}

func (g *Group) leave(e *exchange, id, instance, reason string, code int16) {
	if code != 0 {
		g.refuse(e, id, instance, -1, code)
		return
	}
	var m *Member
	if id == "" {
		m = g.byInstance(instance)
	}
	if m == nil {
		m = g.member(id, e.request)
	}
	if m.Client == "" {
		m.from(e.request)
	}
	g.depart(at(e.response), m, Gone, Left, Event{Partitions: -1, Why: reason})
}

// noAnswer takes note of a member that asked to join or sync and got no answer.
func (c *Cluster) noAnswer(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.request)
	defer c.settle(g)
	id := e.asked.text("MemberId")
	g.event(at(e.request), NoAnswer, g.members[id], Event{Member: id, Instance: e.asked.text("GroupInstanceId"), Client: kept(e.request.Header.ClientID), Epoch: -1, Partitions: -1,
		Why: e.request.Name() + " was not answered"})
}

// subscriptions returns the topics that are wanted by the subscriptions inside a message, by the index of their field, up to maxTopics each.
func subscriptions(m *dissect.Message) map[int][]string {
	found := map[int][]string{}
	for n := range m.Nested {
		if n.Name == "ConsumerProtocolSubscription" {
			found[n.Field] = object{m, &n.View, n.Body()}.texts("Topics", maxTopics)
		}
	}
	return found
}

// assignments returns the assignments inside a message, by the index of their field.
func assignments(m *dissect.Message) map[int][]Assigned {
	found := map[int][]Assigned{}
	for n := range m.Nested {
		if n.Name == "ConsumerProtocolAssignment" {
			found[n.Field] = object{m, &n.View, n.Body()}.assigned("AssignedPartitions", "Topic")
		}
	}
	return found
}

// assigned returns the partitions of an array of topics, up to maxTopics and maxAssigned. name is the field that has the topic's name.
func (o object) assigned(array, name string) []Assigned {
	var all []Assigned
	left := maxAssigned
	for t := range o.list(array) {
		if len(all) == maxTopics || left == 0 {
			break
		}
		a := Assigned{Topic: t.topic(name), Subtopology: t.text("SubtopologyId"), Partitions: t.numbers("Partitions", left)}
		slices.Sort(a.Partitions)
		left -= len(a.Partitions)
		all = append(all, a)
	}
	slices.SortFunc(all, compareAssigned)
	return all
}
