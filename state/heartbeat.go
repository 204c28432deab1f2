package state

import (
	"cmp"
	"slices"
	"strings"
)

// In the newer protocols a member sends heartbeats only, and the coordinator makes the assignment: its epoch is 0 to join, -1 to leave, -2 to leave as a
// static member that comes back; what has not changed since its last heartbeat it leaves out, and so does the coordinator.

var heartbeatTypes = map[int16]GroupType{
	keyConsumerGroupHeartbeat: Consumer,
	keyShareGroupHeartbeat:    Share,
	keyStreamsGroupHeartbeat:  Streams,
}

func (c *Cluster) groupHeartbeat(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	g.Type = heartbeatTypes[e.request.Header.APIKey]
	id, instance, epoch := e.asked.text("MemberId"), e.asked.text("InstanceId"), e.asked.int("MemberEpoch", -1)
	if code := e.answer.code("ErrorCode"); code != 0 {
		g.refuse(e, id, instance, epoch, code)
		g.settleState()
		return
	}
	if id == "" {
		id = e.answer.text("MemberId") // v0 lets the coordinator choose it
	}
	switch {
	case epoch == -2:
		g.sayGoodbye(e, id, instance, "as a static member: its partitions are kept for it until its session timeout")
	case epoch < 0:
		g.sayGoodbye(e, id, instance, "")
	default:
		g.beat(e, id, instance, epoch)
	}
	g.settleState()
}

func (g *Group) sayGoodbye(e *exchange, id, instance, why string) {
	m := g.member(id, e.request)
	m.from(e.request)
	m.called(instance)
	g.depart(at(e.response), m, Gone, Left, Event{Partitions: -1, Why: why})
}

// beat follows a heartbeat of a member that is in the group, or joins.
func (g *Group) beat(e *exchange, id, instance string, epoch int64) {
	known := g.members[id]
	if holder := g.byInstance(instance); holder != nil && holder.ID != id {
		g.depart(at(e.response), holder, Displaced, Fenced, Event{Partitions: -1, Why: "member " + id + " has taken its group.instance.id"})
	}
	m := g.member(id, e.request)
	m.from(e.request)
	m.called(instance)
	switch {
	case epoch != 0:
		if m.State == "" || m.State.Over() {
			m.State = Moving
		}
	case known == nil || known.State.Over():
		m.State = Moving
		m.Assignment, m.Assigned, m.Topics = nil, false, nil
		g.event(at(e.request), Joins, m, Event{Epoch: -1, Partitions: -1})
	default:
		g.event(at(e.request), Rejoins, m, Event{Epoch: -1, Partitions: -1, Why: "with epoch 0"})
	}
	g.wishes(e, m)
	g.assign(e, m)
	g.weigh(m)
}

// wishes takes in what a member says of itself.
func (g *Group) wishes(e *exchange, m *Member) {
	o := e.asked
	if rack := o.text("RackId"); rack != "" {
		m.Rack = rack
	}
	if pattern := o.text("SubscribedTopicRegex"); pattern != "" {
		m.Pattern = pattern
	}
	if ms := o.int("RebalanceTimeoutMs", -1); ms > 0 {
		m.Rebalance = ms
	}
	if assignor := o.text("ServerAssignor"); assignor != "" {
		g.Protocol = assignor
	}
	if topics := o.texts("SubscribedTopicNames", maxTopics); topics != nil {
		g.subscribe(at(e.request), m, topics)
	}
	if topology := o.object("Topology"); topology.has("Subtopologies") {
		var topics []string
		for t := range topology.list("Subtopologies") {
			topics = append(topics, t.texts("SourceTopics", maxTopics-min(maxTopics, len(topics)))...)
		}
		g.subscribe(at(e.request), m, topics)
	}
}

// assign takes in what a member has and what it is given.
func (g *Group) assign(e *exchange, m *Member) {
	when := at(e.response)
	has, says := e.asked.holds("TopicPartitions")
	given, gives := e.answer.object("Assignment").holds("TopicPartitions")
	if g.Type == Streams {
		given, gives = e.answer.holds("")
	}
	before := m.Epoch
	m.Epoch = e.answer.int("MemberEpoch", -1)
	switch {
	case g.Epoch < 0 && before < 0 && e.asked.int("MemberEpoch", 0) > 0:
		g.Epoch = m.Epoch // the capture began later than the group
	case m.Epoch > g.Epoch:
		g.form(when, m.Epoch)
	}
	if gives && !(m.Assigned && slices.EqualFunc(m.Assignment, given, sameAssigned)) {
		m.Assignment, m.Assigned = given, true
		g.event(when, Synced, m, Event{Epoch: m.Epoch, Partitions: m.Count()})
		m.State = Moving
		if m.Count() == 0 {
			m.State = InSync
		}
	}
	if g.Type == Share || says && m.Assigned && slices.EqualFunc(m.Assignment, has, sameAssigned) {
		m.State = InSync
	}
}

// holds returns the partitions or tasks that an object lists, and whether it lists any: null says that they are as before.
func (o object) holds(array string) (all []Assigned, lists bool) {
	if array != "" && o.has(array) {
		return o.assigned(array, "TopicName"), true
	}
	for _, tasks := range [...]struct{ field, role string }{{"ActiveTasks", "active"}, {"StandbyTasks", "standby"}, {"WarmupTasks", "warmup"}} {
		if !o.has(tasks.field) {
			continue
		}
		lists = true
		for _, a := range o.assigned(tasks.field, "") {
			a.Role = tasks.role
			all = append(all, a)
		}
	}
	return all, lists
}

// settleState derives the state of a group whose coordinator does not tell it.
func (g *Group) settleState() {
	g.State = Empty
	for _, m := range g.members {
		switch {
		case m.State.Over():
		case m.State != InSync:
			g.State = Reconciling
			return
		default:
			g.State = Stable
		}
	}
}

func compareAssigned(a, b Assigned) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	if c := strings.Compare(a.Role, b.Role); c != 0 {
		return c
	}
	if c := strings.Compare(a.Subtopology, b.Subtopology); c != 0 {
		return c
	}
	return cmp.Compare(string(a.ID[:]), string(b.ID[:]))
}

// sameAssigned tells whether two entries of assignments are the same partitions. A topic that has an id in both is told by it: its name may have become
// known in between.
func sameAssigned(a, b Assigned) bool {
	same := a.ID == b.ID && (a.ID != TopicID{} || a.Name == b.Name)
	return same && a.Subtopology == b.Subtopology && a.Role == b.Role && slices.Equal(a.Partitions, b.Partitions)
}
