package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/dissect"
)

// A GroupType says by which protocol a group works.
type GroupType string

const (
	Classic  GroupType = "classic"
	Consumer GroupType = "consumer" // KIP-848
	Share    GroupType = "share"    // KIP-932
	Streams  GroupType = "streams"  // KIP-1071
)

// States of a group, in Kafka's words. Those of the newer groups are told by describing calls only, or follow from what their members say.
const (
	Empty               = "Empty"
	PreparingRebalance  = "PreparingRebalance"  // waits for its members to join
	CompletingRebalance = "CompletingRebalance" // waits for its leader's assignment
	Reconciling         = "Reconciling"         // members move to their new assignment
	Stable              = "Stable"
	Dead                = "Dead"
)

// A MemberState says how far a member is.
type MemberState string

const (
	Joining      MemberState = "joining"
	AwaitingSync MemberState = "awaiting-sync"
	InSync       MemberState = "stable"
	Moving       MemberState = "reconciling" // it has not said yet that it has what it is assigned
	Gone         MemberState = "left"
	Lost         MemberState = "timed-out"
	Expelled     MemberState = "removed"
	Displaced    MemberState = "fenced"
)

// Over tells whether the member is not in the group any more.
func (s MemberState) Over() bool {
	return s == Gone || s == Lost || s == Expelled || s == Displaced
}

// A Group is what is known of a group.
type Group struct {
	ID           string
	Type         GroupType // "" where nothing has told it
	ProtocolType string    // classic: consumer, connect ...
	Protocol     string    // the assignor
	State        string    // as last seen, "" where nothing has told it
	Epoch        int64     // generation of a classic group, else the group's epoch; -1 where it is not known
	Leader       string    // classic: member id
	Coordinator  int32     // broker, -1 where it is not known
	Seen         At        // the message that told of it last
	Timeline     Timeline
	// What had to make room.
	MembersDropped, OffsetsDropped int

	members map[string]*Member
	offsets map[place]*GroupOffset
	formed  *Event // the latest Generation
	size    int    // of members and offsets

	previous *Event // the Generation before it
	departed bool   // a member has gone; whether it was the last one is not looked at yet
}

// A Member is what is known of a member of a group.
type Member struct {
	ID             string
	Instance       string // group.instance.id, "" for none
	Client         string // client id
	Host           string // address and port of its connection, or the host that a describing answer has
	Rack           string
	State          MemberState
	Epoch          int64    // generation or member epoch, -1 where it is not known
	Topics         []string // subscription; nil where it is not known
	Pattern        string   // subscription by a regular expression
	Assignment     []Assigned
	Assigned       bool  // the assignment is known
	SessionTimeout int64 // milliseconds, 0 where it is not known
	Rebalance      int64 // milliseconds that it has for joining again, 0 where that is not known
	Joined         At    // when it asked to join for the first time
	Heard          At    // the last request of it that was answered without an error

	told int64 // generation in which it was told to join again
	size int
}

// Assigned are partitions of a topic, or tasks of a subtopology, that a member has.
type Assigned struct {
	Topic
	Subtopology string // of a streams group
	Role        string // of its tasks: active, standby, warmup
	Partitions  []int32
}

// Bounds of a group.
const (
	maxMembers    = 1000
	maxTopics     = 1000    // of a subscription, or an assignment
	maxAssigned   = 10_000  // partitions of a member
	maxOffsets    = 10_000  // partitions with committed offsets
	groupRoom     = 8 << 20 // bytes that members and offsets may take
	groupSize     = 500     // bytes, about, without texts
	memberSize    = 300
	assignedSize  = 80
	keptPartition = 4
)

// group returns the group of an id.
func (c *Cluster) group(id []byte, m *dissect.Message) *Group {
	name := kept(id)
	g := c.groups.use(name, func() *Group {
		return &Group{ID: name, Epoch: -1, Coordinator: -1, members: map[string]*Member{}, offsets: map[place]*GroupOffset{}}
	})
	g.Seen = at(m)
	return g
}

// settle takes note of what has become of a group: how large it is, and whether it is empty.
func (c *Cluster) settle(g *Group) {
	if g.departed && g.Size() == 0 {
		g.State = Empty
	}
	g.departed = false
	c.groups.weigh(g.ID, groupSize+2*len(g.ID)+g.size+g.Timeline.size)
}

// Groups returns the groups by id.
func (c *Cluster) Groups() []*Group {
	return slices.SortedFunc(c.groups.all, func(a, b *Group) int { return strings.Compare(a.ID, b.ID) })
}

