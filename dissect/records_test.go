package dissect

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/kdissect/kdissect/schema"
)

// withRecords hands over a message that has some bytes as its records field, and the field's node.
func withRecords(t testing.TB, topic string, records []byte, f func(m *Message, field int)) {
	t.Helper()
	seen := false
	k := listen(NeedMessages|NeedRecords, func(m *Message) {
		if m.Kind != schema.Response {
			return
		}
		for i := range m.Tape() {
			if n := &m.Nodes[i]; n.Kind == ValueNode && n.Op.Code == schema.OpRecords {
				seen = true
				f(m, i)
				return
			}
		}
	})
	request, response := fetchV4(1, topic, records)
	k.client(request)
	k.server(response)
	if !seen {
		t.Fatal("the message has no records field")
	}
}

// A recordSeen is a copy of a record.
type recordSeen struct {
	offset     int64
	timestamp  *int64
	key, value []byte
	headers    [][2][]byte
}

// readRecords reads all records of a batch. opened is false where they cannot be read.
func readRecords(m *Message, b *Batch) (records []recordSeen, opened bool) {
	set := m.Open(b)
	if set == nil {
		return nil, false
	}
	for r := range set.Each {
		seen := recordSeen{offset: r.Offset, key: bytes.Clone(r.Key), value: bytes.Clone(r.Value)}
		if r.HasTimestamp {
			timestamp := r.Timestamp
			seen.timestamp = &timestamp
		}
		for key, value := range r.Headers {
			seen.headers = append(seen.headers, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
		}
		records = append(records, seen)
	}
	return records, true
}

// readAllRecords reads a records field to its end: every batch, its CRC, every record.
func readAllRecords(m *Message, field int) (batches, records int) {
	for b := range m.Batches(&m.Nodes[field]) {
		batches++
		m.Verify(b)
		if b.Partial {
			continue
		}
		if set := m.Open(b); set != nil {
			for r := range set.Each {
				records++
				for range r.Headers {
				}
			}
		}
	}
	return batches, records
}

func codesOf(findings []Finding) (codes []Code) {
	for _, f := range findings {
		codes = append(codes, f.Code)
	}
	return codes
}

// oracleRecords is a records field, and what Kafka read from it.
type oracleRecords struct {
	Name          string
	Hex           hexBytes
	Batches       []oracleBatch
	TrailingBytes int
}

type oracleBatch struct {
	Position, SizeInBytes int
	WireOffset            int64
	BatchLength           int32
	Magic                 int8
	CRC                   uint32
	CRCValid              bool `json:"crcValid"`
	Attributes            int16
	Compression           string
	TimestampType         string
	IsTransactional       bool
	IsControl             bool
	PartitionLeaderEpoch  *int32
	HasDeleteHorizon      *bool
	BaseTimestamp         *int64
	MaxTimestamp          int64
	ProducerID            *int64
	ProducerEpoch         *int16
	BaseSequence          *int32
	Count                 *int32
	LastOffset            int64
	Records               []oracleRecord
}

type oracleRecord struct {
	Offset     int64
	Timestamp  *int64 // magic 0 has none
	Key, Value hexBytes
	Headers    [][2]*string
}

// Batches and records must be what Kafka's own classes read.
func TestRecordsOfOracle(t *testing.T) {
	fields := 0
	readLines(t, needShared(t, "oracle/records.jsonl.gz"), func(o *oracleRecords) {
		fields++
		withRecords(t, "orders", o.Hex, func(m *Message, field int) {
			if fault := recordsFault(o, m, field); fault != "" {
				t.Errorf("%s: %s", o.Name, fault)
			}
		})
	})
	if fields < 150 {
		t.Errorf("only %d records fields", fields)
	}
}

func recordsFault(o *oracleRecords, m *Message, field int) string {
	i, start := 0, int(m.Nodes[field].Offset)+int(m.Nodes[field].Prefix)
	partial := 0
	for b := range m.Batches(&m.Nodes[field]) {
		valid, known := m.Verify(b)
		if b.Partial {
			partial = b.Size
			continue
		}
		if i == len(o.Batches) {
			return "there are too many batches"
		}
		want := &o.Batches[i]
		if fault := batchFault(want, b, start); fault != "" {
			return fmt.Sprintf("batch %d: %s", i, fault)
		}
		if !known || valid != want.CRCValid {
			return fmt.Sprintf("batch %d: CRC valid %t, known %t", i, valid, known)
		}
		before := len(m.Findings)
		got, opened := readRecords(m, b)
		if fault := contentFault(want, got, opened, codesOf(m.Findings[before:])); fault != "" {
			return fmt.Sprintf("batch %d: %s", i, fault)
		}
		i++
	}
	switch {
	case i != len(o.Batches):
		return fmt.Sprintf("%d batches, want %d", i, len(o.Batches))
	case partial != o.TrailingBytes:
		return fmt.Sprintf("%d bytes of a partial batch, want %d", partial, o.TrailingBytes)
	case (partial > 0) != slices.Contains(codesOf(m.Findings), PartialBatch):
		return fmt.Sprintf("findings %v", m.Findings)
	}
	return ""
}

func batchFault(want *oracleBatch, b *Batch, start int) string {
	var timestampType string
	switch {
	case b.Magic == 0:
		timestampType = "NoTimestampType"
	case b.LogAppendTime():
		timestampType = "LogAppendTime"
	default:
		timestampType = "CreateTime"
	}
	got := []any{b.At - start, b.Size, b.BaseOffset, b.Length, b.Magic, b.CRC, b.Attributes, b.Codec().String(), timestampType,
		b.Transactional(), b.Control(), b.LastOffset()}
	wanted := []any{want.Position, want.SizeInBytes, want.WireOffset, want.BatchLength, want.Magic, want.CRC, want.Attributes,
		want.Compression, want.TimestampType, want.IsTransactional, want.IsControl, want.LastOffset}
	if b.Magic == 2 {
		got = append(got, b.LeaderEpoch, b.DeleteHorizon(), b.BaseTimestamp, b.MaxTimestamp, b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.Count)
		wanted = append(wanted, *want.PartitionLeaderEpoch, *want.HasDeleteHorizon, *want.BaseTimestamp, want.MaxTimestamp, *want.ProducerID,
			*want.ProducerEpoch, *want.BaseSequence, *want.Count)
	}
	if !slices.Equal(got, wanted) {
		return fmt.Sprintf("\n got %v\nwant %v", got, wanted)
	}
	return ""
}

// contentFault compares the records of a batch. Where Kafka cannot read them, neither may we, and must say so.
func contentFault(want *oracleBatch, got []recordSeen, opened bool, codes []Code) string {
	if want.Records == nil {
		if opened || !slices.Equal(codes, []Code{Decompression}) {
			return fmt.Sprintf("it cannot be decompressed; opened %v, findings %v", opened, codes)
		}
		return ""
	}
	if len(codes) > 0 {
		return fmt.Sprintf("findings %v", codes)
	}
	if len(got) != len(want.Records) {
		return fmt.Sprintf("%d records, want %d", len(got), len(want.Records))
	}
	for i, w := range want.Records {
		g := got[i]
		if g.offset != w.Offset || !sameInts(g.timestamp, w.Timestamp) || !sameBytes(g.key, w.Key) || !sameBytes(g.value, w.Value) {
			return fmt.Sprintf("record %d: %+v, want %+v", i, g, w)
		}
		if fault := headersFault(w.Headers, g.headers); fault != "" {
			return fmt.Sprintf("record %d: %s", i, fault)
		}
	}
	return ""
}

// sameInts tells whether two integers are equal or both absent.
func sameInts(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func headersFault(want [][2]*string, got [][2][]byte) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d headers, want %d", len(got), len(want))
	}
	for i, h := range want {
		if string(got[i][0]) != *h[0] || (h[1] == nil) != (got[i][1] == nil) || h[1] != nil && !bytes.Equal(got[i][1], unhex(*h[1])) {
			return fmt.Sprintf("header %d is %q", i, got[i])
		}
	}
	return ""
}

