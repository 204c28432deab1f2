package dissect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// carries tells whether a record of the message has part in it, by looking at them one by one.
func carries(m *Message, part []byte) bool {
	tape := m.Tape()
	for i := range tape {
		if n := &tape[i]; n.Op == nil || n.Op.Code != schema.OpRecords || n.Kind != ValueNode || n.Null {
			continue
		}
		for b := range m.Batches(&tape[i]) {
			records, _ := readRecords(m, b)
			if !b.Partial && slices.ContainsFunc(records, func(r recordSeen) bool { return r.has(part) }) {
				return true
			}
		}
	}
	return false
}

func (r *recordSeen) has(part []byte) bool {
	return bytes.Contains(r.key, part) || bytes.Contains(r.value, part) || slices.ContainsFunc(r.headers, func(h [2][]byte) bool {
		return bytes.Contains(h[0], part) || bytes.Contains(h[1], part)
	})
}

// What is in a record is found in the bytes of all records, however they are laid out, and what is elsewhere in the message is not.
func TestMayCarry(t *testing.T) {
	key, value := []byte("needle"), bytes.Repeat([]byte("some straw, "), 1000)
	record := recordOf(0, key, value)
	header := pack(int8(0), varint(0), varint(0), varint(-1), varint(-1), varint(1), varint(3), "n-n", varint(6), "needle")
	fields := map[string]struct {
		records         []byte
		carries, unsure bool // unsure where it cannot tell
	}{
		"plain":             {batchOf(0, 1, record), true, false},
		"header":            {batchOf(0, 1, append(varint(int64(len(header))), header...)), true, false},
		"value":             {batchOf(0, 1, recordOf(0, nil, append(bytes.Clone(value), key...))), true, false},
		"absent":            {batchOf(0, 1, recordOf(0, nil, value)), false, false},
		"second batch":      {append(batchOf(0, 1, recordOf(0, nil, value)), batchOf(4, 1, zstded(record))...), true, false},
		"absent in both":    {append(batchOf(0, 1, recordOf(0, nil, value)), batchOf(4, 1, zstded(recordOf(0, nil, value)))...), false, false},
		"unknown codec":     {batchOf(5, 1, record[:10]), false, false},
		"damaged":           {batchOf(1, 1, gzipped(value)[:40]), false, false},
		"cut":               {batchOf(1, 1, gzipped(record))[:70], false, false},
		"ends in header":    {batchOf(1, 1, nil)[:61], false, false},
		"magic 0":           {messageOf(0, 0, 0, key, value), true, false},
		"magic 1":           {messageOf(1, 0, 0, nil, value), false, false},
		"twice in wrappers": {wrapped(1, 3, wrapped(3, 3, messageOf(1, 0, 0, key, nil))), true, true},
		"none in wrapper":   {wrapped(1, 3, messageOf(1, 0, 0, nil, value)), false, true},
		"null":              {nil, false, false},
	}
	for codec := 1; codec < len(compressors); codec++ {
		fields[Codec(codec).String()] = struct {
			records         []byte
			carries, unsure bool
		}{batchOf(int16(codec), 1, compressors[codec](record)), true, false}
		fields[Codec(codec).String()+", absent"] = struct {
			records         []byte
			carries, unsure bool
		}{batchOf(int16(codec), 1, compressors[codec](recordOf(0, nil, value))), false, false}
	}
	for name, field := range fields {
		t.Run(name, func(t *testing.T) {
			k := listen(NeedMessages|NeedRecords, func(m *Message) {
				if m.Kind == schema.Request {
					if m.MayCarry(key, true) || m.MayCarry(nil, true) {
						t.Error("the request has no records")
					}
					return
				}
				may, before := m.MayCarry(key, true), len(m.Findings)
				if may != (field.carries || field.unsure) {
					t.Errorf("it may carry it: %t", may)
				}
				if field.carries && !m.MayCarry(key, false) {
					t.Error("without unpacking it may not")
				}
				if m.decoded || len(m.Findings) > before {
					t.Errorf("decoded %t, findings %v", m.decoded, m.Findings)
				}
				if got := carries(m, key); got != field.carries {
					t.Errorf("it carries it: %t", got)
				}
			})
			request, response := fetchV4(1, "needle", field.records)
			k.client(request)
			k.server(response)
		})
	}
}

