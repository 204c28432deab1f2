package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/kdissect/kdissect/schema"
	"github.com/kdissect/kdissect/state"
)

// A stateText writes what is known of a cluster as tables. Cells are separated by tabs, which a tabwriter aligns.
type stateText struct {
	cluster *state.Cluster
	clock   clock
	buf     []byte
}

// AppendState appends what is known of a cluster as aligned tables.
func AppendState(b []byte, c *state.Cluster) []byte {
	s := stateText{cluster: c}
	s.head()
	s.brokers()
	s.partitions()
	s.groups()
	s.transactions()
	out := bytes.NewBuffer(b)
	aligned := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	aligned.Write(s.buf)
	aligned.Flush()
	return out.Bytes()
}

func (s *stateText) print(format string, args ...any) {
	s.buf = fmt.Appendf(s.buf, format, args...)
}

// row writes a line of a table. Texts are escaped.
func (s *stateText) row(indent string, cells ...string) {
	s.buf = append(s.buf, indent...)
	for i, cell := range cells {
		if i > 0 {
			s.buf = append(s.buf, '\t')
		}
		s.buf = appendEscaped(s.buf, orDash(cell), false)
	}
	s.buf = append(s.buf, '\n')
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// escaped returns a text as it may be shown.
func escaped(s string) string { return string(appendEscaped(nil, s, false)) }

// known writes a number, or a dash for one that is not known.
func known[N int | int32 | int64](n N) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(int64(n), 10)
}

func numbered(at state.At) string { return "#" + strconv.FormatInt(at.Number, 10) }

func (s *stateText) timeOfDay(at state.At) string {
	return string(s.clock.appendTimeOfDay(nil, at.Time))
}

func (s *stateText) head() {
	end := s.cluster.End()
	if end.Number == 0 {
		s.print("no Kafka messages\n")
		return
	}
	s.print("as of message #%d, %s\n", end.Number, s.clock.appendWhen(nil, end.Time))
	brokers, partitions, groups, transactions := s.cluster.Dropped()
	if brokers+partitions+groups+transactions > 0 {
		s.print("not all was kept: %d brokers, %d partitions, %d groups and %d transactional ids that were heard of longest ago are left out\n", brokers, partitions, groups, transactions)
	}
}

func (s *stateText) brokers() {
	all := s.cluster.Brokers()
	if len(all) == 0 {
		return
	}
	s.print("\nBrokers\n")
	s.row("  ", "ID", "ADDRESS", "RACK", "CONTROLLER", "SEEN")
	for _, b := range all {
		controller := ""
		if b.Controller {
			controller = "yes"
		}
		s.row("  ", known(b.ID), b.Host+":"+known(b.Port), b.Rack, controller, numbered(b.Seen))
	}
}

// topicName is the name of a topic, or its id.
func topicName(t state.Topic) string {
	if t.Name != "" {
		return t.Name
	}
	return t.ID.String()
}

func partitionName(t state.Topic, partition int32) string {
	return topicName(t) + "/" + strconv.FormatInt(int64(partition), 10)
}

func (s *stateText) partitions() {
	var all, bare []*state.Partition
	for _, p := range s.cluster.Partitions() {
		if p.LogStart < 0 && p.HighWatermark < 0 && p.LastStable < 0 && p.Produced < 0 && p.Fetched < 0 && len(p.Readers) == 0 {
			bare = append(bare, p)
		} else {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		s.print("\nPartitions\n")
		s.row("  ", "PARTITION", "LEADER", "EPOCH", "LOG START", "LAST STABLE", "HIGH WATERMARK", "PRODUCED", "FETCHED", "SEEN", "READERS")
	}
	for _, p := range all {
		s.row("  ", partitionName(p.Topic, p.Partition), known(p.Leader), known(p.LeaderEpoch), known(p.LogStart), known(p.LastStable), known(p.HighWatermark),
			known(p.Produced), known(p.Fetched), numbered(p.Seen), readers(p))
	}
	s.leaders(bare)
}

// readers lists where consumers of a partition are.
func readers(p *state.Partition) string {
	var b []byte
	for i := range p.Readers {
		r := &p.Readers[i]
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, "%s@%s at %d", r.Client, r.Host, r.Position)
		if lag, known := p.Lag(r); known {
			b = fmt.Appendf(b, " (lag %d)", lag)
		}
	}
	return string(b)
}

