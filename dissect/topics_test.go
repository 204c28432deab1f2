package dissect

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Every message of the catalog with a structure that has a topic's name and its id is one that names are learned from.
func TestMessagesThatNameTopics(t *testing.T) {
	catalog := schema.Embedded()
	found := map[string]bool{}
	for _, name := range catalog.Names() {
		message, err := catalog.Message(name)
		if err != nil {
			t.Fatal(err)
		}
		for v := message.ValidVersions.Low; v <= message.ValidVersions.High; v++ {
			plan := catalog.PlanByName(name, v)
			if plan == nil {
				continue
			}
			want := hasNameAndID(message.Fields, v, "")
			for _, s := range message.CommonStructs {
				want = want || hasNameAndID(s.Fields, v, s.Name)
			}
			if plan.NamesTopics != want {
				t.Errorf("%s v%d: %t, want %t", name, v, plan.NamesTopics, want)
			}
			found[name] = found[name] || want
		}
	}
	for _, name := range []string{"MetadataResponse", "CreateTopicsResponse", "DeleteTopicsResponse", "DescribeTopicPartitionsResponse", "ConsumerGroupDescribeResponse",
		"ShareGroupDescribeResponse", "DescribeShareGroupOffsetsResponse", "UpdateMetadataRequest", "LeaderAndIsrRequest", "TopicRecord", "RemoteLogSegmentMetadataRecord"} {
		if !found[name] {
			t.Errorf("%s is not among them", name)
		}
	}
}

// hasNameAndID looks for a structure with both among fields and what they hold. It goes by names alone.
func hasNameAndID(fields []*schema.Field, version int16, structure string) bool {
	name, id, inside := false, false, false
	for _, f := range fields {
		if !f.Versions.Contains(version) {
			continue
		}
		switch {
		case f.Type.Base == schema.UUID && !f.Type.Array:
			id = id || strings.EqualFold(f.Name, "topicId") || structure == "TopicIdPartitionEntry"
		case f.Type.Base == schema.String && !f.Type.Array:
			name = name || f.EntityType == "topicName" || f.Name == "Topic" || f.Name == "TopicName" || structure == "TopicIdPartitionEntry"
		default:
			inside = inside || hasNameAndID(f.Fields, version, f.Type.Struct)
		}
	}
	return name && id || inside
}

var idA, idB, idC = []byte("0123456789abcdef"), []byte("fedcba9876543210"), []byte("ABCDEFGHIJKLMNOP")

// askMetadata is a Metadata v12 request for all topics.
func askMetadata(correlationID int32) []byte {
	return flexible(3, 12, correlationID, byte(0), int8(0), int8(0), byte(0))
}

// nameSeen is what a message knows of a topic in the end.
func nameSeen(m *Message, id []byte) string { return string(m.NameOf(id)) }

// A topic that a Metadata answer has no name of does not get the name of the one behind it.
func TestUnknownTopicDoesNotTakeTheNextName(t *testing.T) {
	var last Snapshot
	k := listen(NeedMessages, func(m *Message) { last.Take(m, nil) })
	k.client(askMetadata(1))
	topic := func(code int16, name, id []byte) []byte {
		return pack(code, name, id, int8(0), byte(1), int32(0), byte(0))
	}
	const unknownTopicID = 100
	k.server(framed(int32(1), byte(0), int32(0), byte(1), byte(0), int32(1), byte(3),
		topic(unknownTopicID, []byte{0}, idA), topic(0, compactOf("orders"), idB), byte(0)))
	m := NewReader().Message(&last)
	if a, b := nameSeen(m, idA), nameSeen(m, idB); a != "" || b != "orders" {
		t.Errorf("the first is %q and the second %q", a, b)
	}
	for i, topic := range m.Facts().Topics {
		if want := [][]byte{nil, []byte("orders")}[i]; !bytes.Equal(topic.Name, want) {
			t.Errorf("topic %d is called %q", i, topic.Name)
		}
	}
}

// The second id of a name is told once.
func TestTopicRecreated(t *testing.T) {
	var told []string
	r := NewReader()
	k := listen(NeedMessages, func(m *Message) {
		var s Snapshot
		s.Take(m, nil)
		for _, f := range r.Message(&s).Findings {
			told = append(told, fmt.Sprint(m.Number, " ", f.Severity, " ", f.Code, ": ", f.Text))
		}
	})
	for i, id := range [][]byte{idA, idA, idB, idC} {
		k.client(askMetadata(int32(i)))
		k.server(metadataV12Answer(int32(i), "orders", id))
	}
	want := []string{"6 info topic-recreated: topic orders has the id ZmVkY2JhOTg3NjU0MzIxMA here and had MDEyMzQ1Njc4OWFiY2RlZg before: it was deleted and created anew, or there are two clusters"}
	if !slices.Equal(told, want) {
		t.Errorf("\n got %q\nwant %q", told, want)
	}
}

// topicRecord is the value of a record of the cluster metadata that tells of a topic.
func topicRecord(name string, id []byte) []byte {
	return pack(byte(1), byte(2), byte(0), compactOf(name), id, byte(0))
}

