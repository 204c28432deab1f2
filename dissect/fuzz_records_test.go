package dissect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kdissect/kdissect/schema"
)

// Bounds of what hostile bytes may cost. Decompression may allocate its limit a few times over, since a buffer that doubles is allocated
// twice; readers have windows of their own. The time is what the slowest machine needs for that, under the instrumentation of a fuzzer.
const (
	maxFuzzTime  = 20 * time.Second
	readerMemory = 2*maxZstdWindow + 16<<20
)

// mayAllocate is how much memory reading a batch of some size may take. What a batch unpacks to is bounded by its size, and altogether.
func mayAllocate(size int) uint64 {
	unpacked := min(DefaultMaxUnpacked, max(freeUnpacked, size*maxRatio))
	return uint64(readerMemory + 4*unpacked + 4096*size)
}

// FuzzRecords reads arbitrary bytes as a records field. Behind them stands a batch with a right header around other arbitrary bytes, so
// that what is inside a batch is reached without luck.
func FuzzRecords(f *testing.F) {
	record := recordOf(0, []byte("k"), []byte("v"))
	f.Add(batchOf(0, 1, record), record, uint16(0), int32(1), uint8(3))
	for codec := int8(1); codec <= 4; codec++ {
		f.Add(wrapped(min(codec, 3), 1, messageOf(1, 0, 0, []byte("k"), nil)), compressors[codec](record), uint16(codec), int32(1), uint8(7))
	}
	f.Add(messageOf(0, 0, 5, nil, []byte("v")), xerial(snappied(record)), uint16(2), int32(1), uint8(0))
	f.Add(wrapped(1, 3, wrapped(3, 3, messageOf(1, 0, 0, nil, nil))), pack(int8(0), int8(2)), uint16(controlBit), int32(-1), uint8(0))
	f.Fuzz(func(t *testing.T, field, inside []byte, attributes uint16, count int32, piece uint8) {
		if len(field)+len(inside) > 1<<14 {
			return
		}
		records := slices.Concat(batchOf(int16(attributes), count, inside), field)
		var whole string
		start := time.Now()
		used := allocated(func() { whole = readFuzzed(t, records, wholePiece) })
		if spent := time.Since(start); spent > maxFuzzTime {
			t.Errorf("%v for %d bytes", spent, len(records))
		}
		if limit := mayAllocate(len(records)); used > limit {
			t.Errorf("%d bytes allocated for %d, at most %d are justified", used, len(records), limit)
		}
		if cut := readFuzzed(t, records, pieces(1+int(piece))); cut != whole {
			t.Errorf("in pieces of %d %s", 1+int(piece), whereTheyDiffer(whole, cut))
		}
	})
}

// readFuzzed reads a records field to its end and returns all that was found in it.
func readFuzzed(t *testing.T, records []byte, cut cutter) string {
	var found bytes.Buffer
	request, response := fetchV4(1, "__consumer_offsets", records)
	k := listen(NeedMessages|NeedRecords, func(m *Message) {
		if fault := tapeFault(m.Tape(), m.Size); fault != "" {
			t.Error(fault)
		}
		for i := range m.Nodes {
			if n := &m.Nodes[i]; n.Kind == ValueNode && n.Op.Code == schema.OpRecords {
				describeRecords(t, &found, m, i)
			}
		}
		for _, f := range m.Findings {
			if f.Offset < -1 || f.Offset >= m.Size {
				t.Errorf("finding %+v of a frame of %d bytes", f, m.Size)
			}
		}
		if len(m.Findings) > maxFindings+1 {
			t.Errorf("%d findings", len(m.Findings))
		}
		fmt.Fprint(&found, m.Findings)
	})
	k.sendCut(fromClient, request, cut)
	k.sendCut(fromServer, response, cut)
	return found.String()
}

// describeRecords writes down what is in a records field and holds it against what every field keeps: batches tile it, records of an
// uncompressed batch stand in it one after the other, and so do the parts of a record.
func describeRecords(t *testing.T, found *bytes.Buffer, m *Message, field int) {
	n := &m.Nodes[field]
	at := int(n.Offset) + int(n.Prefix)
	for b := range m.Batches(n) {
		if b.At != at || b.Size <= 0 {
			t.Errorf("a batch of %d bytes at %d, where %d was expected", b.Size, b.At, at)
		}
		at += b.Size
		valid, known := m.Verify(b)
		seen := *b
		seen.space = space{}
		fmt.Fprintf(found, "%+v %t %t ", seen, valid, known)
		if b.Partial {
			continue
		}
		set := m.Open(b)
		if set == nil {
			continue
		}
		next := set.from
		for r := range set.Each {
			if b.Magic == newestMagic && (r.At != next || r.Size <= 0 || r.At+r.Size > set.to) {
				t.Errorf("a record of %d bytes at %d, where %d was expected; the batch ends at %d", r.Size, r.At, next, set.to)
			}
			next = r.At + r.Size
			describeRecord(t, found, m, b, r)
		}
	}
	if end := int(n.Offset + n.Length); at != end {
		t.Errorf("batches end at %d, the field at %d", at, end)
	}
}