// Members returns the members, also those that are not in the group any more, in the order in which they joined.
func (g *Group) Members() []*Member {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *Member) int {
		if a.Joined.Number != b.Joined.Number {
			return cmp.Compare(a.Joined.Number, b.Joined.Number)
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Size is how many members are in the group.
func (g *Group) Size() (n int) {
	for _, m := range g.members {
		if !m.State.Over() {
			n++
		}
	}
	return n
}

// member returns the member of an id, and creates it if need be. A member that comes back is one again.
func (g *Group) member(id string, m *dissect.Message) *Member {
	if found := g.members[id]; found != nil {
		return found
	}
	for len(g.members) >= maxMembers || g.size > groupRoom && len(g.members) > 0 {
		g.dropMembers()
	}
	created := &Member{ID: id, Epoch: -1, told: -1, Joined: at(m), Heard: at(m)}
	g.members[id] = created
	g.weigh(created)
	return created
}

// dropMembers forgets an eighth of the members: those that are not in the group any more first, then those that were heard of longest ago.
func (g *Group) dropMembers() {
	all := g.Members()
	slices.SortStableFunc(all, func(a, b *Member) int {
		if over := a.State.Over(); over != b.State.Over() {
			if over {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Heard.Number, b.Heard.Number)
	})
	for _, m := range all[:len(all)/8+1] {
		g.size -= m.size
		delete(g.members, m.ID)
		g.MembersDropped++
	}
}

// weigh takes note of how large a member has become.
func (g *Group) weigh(m *Member) {
	size := memberSize + 2*len(m.ID) + len(m.Instance) + len(m.Client) + len(m.Host) + len(m.Rack) + len(m.Pattern)
	for _, t := range m.Topics {
		size += 16 + len(t)
	}
	for i := range m.Assignment {
		a := &m.Assignment[i]
		size += assignedSize + len(a.Name) + len(a.Subtopology) + keptPartition*len(a.Partitions)
	}
	g.size += size - m.size
	m.size = size
}

// from takes note of the connection of a member, and that it was heard of.
func (m *Member) from(request *dissect.Message) {
	m.Client, m.Host = kept(request.Header.ClientID), request.Connection.ClientName
	m.Heard = at(request)
}

// called takes in a member's group.instance.id. Many versions and calls do not have it.
func (m *Member) called(instance string) {
	if instance != "" {
		m.Instance = instance
	}
}

// byInstance returns the member that has a group.instance.id and is in the group, nil when there is none.
func (g *Group) byInstance(instance string) *Member {
	if instance == "" {
		return nil
	}
	var found *Member
	for _, m := range g.members {
		if m.Instance == instance && !m.State.Over() && (found == nil || m.Joined.Number > found.Joined.Number) {
			found = m
		}
	}
	return found
}

// event adds an event about a member to the timeline.
func (g *Group) event(when At, kind EventKind, m *Member, e Event) *Event {
	e.At, e.Kind = when, kind
	if m != nil {
		e.Member, e.Instance, e.Client = m.ID, m.Instance, m.Client
	}
	return g.Timeline.add(e)
}

// depart takes note that a member is not in the group any more.
func (g *Group) depart(when At, m *Member, state MemberState, kind EventKind, e Event) {
	if m.State.Over() {
		return
	}
	m.State = state
	if e.Epoch == 0 {
		e.Epoch = m.Epoch
	}
	g.event(when, kind, m, e)
	g.departed = true
}

// Errors of group calls.
const (
	notStarted          = 14 // COORDINATOR_LOAD_IN_PROGRESS
	notAvailable        = 15 // COORDINATOR_NOT_AVAILABLE
	notCoordinator      = 16 // NOT_COORDINATOR
	illegalGeneration   = 22
	unknownMember       = 25
	rebalanceInProgress = 27
	memberIDRequired    = 79
	fencedInstance      = 82
	fencedMemberEpoch   = 110
	groupNotFound       = 69
	unreleasedInstance  = 111
	staleMemberEpoch    = 113
)

// refuse takes note of an error that a member was answered with.
func (g *Group) refuse(e *exchange, id, instance string, epoch int64, code int16) {
	when := at(e.response)
	m := g.members[id]
	if m == nil {
		m = g.byInstance(instance)
	}
	entry := Event{Member: id, Instance: instance, Client: kept(e.request.Header.ClientID), Epoch: epoch, Error: code, Partitions: -1}
	switch code {
	case rebalanceInProgress:
		g.tellToRejoin(when, m, entry)
	case unknownMember:
		g.unknown(e, m, entry)
	case illegalGeneration:
		entry.Why = fmt.Sprintf("it came with generation %d", epoch)
		if g.Epoch >= 0 && g.Epoch != epoch {
			entry.Why += fmt.Sprintf(", the group is at %d", g.Epoch)
		}
		g.event(when, Fenced, m, entry)
	case fencedInstance, fencedMemberEpoch:
		g.fence(when, m, id, instance, entry)
	case staleMemberEpoch:
		entry.Why = "it has not heard yet of its new epoch"
		g.event(when, Refused, m, entry)
	case unreleasedInstance:
		if holder := g.byInstance(instance); holder != nil {
			entry.Why = "member " + holder.ID + " has this group.instance.id, and has not left"
		}
		g.event(when, Refused, nil, entry)
	case memberIDRequired: // it joins again, with the id that it was given
	case notStarted, notAvailable, notCoordinator:
		entry.Why = "of the coordinator, not of the group: the client looks for it anew"
		g.event(when, Refused, m, entry)
	default:
		entry.Why = e.answer.text("ErrorMessage")
		g.event(when, Refused, m, entry)
	}
}

// tellToRejoin takes note that a member was told of a rebalance.
func (g *Group) tellToRejoin(when At, m *Member, e Event) {
	g.State = PreparingRebalance
	if m == nil {
		g.event(when, Rebalancing, nil, e)
		return
	}
	if m.told != m.Epoch || m.Epoch < 0 {
		m.told = m.Epoch
		g.event(when, Rebalancing, m, e)
	}
}

// unknown takes note that the coordinator does not know a member, and looks for the reason.
func (g *Group) unknown(e *exchange, m *Member, entry Event) {
	when := at(e.response)
	if m == nil || m.State.Over() {
		entry.Why = "the coordinator has no such member; why is not in the capture"
		if m != nil {
			entry.Why = "it had " + string(m.State) + " before"
			if m.State == Lost || m.State == Expelled {
				entry.Why = "the coordinator had removed it before"
			}
		}
		g.event(when, Refused, m, entry)
		return
	}
	silent := (e.request.Time - m.Heard.Time) / 1e6
	entry.Epoch = m.Epoch
	switch {
	case m.SessionTimeout > 0 && silent >= m.SessionTimeout:
		entry.Why = fmt.Sprintf("it was silent for %d ms, its session timeout is %d ms", silent, m.SessionTimeout)
		g.depart(when, m, Lost, TimedOut, entry)
	case m.Rebalance > 0 && g.rebalancingFor(m, e.request.Time) >= m.Rebalance:
		entry.Why = fmt.Sprintf("it did not join again within its rebalance timeout of %d ms", m.Rebalance)
		g.depart(when, m, Lost, TimedOut, entry)
	default:
		entry.Why = fmt.Sprintf("the coordinator does not know it any more; it was silent for %d ms", max(0, silent))
		g.depart(when, m, Expelled, Removed, entry)
	}
}

// rebalancingFor returns how long ago a member was told of a rebalance that it has not followed, in milliseconds; 0 where there is none.
func (g *Group) rebalancingFor(m *Member, now int64) int64 {
	if m.told != m.Epoch || m.told < 0 {
		return 0
	}
	for i := len(g.Timeline.Events) - 1; i >= 0; i-- {
		if e := g.Timeline.Events[i]; e.Kind == Rebalancing && e.Member == m.ID {
			return (now - e.Time) / 1e6
		}
	}
	return 0
}

// fence takes note that a member was fenced.
func (g *Group) fence(when At, m *Member, id, instance string, e Event) {
	if instance == "" && m != nil {
		instance = m.Instance
	}
	switch holder := g.byInstance(instance); {
	case e.Error == fencedMemberEpoch:
		e.Why = "its epoch is not the one that the coordinator expects: it joins again, with epoch 0"
	case holder != nil && holder.ID != id:
		e.Why = "member " + holder.ID + " has taken its group.instance.id"
	default:
		e.Why = "another member has taken its group.instance.id"
	}
	if m != nil && m.ID == id && !m.State.Over() {
		g.depart(when, m, Displaced, Fenced, e)
		return
	}
	g.event(when, Fenced, nil, e)
}

// form takes note of a new generation or epoch, and of its probable cause.
func (g *Group) form(when At, epoch int64) {
	g.previous, g.Epoch = g.formed, epoch
	g.formed = g.event(when, Generation, nil, Event{Epoch: epoch, Partitions: -1})
	g.formed.Why = g.cause(when.Number)
}

// maxCauses is how many causes of a rebalance are told.
const maxCauses = 3

// cause says what happened between the latest two generations, up to a message, that makes a group rebalance.
func (g *Group) cause(until int64) string {
	var causes []string
	more := 0
	for _, e := range g.Timeline.since(g.previous) {
		text := e.cause()
		switch {
		case text == "", e.Number > until:
		case len(causes) == maxCauses:
			more++
		default:
			causes = append(causes, fmt.Sprintf("%s (#%d)", text, e.Number))
		}
	}
	if more > 0 {
		causes = append(causes, fmt.Sprintf("and %d more", more))
	}
	return kept(strings.Join(causes, ", "))
}

// cause says how an event may make a group rebalance, "" for one that does not.
func (e *Event) cause() string {
	who := e.Who()
	switch e.Kind {
	case Joins:
		return who + " joined"
	case Rejoins:
		switch {
		case e.told:
			return ""
		case e.Why == "":
			return who + " joined again by itself"
		}
		return who + " joined again: " + e.Why
	case Subscribes:
		return who + " changed its subscription"
	case Left:
		return who + " left"
	case TimedOut:
		return who + " timed out"
	case Removed:
		return who + " was removed"
	case Fenced:
		return who + " was fenced"
	}
	return ""
}

// Who names the member of an event: by its instance, its member id or, as long as it has none, its client id.
func (e *Event) Who() string {
	switch {
	case e.Instance != "":
		return e.Instance
	case e.Member != "":
		return e.Member
	}
	return e.Client
}