// Names are learned from records of the cluster metadata, compressed or not, also of a frame whose records no output wants and that is too large to be
// held for its own sake. Records of other topics tell nothing.
func TestTopicNamesInRecords(t *testing.T) {
	plain := pack(messageOf(1, 0, 0, nil, topicRecord("orders", idA)), messageOf(1, 0, 1, nil, topicRecord("pay", idB)))
	large := pack(plain, messageOf(1, 0, 2, nil, make([]byte, 2*skimSize)))
	for _, test := range []struct {
		name, topic string
		records     []byte
		want        [2]string
	}{
		{"plain", metadataTopic, plain, [2]string{"orders", "pay"}},
		{"gzip", metadataTopic, wrapped(1, 1, plain), [2]string{"orders", "pay"}},
		{"large", metadataTopic, large, [2]string{"orders", "pay"}},
		{"cut", metadataTopic, plain[:len(plain)-5], [2]string{"orders", ""}},
		{"another topic", "orders", plain, [2]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{7, 1 << 20} {
				var last Snapshot
				k := listen(NeedMessages, func(m *Message) { last.Take(m, nil) })
				request, response := fetchV4(1, test.topic, test.records)
				k.client(request)
				k.sendCut(fromServer, response, pieces(size))
				k.client(fetchV13(2, idA))
				m := NewReader().Message(&last)
				if got := [2]string{nameSeen(m, idA), nameSeen(m, idB)}; got != test.want {
					t.Errorf("in pieces of %d bytes: %q, want %q", size, got, test.want)
				}
			}
		})
	}
}

// Answers that begin as the one before are not looked at again; the first one that does not is, whatever topics came in front of it.
func TestTopicNamesBehindOthers(t *testing.T) {
	named := messageOf(1, 0, 0, nil, topicRecord("orders", idA))
	// One name is as long as the other, and one begins as it does.
	others := []string{"orders", "orders", strings.Repeat("_", len(metadataTopic)), metadataTopic + "_", metadataTopic[:9], strings.Repeat("x", 2*maxLead)}
	var last Snapshot
	k := listen(NeedMessages, func(m *Message) { last.Take(m, nil) })
	for i, topic := range append(others, metadataTopic) {
		request, response := fetchV4(int32(i), topic, named)
		k.client(request)
		k.server(response)
		want := ""
		if topic == metadataTopic {
			want = "orders"
		}
		k.client(fetchV13(int32(100+i), idA))
		if got := nameSeen(NewReader().Message(&last), idA); got != want {
			t.Errorf("behind an answer of %s: %q, want %q", topic, got, want)
		}
		k.server(framed(int32(100+i), int32(0), int16(0), int32(0), int32(0)))
	}
}

// Learning from records says nothing of what is wrong with them; who opens them does.
func TestLearningLeavesNoFindings(t *testing.T) {
	damaged := messageOf(1, 1, 0, nil, []byte("no gzip"))
	k := newTalk(NeedMessages, true)
	request, response := fetchV4(1, metadataTopic, damaged)
	k.client(request)
	k.server(response)
	if m := k.messages[1]; len(m.Findings) > 0 {
		t.Errorf("findings %v", m.codes())
	}
}

// A name that is told later is found when it is wanted, once, and only as far on as it takes.
func TestLookAhead(t *testing.T) {
	answers := [][]byte{metadataV12Answer(1, "orders", idA), metadataV12Answer(2, "pay", idB)}
	var first Snapshot
	k := listen(NeedMessages, func(m *Message) {
		if m.Number == 1 {
			first.Take(m, nil)
		}
	})
	calls := 0
	var ahead *Dissector
	conn := &reassembly.Connection{ID: 1, Ends: talkEnds, Opened: true, Seen: [2]bool{true, true}}
	ahead = k.dissector.LookAhead(func() bool {
		if calls++; calls > len(answers) {
			return false
		}
		send := func(dir reassembly.Direction, data []byte, packet int64) {
			ahead.Chunk(conn, dir, &reassembly.Chunk{Data: data, Origin: reassembly.Origin{Packet: packet, Time: packet}})
		}
		send(fromClient, askMetadata(int32(calls)), int64(2*calls))
		send(fromServer, answers[calls-1], int64(2*calls+1))
		return true
	})
	k.client(fetchV13(1, idA))
	m := NewReader().Message(&first)
	for _, step := range []struct {
		id    []byte
		want  string
		calls int
	}{{make([]byte, 16), "", 0}, {idA, "orders", 1}, {idA, "orders", 1}, {idC, "", 3}, {idC, "", 3}, {idB, "pay", 3}} {
		if got := nameSeen(m, step.id); got != step.want || calls != step.calls {
			t.Errorf("%x is %q after %d calls, want %q after %d", step.id, got, calls, step.want, step.calls)
		}
	}
}

// What is remembered of topics is bounded.
func TestTopicNamesAreBounded(t *testing.T) {
	names := newTopicNames()
	for i := range maxTopicNames + 100 {
		names.add(TopicID(fmt.Appendf(nil, "%016d", i)), fmt.Append(nil, i), 0)
	}
	if len(names.byID) != maxTopicNames || len(names.byName) > maxTopicNames {
		t.Errorf("%d ids, %d names", len(names.byID), len(names.byName))
	}
	if names.told(TopicID(fmt.Appendf(nil, "%016d", maxTopicNames+1)), math.MaxInt64) != nil {
		t.Error("the last one is known")
	}
}

// What is too long to be the name of a topic is not remembered.
func TestLongNamesOfTopics(t *testing.T) {
	names := newTopicNames()
	for n, want := range map[int]bool{maxTopicName: true, maxTopicName + 1: false} {
		id := TopicID{byte(n), byte(n >> 8), 1}
		names.add(id, bytes.Repeat([]byte{'t'}, n), 1)
		if known := names.told(id, 1) != nil; known != want {
			t.Errorf("%d bytes: known %t", n, known)
		}
	}
}
