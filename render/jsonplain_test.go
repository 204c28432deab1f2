package render

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// twice writes each message as it comes, and along its tape: both have to be the same.
type twice struct {
	JSON
	t      testing.TB
	reader *dissect.Reader
	plain  int // messages that were written without a tape
}

func newTwice(t testing.TB, o Options) *twice {
	return &twice{JSON: JSON{options: o}, t: t, reader: dissect.NewReader()}
}

func (w *twice) Message(m *dissect.Message) {
	var s dissect.Snapshot
	s.Take(m, nil)
	m = w.reader.Message(&s)
	if _, plain := newTwice(w.t, w.options).appendPlain([]byte{}, m); plain {
		w.plain++
	}
	w.same(&s, w.write)
	w.same(&s, w.log)
}

func (w *twice) same(s *dissect.Snapshot, write func(*dissect.Message) string) {
	straight := write(w.reader.Message(s))
	m := w.reader.Message(s)
	m.Tape()
	if taped := write(m); straight != taped {
		w.t.Errorf("straight from the bytes:\n%.2000s\nalong the tape:\n%.2000s", straight, taped)
	}
}

// log returns what the format "requestlog" has of a message, with its findings.
func (w *twice) log(m *dissect.Message) string {
	var out, findings bytes.Buffer
	l := NewRequestLog(&out, &findings, w.options)
	l.json.buf = l.appendPayload(nil, "", m)
	l.findings.note(m, m.Findings)
	l.Flush()
	return out.String() + "\n" + findings.String()
}

func (w *twice) write(m *dissect.Message) string {
	var out bytes.Buffer
	j := NewJSON(&out, w.options)
	j.Message(m)
	j.Flush()
	return out.String()
}

func (w *twice) Report(*dissect.Report) {}

var plainOptions = []Options{{Records: RecordsBatches}, {Records: RecordsSize, Int64Text: true}, {Records: RecordsNone, ShowSecrets: true}, {Records: RecordsFull}}

func TestPlainCaptures(t *testing.T) {
	for _, name := range slices.Concat(captures(t), capturesIn(t, casesDir)) {
		t.Run(name, func(t *testing.T) {
			for _, o := range plainOptions {
				readCapture(t, name, newTwice(t, o))
			}
		})
	}
}

// Every request and response in every version, as small as it can be and with each of its bytes changed.
func TestPlainPlans(t *testing.T) {
	catalog, messages, plain := schema.Embedded(), 0, 0
	for api := range catalog.AllAPIs {
		for version := api.Versions.Low; version <= api.Versions.High; version++ {
			ask, answer := catalog.Plan(api.Key, version, schema.Request), catalog.Plan(api.Key, version, schema.Response)
			if ask == nil || answer == nil {
				continue
			}
			w := newTwice(t, plainOptions[int(version)%len(plainOptions)])
			first, second := encode.Smallest(ask), encode.Smallest(answer)
			converse(w, request(first), response(second))
			messages, plain = messages+2, plain+w.plain
			for i := 4; i < len(first); i++ {
				converse(w, request(changed(first, i)))
			}
			for i := 4; i < len(second); i++ {
				converse(w, request(first), response(changed(second, i)))
			}
		}
	}
	if messages < 700 || plain < messages*3/5 {
		t.Errorf("%d of %d messages are plain", plain, messages)
	}
}

// Tagged fields that are known, in their order and as long as they say, are plain; whatever else stands in a section is left to the tape.
func TestPlainTagged(t *testing.T) {
	const (
		feature = "02 0266 0001 0002 00"
		apis    = "0000 02 0012 0000 0004 00 00000000"
	)
	for name, test := range map[string]struct {
		ask, answer string
		plain       int // of both
	}{
		"all": {"0012 0004 00000001 0001 63 00 0261 0262 00",
			apis + "04 00 08" + feature + "01 08 0000000000000007 02 08" + feature + "03 01 01", 2},
		"one false": {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "01 03 01 00", 2},
		"in an array, below another section": {"0001 0011 00000001 0001 63 00 00000064 00000001 00000400 00 00000007 00000000 01 01 01 00",
			"00 00000000 0000 00000000 02" + strings.Repeat("11", 16) + "02 00000000 0000 0000000000000001 0000000000000001 0000000000000000 01 ffffffff 00" +
				"01 01 09 00000002 00000005 00" + "00 01 00 0d 02 00000002 0268 00002384 00 00", 2},
		"text and a structure": {"0001 0011 00000001 0001 63 00 00000064 00000001 00000400 00 00000007 00000000 01 01 01 02 00 02 0263 01 0d 00000003 0000000000000009 00", "", 1},
		"null":                 {"003f 0002 00000001 0001 63 00 00000001 0000000000000002 0000000000000003 00 00 02 00 01 01 01 01 00", "00 00000000 0000 00 00 00 00", 2},
		"descending":           {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "02 03 01 00 01 08 0000000000000007", 1},
		"twice":                {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "02 03 01 00 03 01 00", 1},
		"unknown":              {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "01 09 01 00", 1},
		"longer than it is":    {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "01 03 02 0000", 1},
		"shorter":              {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "02 01 07 00000000000000 03 01 00", 1},
		"beyond the end":       {"0012 0004 00000001 0001 63 00 0261 0262 00", apis + "01 03 05 00", 1},
	} {
		for _, o := range plainOptions {
			ask := frame(unhex(t, test.ask))
			answer := frame(unhex(t, "00000001"+test.answer))
			w := newTwice(t, o)
			if converse(w, request(ask), response(answer)); w.plain != test.plain {
				t.Errorf("%s: %d messages are plain, want %d", name, w.plain, test.plain)
			}
			for i := 4; i < len(ask); i++ {
				converse(newTwice(t, o), request(changed(ask, i)))
			}
			for i := 4; i < len(answer); i++ {
				converse(newTwice(t, o), request(ask), response(changed(answer, i)))
			}
		}
	}
}

