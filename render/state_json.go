package render

import (
	"github.com/kdissect/kdissect/schema"
	"github.com/kdissect/kdissect/state"
)

// A stateJSON writes what is known of a cluster, an object a line for each broker, partition, group and transactional id. What is not known is absent.
type stateJSON struct {
	cluster *state.Cluster
	clock   clock
}

// AppendStateJSON appends what is known of a cluster as lines of JSON.
func AppendStateJSON(b []byte, c *state.Cluster) []byte {
	s := stateJSON{cluster: c}
	for _, broker := range c.Brokers() {
		b = append(s.broker(begin(b, "broker"), broker), "}}\n"...)
	}
	for _, p := range c.Partitions() {
		b = append(s.partition(begin(b, "partition"), p), "}}\n"...)
	}
	for _, g := range c.Groups() {
		b = append(s.group(begin(b, "group"), g), "}}\n"...)
	}
	for _, t := range c.Transactions() {
		b = append(s.transaction(begin(b, "transaction"), t), "}}\n"...)
	}
	if brokers, partitions, groups, transactions := c.Dropped(); brokers+partitions+groups+transactions > 0 {
		b = begin(b, "dropped")
		b = appendNumber(b, "brokers", brokers)
		b = appendNumber(b, "partitions", partitions)
		b = appendNumber(b, "groups", groups)
		b = append(appendNumber(b, "transactions", transactions), "}}\n"...)
	}
	return b
}

// begin begins a line about something.
func begin(b []byte, what string) []byte {
	b = append(b, `{"kind":"state","v":1,"`...)
	return append(append(b, what...), `":{`...)
}

// some appends a text unless it is empty.
func some[T ~string](b []byte, name string, value T) []byte {
	if value == "" {
		return b
	}
	return appendString(appendName(b, name), string(value))
}

// least appends a number unless it is below another.
func least[N int | int32 | int64](b []byte, name string, n, atLeast N) []byte {
	if n < atLeast {
		return b
	}
	return appendNumber(b, name, int64(n))
}

// at appends the number and the time of a message.
func (s *stateJSON) at(b []byte, at state.At) []byte {
	b = appendNumber(b, "message", at.Number)
	b = s.clock.appendTime(append(appendName(b, "time"), '"'), at.Time)
	return append(b, '"')
}

// place appends a place under a name unless it is none.
func (s *stateJSON) place(b []byte, name string, at state.At) []byte {
	if at == (state.At{}) {
		return b
	}
	return append(s.at(append(appendName(b, name), '{'), at), '}')
}

// array appends elements, each as an object whose members each appends.
func array[T any](b []byte, name string, all []T, each func([]byte, T) []byte) []byte {
	b = append(appendName(b, name), '[')
	for i, v := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(each(append(b, '{'), v), '}')
	}
	return append(b, ']')
}

func (s *stateJSON) broker(b []byte, broker *state.Broker) []byte {
	b = appendNumber(b, "id", int64(broker.ID))
	b = some(b, "host", broker.Host)
	b = least(b, "port", broker.Port, 0)
	b = some(b, "rack", broker.Rack)
	if broker.Controller {
		b = append(appendName(b, "controller"), "true"...)
	}
	return s.at(b, broker.Seen)
}

func appendTopicOf(b []byte, t state.Topic) []byte {
	b = some(b, "topic", t.Name)
	if t.ID != (state.TopicID{}) {
		b = some(b, "topicId", t.ID.String())
	}
	return b
}

func (s *stateJSON) partition(b []byte, p *state.Partition) []byte {
	b = appendNumber(appendTopicOf(b, p.Topic), "partition", int64(p.Partition))
	b = least(b, "leader", p.Leader, 0)
	b = least(b, "leaderEpoch", p.LeaderEpoch, 0)
	b = least(b, "logStartOffset", p.LogStart, 0)
	b = least(b, "lastStableOffset", p.LastStable, 0)
	b = least(b, "highWatermark", p.HighWatermark, 0)
	b = least(b, "lastProduced", p.Produced, 0)
	b = least(b, "lastFetched", p.Fetched, 0)
	if len(p.Readers) > 0 {
		b = array(b, "readers", p.Readers, func(b []byte, r state.Reader) []byte {
			b = some(b, "client", r.Client)
			b = some(b, "host", r.Host)
			b = appendNumber(b, "position", r.Position)
			if lag, known := p.Lag(&r); known {
				b = appendNumber(b, "lag", lag)
			}
			return s.at(b, r.Seen)
		})
	}
	return s.at(b, p.Seen)
}