func describeRecord(t *testing.T, found *bytes.Buffer, m *Message, b *Batch, r *Record) {
	places := []int{r.At, r.KeyAt, r.ValueAt, r.At + r.Size}
	if b.Magic == newestMagic {
		places = []int{r.At, r.AttributesAt, r.TimestampAt, r.OffsetAt, r.KeyAt, r.ValueAt, r.HeadersAt, r.At + r.Size}
	}
	if !slices.IsSorted(places) {
		t.Errorf("the parts of a record are not in order: %v", places)
	}
	headers := 0
	for key, value := range r.Headers {
		headers++
		fmt.Fprintf(found, "%q %q ", key, value)
	}
	if headers != r.HeaderCount {
		t.Errorf("%d headers, %d were announced", headers, r.HeaderCount)
	}
	fmt.Fprintf(found, "%d %d %q %q %s ", r.Offset, r.Timestamp, r.Key, r.Value, r.ControlType())
	if key := m.DecodeKey("__consumer_offsets", b, r); key != nil {
		checkNested(t, key, 0, len(r.Key))
	}
	value := m.DecodeValue("__consumer_offsets", b, r)
	if value == nil {
		return
	}
	checkNested(t, value, 0, len(r.Value))
	for inner := range nestedIn(m, value) {
		checkNested(t, inner, 0, len(r.Value))
	}
}

// nestedIn is NestedIn in the form that range wants.
func nestedIn(m *Message, n *Nested) func(func(*Nested) bool) {
	return func(yield func(*Nested) bool) { m.NestedIn(n, yield) }
}

// checkNested holds a structure against what every one keeps: its nodes tile the bytes it stands in, from their first one up to an end that is
// not behind that of the bytes it was decoded from.
func checkNested(t *testing.T, n *Nested, from, end int) {
	t.Helper()
	if n.JSON != nil {
		if !json.Valid(n.JSON) {
			t.Errorf("%s: %.80q is no JSON", n.Name, n.JSON)
		}
		return
	}
	if len(n.Nodes) == 0 || n.Body() >= len(n.Nodes) || n.Nodes[n.Body()].Kind != StructNode {
		t.Errorf("%s v%d has no body", n.Name, n.Version)
		return
	}
	first, last := n.Nodes[0], n.Nodes[len(n.Nodes)-1]
	if int(first.Offset) < from || int(last.Offset+last.Length) > end {
		t.Errorf("%s v%d reaches from %d to %d, its bytes from %d to %d", n.Name, n.Version, first.Offset, last.Offset+last.Length, from, end)
	}
	moved := slices.Clone(n.Nodes)
	for i := range moved {
		moved[i].Offset -= first.Offset
	}
	if fault := tapeFault(moved, int(last.Offset+last.Length-first.Offset)); fault != "" {
		t.Errorf("%s v%d: %s", n.Name, n.Version, fault)
	}
	unknownTagsOf(&n.View) // paths must not fall over
	structOf(&n.View, n.Body())
}

// nestingPlaces are the ways in which a structure gets into a field of a message: what is sent before it, and the frame around some bytes.
var nestingPlaces = []struct {
	name   string
	before func(a, b []byte) []byte
	frame  func(a, b []byte) []byte
}{
	{"subscription", nil, func(a, _ []byte) []byte { return joinGroup("range", a) }},
	{"streams", nil, func(a, b []byte) []byte {
		return joinGroup("stream", pack(int16(1), int32(0), int32(len(a)), a, int32(0), b))
	}},
	{"assignment", nil, func(a, _ []byte) []byte { return syncGroup(a) }},
	{"envelope", nil, func(a, b []byte) []byte { return envelopeOf(a, b) }},
	{"answer in an envelope", func(_, b []byte) []byte { return envelopeOf(b, nil) }, func(a, _ []byte) []byte {
		return framed(int32(1), byte(0), uvarintOf(uint64(len(a)+1)), a, int16(0), byte(0))
	}},
	{"members", func(_, _ []byte) []byte {
		return framed(int16(15), int16(0), int32(1), text("c"), int32(1), text("g"))
	}, func(a, b []byte) []byte {
		return framed(int32(1), int32(1), int16(0), text("g"), text("Stable"), text("consumer"), text("range"), int32(1), text("m"), text("c"), text("h"),
			int32(len(a)), a, int32(len(b)), b)
	}},
	{"metrics", nil, func(a, b []byte) []byte { return telemetry(int8(len(b)%6), a) }},
}

