package dissect

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// An oracleFrame is a frame that Kafka's own classes wrote, and what they say of it.
type oracleFrame struct {
	Kafka         string
	Kind          string
	API           string
	Key, Version  int16
	Instance      int
	HeaderVersion int16
	CorrelationID int32 `json:"correlationId"`
	ClientID      *string
	Hex           hexBytes
	BodyOffset    int
	HeaderJSON    any `json:"headerJson"`
	JSON          any
	UnknownTags   []tagSeen
	Writes        string
}

func (o *oracleFrame) String() string {
	return fmt.Sprintf("Kafka %s, %s %s v%d, instance %d", o.Kafka, o.API, o.Kind, o.Version, o.Instance)
}

// acksZero tells whether a request is one that gets no answer.
func (o *oracleFrame) acksZero() bool {
	body, _ := o.JSON.(map[string]any)
	return o.Key == keyProduce && body["acks"] != nil && fmt.Sprint(body["acks"]) == "0"
}

// oracleFrames are all frames of the oracle, and of each API and version a request that is answered.
func oracleFrames(t testing.TB) (frames []*oracleFrame, requests map[[2]int16]*oracleFrame) {
	requests = map[[2]int16]*oracleFrame{}
	readLines(t, needShared(t, "oracle/kafka-*.jsonl.gz"), func(o *oracleFrame) {
		frames = append(frames, o)
		id := [2]int16{o.Key, o.Version}
		if o.Kind == "request" && requests[id] == nil && !o.acksZero() {
			requests[id] = o
		}
	})
	if len(frames) < 3500 {
		t.Fatalf("only %d frames", len(frames))
	}
	return frames, requests
}

// conversation returns the request that goes before a response, with its correlation id; nil when the oracle has none.
func (o *oracleFrame) conversation(requests map[[2]int16]*oracleFrame) []byte {
	request := requests[[2]int16{o.Key, o.Version}]
	if request == nil {
		return nil
	}
	frame := slices.Clone([]byte(request.Hex))
	binary.BigEndian.PutUint32(frame[8:], uint32(o.CorrelationID))
	return frame
}

// isFallback tells whether a response reads as one of version 0, whatever was asked: no reader can know better.
func (o *oracleFrame) isFallback() bool {
	body, _ := o.JSON.(map[string]any)
	return o.Key == keyApiVersions && o.Kind == "response" && fmt.Sprint(body["errorCode"]) == "35"
}

// Where a release and the newest schemas have other names for the same version, or for ReadShareGroupStateSummary another layout of a
// version that was unstable then.
var (
	renamed = map[string]bool{"3.9.1/74/response": true, "3.9.1/28/request": true, "3.9.1/52/request": true}
	relaid  = map[string]bool{"3.9.1/87/response": true}
)

// Every frame that Kafka's own classes wrote must decode to what they read from it.
func TestOracle(t *testing.T) {
	frames, requests := oracleFrames(t)
	seen, failures := 0, 0
	var o *oracleFrame
	check := func(m *Message) {
		if m.Kind.String() != o.Kind {
			return // the request in front of a response
		}
		seen++
		if fault := oracleFault(o, m); fault != "" {
			if failures++; failures < 20 {
				t.Errorf("%s: %s", o, fault)
			}
		}
	}
	tried := 0
	for _, o = range frames {
		if o.isFallback() {
			continue
		}
		k := listen(NeedMessages|NeedRecords, check)
		if o.Kind == "response" {
			k.client(o.conversation(requests))
			k.server([]byte(o.Hex))
		} else {
			k.client([]byte(o.Hex))
		}
		tried++
	}
	if seen != tried {
		t.Errorf("%d frames in, %d messages out", tried, seen)
	}
	if failures > 0 {
		t.Errorf("%d of %d fail", failures, tried)
	}
}

func oracleFault(o *oracleFrame, m *Message) string {
	if fault := headFault(o, m); fault != "" {
		return fault
	}
	tape := m.Tape()
	if fault := tapeFault(tape, len(o.Hex)); fault != "" {
		return fault
	}
	id := fmt.Sprintf("%s/%d/%s", o.Kafka, o.Key, o.Kind)
	if relaid[id] {
		return ""
	}
	for _, f := range m.Findings {
		if f.Severity == Error || f.Code == TrailingBytes {
			return fmt.Sprintf("finding %v", f)
		}
	}
	if u := m.Undecoded(); u != nil {
		return fmt.Sprintf("undecoded %+v", *u)
	}
	if fault := layoutFault(tape, o.Writes); fault != "" {
		return fault
	}
	if at := int(tape[m.Body()].Offset); at != o.BodyOffset {
		return fmt.Sprintf("the body begins at %d, want %d", at, o.BodyOffset)
	}
	const headerNode = 1
	if d := difference("header", o.HeaderJSON, structOf(&m.View, headerNode)); d != "" {
		return d
	}
	if !renamed[id] {
		if d := difference("payload", o.JSON, structOf(&m.View, m.Body())); d != "" {
			return d
		}
	}
	sortTags(o.UnknownTags)
	if got := unknownTagsOf(&m.View); !slices.Equal(got, o.UnknownTags) {
		return fmt.Sprintf("unknown tags %v, want %v", got, o.UnknownTags)
	}
	return ""
}

