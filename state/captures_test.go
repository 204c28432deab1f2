package state

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// real holds captures of real brokers, each with the requests that the broker has logged meanwhile.
const real = "../../shared/captures/real"

// absent skips a test that needs files which are not here, or fails it where they have to be.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
		t.Fatalf("%s is not here", what)
	}
	t.Skipf("%s is not here", what)
}

// capture returns the path of a real capture.
func capture(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(real, name+".pcap")
	if _, err := os.Stat(path); err != nil {
		absent(t, path)
	}
	return path
}

// A logged exchange, as far as the tests look at it. Kafka's own classes have written it.
type logged struct {
	RequestHeader struct{ RequestAPIKeyName string }
	Request       struct {
		GroupID                   string
		MemberID                  string
		MemberEpoch               int64
		GenerationID              int64
		TransactionalID           string
		Committed                 bool
		IsolationLevel            int
		Topics                    []loggedTopic
		GenerationIDOrMemberEpoch int64
	}
	Response struct {
		ErrorCode    int
		GenerationID int64
		MemberID     string
		MemberEpoch  int64
		Leader       string
		ProtocolName string
		Assignment   json.RawMessage
		ProducerID   int64
		Brokers      []struct {
			NodeID int32
			Host   string
			Port   int64
		}
		Members   []struct{ MemberID string }
		Topics    []loggedTopic
		Responses []loggedTopic
	}
}

type loggedTopic struct {
	Name, Topic, TopicID string
	Partitions           []struct {
		PartitionIndex  int32
		Partition       int32
		ErrorCode       int
		CommittedOffset int64
		HighWatermark   int64
		Timestamp       int64
		Offset          int64
	}
}

// log yields the exchanges that a broker has logged.
func log(t *testing.T, name string) func(func(*logged) bool) {
	t.Helper()
	f, err := os.Open(filepath.Join(real, name+".requests.jsonl"))
	if os.IsNotExist(err) && os.Getenv("KDISSECT_REQUIRE_SHARED") == "" {
		t.Skipf("%s is absent", name)
	} else if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*logged) bool) {
		defer f.Close()
		f.Seek(0, 0)
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var l logged
			if json.Unmarshal(lines.Bytes(), &l) != nil {
				continue // of an API with fields of these names and other types
			}
			if !yield(&l) {
				return
			}
		}
	}
}

// captures with groups, transactions or both, each of one broker with a log of all of it.
var followed = []string{
	"java-4.4-consumer-group-848", "java-4.4-share-group", "java-4.4-streams-classic", "java-4.4-transactions", "java-3.9-transactions",
	"java-4.4-produce-consume", "java-4.4-clients-on-3.9", "librdkafka-3.9", "librdkafka-4.4", "franz-go-4.4", "kafkajs", "kafka-go",
	"kafka-python-4.4", "platformatic-kafka", "java-old-clients-on-4.4", "mixed-clients",
}

// names returns the names of topics by their ids, as the log has them.
func names(t *testing.T, name string) map[string]string {
	all := map[string]string{}
	for l := range log(t, name) {
		for _, topic := range l.Response.Topics {
			if topic.Name != "" && topic.TopicID != "" {
				all[topic.TopicID] = topic.Name
			}
		}
	}
	return all
}

