package state

import (
	"strings"
)

// describedTypes are the types of groups by the calls that describe them.
var describedTypes = map[int16]GroupType{
	keyDescribeGroups:        Classic,
	keyConsumerGroupDescribe: Consumer,
	keyShareGroupDescribe:    Share,
	keyStreamsGroupDescribe:  Streams,
}

// describeGroups takes in what an admin client was told of groups.
func (c *Cluster) describeGroups(e *exchange) {
	key := e.request.Header.APIKey
	for o := range e.answer.list("Groups") {
		state := o.text("GroupState")
		if code := o.code("ErrorCode"); code != 0 || state == Dead {
			if g := c.groups.find(o.text("GroupId")); g != nil && (code == groupNotFound || state == Dead) && (g.Type == describedTypes[key] || g.Type == "") {
				g.State = Dead
			}
			continue
		}
		g := c.group(o.bytes("GroupId"), e.response)
		g.Type, g.State = describedTypes[key], state
		g.ProtocolType = o.text("ProtocolType")
		if p := o.text("ProtocolData") + o.text("AssignorName"); p != "" {
			g.Protocol = p
		}
		g.Epoch = o.int("GroupEpoch", g.Epoch)
		g.described(e, o)
		c.settle(g)
	}
}

// described takes in the members of a described group. Those that are not among them are not in it any more.
func (g *Group) described(e *exchange, o object) {
	topics, given := subscriptions(e.response), assignments(e.response)
	listed := map[string]bool{}
	for d := range o.list("Members") {
		if len(listed) == maxMembers {
			break
		}
		m := g.member(d.text("MemberId"), e.response)
		listed[m.ID] = true
		m.called(d.text("GroupInstanceId") + d.text("InstanceId"))
		if m.Client == "" {
			m.Client, m.Host = d.text("ClientId"), strings.TrimPrefix(d.text("ClientHost"), "/")
		}
		m.Rack = d.text("RackId")
		m.Epoch = d.int("MemberEpoch", m.Epoch)
		if m.State == "" || m.State.Over() {
			m.State = InSync
		}
		if all := d.texts("SubscribedTopicNames", maxTopics); all != nil {
			m.Topics = all
		} else if wants, ok := topics[d.field("MemberMetadata")]; ok {
			m.Topics = wants
		}
		if has, lists := d.object("Assignment").holds("TopicPartitions"); lists {
			m.Assignment, m.Assigned = has, true
		} else if has, ok := given[d.field("MemberAssignment")]; ok {
			m.Assignment, m.Assigned = has, true
		}
		g.weigh(m)
	}
	for _, m := range g.Members() {
		if !listed[m.ID] && !m.State.Over() && m.State != Joining && len(listed) < maxMembers {
			g.depart(at(e.response), m, Expelled, Removed, Event{Partitions: -1, Why: "not among the members that the coordinator describes"})
		}
	}
}

// listGroups takes in the groups that an admin client was told of.
func (c *Cluster) listGroups(e *exchange) {
	for o := range e.answer.list("Groups") {
		g := c.group(o.bytes("GroupId"), e.response)
		if t := o.text("GroupType"); t != "" {
			g.Type = GroupType(strings.ToLower(t))
		}
		if state := o.text("GroupState"); state != "" {
			g.State = state
		}
		if t := o.text("ProtocolType"); t != "" && g.Type == Classic {
			g.ProtocolType = t
		}
		c.settle(g)
	}
}

// deleteGroups takes note of groups that were deleted, with their offsets.
func (c *Cluster) deleteGroups(e *exchange) {
	for o := range e.answer.list("Results") {
		g := c.groups.find(o.text("GroupId"))
		if g == nil || o.code("ErrorCode") != 0 {
			continue
		}
		g.State, g.Seen = Dead, at(e.response)
		for k := range g.offsets {
			g.removeOffset(k)
		}
		g.event(at(e.response), Deleted, nil, Event{Epoch: -1, Partitions: -1})
		c.settle(g)
	}
}