// headFault compares what is known of a message before its body is decoded.
func headFault(o *oracleFrame, m *Message) string {
	want := Header{Known: true, APIKey: o.Key, Version: o.Version, CorrelationID: o.CorrelationID, ClientIDNull: o.ClientID == nil}
	if o.ClientID != nil {
		want.ClientID = *o.ClientID
	}
	got := m.Header
	if o.Kind == "response" {
		want.ClientID, want.ClientIDNull = got.ClientID, got.ClientIDNull // the request's, which has one of its own
	}
	switch {
	case got != want:
		return fmt.Sprintf("header %+v, want %+v", got, want)
	case m.Plan() == nil || m.Plan().Header.Version != o.HeaderVersion:
		return fmt.Sprintf("the header is not of version %d", o.HeaderVersion)
	case m.Size != len(o.Hex):
		return fmt.Sprintf("%d bytes, want %d", m.Size, len(o.Hex))
	}
	return ""
}

// factsText writes all exported fields of facts down, so that no field can be forgotten. Lists are the same whether nil or empty, values
// are not.
func factsText(f *Facts) string { return exported(reflect.ValueOf(*f)) }

func exported(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		text := "{"
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				text += field.Name + ":" + exported(v.Field(i)) + " "
			}
		}
		return text + "}"
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.IsNil() {
				return "null"
			}
			return fmt.Sprintf("%q", v.Bytes())
		}
		text := "["
		for i := range v.Len() {
			text += exported(v.Index(i)) + " "
		}
		return text + "]"
	}
	return fmt.Sprint(v.Interface())
}

// A factsJudge reads the facts of messages both ways: straight out of the bytes, and out of the tape.
type factsJudge struct {
	t            *testing.T
	quick, taped *Reader
	snapshot     Snapshot
	messages     int
	without      int // facts that were there without a tape
	tagged       int // among those, of messages with tagged fields
	formed       int // and of messages with a form that was known
	failures     int
}

func newFactsJudge(t *testing.T) *factsJudge {
	return &factsJudge{t: t, quick: NewReader(), taped: NewReader()}
}

// judge compares the two ways on one message, which nobody has decoded so far.
func (j *factsJudge) judge(where string, m *Message) {
	j.snapshot.Take(m, nil)
	j.compare(where)
}

// compare does so with the message of the snapshot.
func (j *factsJudge) compare(where string) {
	j.messages++
	quick, taped := j.quick.Message(&j.snapshot), j.taped.Message(&j.snapshot)
	m := quick
	got := factsText(quick.Facts())
	if !quick.decoded {
		j.without++
	}
	undecoded := quick.Undecoded() != nil
	taped.Tape()
	want := factsText(taped.Facts())
	switch {
	case got != want:
		j.fail("%s: %s v%d %s:\n got %s\nwant %s", where, m.Name(), m.Header.Version, m.Kind, got, want)
	case undecoded != (taped.Undecoded() != nil):
		j.fail("%s: %s v%d %s: undecoded %t, want %t", where, m.Name(), m.Header.Version, m.Kind, undecoded, !undecoded)
	case !quick.decoded && slices.ContainsFunc(taped.Findings[taped.before:], func(f Finding) bool { return f.Code != BadUTF8 || quick.facts.tagged }):
		j.fail("%s: %s v%d %s: its tape has findings: %v", where, m.Name(), m.Header.Version, m.Kind, taped.Findings)
	}
	if !quick.decoded && quick.facts.tagged {
		j.tagged++
	}
	if quick.facts != &quick.own {
		j.formed++
	}
}

func (j *factsJudge) fail(format string, args ...any) {
	if j.failures++; j.failures < 10 {
		j.t.Errorf(format, args...)
	}
}

// The facts of a message must not depend on whether they were read out of its bytes or out of its tape.
func TestFactsOfOracle(t *testing.T) {
	frames, requests := oracleFrames(t)
	j := newFactsJudge(t)
	for _, o := range frames {
		k := listen(NeedMessages|NeedRecords, func(m *Message) { j.judge(o.String(), m) })
		if o.Kind == "response" {
			k.client(o.conversation(requests))
			k.server([]byte(o.Hex))
		} else {
			k.client([]byte(o.Hex))
		}
	}
	if j.messages < len(frames) || j.without < j.messages/10 {
		t.Errorf("%d messages, %d of them without a tape", j.messages, j.without)
	}
}

func TestFactsOfCaptures(t *testing.T) {
	j := newFactsJudge(t)
	files := slices.Concat(realCaptures(t), needShared(t, "captures/public/*.pcap*"))
	for _, file := range files {
		readCapture(t, file, New(schema.Embedded(), NeedMessages, onMessage(func(m *Message) { j.judge(file, m) })))
	}
	if j.messages < 10_000 || j.without < j.messages/2 {
		t.Errorf("%d messages, %d of them without a tape", j.messages, j.without)
	}
}
