package render

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// recordOf is a record of magic 2 out of its parts, each with its length in front.
func recordOf(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

func varints(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func sized(text string) []byte { return append(varints(int64(len(text))), text...) }

// variedRecords are messages with records that differ from each other in one or the other way.
func variedRecords(t testing.TB) map[string]step {
	null, none := varints(-1), varints(0)
	one := func(r []byte) step { return produceTo(t, "t", recordBatch(t, 0, 1, r)) }
	plain := recordOf(none, varints(5, 1), sized("key"), sized("value"), none)
	dated := func(attributes, at, days int) step {
		batch := recordBatch(t, attributes, 1, plain)
		binary.BigEndian.PutUint64(batch[at:], binary.BigEndian.Uint64(batch[at:])+uint64(days)*24*60*60*1000)
		return produceTo(t, "t", seal(batch))
	}
	var many, apart [][]byte
	for i := range int64(12) {
		many = append(many, recordOf(none, varints(i, i), sized(strings.Repeat("k", int(i))), sized("value"), none))
		apart = append(apart, many[i], recordOf(none, varints(i*100, i), null, sized(strings.Repeat("v", 100)), none))
	}
	long := recordOf(none, varints(5, 1), sized("key"), sized(strings.Repeat("long", 1<<14)), none)
	nearly := recordOf(none, varints(5, 1), sized("key"), sized(strings.Repeat("long", 16300)), none)
	anotherCommit := unhex(t, offsetCommit)
	anotherCommit[len(anotherCommit)-2]++ // in the value
	batch, packed := recordBatch(t, 0, 1, plain), recordBatch(t, 1, 1, gzipped(t, plain))
	return map[string]step{
		"plain":                  one(plain),
		"another key":            one(recordOf(none, varints(5, 1), sized("no."), sized("value"), none)),
		"no key":                 one(recordOf(none, varints(5, 1), null, sized("value"), none)),
		"an empty key":           one(recordOf(none, varints(5, 1), none, sized("value"), none)),
		"no value":               one(recordOf(none, varints(5, 1), sized("key"), null, none)),
		"a long value":           one(recordOf(none, varints(5, 1), sized("key"), sized("value and more of it"), none)),
		"another time":           one(recordOf(none, varints(6, 1), sized("key"), sized("value"), none)),
		"a later time":           one(recordOf(none, varints(500, 1), sized("key"), sized("value"), none)),
		"another offset":         one(recordOf(none, varints(5, 2), sized("key"), sized("value"), none)),
		"a later offset":         one(recordOf(none, varints(5, 200), sized("key"), sized("value"), none)),
		"attributes":             one(recordOf([]byte{7}, varints(5, 1), sized("key"), sized("value"), none)),
		"negative":               one(recordOf([]byte{0xf9}, varints(-5, -1), sized("key"), sized("value"), none)),
		"wide time":              one(recordOf(none, []byte{0x8a, 0}, varints(1), sized("key"), sized("value"), none)),
		"wide offset":            one(recordOf(none, varints(5), []byte{0x82, 0}, sized("key"), sized("value"), none)),
		"wide lengths":           one(recordOf(none, varints(5, 1), []byte{0x86, 0}, []byte("key"), []byte{0x8a, 0}, []byte("value"), none)),
		"wide count":             one(recordOf(none, varints(5, 1), sized("key"), sized("value"), []byte{0x80, 0})),
		"wide size":              one(append([]byte{byte(2*(len(plain)-1)) | 0x80, 0}, plain[1:]...)),
		"a header":               one(recordOf(none, varints(5, 1), sized("key"), sized("value"), varints(1), sized("h"), sized("v"))),
		"appended":               produceTo(t, "t", recordBatch(t, 8, 1, plain)),
		"control":                produceTo(t, "t", recordBatch(t, 0x20, 1, recordOf(none, varints(5, 1), sized("\x00\x00\x00\x01"), sized("\x00\x00\x00\x00\x00\x00"), none))),
		"internal":               produceTo(t, "__consumer_offsets", recordBatch(t, 0, 1, unhex(t, offsetCommit))),
		"internal, another":      produceTo(t, "__consumer_offsets", recordBatch(t, 0, 1, anotherCommit)),
		"another base":           dated(0, 27, 1),
		"appended, another base": dated(8, 27, 1),
		"another latest":         dated(0, 35, 1),
		"many":                   produceTo(t, "t", recordBatch(t, 0, len(many), slices.Concat(many...))),
		"apart":                  produceTo(t, "t", recordBatch(t, 0, len(apart), slices.Concat(apart...))),
		"packed":                 produceTo(t, "t", packed),
		"packed in a later":      produceTo(t, "t", slices.Concat(batch, packed)),
		"across 64 KiB":          produceTo(t, "t", recordBatch(t, 0, 22, slices.Concat(plain, nearly, slices.Concat(slices.Repeat([][]byte{plain}, 20)...)))),
		"over 64 KiB":            produceTo(t, "t", slices.Concat(recordBatch(t, 0, 3, slices.Concat(plain, long, plain)), recordBatch(t, 0, 9, slices.Concat(slices.Repeat([][]byte{plain}, 9)...)))),
	}
}

// A record has the lines that it has alone, whatever stood there before it.
func TestRecordsDoNotDependOnThoseBefore(t *testing.T) {
	all := variedRecords(t)
	for _, o := range []Options{{Full: true, Records: RecordsFull}, {Full: true, Records: RecordsFull, Color: true}} {
		for first, a := range all {
			for second, b := range all {
				one, many := newApart(o, false), newApart(o, true)
				for _, f := range []Format{one, many} {
					for _, m := range []step{a, b, a} {
						converse(f, m)
					}
				}
				if !slices.Equal(one.trees, many.trees) {
					t.Errorf("%s, %s, %s", first, second, first)
					wantLines(t, strings.Join(one.trees, ""), strings.Join(many.trees, ""))
				}
			}
		}
	}
}

// A recordWriter writes the records of messages and nothing else. It may forget each, so that none is written over the one before.
type recordWriter struct {
	*Tree
	forgets bool
}

func (w *recordWriter) Message(m *dissect.Message) {
	w.begin(m)
	for i := range w.tape {
		if n := &w.tape[i]; isRecords(n) {
			w.records.topic, w.records.number = w.internalTopic(uint32(i)), -1
			for batch := range m.Batches(n) {
				w.records.batch = *batch
				w.batch()
			}
		}
	}
}

func (w *recordWriter) batch() {
	p := &w.records
	p.number++
	if p.open(w.Tree); p.set == nil {
		return
	}
	p.end, p.index, w.unpacked = p.batch.At+p.batch.Size, 0, w.unpacked[:0]
	if p.set.Unpacked != nil {
		p.end, w.unpacked = len(p.set.Unpacked), appendInt(w.unpacked, int64(p.number))
	}
	for r := range p.set.Each {
		last := r.At+r.Size == p.end
		if w.forgets {
			w.indent.below(last).record = nil
		}
		w.decodeRecord(r)
		w.buf = w.fullRecord(w.buf, r, last)
		p.index++
	}
}

// The records of one batch are the same, too, whether they are written over each other or not.
func TestRecordsOfOneBatch(t *testing.T) {
	for name, m := range variedRecords(t) {
		var got, want bytes.Buffer
		converse(&recordWriter{NewTree(&got, Options{Full: true, Records: RecordsFull}), false}, m)
		converse(&recordWriter{NewTree(&want, Options{Full: true, Records: RecordsFull}), true}, m)
		if got.Len() < 500 {
			t.Errorf("%s: no records: %s", name, &got)
		}
		wantLines(t, got.String(), want.String())
	}
}