// oracleEmbedded is a structure inside a record or a bytes field, and what Kafka read from it.
type oracleEmbedded struct {
	Kafka, Kind, Topic, Name string
	APIKey                   *int16
	Version                  int16
	Instance                 int
	Hex                      hexBytes
	JSON                     any
	UnknownTags              []tagSeen
}

// Structures inside records and fields must decode to what Kafka's own classes read from them.
func TestEmbeddedOfOracle(t *testing.T) {
	keys := map[string]hexBytes{} // a key of each record type of a topic
	var all []*oracleEmbedded
	readLines(t, needShared(t, "oracle/embedded-*.jsonl.gz"), func(o *oracleEmbedded) {
		if o.Kind == "coordinator-key" {
			keys[fmt.Sprint(o.Topic, *o.APIKey)] = o.Hex
		}
		if o.Kafka == "3.9.1" && o.Name == "ShareGroupMetadataValue" || o.Kind == "file" {
			return // laid out anew by 4.4.0 under the same, then unstable, version; not on the wire
		}
		all = append(all, o)
	})
	tried := 0
	for _, o := range all {
		calls := 0
		judge := func(n *Nested) {
			if calls++; n == nil {
				t.Errorf("%s %s v%d is not decoded", o.Kafka, o.Name, o.Version)
			} else if fault := nestedFault(o, n); fault != "" {
				t.Errorf("Kafka %s, %s v%d, instance %d: %s", o.Kafka, o.Name, o.Version, o.Instance, fault)
			}
		}
		decodeEmbedded(t, o, keys, judge)
		if calls != 1 {
			t.Errorf("Kafka %s, %s %s v%d, instance %d: handed over %d times", o.Kafka, o.Kind, o.Name, o.Version, o.Instance, calls)
		}
		tried++
	}
	if tried < 850 {
		t.Errorf("only %d structures", tried)
	}
}