func TestGroupsOfCaptures(t *testing.T) {
	groups, members := 0, 0
	for _, name := range followed {
		c := watch(t, capture(t, name))
		type last struct {
			generation       int64
			leader, protocol string
			size             int
		}
		classic, epochs, left := map[string]last{}, map[string]map[string]int64{}, map[string]map[string]bool{}
		for l := range log(t, name) {
			if l.Response.ErrorCode != 0 {
				continue
			}
			q, r := &l.Request, &l.Response
			if left[q.GroupID] == nil {
				left[q.GroupID], epochs[q.GroupID] = map[string]bool{}, map[string]int64{}
			}
			switch l.RequestHeader.RequestAPIKeyName {
			case "JOIN_GROUP":
				x := classic[q.GroupID]
				x.generation, x.leader, x.protocol = r.GenerationID, r.Leader, r.ProtocolName
				if len(r.Members) > 0 {
					x.size = len(r.Members)
				}
				classic[q.GroupID] = x
			case "CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT", "STREAMS_GROUP_HEARTBEAT":
				if q.MemberEpoch < 0 {
					left[q.GroupID][q.MemberID] = true
				} else {
					epochs[q.GroupID][r.MemberID] = r.MemberEpoch
				}
			}
		}
		for _, g := range c.Groups() {
			if want, ok := classic[g.ID]; ok && g.Type == Classic {
				groups++
				if g.Epoch != want.generation || g.Leader != want.leader || g.Protocol != want.protocol {
					t.Errorf("%s: group %s has generation %d, leader %s, protocol %s, want %v", name, g.ID, g.Epoch, g.Leader, g.Protocol, want)
				}
				if g.formed == nil || g.formed.Partitions != want.size {
					t.Errorf("%s: group %s: %+v, want %d members", name, g.ID, g.formed, want.size)
				}
			}
			for id, epoch := range epochs[g.ID] {
				members++
				m := g.members[id]
				if m == nil || m.Epoch != epoch || m.State.Over() != left[g.ID][id] {
					t.Errorf("%s: group %s: member %s is %+v, want epoch %d, left %t", name, g.ID, id, m, epoch, left[g.ID][id])
				}
			}
			delete(classic, g.ID)
		}
		if len(classic) > 0 {
			t.Errorf("%s: %v are missing", name, classic)
		}
	}
	if groups < 15 || members < 5 {
		t.Errorf("only %d classic groups and %d members of others", groups, members)
	}
}

// assignment reads the bytes that a classic consumer is given, as Kafka's ConsumerProtocolAssignment has them.
func assignment(t *testing.T, encoded string) map[string][]int32 {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]int32{}
	b = b[2:]
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range n {
		length := binary.BigEndian.Uint16(b)
		topic := string(b[2 : 2+length])
		b = b[2+length:]
		count := binary.BigEndian.Uint32(b)
		b = b[4:]
		for range count {
			all[topic] = append(all[topic], int32(binary.BigEndian.Uint32(b)))
			b = b[4:]
		}
		slices.Sort(all[topic])
	}
	return all
}

