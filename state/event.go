package state

// An EventKind says what happened.
type EventKind string

// What happens to members of groups, to groups, and to transactions.
const (
	Joins       EventKind = "joins"       // a member asks to join that was not in the group
	Rejoins     EventKind = "rejoins"     // a member asks to join again
	Subscribes  EventKind = "subscribes"  // a member wants other topics than before
	Generation  EventKind = "generation"  // the group has come together anew: a generation, or an epoch
	Synced      EventKind = "synced"      // a member has its partitions
	Left        EventKind = "left"        // by itself, or removed by somebody who asked for it
	TimedOut    EventKind = "timed-out"   // the coordinator had no sign of life for too long
	Removed     EventKind = "removed"     // the coordinator does not have the member any more
	Fenced      EventKind = "fenced"      // another one has taken the member's place, or its epoch is not the one expected
	Rebalancing EventKind = "rebalancing" // a member was told to join again
	Refused     EventKind = "refused"     // any other error
	NoAnswer    EventKind = "no-answer"   // a request to join or end was not answered
	Deleted     EventKind = "deleted"     // the group was
	Initialised EventKind = "initialised" // a producer has its id and epoch
	Began       EventKind = "began"       // a transaction
	Committed   EventKind = "committed"   //
	Aborted     EventKind = "aborted"     //
)

// An Event is an entry of a timeline.
type Event struct {
	At
	Kind       EventKind
	Member     string // its id; "" for none, or for one that has none yet
	Instance   string // the member's group.instance.id
	Client     string // client id
	Epoch      int64  // generation, member epoch or producer epoch; -1 where there is none
	Partitions int    // Synced: how many the member has, -1 where that is not known; Generation: members, -1 where that is not known
	Error      int16
	Times      int    // how often in a row
	Why        string // in words, "" where that is not known

	told bool // Rejoins: the group was rebalancing already
}

// maxEvents is how many events a timeline keeps.
const maxEvents = 200

// A Timeline is what happened, in the order of the messages that told it.
type Timeline struct {
	Events  []*Event
	Dropped int // earlier events that had to make room
	size    int // bytes, about
}

const eventSize = 200

// add adds an event in its place; one that says the same as the one before it is counted there.
func (t *Timeline) add(e Event) *Event {
	e.Times = 1
	e.Why = kept(e.Why)
	i := len(t.Events)
	for i > 0 && t.Events[i-1].Number > e.Number {
		i--
	}
	if i > 0 && i == len(t.Events) && t.Events[i-1].same(&e) {
		t.Events[i-1].Times++
		return t.Events[i-1]
	}
	added := &e
	t.Events = append(t.Events, nil)
	copy(t.Events[i+1:], t.Events[i:])
	t.Events[i] = added
	t.size += added.size()
	if len(t.Events) > maxEvents {
		t.size -= t.Events[0].size()
		t.Events[0] = nil
		t.Events = t.Events[1:]
		t.Dropped++
	}
	return added
}

func (e *Event) size() int {
	return eventSize + len(e.Member) + len(e.Instance) + len(e.Client) + len(e.Why)
}

// same tells whether another event repeats this one.
func (e *Event) same(other *Event) bool {
	return e.Kind == other.Kind && e.Member == other.Member && e.Instance == other.Instance && e.Client == other.Client &&
		e.Epoch == other.Epoch && e.Error == other.Error && e.Kind != Generation && e.Kind != Committed && e.Kind != Aborted && e.Kind != Began
}

// since yields the events behind another one, or all where that is nil or not there any more.
func (t *Timeline) since(e *Event) []*Event {
	for i := len(t.Events) - 1; i >= 0; i-- {
		if t.Events[i] == e {
			return t.Events[i+1:]
		}
	}
	return t.Events
}