func nestedFault(o *oracleEmbedded, n *Nested) string {
	name := o.Name
	if o.Kafka == "3.9.1" && o.Kind == "coordinator-key" && name == "OffsetCommitKey" && *o.APIKey == 0 {
		name = "LegacyOffsetCommitKey" // what 4.4.0 calls the key of the oldest form
	}
	version := o.Version
	if o.Kind == "coordinator-key" {
		version = 0
	}
	if n.Name != name || n.Version != version {
		return fmt.Sprintf("decoded as %s v%d", n.Name, n.Version)
	}
	sortTags(o.UnknownTags)
	if got := unknownTagsOf(&n.View); !slices.Equal(got, o.UnknownTags) {
		return fmt.Sprintf("unknown tags %v, want %v", got, o.UnknownTags)
	}
	return difference("value", o.JSON, structOf(&n.View, n.Body()))
}

// decodeEmbedded puts a structure where it belongs and hands over what it decodes to.
func decodeEmbedded(t *testing.T, o *oracleEmbedded, keys map[string]hexBytes, judge func(*Nested)) {
	record, batch := Record{}, Batch{Magic: 2}
	asKey := false
	switch o.Kind {
	case "coordinator-key":
		record.Key, asKey = o.Hex, true
	case "coordinator-value":
		record.Key, record.Value = keys[fmt.Sprint(o.Topic, *o.APIKey)], o.Hex
	case "metadata", "remote-log-metadata":
		record.Value = o.Hex
	case "control-key":
		record.Key, asKey, batch.Attributes = o.Hex, true, controlBit
	case "control":
		record.Key, record.Value, batch.Attributes = controlKey(o.Name), o.Hex, controlBit
	case "consumer-protocol":
		if o.Name == "ConsumerProtocolSubscription" {
			inFields(joinGroup("range", o.Hex), judge)
		} else {
			inFields(syncGroup(o.Hex), judge)
		}
		return
	case "principal":
		inFields(envelope(o.Hex), func(n *Nested) {
			if n.Name == "DefaultPrincipalData" {
				judge(n)
			}
		})
		return
	case "streams-subscription":
		// ConsumerProtocolSubscription v0 without topics.
		inFields(joinGroup("stream", pack(int16(0), int32(0), int32(len(o.Hex)), []byte(o.Hex))), func(n *Nested) {
			if n.Name != "ConsumerProtocolSubscription" {
				judge(n)
			}
		})
		return
	default:
		t.Errorf("%s is an unknown kind", o.Kind)
		return
	}
	m := &Message{tools: newTools(), Head: &Head{catalog: schema.Embedded()}}
	if asKey {
		judge(m.DecodeKey(o.Topic, &batch, &record))
	} else {
		judge(m.DecodeValue(o.Topic, &batch, &record))
	}
}

// controlKey is the key of the control record whose value has a schema's layout. The types are those of Kafka's ControlRecordType.
func controlKey(name string) []byte {
	types := []string{"EndTxnMarker", "", "LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord", "KRaftVersionRecord", "VotersRecord"}
	return pack(int16(0), int16(slices.Index(types, name)))
}

