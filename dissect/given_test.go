package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// planOf is the layout of an oracle's frame; nil for the responses whose request the catalog does not know.
func (o *oracleFrame) planOf() *schema.Plan {
	kind := schema.Request
	if o.Kind == "response" {
		kind = schema.Response
	}
	return schema.Embedded().Plan(o.Key, o.Version, kind)
}

// Every frame that Kafka's own classes wrote must decode without a capture to what they read from it: with its size and without, alone and
// with others behind it, and its body alone.
func TestGivenFrames(t *testing.T) {
	frames, _ := oracleFrames(t)
	g := NewGiven(schema.Embedded())
	failures := 0
	fail := func(o *oracleFrame, how, fault string) {
		if fault != "" {
			if failures++; failures < 10 {
				t.Errorf("%s, %s: %s", o, how, fault)
			}
		}
	}
	for _, o := range frames {
		if o.isFallback() {
			continue
		}
		plan := o.planOf()
		response := plan
		if o.Kind == "request" {
			response = nil
		}
		for _, c := range []struct {
			how   string
			data  []byte
			times int
		}{{"with its size", o.Hex, 1}, {"without its size", o.Hex[4:], 1}, {"three times", bytes.Repeat(o.Hex, 3), 3}} {
			seen := 0
			g.Frames(c.data, response, func(m *Message) bool {
				seen++
				fail(o, c.how, oracleFault(o, m))
				return true
			})
			if seen != c.times {
				fail(o, c.how, fmt.Sprintf("%d messages, want %d", seen, c.times))
			}
		}
		if renamed[fmt.Sprintf("%s/%d/%s", o.Kafka, o.Key, o.Kind)] || relaid[fmt.Sprintf("%s/%d/%s", o.Kafka, o.Key, o.Kind)] {
			continue
		}
		m := g.Body(o.Hex[o.BodyOffset:], plan)
		if tape := m.Tape(); m.Undecoded() != nil || tape[m.Body()].Offset != 0 || tapeFault(tape, len(o.Hex)-o.BodyOffset) != "" {
			fail(o, "the body", "it is not decoded from its first byte on")
			continue
		}
		fail(o, "the body", difference("payload", o.JSON, structOf(&m.View, m.Body())))
	}
}

// A frame that is cut is decoded as far as it goes, and bytes that are no request are no reason to panic.
func TestGivenDamage(t *testing.T) {
	frame := unhex("00000010000300010000000700026d65ffffffff")
	g := NewGiven(schema.Embedded())
	one := func(data []byte) (m *Message) {
		g.Frames(data, nil, func(found *Message) bool { m = found; return true })
		return m
	}
	for n := 12; n < len(frame); n++ {
		m := one(frame[:n])
		if m.Name() != "Metadata" || m.Size != len(frame) || !m.Cut() || len(m.Findings) == 0 || m.Findings[0].Code != MissingBytes || m.Undecoded() == nil {
			t.Errorf("%d bytes: %s, %d bytes, %v", n, m.Name(), m.Size, m.Findings)
		}
	}
	for n := range len(frame) {
		for _, data := range [][]byte{frame[:n], frame[n:]} {
			if len(data) > 0 {
				if fault := tapeFault(one(data).Tape(), one(data).Size); fault != "" {
					t.Errorf("%x: %s", data, fault)
				}
			}
		}
	}
	huge := append(binary.BigEndian.AppendUint32(nil, 1<<31-1), frame[4:]...)
	if m := one(huge); m.Name() != "Metadata" || m.Undecoded() != nil && m.Undecoded().Reason == "" {
		t.Errorf("%s, %v", m.Name(), m.Findings)
	}
}

