package dissect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// formCases are messages, and others that have the form of theirs or nearly so.
var formCases = []struct {
	name    string
	request []byte
	first   []byte // the message whose form is learned, where that is the answer
	then    []formCase
}{
	{"Produce request", produceOf(-1, "orders", 0, oneRecord), nil, []formCase{
		{"the same", produceOf(-1, "orders", 0, oneRecord), true},
		{"another partition, more records", produceOf(-1, "orders", 3, twoRecords), true},
		{"no bytes of records", produceOf(-1, "orders", 3, nil), true},
		{"two batches", produceOf(-1, "orders", 3, slices.Concat(oneRecord, twoRecords)), true},
		{"half a batch", produceOf(-1, "orders", 3, oneRecord[:30]), true},
		{"another topic", produceOf(-1, "others", 0, oneRecord), false},
		{"a longer topic", produceOf(-1, "orders2", 0, oneRecord), false},
		{"other acks", produceOf(1, "orders", 0, oneRecord), false},
		{"bytes behind the end", produceOf(-1, "orders", 0, oneRecord, byte(0)), false},
		{"null for records", framed(producePrefix, int16(-1), int16(-1), int32(1000), int32(1), text("orders"), int32(1), int32(0), int32(-1)), false},
		{"records beyond the end", framed(producePrefix, int16(-1), int16(-1), int32(1000), int32(1), text("orders"), int32(1), int32(0), int32(5), "1234"), false},
		{"no room for a length of records", framed(producePrefix, int16(-1), int16(-1), int32(1000), int32(1), text("orders"), int32(1), int32(0)), false},
		{"two topics", framed(producePrefix, int16(-1), int16(-1), int32(1000), int32(2), text("orders"), int32(1), int32(0), int32(-1), text("others"), int32(0)), false},
	}},
	{"Produce request of two partitions", produceTwo, nil, []formCase{{"the same", produceTwo, false}}},
	{"flexible Produce request", produceV9(oneRecord, 0, 0, 0), nil, []formCase{
		{"more records", produceV9(twoRecords, 0, 0, 0), true},
		{"a length of one byte", produceV9(oneRecord[:61], 0, 0, 0), true},
		{"a tagged field", produceV9(oneRecord, 0, 0, 1, 99, 1, 0), false},
		{"a byte of records more, and no end", produceV9(oneRecord, 0, 0), false},
		{"a section too many", produceV9(oneRecord, 0, 0, 0, 0), false},
		{"a tag without its field", produceV9(oneRecord, 0, 0, 1), false},
	}},
	{"Produce response", produceOf(-1, "orders", 0, oneRecord), producedV3("orders", 0, 0, 100, 0), []formCase{
		{"another offset and partition", producedV3("orders", 5, 0, 1<<40, 0), true},
		{"an error", producedV3("orders", 0, 3, -1, 0), false},
		{"throttled", producedV3("orders", 0, 0, 100, 20), false},
		{"another topic", producedV3("others", 0, 0, 100, 0), false},
		{"a byte is missing", framed(producedV3("orders", 0, 0, 100, 0)[4:53]), false},
		{"a byte more", framed(producedV3("orders", 0, 0, 100, 0)[4:], byte(0)), false},
	}},
	{"Fetch request", fetchV7(-1, 17, 1, 40), nil, []formCase{
		{"the next of the session", fetchV7(-1, 17, 2, 41), true},
		{"another session", fetchV7(-1, 18, 2, 41), false},
		{"a follower", fetchV7(3, 17, 2, 41), false},
	}},
	{"Fetch request with ids", fetchV13(1, []byte("0123456789abcdef")), nil, []formCase{
		{"another id", fetchV13(1, []byte("fedcba9876543210")), true},
	}},
	{"InitProducerId response", framed(int16(22), int16(0), int32(7), text("c"), int16(-1), int32(60000)), framed(int32(7), int32(0), int16(0), int64(4000), int16(0)), []formCase{
		{"another id", framed(int32(7), int32(0), int16(0), int64(4001), int16(1)), true},
		{"refused", framed(int32(7), int32(0), int16(15), int64(-1), int16(-1)), false},
	}},
	{"OffsetFetch request of two topics", offsetFetchV1(0, 1, 2), nil, []formCase{
		{"other partitions", offsetFetchV1(5, 4, 3), true},
	}},
	{"OffsetCommit request of two partitions", offsetCommitV2(40, 50), nil, []formCase{
		{"other offsets", offsetCommitV2(41, 52), true},
	}},
}

