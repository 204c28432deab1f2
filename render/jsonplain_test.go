package render

import (
	"bytes"
	"encoding/json"
	"io"
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