// leaders lists partitions of which only the leader is known, those of a topic with the same leader together.
func (s *stateText) leaders(all []*state.Partition) {
	if len(all) == 0 {
		return
	}
	s.print("\nPartitions of which only the leader is known\n")
	s.row("  ", "PARTITIONS", "LEADER")
	slices.SortStableFunc(all, func(a, b *state.Partition) int {
		return cmp.Or(strings.Compare(topicName(a.Topic), topicName(b.Topic)), cmp.Compare(a.Leader, b.Leader), cmp.Compare(a.Partition, b.Partition))
	})
	var numbers []int32
	for i, p := range all {
		numbers = append(numbers, p.Partition)
		if i+1 < len(all) && topicName(all[i+1].Topic) == topicName(p.Topic) && all[i+1].Leader == p.Leader {
			continue
		}
		s.row("  ", string(appendRanges([]byte(topicName(p.Topic)+"/"), numbers)), known(p.Leader))
		numbers = numbers[:0]
	}
}

func (s *stateText) groups() {
	for i, g := range s.cluster.Groups() {
		if i == 0 {
			s.print("\nGroups\n")
		} else {
			s.print("\n")
		}
		s.group(g)
	}
}

// epochName is what the epoch of a group is called.
func epochName(g *state.Group) string {
	if g.Type == state.Classic {
		return "generation"
	}
	return "epoch"
}

func (s *stateText) group(g *state.Group) {
	s.print("  %s: ", escaped(orDash(g.ID)))
	if g.Type != "" {
		s.print("%s group, ", escaped(string(g.Type)))
	}
	if g.State != "" {
		s.print("%s, ", escaped(g.State))
	}
	if g.Epoch >= 0 {
		s.print("%s %d, ", epochName(g), g.Epoch)
	}
	if len(g.Members()) == 0 && g.Epoch < 0 && g.State != state.Empty && g.State != state.Dead {
		s.print("members not known") // a list of groups does not tell them
	} else {
		s.buf = appendCount(s.buf, int64(g.Size()), "member", "members")
	}
	if g.Protocol != "" {
		s.print(", protocol %s", escaped(g.Protocol))
	}
	if g.Coordinator >= 0 {
		s.print(", coordinator %d", g.Coordinator)
	}
	s.print(", seen in %s\n", numbered(g.Seen))
	s.members(g)
	s.offsets(g)
	s.timeline(&g.Timeline, epochName(g))
}

// table ends the table before, whose columns are others.
func (s *stateText) table() {
	if line := bytes.LastIndexByte(s.buf[:len(s.buf)-1], '\n'); bytes.IndexByte(s.buf[line+1:], '\t') >= 0 {
		s.buf = append(s.buf, '\n')
	}
}

func (s *stateText) members(g *state.Group) {
	all := g.Members()
	if len(all) == 0 {
		return
	}
	s.row("    ", "MEMBER", "INSTANCE", "CLIENT", "HOST", "STATE", "EPOCH", "HEARD OF", "TOPICS", "HAS")
	for _, m := range all {
		word := string(m.State)
		if m.ID == g.Leader && g.Leader != "" {
			word += ", leader"
		}
		s.row("    ", m.ID, m.Instance, m.Client, m.Host, word, known(m.Epoch), numbered(m.Heard), wishes(m), assignment(m.Assignment, m.Assigned))
	}
	if g.MembersDropped > 0 {
		s.print("    and %d more that are not kept\n", g.MembersDropped)
	}
}

// maxListed is how many bytes of a list a cell has room for.
const maxListed = 120

func wishes(m *state.Member) string {
	var b []byte
	for i, topic := range m.Topics {
		if len(b) > maxListed {
			return string(fmt.Appendf(b, " and %d more", len(m.Topics)-i))
		}
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, topic...)
	}
	if m.Pattern != "" {
		b = append(append(append(b, '/'), m.Pattern...), '/')
	}
	return string(b)
}

// assignment lists partitions: orders/0-3,7 payments/1.
func assignment(all []state.Assigned, known bool) string {
	if !known {
		return ""
	}
	if len(all) == 0 {
		return "nothing"
	}
	var b []byte
	for i := range all {
		a := &all[i]
		if len(b) > maxListed {
			return string(fmt.Appendf(b, " and of %d more", len(all)-i))
		}
		if i > 0 {
			b = append(b, ' ')
		}
		switch {
		case a.Role != "":
			b = append(append(append(append(b, a.Role...), ' '), a.Subtopology...), '_')
		default:
			b = append(append(b, topicName(a.Topic)...), '/')
		}
		b = appendRanges(b, a.Partitions)
	}
	return string(b)
}