// Nothing that is in some record of a capture is said to be in none, and of most messages it is told that a part of another's record is not in theirs.
func TestMayCarryInCaptures(t *testing.T) {
	files, _ := filepath.Glob("../testdata/*.pcap")
	if more, _ := filepath.Glob(filepath.Join(shared, "captures/real/*.pcap*")); !testing.Short() {
		files = append(files, more...)
	}
	parts, absent, told := [][]byte{[]byte("e"), []byte("kafka"), {0}}, 0, 0
	for _, file := range files {
		readCapture(t, file, New(schema.Embedded(), NeedMessages|NeedRecords, onMessage(func(m *Message) {
			var may []bool
			for _, part := range parts {
				may = append(may, m.MayCarry(part, true))
			}
			for i, part := range parts {
				switch has := carries(m, part); {
				case has && !may[i]:
					t.Errorf("%s: #%d carries %q", file, m.Number, part)
				case !has:
					absent++
					if !may[i] {
						told++
					}
				}
			}
			if value := someValue(m); m.Number%50 == 0 && len(value) > 4 && len(parts) < 20 {
				parts = append(parts, bytes.Clone(value[len(value)/2:]))
			}
		})))
	}
	if len(parts) < 5 || told < absent*9/10 {
		t.Errorf("%d parts, absent %d times, which was told %d times", len(parts), absent, told)
	}
}

// someValue returns the value of a record.
func someValue(m *Message) (value []byte) {
	for i := range m.Tape() {
		if n := &m.Nodes[i]; n.Op != nil && n.Op.Code == schema.OpRecords && n.Kind == ValueNode && !n.Null {
			for b := range m.Batches(n) {
				if records, _ := readRecords(m, b); len(records) > 0 {
					value = records[0].value
				}
			}
		}
	}
	return value
}

// The facts are the same whether the records fields are listed or not.
func TestMayCarryKeepsFacts(t *testing.T) {
	k := listen(NeedMessages|NeedRecords, func(m *Message) {
		before := fmt.Sprintf("%+v", m.Facts().Topics)
		m.MayCarry([]byte("x"), true)
		if after := fmt.Sprintf("%+v", m.Facts().Topics); after != before || len(m.facts.Topics) != 1 {
			t.Errorf("%s, then %s", before, after)
		}
	})
	request, response := fetchV4(1, "t", batchOf(0, 1, recordOf(0, nil, nil)))
	k.client(request)
	k.server(response)
}

// A batch that was searched is not decompressed again, and is what it was also behind another one and in another message.
func TestUnpackedOnce(t *testing.T) {
	records := append(batchOf(4, 1, zstded(recordOf(0, []byte("first"), nil))), batchOf(3, 1, lz4ed(recordOf(0, []byte("second"), nil)))...)
	for range 2 {
		withRecords(t, "t", records, func(m *Message, field int) {
			x := &m.tools.inflater
			for _, step := range []struct {
				batch int
				key   string
				runs  int
			}{{0, "first", 1}, {0, "first", 1}, {1, "second", 2}, {1, "second", 2}, {0, "first", 3}} {
				i := 0
				for b := range m.Batches(&m.Nodes[field]) {
					if i++; i-1 != step.batch {
						continue
					}
					seen, _ := readRecords(m, b)
					if len(seen) != 1 || string(seen[0].key) != step.key || x.runs != step.runs || x.spent == 0 {
						t.Errorf("%+v: %v after %d runs, %d spent", step, seen, x.runs, x.spent)
					}
				}
			}
			m.reset(m.data, m.holes)
			if m.unpacked.run != 0 {
				t.Error("what was unpacked of a message is taken for the next one's")
			}
		})
	}
}

func TestHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20000 {
		data := make([]byte, random.IntN(3*worthRare))
		letters := 1 + random.IntN(4)
		for i := range data {
			data[i] = byte('a' + random.IntN(letters))
		}
		part := make([]byte, random.IntN(12))
		for i := range part {
			part[i] = byte('a' + random.IntN(letters+1))
		}
		if at := random.IntN(len(data) + 1); random.IntN(2) == 0 {
			copy(data[at:], part)
		}
		want := bytes.Contains(data, part)
		if got := holds(data, part); got != want {
			t.Fatalf("%q in %d bytes: %t", part, len(data), got)
		}
		if want && len(data) > worthRare {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("%d found", found)
	}
}