// inFields hands over the structures inside the bytes fields of a request.
func inFields(request []byte, f func(*Nested)) {
	listen(NeedMessages, func(m *Message) {
		for n := range m.Nested {
			f(n)
		}
	}).client(request)
}

// joinGroup is a JoinGroup v5 request of a consumer with one protocol.
func joinGroup(protocol string, metadata []byte) []byte {
	return framed(int16(11), int16(5), int32(1), text("c"), text("g"), int32(10_000), int32(10_000), text("m"), int16(-1), text("consumer"),
		int32(1), text(protocol), int32(len(metadata)), metadata)
}

// syncGroup is a SyncGroup v3 request with one assignment.
func syncGroup(assignment []byte) []byte {
	return framed(int16(14), int16(3), int32(1), text("c"), text("g"), int32(1), text("m"), int16(-1),
		int32(1), text("m"), int32(len(assignment)), assignment)
}

// envelope is an Envelope v0 request with a principal, around an ApiVersions v0 request.
func envelope(principal []byte) []byte {
	return envelopeOf(pack(int16(18), int16(0), int32(7), text("c")), principal)
}

func envelopeOf(request, principal []byte) []byte {
	return framed(int16(58), int16(0), int32(1), text("c"), byte(0),
		uvarintOf(uint64(len(request)+1)), request, uvarintOf(uint64(len(principal)+1)), principal, unhex("05 0a 00 00 01"), byte(0))
}

// Compressors, by codec. xerial is snappy in the framing of the Java library.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func lz4ed(data []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zstded(data []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		panic(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func snappied(data []byte) []byte { return snappy.Encode(nil, data) }

func xerial(chunks ...[]byte) []byte {
	framing := pack(xerialMagic, int32(1), int32(1))
	for _, chunk := range chunks {
		framing = pack(framing, int32(len(chunk)), chunk)
	}
	return framing
}

// compressors by the number of the codec.
var compressors = [...]func([]byte) []byte{1: gzipped, 2: snappied, 3: lz4ed, 4: zstded}

// messageOf lays out a message of magic 0 or 1 with a right CRC.
func messageOf(magic int8, attributes int8, offset int64, key, value []byte) []byte {
	part := func(b []byte) []byte {
		if b == nil {
			return pack(int32(-1))
		}
		return pack(int32(len(b)), b)
	}
	checked := pack(magic, attributes)
	if magic == 1 {
		checked = pack(checked, int64(1_700_000_000_000))
	}
	checked = pack(checked, part(key), part(value))
	rest := pack(int32(crc32.ChecksumIEEE(checked)), checked)
	return pack(offset, int32(len(rest)), rest)
}

// allocated returns how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What is decompressed to far more than a batch can be is refused, and takes no more memory than the limit of decompression allows: a
// buffer that doubles is allocated twice over, readers have windows of their own, and the test copies the frame several times.
func TestBombs(t *testing.T) {
	const bomb = 256 << 20
	const allowed = 4*DefaultMaxUnpacked + 2*maxZstdWindow
	zeros := make([]byte, bomb)
	for name, c := range map[string]struct {
		codec  int16
		packed []byte
	}{
		"gzip":                         {1, gzipped(zeros)},
		"snappy":                       {2, snappied(zeros)},
		"snappy that lies":             {2, uvarintOf(1 << 31)},
		"snappy that lies a little":    {2, append(uvarintOf(60<<20), make([]byte, 100)...)},
		"xerial":                       {2, xerial(slices.Repeat([][]byte{snappied(zeros[:1<<20])}, bomb>>20)...)},
		"xerial of chunks that lie":    {2, xerial(slices.Repeat([][]byte{append(uvarintOf(60<<20), 0)}, 100)...)},
		"lz4":                          {3, lz4ed(zeros)},
		"zstd":                         {4, zstded(zeros)},
		"zstd of many frames":          {4, bytes.Repeat(zstded(zeros[:8<<20]), bomb/(8<<20))},
		"zstd with a window of 1 GiB":  {4, unhex("28 b5 2f fd 00 a0 01 00 00")},
		"zstd with a window of 64 MiB": {4, unhex("28 b5 2f fd 00 80 01 00 00")},
	} {
		t.Run(name, func(t *testing.T) {
			var codes []Code
			opened := true
			used := allocated(func() {
				withRecords(t, "t", batchOf(c.codec, 1, c.packed), func(m *Message, field int) {
					for b := range m.Batches(&m.Nodes[field]) {
						opened = m.Open(b) != nil
					}
					codes = codesOf(m.Findings)
				})
			})
			if opened || !slices.Equal(codes, []Code{Decompression}) {
				t.Errorf("opened %t, findings %v", opened, codes)
			}
			if limit := uint64(allowed + 16*len(c.packed)); used > limit {
				t.Errorf("%d MiB allocated for %d bytes", used>>20, len(c.packed))
			}
		})
	}
}