// A formCase is a message that comes when a form is known.
type formCase struct {
	what  string
	frame []byte
	has   bool // that form
}

var (
	oneRecord     = batchOf(0, 1, recordOf(0, nil, []byte("value")))
	twoRecords    = batchOf(0, 2, slices.Concat(recordOf(0, nil, []byte("a")), recordOf(1, nil, []byte("bc"))))
	produceTwo    = framed(producePrefix, int16(-1), int16(-1), int32(1000), int32(1), text("orders"), int32(2), int32(0), int32(len(oneRecord)), oneRecord, int32(1), int32(len(oneRecord)), oneRecord)
	producePrefix = pack(int16(0), int16(3), int32(7), text("c"))
)

func produceOf(acks int16, topic string, partition int32, records []byte, behind ...any) []byte {
	return framed(producePrefix, int16(-1), acks, int32(1000), int32(1), text(topic), int32(1), partition, int32(len(records)), records, pack(behind...))
}

func produceV9(records []byte, behind ...byte) []byte {
	return flexible(0, 9, 7, byte(0), int16(-1), int32(1000), byte(2), compactOf("orders"), byte(2), int32(0), uvarintOf(uint64(len(records)+1)), records, behind)
}

func producedV3(topic string, partition int32, code int16, offset int64, throttle int32) []byte {
	return framed(int32(7), int32(1), text(topic), int32(1), partition, code, offset, int64(-1), throttle)
}

func fetchV7(replica, session, epoch int32, offset int64) []byte {
	return framed(int16(1), int16(7), int32(7), text("c"), replica, int32(500), int32(1), int32(1<<20), int8(0), session, epoch,
		int32(1), text("orders"), int32(1), int32(3), offset, int64(-1), int32(1<<20), int32(0))
}

func offsetFetchV1(a, b, c int32) []byte {
	return framed(int16(9), int16(1), int32(7), text("c"), text("group"), int32(2), text("orders"), int32(2), a, b, text("others"), int32(1), c)
}

func offsetCommitV2(a, b int64) []byte {
	return framed(int16(8), int16(2), int32(7), text("c"), text("group"), int32(1), text(""), int64(-1), int32(1), text("orders"),
		int32(2), int32(0), a, int16(-1), int32(1), b, text("note"))
}

// The facts of messages that have the form of another one are those of their tape, and so are those of messages that nearly have it.
func TestForms(t *testing.T) {
	for _, test := range formCases {
		t.Run(test.name, func(t *testing.T) {
			j, kind := newFactsJudge(t), schema.Request
			first := test.request
			if test.first != nil {
				kind, first = schema.Response, test.first
			}
			k := listen(NeedMessages, func(m *Message) {
				if m.Kind == kind {
					j.snapshot.Take(m, nil)
				}
			})
			k.client(test.request)
			k.server(test.first)
			for _, c := range test.then {
				for range 2 { // what repeats is learned
					j.judgeFrame("before "+c.what, first)
				}
				if has := j.judgeFrame(c.what, c.frame); has != c.has {
					t.Errorf("%s: it has the form: %t", c.what, has)
				}
			}
		})
	}
}

// judgeFrame compares the facts of a frame in place of that of the snapshot, and tells whether it had a form that was known.
func (j *factsJudge) judgeFrame(where string, frame []byte) bool {
	j.snapshot.data, j.snapshot.Size = slices.Clip(frame), len(frame)
	j.compare(where)
	m := &j.quick.message[0]
	return m.facts != &m.own
}

// Another plan is not the form's, whatever the bytes are.
func TestFormIsOfAPlan(t *testing.T) {
	j := newFactsJudge(t)
	k := listen(NeedMessages, func(m *Message) { j.snapshot.Take(m, nil) })
	frame := produceOf(-1, "orders", 0, oneRecord)
	k.client(frame)
	for range 2 {
		j.judgeFrame("Produce v3", frame)
	}
	j.snapshot.plan = schema.Embedded().Plan(keyProduce, 2, schema.Request)
	if j.judgeFrame("Produce v2", frame) {
		t.Error("a message has the form of one of another plan")
	}
}