// telemetry is a PushTelemetry v0 request.
func telemetry(codec int8, metrics []byte) []byte {
	return framed(int16(72), int16(0), int32(1), text("c"), byte(0), make([]byte, 16), int32(1), int8(0), codec,
		uvarintOf(uint64(len(metrics)+1)), metrics, byte(0))
}

// nestingTopics are the topics whose records have structures in key and value; "" stands for control records of any topic.
var nestingTopics = []string{"", "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"}

// FuzzNested reads arbitrary bytes as what stands inside bytes fields, and as keys and values of internal topics and control records.
func FuzzNested(f *testing.F) {
	for i := range len(nestingPlaces) + len(nestingTopics) {
		f.Add(uint8(i), []byte{0, 1, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 3, 0, 1, 'x', 0, 0})
		f.Add(uint8(i), []byte{1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, []byte{1, 2, 0, 2, 't', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0})
	}
	// A group's metadata with one member, and an enveloped request of another API.
	f.Add(uint8(len(nestingPlaces)+1), pack(int16(2), text("g")), pack(int16(0), text("consumer"), int32(1), text("range"), text("m"),
		int32(1), text("m"), text("c"), text("h"), int32(1), int32(6), int16(0), int32(0), int32(6), int16(0), int32(0)))
	f.Add(uint8(3), pack(int16(33), int16(1), int32(7), text("c"), int32(1), int8(2), text("t"), int32(1), text("ssl.key.password"), text("x"), int8(0)), []byte{})
	f.Add(uint8(6), pack(uvarintOf(10), uvarintOf(0)), []byte{})
	f.Fuzz(func(t *testing.T, place uint8, a, b []byte) {
		if len(a)+len(b) > 1<<14 {
			return
		}
		start := time.Now()
		i := int(place) % (len(nestingPlaces) + len(nestingTopics))
		var first, second string
		used := allocated(func() {
			if i < len(nestingPlaces) {
				first, second = fuzzField(t, i, a, b, wholePiece), fuzzField(t, i, a, b, pieces(1+len(b)%9))
				return
			}
			topic := nestingTopics[i-len(nestingPlaces)]
			first = fuzzInternal(t, topic, a, b)
			second = fuzzInternal(t, topic, bytes.Clone(a), bytes.Clone(b))
		})
		if first != second {
			t.Error(whereTheyDiffer(first, second))
		}
		if spent := time.Since(start); spent > maxFuzzTime {
			t.Errorf("%v for %d bytes", spent, len(a)+len(b))
		}
		// Metrics become objects that are up to a hundred times as large as their bytes, and those are unpacked ones.
		limit := uint64(4<<20 + 65536*(len(a)+len(b)))
		if i < len(nestingPlaces) && nestingPlaces[i].name == "metrics" {
			limit = 4*mayAllocate(len(a)) + 400*maxMetrics
		}
		if used > limit {
			t.Errorf("%d bytes allocated for %d, at most %d are justified", used, len(a)+len(b), limit)
		}
	})
}

// fuzzField puts bytes into a field and returns what is found in it.
func fuzzField(t *testing.T, place int, a, b []byte, cut cutter) string {
	p := nestingPlaces[place]
	var found bytes.Buffer
	k := listen(NeedMessages, func(m *Message) {
		if fault := tapeFault(m.Tape(), m.Size); fault != "" {
			t.Error(fault)
		}
		for n := range m.Nested {
			fmt.Fprintf(&found, "%s v%d %d %s %t %t %s ", n.Name, n.Version, n.Field, n.Tail, n.Secret, n.Credentials, n.JSON)
			field := &m.Nodes[n.Field]
			checkNested(t, n, int(field.Offset)+int(field.Prefix), int(field.Offset+field.Length))
			if n.Secret && !field.Secret && !m.Secret() && m.Header.APIKey == keyEnvelope {
				t.Errorf("%s is secret, the field around it is not", n.Name)
			}
		}
		fmt.Fprint(&found, m.Secret(), m.Findings)
	})
	dir := fromClient
	if p.before != nil {
		k.sendCut(dir, p.before(a, b), cut)
		dir = fromServer
	}
	k.sendCut(dir, p.frame(a, b), cut)
	return found.String()
}

// fuzzInternal reads bytes as key and value of a record, and as a value without a key.
func fuzzInternal(t *testing.T, topic string, key, value []byte) string {
	var found bytes.Buffer
	m := &Message{tools: newTools(), Head: &Head{catalog: schema.Embedded()}}
	batch := Batch{Magic: newestMagic}
	if topic == "" {
		batch.Attributes = controlBit
	}
	for _, r := range []Record{{Key: key, Value: value}, {Value: value}, {Key: key}} {
		if n := m.DecodeKey(topic, &batch, &r); n != nil {
			checkNested(t, n, 0, len(r.Key))
			fmt.Fprintf(&found, "%s %v ", n.Name, structOf(&n.View, n.Body()))
		}
		n := m.DecodeValue(topic, &batch, &r)
		if n == nil {
			continue
		}
		checkNested(t, n, 0, len(r.Value))
		fmt.Fprintf(&found, "%s v%d %t %v ", n.Name, n.Version, n.Secret, structOf(&n.View, n.Body()))
		for inner := range nestedIn(m, n) {
			field := &n.Nodes[inner.Field]
			checkNested(t, inner, int(field.Offset)+int(field.Prefix), int(field.Offset+field.Length))
			fmt.Fprintf(&found, "%s v%d ", inner.Name, inner.Version)
		}
	}
	if len(m.Findings) > 0 {
		t.Errorf("findings %v: a blob that does not decode is left as it is", m.Findings)
	}
	return found.String()
}

// FuzzCodec unpacks arbitrary bytes with each codec. A decompressor that was used before must do what a new one does, and what a
// compressor makes of the bytes must become them again.
func FuzzCodec(f *testing.F) {
	text := []byte("some text, some text, some text")
	for codec := range uint8(8) {
		f.Add(codec, []byte{}, uint8(0))
		f.Add(codec, text, codec)
	}
	for codec := int8(1); codec <= 4; codec++ {
		f.Add(uint8(codec), compressors[codec](text), uint8(codec))
	}
	f.Add(uint8(2), xerial(snappied(text), snappied(nil), snappied(text)), uint8(2))
	f.Add(uint8(3), unhex("04224d18 6040 00 05000080 68656c6c6f 00000000"), uint8(3))
	used := &inflater{limit: DefaultMaxUnpacked}
	f.Fuzz(func(t *testing.T, codec uint8, packed []byte, before uint8) {
		if len(packed) > 1<<14 {
			return
		}
		start := time.Now()
		var fresh, again []byte
		var freshErr, againErr error
		spent := allocated(func() {
			x := &inflater{limit: DefaultMaxUnpacked}
			fresh, freshErr = x.inflate(Codec(codec), packed, 0)
		})
		if limit := mayAllocate(len(packed)); spent > limit {
			t.Errorf("%d bytes allocated for %d, at most %d are justified", spent, len(packed), limit)
		}
		fresh = bytes.Clone(fresh)
		used.inflate(Codec(before), packed[:len(packed)/2], 0) // whatever that leaves behind
		again, againErr = used.inflate(Codec(codec), packed, 0)
		if (freshErr == nil) != (againErr == nil) || freshErr == nil && !bytes.Equal(fresh, again) {
			t.Errorf("codec %d: used before %d bytes, %v; new %d bytes, %v", codec, len(again), againErr, len(fresh), freshErr)
		}
		if errors.Is(freshErr, errTooLarge) != errors.Is(againErr, errTooLarge) {
			t.Errorf("codec %d: used before %v, new %v", codec, againErr, freshErr)
		}
		if limit := min(DefaultMaxUnpacked, max(freeUnpacked, maxRatio*len(packed))); freshErr == nil && len(fresh) > limit {
			t.Errorf("codec %d: %d bytes become %d", codec, len(packed), len(fresh))
		}
		if codec > 0 && int(codec) < len(compressors) {
			unpacked, err := used.inflate(Codec(codec), compressors[codec](packed), 0)
			if err != nil || !bytes.Equal(unpacked, packed) {
				t.Errorf("codec %d: %d bytes come back as %d, %v", codec, len(packed), len(unpacked), err)
			}
		}
		if spent := time.Since(start); spent > maxFuzzTime {
			t.Errorf("%v for %d bytes", spent, len(packed))
		}
	})
}