// appendRanges appends numbers in ascending order: 0-3,7.
func appendRanges(b []byte, numbers []int32) []byte {
	start := len(b)
	for i := 0; i < len(numbers); {
		if len(b)-start > maxListed {
			return fmt.Appendf(b, " and %d more", len(numbers)-i)
		}
		if i > 0 {
			b = append(b, ',')
		}
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		b = strconv.AppendInt(b, int64(numbers[i]), 10)
		if last > i {
			b = strconv.AppendInt(append(b, '-'), int64(numbers[last]), 10)
		}
		i = last + 1
	}
	return b
}

func (s *stateText) offsets(g *state.Group) {
	all := g.Offsets()
	if len(all) == 0 {
		return
	}
	s.table()
	s.row("    ", "COMMITTED", "OFFSET", "LAG", "SEEN")
	for _, o := range all {
		lag, there := s.cluster.Lag(o)
		if !there {
			lag = -1
		}
		s.row("    ", partitionName(o.Topic, o.Partition), known(o.Offset), known(lag), numbered(o.Seen))
	}
	if g.OffsetsDropped > 0 {
		s.print("    and %d more that are not kept\n", g.OffsetsDropped)
	}
}

func (s *stateText) timeline(t *state.Timeline, epoch string) {
	if len(t.Events) == 0 {
		return
	}
	s.table()
	if t.Dropped > 0 {
		s.print("    %d earlier events are not kept\n", t.Dropped)
	}
	for _, e := range t.Events {
		s.row("    ", numbered(e.At), s.timeOfDay(e.At), e.Who(), eventText(e, epoch))
	}
}

// eventText says what happened, in words.
func eventText(e *state.Event, epoch string) string {
	b := appendEventKind(nil, e, epoch)
	if e.Error != 0 {
		b = fmt.Appendf(b, ", %s", schema.ErrorName(e.Error))
	}
	if e.Times > 1 {
		b = fmt.Appendf(b, ", %d times", e.Times)
	}
	if e.Why != "" {
		b = append(append(b, ": "...), e.Why...)
	}
	return string(b)
}

func appendEventKind(b []byte, e *state.Event, epoch string) []byte {
	switch e.Kind {
	case state.Joins:
		return append(b, "asks to join"...)
	case state.Rejoins:
		return append(b, "asks to join again"...)
	case state.Subscribes:
		return append(b, "changes its subscription"...)
	case state.Generation:
		b = fmt.Appendf(b, "%s %d", epoch, e.Epoch)
		if e.Partitions >= 0 {
			b = appendCount(append(b, " of "...), int64(e.Partitions), "member", "members")
		}
		return b
	case state.Synced:
		b = fmt.Appendf(b, "has its part in %s %d", epoch, e.Epoch)
		if e.Partitions >= 0 {
			b = appendCount(append(b, ", "...), int64(e.Partitions), "partition", "partitions")
		}
		return b
	case state.Left:
		return append(b, "left"...)
	case state.TimedOut:
		return append(b, "timed out"...)
	case state.Removed:
		return append(b, "is not in the group any more"...)
	case state.Fenced:
		return append(b, "is fenced"...)
	case state.Rebalancing:
		return append(b, "is told to join again"...)
	case state.Refused:
		return append(b, "is refused"...)
	case state.NoAnswer:
		return append(b, "has no answer"...)
	case state.Initialised:
		return fmt.Appendf(b, "is initialised with epoch %d", e.Epoch)
	case state.Began:
		return append(b, "begins a transaction"...)
	}
	return append(b, e.Kind...)
}

func (s *stateText) transactions() {
	all := s.cluster.Transactions()
	if len(all) == 0 {
		return
	}
	s.print("\nTransactions\n")
	s.row("  ", "TRANSACTIONAL ID", "STATE", "SINCE", "FOR MS", "PRODUCER", "EPOCH", "COMMITTED", "ABORTED", "COORDINATOR", "CLIENT", "HOST", "HOLDS")
	for _, t := range all {
		since, took := "", ""
		if t.Began != (state.At{}) {
			since = numbered(t.Began)
			took = string(appendMillis(nil, t.Duration(s.cluster.End())))
		}
		holds := ""
		if len(t.Partitions) > 0 {
			holds = assignment(t.Partitions, true)
		}
		for _, group := range slices.Sorted(slices.Values(t.Groups)) {
			holds += " offsets of " + group
		}
		s.row("  ", t.ID, string(t.State), since, took, known(t.ProducerID), known(t.ProducerEpoch), known(t.Committed), known(t.Aborted), known(t.Coordinator), t.Client, t.Host, holds)
	}
	for _, t := range all {
		if len(t.Timeline.Events) > 0 {
			s.print("\n  %s\n", escaped(orDash(t.ID)))
			s.timeline(&t.Timeline, "epoch")
		}
	}
}