// Each member has what it was given last.
func TestAssignmentsOfCaptures(t *testing.T) {
	checked := 0
	for _, name := range followed {
		c := watch(t, capture(t, name))
		byID := names(t, name)
		want := map[string]map[string][]int32{} // by member
		group := map[string]string{}
		for l := range log(t, name) {
			if l.Response.ErrorCode != 0 || l.Response.Assignment == nil {
				continue
			}
			switch l.RequestHeader.RequestAPIKeyName {
			case "SYNC_GROUP":
				var encoded string
				if json.Unmarshal(l.Response.Assignment, &encoded) != nil || encoded == "" {
					continue
				}
				want[l.Request.MemberID] = assignment(t, encoded)
				group[l.Request.MemberID] = l.Request.GroupID
			case "CONSUMER_GROUP_HEARTBEAT", "SHARE_GROUP_HEARTBEAT":
				var given *struct {
					TopicPartitions []struct {
						TopicID    string
						Partitions []int32
					}
				}
				if json.Unmarshal(l.Response.Assignment, &given) != nil || given == nil {
					continue
				}
				want[l.Response.MemberID] = map[string][]int32{}
				group[l.Response.MemberID] = l.Request.GroupID
				for _, topic := range given.TopicPartitions {
					slices.Sort(topic.Partitions)
					want[l.Response.MemberID][byID[topic.TopicID]] = topic.Partitions
				}
			}
		}
		for id, has := range want {
			g := c.groups.find(group[id])
			if g == nil || g.members[id] == nil {
				t.Errorf("%s: member %s is missing", name, id)
				continue
			}
			got := map[string][]int32{}
			for _, a := range g.members[id].Assignment {
				got[a.Name] = a.Partitions
			}
			checked++
			if fmt.Sprint(got) != fmt.Sprint(has) {
				t.Errorf("%s: member %s has %v, want %v", name, id, got, has)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d members", checked)
	}
}

// Committed offsets are those of the last commits, those of transactions once they are committed.
func TestOffsetsOfCaptures(t *testing.T) {
	checked := 0
	for _, name := range followed {
		c := watch(t, capture(t, name))
		byID := names(t, name)
		type key struct {
			group, topic string
			partition    int32
		}
		want, pending := map[key]int64{}, map[string]map[key]int64{}
		for l := range log(t, name) {
			api, q := l.RequestHeader.RequestAPIKeyName, &l.Request
			switch api {
			case "END_TXN":
				if l.Response.ErrorCode == 0 && q.Committed {
					for k, offset := range pending[q.TransactionalID] {
						want[k] = offset
					}
				}
				if l.Response.ErrorCode == 0 {
					delete(pending, q.TransactionalID)
				}
			case "OFFSET_COMMIT", "TXN_OFFSET_COMMIT":
				for i, topic := range q.Topics {
					for j, p := range topic.Partitions {
						if l.Response.Topics[i].Partitions[j].ErrorCode != 0 {
							continue
						}
						k := key{q.GroupID, topic.Name + byID[topic.TopicID], p.PartitionIndex}
						if api == "OFFSET_COMMIT" {
							want[k] = p.CommittedOffset
							continue
						}
						if pending[q.TransactionalID] == nil {
							pending[q.TransactionalID] = map[key]int64{}
						}
						pending[q.TransactionalID][k] = p.CommittedOffset
					}
				}
			}
		}
		for k, offset := range want {
			g := c.groups.find(k.group)
			if g == nil || g.State == Dead {
				continue // deleted
			}
			checked++
			if o := g.offsets[place{name: k.topic, partition: k.partition}]; o == nil || o.Offset != offset {
				t.Errorf("%s: %v: %+v, want %d", name, k, o, offset)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d offsets", checked)
	}
}

// Transactions ended as their producers asked; what else was aborted, the coordinator has.
func TestTransactionsOfCaptures(t *testing.T) {
	checked := 0
	for _, name := range followed {
		c := watch(t, capture(t, name))
		committed, aborted, ids := map[string]int{}, map[string]int{}, map[string]int64{}
		for l := range log(t, name) {
			q := &l.Request
			if l.Response.ErrorCode != 0 || q.TransactionalID == "" {
				continue
			}
			switch l.RequestHeader.RequestAPIKeyName {
			case "INIT_PRODUCER_ID":
				ids[q.TransactionalID] = l.Response.ProducerID
			case "END_TXN":
				if q.Committed {
					committed[q.TransactionalID]++
				} else {
					aborted[q.TransactionalID]++
				}
			}
		}
		for id, producer := range ids {
			x := c.transactions.find(id)
			if x == nil {
				t.Errorf("%s: %s is missing", name, id)
				continue
			}
			checked++
			byCoordinator := 0
			for _, e := range x.Timeline.Events {
				if e.Kind == Aborted && len(e.Why) > 2 && e.Why[:2] == "by" {
					byCoordinator++
				}
			}
			if x.Committed != committed[id] || x.Aborted-byCoordinator != aborted[id] || x.ProducerID != producer {
				t.Errorf("%s: %s: producer %d, %d committed, %d aborted, %d of them by the coordinator; want %d, %d, %d",
					name, id, x.ProducerID, x.Committed, x.Aborted, byCoordinator, producer, committed[id], aborted[id])
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d transactional ids", checked)
	}
}

// High watermarks only grow in these captures, so the one seen last is the highest in the log.
func TestPartitionsOfCaptures(t *testing.T) {
	checked, brokers := 0, 0
	for _, name := range followed {
		c := watch(t, capture(t, name))
		byID := names(t, name)
		want := map[place]int64{}
		for l := range log(t, name) {
			for _, b := range l.Response.Brokers {
				if l.RequestHeader.RequestAPIKeyName != "METADATA" {
					break
				}
				brokers++
				if got := c.brokers.find(b.NodeID); got == nil {
					t.Errorf("%s: broker %d is missing", name, b.NodeID)
				} else if got.Host != b.Host || got.Port != b.Port {
					t.Errorf("%s: broker %d is %s:%d, want %s:%d", name, b.NodeID, got.Host, got.Port, b.Host, b.Port)
				}
			}
			if l.RequestHeader.RequestAPIKeyName != "FETCH" {
				continue
			}
			for _, topic := range l.Response.Responses {
				for _, p := range topic.Partitions {
					if p.ErrorCode == 0 {
						k := place{name: topic.Topic + byID[topic.TopicID], partition: p.PartitionIndex}
						want[k] = max(want[k], p.HighWatermark)
					}
				}
			}
		}
		for k, offset := range want {
			checked++
			if p := c.partitions.find(k); p == nil || p.HighWatermark < offset {
				t.Errorf("%s: %v: %+v, want %d", name, k, p, offset)
			}
		}
	}
	if checked < 40 || brokers < 20 {
		t.Errorf("only %d partitions, %d brokers", checked, brokers)
	}
}