// A topic of which only the id is there is looked up for each message: the one before may have known another.
func TestFormsOfTopicIDs(t *testing.T) {
	id, other := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	var names []string
	formed := 0
	k := listen(NeedMessages, func(m *Message) {
		if topics := m.Facts().Topics; m.Name() == "Fetch" && m.Kind == schema.Request {
			names = append(names, string(topics[0].Name))
		}
		if m.facts != &m.own {
			formed++
		}
	})
	k.client(flexible(3, 12, 2, byte(0), int8(0), int8(0), byte(0)))
	k.server(metadataV12Answer(2, "orders", id))
	k.client(fetchV13(3, id), fetchV13(4, id), fetchV13(5, id), fetchV13(6, other), fetchV13(7, id))
	if want := []string{"orders", "orders", "orders", "", "orders"}; !slices.Equal(names, want) || formed != 3 {
		t.Errorf("names %q, want %q; %d messages had a form that was known, want 3", names, want, formed)
	}
}

// A name that the message leaves empty is empty again where no other message tells it.
func TestFormsOfEmptyNames(t *testing.T) {
	j := newFactsJudge(t)
	k := listen(NeedMessages, func(m *Message) { j.snapshot.Take(m, nil) })
	metadata := func(id TopicID) []byte {
		return flexible(3, 10, 7, byte(2), id[:], compactOf(""), byte(0), int8(0), int8(0), int8(0), byte(0))
	}
	k.client(metadata(TopicID{}))
	for i, id := range []TopicID{{}, {}, metadataTopicID, {}} {
		if has := j.judgeFrame(fmt.Sprint("message ", i), metadata(id)); has != (i > 1) {
			t.Errorf("message %d has a form that was known: %t", i, has)
		}
	}
}

// A form that does not come again keeps others from being learned, for longer each time, until one comes.
func TestFormsThatDoNotComeAgain(t *testing.T) {
	j := newFactsJudge(t)
	k := listen(NeedMessages, func(m *Message) { j.snapshot.Take(m, nil) })
	k.client(produceOf(-1, "orders", 0, nil))
	learned := 0
	for i := range 200 {
		j.judgeFrame("another topic each time", produceOf(-1, fmt.Sprintf("topic-%03d", i), 0, nil))
		if o := *j.quick.tools.forms.of(&j.quick.message[0]); o != nil && o.wait == o.waits {
			learned++
		}
	}
	if learned != 8 { // of message 2 and the 2nd, 4th, 8th, 16th, 32nd, 64th and 64th behind that
		t.Errorf("%d forms were learned", learned)
	}
}

// A form is none of a message that is as long as it may be, or longer, and what ends there is read as it is by the tape.
func TestFormsOfLongMessages(t *testing.T) {
	j := newFactsJudge(t)
	k := listen(NeedMessages, func(m *Message) { j.snapshot.Take(m, nil) })
	leave := func(group int) []byte { // whose member is an empty text at the end
		return framed(int16(13), int16(0), int32(7), text("c"), text(strings.Repeat("g", group)), int16(0))
	}
	k.client(leave(1))
	for n := maxForm - 20; n < maxForm+20; n++ {
		j.judgeFrame("before", leave(n))
		j.judgeFrame("before", leave(n))
		if has := j.judgeFrame(fmt.Sprint(n, " bytes"), leave(n)); has != (n+2+2 < maxForm) {
			t.Errorf("a group of %d bytes: it has the form: %t", n, has)
		}
		j.quick = NewReader()
	}
}

// Where records are listed, those of a message that has a form are, too.
func TestRecordFieldsOfForms(t *testing.T) {
	var fields [][]stretch
	k := listen(NeedMessages|NeedRecords, func(m *Message) {
		f, _ := m.recordFields()
		fields = append(fields, slices.Clone(f))
	})
	frame := produceOf(-1, "orders", 0, oneRecord)
	k.client(frame, frame, frame, frame)
	for i, f := range fields {
		if want := []stretch{{len(frame) - len(oneRecord), len(frame)}}; !slices.Equal(f, want) {
			t.Errorf("message %d: %v, want %v", i, f, want)
		}
	}
}