// What stands in records and bytes fields decodes by its name, and by its bytes where they say what it is.
func TestGivenStructures(t *testing.T) {
	type embedded struct {
		Kafka, Kind, Name, Topic string
		Hex                      hexBytes
		JSON                     any
	}
	g := NewGiven(schema.Embedded())
	tried := map[string]int{}
	readLines(t, needShared(t, "oracle/embedded-4.4.0.jsonl.gz"), func(o *embedded) {
		m, err := g.Named(o.Name, o.Hex)
		if err != nil {
			t.Errorf("%s: %v", o.Name, err)
			return
		}
		check := func(how string) {
			if fault := tapeFault(m.Tape(), len(o.Hex)); fault != "" || m.Plan().Message.Name != o.Name {
				t.Errorf("%s, %s: %s, %s", o.Name, how, m.Plan().Message.Name, fault)
			}
			if d := difference("value", o.JSON, structOf(&m.View, m.Body())); d != "" {
				t.Errorf("%s, %s: %s", o.Name, how, d)
			}
			tried[how]++
		}
		check("named")
		if o.Topic == offsetsTopic && o.Kind == "coordinator-key" {
			if m, err = g.OffsetsKey(o.Hex); err == nil {
				check("key")
			}
		}
		if o.Name == "OffsetCommitValue" {
			if m, _, err = g.OffsetsValue(o.Hex); err == nil {
				check("value")
			}
		}
	})
	if tried["named"] != 524 || tried["key"] < 60 || tried["value"] != 20 {
		t.Errorf("tried %v", tried)
	}
	for _, c := range []struct{ name, hex, says string }{
		{"Nonsense", "00", "the catalog has no message Nonsense"},
		{"FetchRequest", "0000", "FetchRequest is a request, which is found by its API"},
		{"OffsetCommitKey", "0002", "the bytes say record type 2, that of OffsetCommitKey is 1"},
		{"OffsetCommitValue", "00ff", "the bytes say version 255 of OffsetCommitValue, which has 0-4"},
		{"OffsetCommitValue", "00", "1 bytes are too few"},
		{"TopicRecord", "010300", "the bytes say record type 3, that of TopicRecord is 2"},
		{"TopicRecord", "ff", "do not begin as those of a metadata record"},
	} {
		if _, err := g.Named(c.name, unhex(c.hex)); err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.says)) {
			t.Errorf("%s: %v, want %s", c.name, err, c.says)
		}
	}
}

// Credentials are withheld whatever the message comes in.
func TestGivenSecrets(t *testing.T) {
	g := NewGiven(schema.Embedded())
	if m := g.Body(unhex("00000001ff"), schema.Embedded().Plan(keySaslAuthenticate, 0, schema.Request)); !m.Secret() {
		t.Error("the body of SaslAuthenticate is no secret")
	}
	if m := g.Structure(unhex("010b00"), 3, schema.Embedded().PlanByName("UserScramCredentialRecord", 0)); !m.Secret() || !m.Guarded() {
		t.Error("a record of SCRAM credentials is no secret")
	}
	m, err := g.Named("ConfigRecord", unhex("010400"+"02"+"016b"+"0d"+fmt.Sprintf("%x", "ssl.password")+"02"+"70"+"00"))
	if err == nil {
		m.Tape()
	}
	if err != nil || !m.Guarded() {
		t.Errorf("a config's record is not guarded: %v", err)
	}
}

// A batch whose length says that it ends inside its header, with another one behind it.
func TestBatchShorterThanItsHeader(t *testing.T) {
	whole := unhex("00000000000000000000003affffffff02dc7332150000000000000000018bf8f234d40000018bf8f234d4ffffffffffffffffffffffffffff0000000110000000026b027600")
	short := bytes.Clone(whole[:40])
	binary.BigEndian.PutUint32(short[8:], 28)
	m := NewGiven(schema.Embedded()).Records(append(short, whole...))
	m.Tape()
	var opened []bool
	for b := range m.Batches(&m.Nodes[2]) {
		set := m.Open(b)
		opened = append(opened, set != nil)
		if set != nil {
			set.Each(func(*Record) bool { return true })
		}
	}
	if fmt.Sprint(opened) != "[false true]" || len(m.Findings) != 1 || m.Findings[0].Code != BadRecord {
		t.Errorf("opened %v, %v", opened, m.Findings)
	}
}
