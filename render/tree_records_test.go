package render

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// recordBatch is a batch of magic 2 with producer 9/3, base sequence 44 and leader epoch 2, that begins at offset 7 at 2026-11-29 10:00:00.
func recordBatch(t testing.TB, attributes, count int, records []byte) []byte {
	batch := unhex(t, fmt.Sprintf(`0000000000000007 00000000 00000002 02 00000000  %04x %08x 000001a226bf4900 000001a226bf49fa
		0000000000000009 0003 0000002c %08x`, attributes, count-1, count))
	batch = append(batch, records...)
	return seal(batch)
}

// seal puts length and CRC into a batch of magic 2.
func seal(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-12))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch
}

// message is a message of magic 1 without a key, compressed when the attributes say so, at 2026-11-29 10:00:00.
func message(t testing.TB, offset, attributes int, value []byte) []byte {
	m := unhex(t, fmt.Sprintf(`%016x %08x 00000000 01 %02x 000001a226bf4900 ffffffff %08x`, offset, 22+len(value), attributes, len(value)))
	m = append(m, value...)
	binary.BigEndian.PutUint32(m[12:], crc32.ChecksumIEEE(m[16:]))
	return m
}

func gzipped(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// produceTo is a Produce v7 request with a records field.
func produceTo(t testing.TB, topic string, records []byte) step {
	return request(frame(unhex(t, `0000 0007 00000009 ffff  ffff ffff 00007530 00000001`), unhex(t, fmt.Sprintf("%04x", len(topic))), []byte(topic),
		unhex(t, fmt.Sprintf(`00000001 00000003 %08x`, len(records))), records))
}

// Two records: key "k", value {"a":1}, headers h="v" and n=null; then, 250 ms later, no key, a value of Avro with schema 42, no header.
const twoRecords = `2a 00 00 00 02 6b 0e 7b2261223a317d 04 02 68 02 76 02 6e 01  1a 00 f403 02 01 0c 000000002a 06 00`

// below returns the lines of a tree from the first one on that contains a text, less what they have in common in front.
func below(t testing.TB, text, from string) string {
	t.Helper()
	at := strings.Index(text, from)
	if at < 0 {
		t.Fatalf("no %q in\n%s", from, text)
	}
	start := strings.LastIndexByte(text[:at], '\n') + 1
	indent := at - start
	var b strings.Builder
	for line := range strings.Lines(text[start:]) {
		if len(line) <= indent {
			break
		}
		b.WriteString(line[indent:])
	}
	return b.String()
}

func TestRecordsInFull(t *testing.T) {
	batch := recordBatch(t, 0, 2, unhex(t, twoRecords))
	text := tree(Options{Full: true, Records: RecordsFull}, produceTo(t, "orders", batch))
	wantLines(t, nodes(below(t, text, "+-- batch 0")), `+-- batch 0: offsets 7..8, 2 records, uncompressed, producer 9/3 seq 44, CreateTime 2026-11-29 10:00:00.250, CRC ok, leader epoch 2 [0x002e, 97B]
    +-- base_offset int64 = 7 [0x002e, 8B]
    +-- batch_length int32 = 85 [0x0036, 4B]
    +-- partition_leader_epoch int32 = 2 [0x003a, 4B]
    +-- magic int8 = 2 [0x003e, 1B]
    +-- crc uint32 = 0x`+fmt.Sprintf("%08x", binary.BigEndian.Uint32(batch[17:]))+` (CRC ok) [0x003f, 4B]
    +-- attributes int16 = 0x0000 (codec=none timestamp_type=CreateTime transactional=false control=false delete_horizon=false) [0x0043, 2B]
    +-- last_offset_delta int32 = 1 [0x0045, 4B]
    +-- base_timestamp int64 = 1795946400000 (2026-11-29 10:00:00.000) [0x0049, 8B]
    +-- max_timestamp int64 = 1795946400250 (2026-11-29 10:00:00.250) [0x0051, 8B]
    +-- producer_id int64 = 9 [0x0059, 8B]
    +-- producer_epoch int16 = 3 [0x0061, 2B]
    +-- base_sequence int32 = 44 [0x0063, 4B]
    +-- record_count int32 = 2 [0x0067, 4B]
    +-- record[0] offset=7 time=10:00:00.000 [0x006b, 22B]
    |   +-- length varint = 21 [0x006b, 1B]
    |   +-- attributes int8 = 0 [0x006c, 1B]
    |   +-- timestamp_delta varlong = 0 (2026-11-29 10:00:00.000) [0x006d, 1B]
    |   +-- offset_delta varint = 0 [0x006e, 1B]
    |   +-- key bytes = "k" (varint len=1) [0x006f, 2B]
    |   +-- value bytes = {"a":1} (varint len=7) [0x0071, 8B]
    |   +-- headers []header = 2 elements [0x0079, 8B]
    |       +-- count varint = 2 [0x0079, 1B]
    |       +-- header[0] [0x007a, 4B]
    |       |   +-- key string = "h" (varint len=1) [0x007a, 2B]
    |       |   +-- value bytes = "v" (varint len=1) [0x007c, 2B]
    |       +-- header[1] [0x007e, 3B]
    |           +-- key string = "n" (varint len=1) [0x007e, 2B]
    |           +-- value bytes = null (varint len=-1) [0x0080, 1B]
    +-- record[1] offset=8 time=10:00:00.250 [0x0081, 14B]
        +-- length varint = 13 [0x0081, 1B]
        +-- attributes int8 = 0 [0x0082, 1B]
        +-- timestamp_delta varlong = 250 (2026-11-29 10:00:00.250) [0x0083, 2B]
        +-- offset_delta varint = 1 [0x0085, 1B]
        +-- key bytes = null (varint len=-1) [0x0086, 1B]
        +-- value bytes = 0x000000002a06 (schema id 42) (varint len=6) [0x0087, 7B]
        +-- headers []header = 0 elements [0x008e, 1B]
            +-- count varint = 0 [0x008e, 1B]
`)
}

func TestRecordsInCompact(t *testing.T) {
	records := unhex(t, twoRecords)
	for codec, want := range map[int]string{
		0: `+-- batch 0: offsets 7..8, 2 records, uncompressed, producer 9/3 seq 44,
    |   CreateTime 2026-11-29 10:00:00.250, CRC ok, leader epoch 2 [0x002e, 97B]
    +-- [0] offset=7 time=10:00:00.000 key="k" value={"a":1} headers=[h="v", n=null] [0x006b, 22B]
    +-- [1] offset=8 time=10:00:00.250 key=null value=0x000000002a06 (schema id 42) [0x0081, 14B]
`,
		1: `+-- batch 0: offsets 7..8, 2 records, gzip SIZE -> 36 bytes (RATIOx), producer 9/3 seq 44,
    |   CreateTime 2026-11-29 10:00:00.250, CRC ok, leader epoch 2 [0x002e, ALLB]
    +-- [0] offset=7 time=10:00:00.000 key="k" value={"a":1} headers=[h="v", n=null]
    |       [+0x0000, 22B in batch 0]
    +-- [1] offset=8 time=10:00:00.250 key=null value=0x000000002a06 (schema id 42)
            [+0x0016, 14B in batch 0]
`,
	} {
		data := records
		if codec == 1 {
			data = gzipped(t, records)
			want = strings.NewReplacer("SIZE", fmt.Sprint(len(data)), "RATIO", fmt.Sprintf("%.1f", 36/float64(len(data))),
				"ALL", fmt.Sprint(61+len(data))).Replace(want)
		}
		text := tree(Options{Records: RecordsFull}, produceTo(t, "orders", recordBatch(t, codec, 2, data)))
		wantLines(t, below(t, text, "+-- batch 0"), want)
	}
}

func TestCompactIsCut(t *testing.T) {
	var records, messages []byte
	for i := range 13 {
		records = append(append(append(records, unhex(t, fmt.Sprintf("34 0000 %02x 01 28", 2*i))...), "a value of 20 bytes."...), 0)
		messages = append(messages, message(t, i, 0, []byte("old"))...)
	}
	o := Options{Records: RecordsFull, MaxRecords: 2, MaxBytes: 7}
	text := below(t, tree(o, produceTo(t, "t", recordBatch(t, 0, 13, records))), "+-- [0] offset")
	wantLines(t, text, `+-- [0] offset=7 time=10:00:00.000 key=null value="a value"... 13 more bytes [0x0066, 27B]
+-- [1] offset=8 time=10:00:00.000 key=null value="a value"... 13 more bytes [0x0081, 27B]
+-- ... 11 more records [0x009c, 297B]
`)
	text = below(t, tree(o, produceTo(t, "t", messages)), "+-- [0] offset")
	wantLines(t, text, `+-- [0] offset=0 time=2026-11-29 10:00:00.000 key=null value="old" magic=1 CRC ok [0x0029, 37B]
+-- [1] offset=1 time=2026-11-29 10:00:00.000 key=null value="old" magic=1 CRC ok [0x004e, 37B]
+-- ... 11 more in the field [0x0073, 407B]
`)
}

func TestRecordsModes(t *testing.T) {
	ask := produceTo(t, "orders", recordBatch(t, 1, 2, gzipped(t, unhex(t, twoRecords))))
	size := len(ask.frame) - 0x2e
	for mode, want := range map[RecordsMode]string{
		RecordsNone:    "+-- Records records = not shown (int32 len=",
		RecordsSize:    fmt.Sprintf("+-- Records records = %d bytes (int32 len=", size),
		RecordsBatches: fmt.Sprintf("+-- Records records = %d bytes, 1 batch of 2 records (int32 len=", size),
	} {
		text := tree(Options{Full: true, Records: mode}, ask)
		if !strings.Contains(text, want) {
			t.Errorf("mode %d: no %q in\n%s", mode, want, text)
		}
		if got := strings.Contains(text, "+-- record_count int32 = 2 "); got != (mode == RecordsBatches) {
			t.Errorf("mode %d: header of the batch: %v\n%s", mode, got, text)
		}
		if strings.Contains(text, "offset=7") {
			t.Errorf("mode %d shows records:\n%s", mode, text)
		}
	}
}

func TestMessagesInMessages(t *testing.T) {
	deep := message(t, 1, 1, gzipped(t, append(message(t, 0, 0, []byte("x")), message(t, 1, 0, []byte("y"))...)))
	inner := append(append(message(t, 0, 0, []byte("a")), deep...), message(t, 2, 0, []byte("b"))...)
	text := tree(Options{Records: RecordsFull}, produceTo(t, "t", message(t, 12, 1, gzipped(t, inner))))
	text = below(t, text, "+-- [0] offset")
	wantLines(t, text, fmt.Sprintf(`+-- [0] offset=10 time=2026-11-29 10:00:00.000 key=null value="a" [+0x0000, 35B in batch 0]
+-- message 1: compressed [+0x0023, %dB in batch 0]
|   +-- [1] offset=10 time=2026-11-29 10:00:00.000 key=null value="x"
|   |       [+0x0000, 35B in batch 0.1]
|   +-- [2] offset=11 time=2026-11-29 10:00:00.000 key=null value="y"
|   |       [+0x0023, 35B in batch 0.1]
+-- [3] offset=12 time=2026-11-29 10:00:00.000 key=null value="b" [+0x%04x, 35B in batch 0]
`, len(deep), 35+len(deep)))
}

func TestDamagedRecords(t *testing.T) {
	whole := recordBatch(t, 0, 2, unhex(t, twoRecords))
	short := seal(append(bytes.Clone(whole[:len(whole)-5]), 0))
	garbled := recordBatch(t, 1, 2, []byte("no gzip"))
	flipped := bytes.Clone(whole)
	flipped[17] ^= 1
	ask := produceTo(t, "t", bytes.Join([][]byte{flipped, short, garbled, whole[:40]}, nil))
	for _, o := range []Options{{Records: RecordsFull}, {Full: true, Records: RecordsFull}, {Full: true, Hex: true, Records: RecordsFull}} {
		text := strings.Join(strings.Fields(tree(o, ask)), " ")
		for what, want := range map[string]int{
			"! warn crc-mismatch: ": 1, "! warn bad-record: record 1 says ": 1, "! warn decompression: gzip: ": 1, "! info partial-batch: ": 1,
			"+-- undecoded bytes = 10 bytes 0x": 1, "[0] offset=7 time=10:00:00.000": 2, "CRC ok, ": 2, "[1] offset=8 time=10:00:00.250": 1, "partial, offset 7, 40 of 97 bytes": 1,
		} {
			if got := strings.Count(text, what); got != want {
				t.Errorf("%+v: %d times %q instead of %d in\n%s", o, got, what, want, text)
			}
		}
	}
}

func TestControlRecords(t *testing.T) {
	// Key: version 0, type 1; value: version 0, coordinator epoch 5.
	record := unhex(t, `20 00 00 00 08 0000 0001 0c 0000 00000005 00`)
	text := tree(Options{Records: RecordsFull}, produceTo(t, "t", recordBatch(t, 0x30, 1, record)))
	wantLines(t, below(t, text, "+-- [0] offset"), `+-- [0] offset=7 time=10:00:00.000 COMMIT [0x0066, 17B]
    +-- value EndTxnMarker v0 CoordinatorEpoch=5 [0x0072, 4B]
`)
}

// offsetCommit is a record of __consumer_offsets: group "g" has committed offset 17 of partition 0 of "orders".
const offsetCommit = `5e 00 00 00 22 0001 0001 67 0006 6f7264657273 00000000 30 0003 0000000000000011 ffffffff 0000 000001a226bf4900 00`

func TestOffsetCommits(t *testing.T) {
	ask := produceTo(t, "__consumer_offsets", recordBatch(t, 0, 1, unhex(t, offsetCommit)))
	text := tree(Options{Records: RecordsFull}, ask)
	wantLines(t, below(t, text, "+-- [0] offset"), `+-- [0] offset=7 time=10:00:00.000 [0x0077, 48B]
    +-- key OffsetCommitKey group="g" topic="orders" partition=0 [0x007e, 15B]
    +-- value OffsetCommitValue v3 offset=17 leaderEpoch=-1 metadata=""
            commitTimestamp=1795946400000 (2026-11-29 10:00:00.000) [0x0090, 22B]
`)
	text = tree(Options{Full: true, Records: RecordsFull}, ask)
	for _, want := range []string{
		"|   +-- type int16 = 1 [0x007c, 2B]", "|   +-- OffsetCommitKey [0x007e, 15B]", `|       +-- group string = "g" (int16 len=1) [0x007e, 3B]`,
		"|   +-- version int16 = 3 [0x008e, 2B]", "|   +-- OffsetCommitValue v3 [0x0090, 22B]", "|       +-- offset int64 = 17 [0x0090, 8B]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A UserScramCredentialRecord v0 of "bob" with salt "salt" and keys "stored-key" and "server-key" must not be shown, wherever it stands.
func TestSecretRecordsAreWithheld(t *testing.T) {
	value := append(append(append(unhex(t, `01 0b 00 04 626f62 01 05`), "salt\x0bstored-key\x0bserver-key"...), unhex(t, `00001000`)...), 0)
	record := append(append(unhex(t, `5c 00 00 00 01 50`), value...), 0)
	cut := recordBatch(t, 0, 1, record)
	for _, records := range [][]byte{
		recordBatch(t, 0, 1, record), recordBatch(t, 1, 1, gzipped(t, record)), cut[:len(cut)-3],
		recordBatch(t, 0, 1, append(bytes.Clone(record), "stored-key"...)),
	} {
		for _, o := range []Options{
			{Records: RecordsFull}, {Full: true, Records: RecordsFull}, {Full: true, Hex: true, Records: RecordsFull}, {Hex: true}, {Hex: true, Records: RecordsBatches},
		} {
			text := tree(o, produceTo(t, "__cluster_metadata", records))
			for _, secret := range []string{"stored-key", "ored", "73 74 6f 72 65 64", "73746f726564", "72 65 64 2d"} {
				if strings.Contains(strings.ReplaceAll(text, "  ", " "), secret) {
					t.Errorf("%+v shows %q:\n%s", o, secret, text)
				}
			}
			if records[22] == 1 && strings.Contains(strings.ReplaceAll(text, "  ", " "), "1f 8b 08") {
				t.Errorf("%+v shows the compressed block:\n%s", o, text)
			}
			o.ShowSecrets = true
			if text := tree(o, produceTo(t, "__cluster_metadata", records)); o.Records == RecordsFull && len(records) > len(cut)-1 && !strings.Contains(text, "stored") && !strings.Contains(text, hex.EncodeToString([]byte("stored"))) {
				t.Errorf("%+v hides the key:\n%s", o, text)
			}
		}
	}
}

func TestUnpackedDump(t *testing.T) {
	records := unhex(t, twoRecords)
	text := tree(Options{Full: true, Hex: true, Records: RecordsFull}, produceTo(t, "t", recordBatch(t, 1, 2, gzipped(t, records))))
	got := below(t, text, "0000  2a 00")
	wantLines(t, got[:strings.Index(got, "+-- ")], `0000  2a 00 00 00 02 6b 0e 7b  22 61 22 3a 31 7d 04 02  |*....k.{"a":1}..|
0010  68 02 76 02 6e 01 1a 00  f4 03 02 01 0c 00 00 00  |h.v.n...........|
0020  00 2a 06 00                                       |.*..|
`)
}

func TestHexColorsOfMessages(t *testing.T) {
	c := newPalette(true)
	plain := tree(Options{Hex: true, Color: true}, produceTo(t, "t", message(t, 0, 0, []byte("abc"))))
	unpacked := tree(Options{Full: true, Hex: true, Color: true, Records: RecordsFull},
		produceTo(t, "t", message(t, 0, 1, gzipped(t, message(t, 0, 0, []byte("abc"))))))
	want := " 49 00 " + c.batch.off + c.record.on + "ff ff ff ff"
	for _, text := range []string{plain, unpacked} {
		if !strings.Contains(strings.ReplaceAll(text, "  ", " "), want) {
			t.Errorf("no %q in\n%q", want, text)
		}
	}
}