func (s *stateJSON) group(b []byte, g *state.Group) []byte {
	b = appendString(appendName(b, "id"), g.ID)
	b = some(b, "type", g.Type)
	b = some(b, "protocolType", g.ProtocolType)
	b = some(b, "protocol", g.Protocol)
	b = some(b, "state", g.State)
	b = least(b, epochName(g), g.Epoch, 0)
	b = some(b, "leader", g.Leader)
	b = least(b, "coordinator", g.Coordinator, 0)
	b = array(b, "members", g.Members(), s.member)
	b = least(b, "membersDropped", g.MembersDropped, 1)
	b = array(b, "offsets", g.Offsets(), func(b []byte, o *state.GroupOffset) []byte {
		b = appendNumber(appendTopicOf(b, o.Topic), "partition", int64(o.Partition))
		b = appendNumber(b, "offset", o.Offset)
		if lag, known := s.cluster.Lag(o); known {
			b = appendNumber(b, "lag", lag)
		}
		if o.Fetched {
			b = append(appendName(b, "fetched"), "true"...)
		}
		return s.at(b, o.Seen)
	})
	b = least(b, "offsetsDropped", g.OffsetsDropped, 1)
	b = s.timeline(b, &g.Timeline)
	return s.at(b, g.Seen)
}

func (s *stateJSON) member(b []byte, m *state.Member) []byte {
	b = appendString(appendName(b, "id"), m.ID)
	b = some(b, "instanceId", m.Instance)
	b = some(b, "client", m.Client)
	b = some(b, "host", m.Host)
	b = some(b, "rack", m.Rack)
	b = some(b, "state", m.State)
	b = least(b, "epoch", m.Epoch, 0)
	b = least(b, "sessionTimeoutMs", m.SessionTimeout, 1)
	b = least(b, "rebalanceTimeoutMs", m.Rebalance, 1)
	if m.Topics != nil {
		b = append(appendName(b, "topics"), '[')
		for i, topic := range m.Topics {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, topic)
		}
		b = append(b, ']')
	}
	b = some(b, "topicRegex", m.Pattern)
	if m.Assigned {
		b = appendAssigned(b, "assignment", m.Assignment)
	}
	b = s.place(b, "joined", m.Joined)
	return s.place(b, "heard", m.Heard)
}

func appendAssigned(b []byte, name string, all []state.Assigned) []byte {
	return array(b, name, all, func(b []byte, a state.Assigned) []byte {
		b = some(appendTopicOf(b, a.Topic), "subtopology", a.Subtopology)
		b = append(appendName(some(b, "role", a.Role), "partitions"), '[')
		for i, partition := range a.Partitions {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendIntOrNull(b, int64(partition), true)
		}
		return append(b, ']')
	})
}

func (s *stateJSON) timeline(b []byte, t *state.Timeline) []byte {
	b = array(b, "events", t.Events, s.event)
	return least(b, "eventsDropped", t.Dropped, 1)
}

func (s *stateJSON) event(b []byte, e *state.Event) []byte {
	b = some(b, "event", e.Kind)
	b = s.at(b, e.At)
	b = some(b, "member", e.Member)
	b = some(b, "instanceId", e.Instance)
	b = some(b, "client", e.Client)
	b = least(b, "epoch", e.Epoch, 0)
	if e.Kind == state.Generation {
		b = least(b, "members", e.Partitions, 0)
	} else {
		b = least(b, "partitions", e.Partitions, 0)
	}
	if e.Error != 0 {
		b = some(b, "error", schema.ErrorName(e.Error))
	}
	b = least(b, "times", e.Times, 2)
	return some(b, "why", e.Why)
}

func (s *stateJSON) transaction(b []byte, t *state.Transaction) []byte {
	b = appendString(appendName(b, "id"), t.ID)
	b = some(b, "state", t.State)
	b = least(b, "producerId", t.ProducerID, 0)
	b = least(b, "producerEpoch", t.ProducerEpoch, 0)
	b = least(b, "timeoutMs", t.TimeoutMs, 1)
	b = least(b, "coordinator", t.Coordinator, 0)
	b = some(b, "client", t.Client)
	b = some(b, "host", t.Host)
	b = appendNumber(b, "committed", int64(t.Committed))
	b = appendNumber(b, "aborted", int64(t.Aborted))
	b = s.place(b, "began", t.Began)
	b = s.place(b, "ended", t.Ended)
	if t.Began != (state.At{}) {
		b = appendMillis(appendName(b, "durationMs"), t.Duration(s.cluster.End()))
	}
	b = appendAssigned(b, "partitions", t.Partitions)
	b = append(appendName(b, "groups"), '[')
	for i, group := range t.Groups {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, group)
	}
	b = append(b, ']')
	b = array(b, "errors", t.Errors, func(b []byte, e state.ErrorCount) []byte {
		b = some(b, "error", schema.ErrorName(e.Code))
		b = some(b, "api", e.API)
		b = appendNumber(b, "count", int64(e.Count))
		return s.at(b, e.Last)
	})
	b = s.timeline(b, &t.Timeline)
	return s.at(b, t.Seen)
}
