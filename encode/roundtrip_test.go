package encode_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// printed is the JSON that render writes of a message.
func printed(m *dissect.Message) []byte {
	var out bytes.Buffer
	j := render.NewJSON(&out, render.Options{Records: render.RecordsFull, ShowSecrets: true})
	j.Message(m)
	j.Flush()
	return out.Bytes()
}

// decoded is the one message that a frame is. plan is that of a response, nil of a request.
func decoded(t testing.TB, g *dissect.Given, frame []byte, plan *schema.Plan) (text []byte, m *dissect.Message) {
	n := 0
	g.Frames(frame, plan, func(found *dissect.Message) bool {
		text, m = printed(found), found
		n++
		return true
	})
	if n != 1 {
		t.Fatalf("%x: %d messages", frame, n)
	}
	return text, m
}

// comesBack tells whether the JSON of a frame can give the same bytes: not where it has batches that are compressed, cut or damaged, or have the broker's times.
func comesBack(text []byte) bool {
	for _, odd := range []string{`"crcValid":false`, `"partial":true`, `"compression":"gzip"`, `"compression":"snappy"`, `"compression":"lz4"`, `"compression":"zstd"`, `"LogAppendTime"`, `"records":null}`} {
		if bytes.Contains(text, []byte(odd)) {
			return false
		}
	}
	return true
}

// What render prints of a frame must be read again, and give the frame.
func TestRoundTrip(t *testing.T) {
	g := dissect.NewGiven(schema.Embedded())
	same := 0
	oracleLines(t, "kafka-*.jsonl.gz", func(o *oracleLine) {
		var plan *schema.Plan
		if o.Kind == "response" {
			plan = schema.Embedded().Plan(o.Key, o.Version, schema.Response)
		}
		if o.isRelaid() {
			return
		}
		text, _ := decoded(t, g, o.bytes, plan)
		if !comesBack(text) {
			return
		}
		m, err := encode.Parse(schema.Embedded(), text)
		var got []byte
		if err == nil {
			got, err = m.Encode(encode.Options{})
		}
		if err != nil || !bytes.Equal(got, o.bytes) {
			t.Errorf("%s: %v\n got %x\nwant %x\n%.2000s", o, err, got, o.bytes, text)
			return
		}
		same++
	})
	if same < 3600 {
		t.Errorf("%d frames came back", same)
	}
}

// Compressed batches unpack to the records that went in, and those with the broker's times have these.
func TestCompressedRecords(t *testing.T) {
	g := dissect.NewGiven(schema.Embedded())
	tried := map[string]int{}
	oracleLines(t, "records.jsonl.gz", func(o *oracleLine) {
		for _, b := range o.Batches {
			batch, _ := batchOf(b)
			if b["records"] == nil || len(batch["records"].([]any)) == 0 && b["magic"].(interface{ String() string }).String() != "2" {
				continue
			}
			once, err := produce(t, []any{batch})
			if err != nil {
				t.Errorf("%s: %v", o.Name, err)
				continue
			}
			text := printed(g.Records(once))
			again := string(text)
			if strings.Contains(again, `"crcValid":false`) || strings.Contains(again, `"findings"`) {
				t.Errorf("%s: %s", o.Name, again)
			}
			// What Kafka read from the batch must be what is read from ours.
			if d := recordsDifference(b, text); d != "" {
				t.Errorf("%s: %s", o.Name, d)
			}
			tried[b["compression"].(string)]++
		}
	})
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if tried[codec] < 5 {
			t.Errorf("%s: %d batches", codec, tried[codec])
		}
	}
}

// What decodes without a fault must encode, and what is encoded must come back as it is. The bytes that were decoded first may be others: lengths can be written longer
// than need be, and tagged fields with their defaults.
func FuzzRoundTrip(f *testing.F) {
	kept, err := os.ReadFile("testdata/oracle.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	readLines(f, strings.NewReader(string(kept)), func(o *oracleLine) {
		if o.API != "" {
			f.Add(o.bytes, o.Key, o.Version, o.Kind == "response")
		}
	})
	f.Fuzz(func(t *testing.T, data []byte, key, version int16, response bool) {
		var plan *schema.Plan
		if response {
			if plan = schema.Embedded().Plan(key, version, schema.Response); plan == nil {
				return
			}
		}
		g := dissect.NewGiven(schema.Embedded())
		var texts [][]byte
		g.Frames(data, plan, func(m *dissect.Message) bool {
			text := printed(m)
			if m.Plan() != nil && len(m.Findings) == 0 && m.Undecoded() == nil && comesBack(text) {
				texts = append(texts, text)
			}
			return len(texts) < 3
		})
		for _, text := range texts {
			m, err := encode.Parse(schema.Embedded(), text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			b, err := m.Encode(encode.Options{})
			if err != nil {
				continue // a value that Kafka's classes would not write, such as a string of 40000 bytes
			}
			again, _ := decoded(t, g, b, plan)
			if m, err = encode.Parse(schema.Embedded(), again); err != nil {
				t.Fatalf("%v\n%s", err, again)
			}
			if twice, err := m.Encode(encode.Options{}); err != nil || !bytes.Equal(twice, b) {
				t.Fatalf("%v\n%x\n%x\n%s", err, b, twice, text)
			}
		}
	})
}
