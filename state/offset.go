package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A GroupOffset is the offset that a group has committed for a partition.
type GroupOffset struct {
	Topic
	Partition int32
	Offset    int64
	Seen      At   // the answer to the commit, or to the question for it
	Fetched   bool // it was asked for; the commit is not in the capture
}

// place names a partition. The id stands only where the name is not known.
type place struct {
	name      string
	id        TopicID
	partition int32
}

func placeOf(t Topic, partition int32) place {
	if t.Name != "" {
		return place{name: t.Name, partition: partition}
	}
	return place{id: t.ID, partition: partition}
}

func comparePlaces(a Topic, p int32, b Topic, q int32) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.ID[:]), string(b.ID[:])), cmp.Compare(p, q))
}

const offsetSize = 160

// commit takes in an offset of a group.
func (g *Group) commit(o GroupOffset) {
	key := placeOf(o.Topic, o.Partition)
	if old := g.offsets[key]; old != nil {
		if o.ID == (TopicID{}) {
			o.ID = old.ID
		}
		*old = o
		return
	}
	if len(g.offsets) >= maxOffsets {
		g.dropOffsets()
	}
	g.offsets[key] = &o
	g.size += offsetSize + 2*len(o.Name)
}

// dropOffsets forgets an eighth of the offsets, those that were seen longest ago.
func (g *Group) dropOffsets() {
	all := g.Offsets()
	slices.SortStableFunc(all, func(a, b *GroupOffset) int { return cmp.Compare(a.Seen.Number, b.Seen.Number) })
	for _, o := range all[:len(all)/8+1] {
		g.removeOffset(placeOf(o.Topic, o.Partition))
		g.OffsetsDropped++
	}
}

func (g *Group) removeOffset(key place) {
	if o := g.offsets[key]; o != nil {
		g.size -= offsetSize + 2*len(o.Name)
		delete(g.offsets, key)
	}
}

// Offsets returns the committed offsets by topic and partition.
func (g *Group) Offsets() []*GroupOffset {
	return slices.SortedFunc(maps.Values(g.offsets), func(a, b *GroupOffset) int {
		return comparePlaces(a.Topic, a.Partition, b.Topic, b.Partition)
	})
}

// verdicts returns the error codes of partitions that were answered. Partitions are found by what the answer calls them.
func verdicts(o object, topics, name, partitions string) map[place]int16 {
	codes := map[place]int16{}
	for t := range o.list(topics) {
		topic := t.topic(name)
		for p := range t.list(partitions) {
			codes[placeOf(topic, int32(p.int("PartitionIndex", -1)))] = p.code("ErrorCode")
		}
	}
	return codes
}

// commits returns the offsets in a request that the answer has accepted, and the first error of those that it has not.
func commits(e *exchange) (accepted []GroupOffset, code int16) {
	codes := verdicts(e.answer, "Topics", "Name", "Partitions")
	for t := range e.asked.list("Topics") {
		topic := t.topic("Name")
		for p := range t.list("Partitions") {
			o := GroupOffset{Topic: topic, Partition: int32(p.int("PartitionIndex", -1)), Offset: p.int("CommittedOffset", -1), Seen: at(e.response)}
			switch refused, answered := codes[placeOf(topic, o.Partition)]; {
			case !answered:
			case refused == 0:
				accepted = append(accepted, o)
			case code == 0:
				code = refused
			}
		}
	}
	return accepted, code
}

func (c *Cluster) offsetCommit(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	accepted, code := commits(e)
	for i := range accepted {
		g.commit(accepted[i])
	}
	id, epoch := e.asked.text("MemberId"), e.asked.int("GenerationIdOrMemberEpoch", -1)
	if code != 0 {
		g.refuse(e, id, e.asked.text("GroupInstanceId"), epoch, code)
	} else if m := g.members[id]; m != nil && len(accepted) > 0 {
		m.Heard = at(e.request)
	}
}

// offsetFetch takes in the offsets that a member or an admin client was told: of one group, or since v8 of several.
func (c *Cluster) offsetFetch(e *exchange) {
	if e.asked.has("GroupId") {
		if e.answer.code("ErrorCode") == 0 {
			c.fetched(e, e.asked.bytes("GroupId"), e.answer)
		}
		return
	}
	for o := range e.answer.list("Groups") {
		if o.code("ErrorCode") == 0 {
			c.fetched(e, o.bytes("GroupId"), o)
		}
	}
}

func (c *Cluster) fetched(e *exchange, id []byte, o object) {
	g := c.group(id, e.response)
	defer c.settle(g)
	for t := range o.list("Topics") {
		topic := t.topic("Name")
		for p := range t.list("Partitions") {
			partition, offset := int32(p.int("PartitionIndex", -1)), p.int("CommittedOffset", -1)
			known := g.offsets[placeOf(topic, partition)]
			if p.code("ErrorCode") != 0 || offset < 0 || known != nil && known.Offset == offset {
				continue
			}
			g.commit(GroupOffset{Topic: topic, Partition: partition, Offset: offset, Seen: at(e.response), Fetched: true})
		}
	}
}

func (c *Cluster) offsetDelete(e *exchange) {
	g := c.group(e.asked.bytes("GroupId"), e.response)
	defer c.settle(g)
	for key, code := range verdicts(e.answer, "Topics", "Name", "Partitions") {
		if code == 0 {
			g.removeOffset(key)
		}
	}
}