// A few bytes may claim whatever window they like: only what is there justifies memory.
func TestSmallBatchesTakeLittleMemory(t *testing.T) {
	for name, c := range map[string]struct {
		codec  int16
		packed []byte
	}{
		"gzip":                     {1, gzipped(nil)},
		"lz4 with blocks of 4 MiB": {3, lz4ed([]byte("x"))},
		"zstd, window of 8 MiB":    {4, unhex("28 b5 2f fd 00 68 01 00 00")},
		"zstd, window of 32 MiB":   {4, unhex("28 b5 2f fd 00 78 01 00 00")},
		"snappy that says 2 KiB":   {2, append(uvarintOf(2000), make([]byte, 100)...)},
		"a count of two billion":   {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			used := allocated(func() {
				withRecords(t, "t", batchOf(c.codec, 1<<31-1, c.packed), func(m *Message, field int) { readAllRecords(m, field) })
			})
			if used > 12<<20 {
				t.Errorf("%d KiB allocated for %d bytes", used>>10, len(c.packed))
			}
		})
	}
}

// wrapped compresses messages and puts them into one message of magic 1, which says offset to be that of the last.
func wrapped(codec int8, offset int64, messages []byte) []byte {
	return messageOf(1, codec, offset, nil, compressors[codec](messages))
}

// Compressed messages may hold compressed messages, but not for ever.
func TestNestedWrappers(t *testing.T) {
	inner := messageOf(1, 0, 0, []byte("k"), []byte("v"))
	for depth := 1; depth <= 6; depth++ {
		for codec := int8(1); codec <= 3; codec++ {
			field := inner
			for range depth {
				field = wrapped(codec, 0, field)
			}
			withRecords(t, "t", field, func(m *Message, at int) {
				_, records := readAllRecords(m, at)
				tooDeep := depth > maxUnpackDepth
				if (records == 1) == tooDeep || slices.Contains(codesOf(m.Findings), Decompression) != tooDeep {
					t.Errorf("%s, depth %d: %d records, findings %v", Codec(codec), depth, records, m.Findings)
				}
			})
		}
	}
}

// A wrapper that comes behind one with a bomb inside finds the limit exceeded.
func TestWrapperBehindBomb(t *testing.T) {
	bomb := wrapped(1, 0, make([]byte, DefaultMaxUnpacked+1<<20))
	for codec := int8(1); codec <= 4; codec++ {
		behind := wrapped(codec, 0, messageOf(1, 0, 0, []byte("k"), []byte("v")))
		field := wrapped(1, 0, slices.Concat(wrapped(1, 0, bomb), behind))
		withRecords(t, "t", field, func(m *Message, at int) {
			if _, records := readAllRecords(m, at); records != 0 || !slices.Contains(codesOf(m.Findings), Decompression) {
				t.Errorf("%s: %d records, findings %v", Codec(codec), records, m.Findings)
			}
		})
	}
}

// What a batch unpacks to is bounded altogether, not for each of the wrappers inside it: otherwise 75 KB of two levels unpack to 8 GiB, and
// 1.6 MB of three levels to 860 GiB. Here one message of magic 1 holds 64 others, each of which unpacks to just below what is free.
func TestWrapperOfBombs(t *testing.T) {
	const bombs = 64 // times 8 MiB is 8 times what a batch may be unpacked to
	bomb := wrapped(1, 0, make([]byte, freeUnpacked-1))
	field := wrapped(1, 0, bytes.Repeat(bomb, bombs))
	withRecords(t, "t", field, func(m *Message, at int) {
		start := time.Now()
		readAllRecords(m, at)
		codes := codesOf(m.Findings)
		if !slices.Contains(codes, Decompression) {
			t.Errorf("%d bytes unpack to %d MiB in %v without a decompression finding; %d findings", len(field), bombs*freeUnpacked>>20,
				time.Since(start), len(codes))
		}
		if len(codes) > bombs/2 {
			t.Errorf("%d findings about one batch", len(codes))
		}
	})
}