// Tagged fields behind a structure, and in one that has no other fields, which no message of Kafka's own has.
func TestPlainTaggedStructures(t *testing.T) {
	const things = `{"type": "request", "name": "ThingsRequest", "apiKey": 900, "validVersions": "0", "flexibleVersions": "0+", "fields": [
		{"name": "First", "type": "First", "versions": "0+", "fields": [
			{"name": "One", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 0},
			{"name": "Two", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 1}]},
		{"name": "Last", "type": "Last", "versions": "0+", "fields": [{"name": "Three", "type": "int8", "versions": "0+"}]},
		{"name": "Four", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 0}]}`
	path := filepath.Join(t.TempDir(), "ThingsRequest.json")
	if err := os.WriteFile(path, []byte(things), 0o600); err != nil {
		t.Fatal(err)
	}
	catalog, err := schema.Extend(&schema.Extension{Sources: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"02 00 01 05 01 01 06  07 00  01 00 01 08": `{"first":{"one":5,"two":6},"last":{"three":7},"four":8}`,
		"01 01 01 06  07 00  00":                   `{"first":{"two":6},"last":{"three":7}}`,
	} {
		ask := request(frame(unhex(t, "0384 0000 00000001 0001 63 00"+body)))
		w := newTwice(t, Options{})
		if converseBy(catalog, w, ask); w.plain != 1 {
			t.Errorf("%s: not plain", body)
		}
		var out bytes.Buffer
		converseBy(catalog, NewJSON(&out, Options{}), ask)
		if !strings.Contains(out.String(), `"payload":`+want+`}`) {
			t.Errorf("%s: got %s", body, out.String())
		}
	}
}

func changed(frame []byte, at int) []byte {
	frame = bytes.Clone(frame)
	frame[at]++
	return frame
}

// FuzzPlain reads arbitrary bytes as the body of a request and of its response.
func FuzzPlain(f *testing.F) {
	for _, key := range []int16{0, 1, 3, 18, 68} {
		catalog := schema.Embedded()
		version := catalog.API(key).Versions.High
		f.Add(key, version, encode.Smallest(catalog.Plan(key, version, schema.Request))[8:], encode.Smallest(catalog.Plan(key, version, schema.Response))[8:])
	}
	f.Fuzz(func(t *testing.T, key, version int16, ask, answer []byte) {
		head := []byte{byte(key >> 8), byte(key), byte(version >> 8), byte(version)}
		for _, o := range plainOptions {
			converse(newTwice(t, o), request(frame(head, ask)), response(frame(make([]byte, 4), answer)))
		}
	})
}

// Text that is not valid wants a finding, which only a tape gives rise to; those of batches before it are told once.
func TestPlainBadText(t *testing.T) {
	batch := recordBatch(t, 0, 2, unhex(t, twoRecords))
	batch[17] ^= 1 // of the CRC
	topic := func(name string) []byte {
		return slices.Concat([]byte{0, byte(len(name))}, []byte(name), unhex(t, "00000001 00000003"), []byte{0, 0, 0, byte(len(batch))}, batch)
	}
	for client, names := range map[string][2]string{"ffff": {"t", "\xff"}, "0001 ff": {"t", "t"}} {
		ask := request(frame(unhex(t, `0000 0007 00000009`+client+`ffff ffff 00007530 00000002`), topic(names[0]), topic(names[1])))
		converse(newTwice(t, Options{Records: RecordsBatches}), ask)
		var out bytes.Buffer
		converse(NewJSON(&out, Options{Records: RecordsBatches}), ask)
		for code, want := range map[dissect.Code]int{dissect.BadUTF8: 1, dissect.CRCMismatch: 2} {
			if n := strings.Count(out.String(), `{"code":"`+string(code)+`"`); n != want {
				t.Errorf("%d findings %s, want %d:\n%s", n, code, want, out.String())
			}
		}
	}
}

// Records of which there is more than is held of one message are written as they come: along the tape, since what was written cannot be taken back.
func TestPlainLarge(t *testing.T) {
	record := slices.Concat(unhex(t, "e00f 00 00 00 01"), unhex(t, "d20f"), bytes.Repeat([]byte{'x'}, 1001), []byte{0})
	const count = 2 * maxWhole / 1000
	batch := recordBatch(t, 1, count, gzipped(t, bytes.Repeat(record, count)))
	ask := produceTo(t, "t", slices.Concat(batch, batch))
	for name, create := range map[string]func(io.Writer) Format{
		"json":       func(w io.Writer) Format { return NewJSON(w, Options{Records: RecordsFull}) },
		"requestlog": func(w io.Writer) Format { return NewRequestLog(w, io.Discard, Options{Records: RecordsFull}) },
	} {
		var out bytes.Buffer
		format := create(&out)
		converse(format, ask)
		format.Flush()
		line, _, _ := strings.Cut(out.String(), "\n")
		if n := strings.Count(line, strings.Repeat("x", 1001)); n != 2*count || !json.Valid([]byte(line)) {
			t.Errorf("%s: %d records, want %d", name, n, 2*count)
		}
	}
	converse(newTwice(t, Options{Records: RecordsFull}), ask)
}
