package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// three are three records, and what Kafka would read from them.
func three() (laidOut []byte, keys []string) {
	for i, key := range []string{"first", "second", "third"} {
		laidOut = append(laidOut, recordOf(int64(i), []byte(key), []byte(strings.Repeat(key, 20)))...)
	}
	return laidOut, []string{"first", "second", "third"}
}

// keysIn reads a records field to its end: the keys of all records, and the codes of what was found wrong.
func keysIn(t testing.TB, records []byte) (keys []string, codes []Code) {
	withRecords(t, "t", records, func(m *Message, field int) {
		for b := range m.Batches(&m.Nodes[field]) {
			m.Verify(b)
			if b.Partial {
				continue
			}
			got, _ := readRecords(m, b)
			for _, r := range got {
				keys = append(keys, string(r.key))
			}
		}
		codes = codesOf(m.Findings)
	})
	return keys, codes
}

// packings are all ways to pack what is in a batch: each codec, and snappy in the framing of the Java library.
var packings = map[string]struct {
	codec int16
	pack  func([]byte) []byte
}{
	"gzip":   {1, gzipped},
	"snappy": {2, snappied},
	"xerial": {2, func(data []byte) []byte { return xerial(snappied(data[:len(data)/2]), snappied(data[len(data)/2:])) }},
	"lz4":    {3, lz4ed},
	"zstd":   {4, zstded},
}

// A packed block that ends early gives the records before its end at most, and never without a word.
func TestPackedRecordsCutAnywhere(t *testing.T) {
	laidOut, want := three()
	for name, p := range packings {
		packed := p.pack(laidOut)
		if keys, codes := keysIn(t, batchOf(p.codec, 3, packed)); !slices.Equal(keys, want) || len(codes) > 0 {
			t.Fatalf("%s, whole: %v, %v", name, keys, codes)
		}
		for n := range len(packed) {
			keys, codes := keysIn(t, batchOf(p.codec, 3, packed[:n]))
			if len(keys) > len(want) || !slices.Equal(keys, want[:len(keys)]) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(packed), keys)
			}
			if !slices.Contains(codes, Decompression) && !slices.Contains(codes, BadRecord) {
				t.Errorf("%s, %d of %d bytes: findings %v", name, n, len(packed), codes)
			}
		}
	}
}

// A batch that the records field cuts is partial wherever that is, and the batch before it is whole.
func TestPackedBatchesCutAnywhere(t *testing.T) {
	laidOut, want := three()
	for name, p := range packings {
		batch := batchOf(p.codec, 3, p.pack(laidOut))
		for n := 1; n < len(batch); n++ {
			keys, codes := keysIn(t, slices.Concat(batch, batch[:n]))
			if !slices.Equal(keys, want) || !slices.Equal(codes, []Code{PartialBatch}) {
				t.Errorf("%s, %d of %d bytes: %v, %v", name, n, len(batch), keys, codes)
			}
		}
	}
}

// Each byte of a packed block may be wrong. The CRC says so, whatever becomes of the records.
func TestPackedRecordsDamagedAnywhere(t *testing.T) {
	laidOut, _ := three()
	for name, p := range packings {
		batch := batchOf(p.codec, 3, p.pack(laidOut))
		for at := batchHeaderLen; at < len(batch); at++ {
			for _, bit := range []byte{1, 0x80, 0xff} {
				damaged := bytes.Clone(batch)
				damaged[at] ^= bit
				if _, codes := keysIn(t, damaged); !slices.Contains(codes, CRCMismatch) {
					t.Errorf("%s, byte %d ^ %#x: findings %v", name, at, bit, codes)
				}
			}
		}
	}
}

// lz4Frame lays out an LZ4 frame by hand: descriptor, checksum of the header, one stored block, end mark.
func lz4Frame(descriptor string, checksum byte, data []byte) []byte {
	frame := pack(unhex("04 22 4d 18"), unhex(descriptor), checksum)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(data))|1<<31)
	return pack(frame, data, int32(0))
}

// Clients before 0.10 computed the header checksum over the magic, too (KAFKA-3160): their batches must be read. The checksums are those of
// the reference implementation of xxHash: byte 1 of the hash of the descriptor, and of magic and descriptor.
func TestOldLZ4HeaderChecksum(t *testing.T) {
	laidOut, want := three()
	size := fmt.Sprintf("%02x %02x 00 00 00 00 00 00", len(laidOut)&0xff, len(laidOut)>>8)
	for name, frame := range map[string][]byte{
		"right":                    lz4Frame("60 40", 0x82, laidOut),
		"old":                      lz4Frame("60 40", 0x1a, laidOut),
		"old, with a size of nine": lz4Frame("68 40 09 00 00 00 00 00 00 00", 0x11, laidOut[:9]),
		"any, with the right size": lz4Frame("68 40 "+size, 0, laidOut),
	} {
		t.Run(name, func(t *testing.T) {
			expected, codes := want, []Code(nil)
			if strings.Contains(name, "nine") {
				expected, codes = nil, []Code{BadRecord} // nine bytes are less than the first record
			}
			if got, found := keysIn(t, batchOf(3, 3, frame)); !slices.Equal(got, expected) || !slices.Equal(found, codes) {
				t.Errorf("%v, %v", got, found)
			}
		})
	}
}

// Blocks of snappy say in front how long they are unpacked, which need not be true.
func TestSnappyThatLies(t *testing.T) {
	laidOut, _ := three()
	block := snappied(laidOut)
	_, width := binary.Uvarint(block)
	for _, says := range []uint64{0, 1, uint64(len(laidOut)) - 1, uint64(len(laidOut)) + 1, 1 << 20, 1<<32 - 1, 1 << 32, 1 << 63} {
		lying := pack(binary.AppendUvarint(nil, says), block[width:])
		for name, packed := range map[string][]byte{"raw": lying, "xerial": xerial(lying), "second chunk": xerial(block, lying)} {
			keys, codes := keysIn(t, batchOf(2, 3, packed))
			if len(keys) > 0 || !slices.Equal(codes, []Code{Decompression}) {
				t.Errorf("%s, a block that says %d: %v, %v", name, says, keys, codes)
			}
		}
	}
}

// The size of a chunk of xerial may be anything.
func TestXerialChunkSizes(t *testing.T) {
	laidOut, _ := three()
	chunk := snappied(laidOut)
	for _, size := range []int32{-1, -1 << 31, 1<<31 - 1, int32(len(chunk)) + 1, int32(len(chunk)) - 1, 1, 0} {
		keys, codes := keysIn(t, batchOf(2, 3, pack(xerialMagic, int32(1), int32(1), size, chunk)))
		if len(keys) > 0 || !slices.Equal(codes, []Code{Decompression}) {
			t.Errorf("a chunk of %d bytes that says %d: %v, %v", len(chunk), size, keys, codes)
		}
	}
}

// What is unpacked to nothing holds no record: right for a batch that says none, wrong for others.
func TestNothingIsUnpacked(t *testing.T) {
	for name, p := range packings {
		for count, want := range [][]Code{nil, {BadRecord}} {
			if keys, codes := keysIn(t, batchOf(p.codec, int32(count), p.pack(nil))); len(keys) > 0 || !slices.Equal(codes, want) {
				t.Errorf("%s, a count of %d: %v, %v", name, count, keys, codes)
			}
		}
		if p.codec == 4 {
			continue // the older magics do not have zstd
		}
		for magic := int8(0); magic <= 1; magic++ {
			wrapper := messageOf(magic, int8(p.codec), 0, nil, p.pack(nil))
			if keys, codes := keysIn(t, wrapper); len(keys) > 0 || len(codes) > 0 {
				t.Errorf("%s in magic %d: %v, %v", name, magic, keys, codes)
			}
		}
	}
}

// sized lays out a record of magic 2 out of its parts: the length in front is right.
func sized(parts ...any) []byte {
	body := pack(parts...)
	return pack(varint(int64(len(body))), body)
}

// never is a varint that does not end.
var never = bytes.Repeat([]byte{0xff}, 12)

// Records as no producer writes them, between two that are right: what comes before the damage stays, what is behind it cannot be found. The
// expectations are those of Kafka's DefaultRecord, which refuses each of these with an InvalidRecordException or as it runs out of bytes.
func TestBrokenRecords(t *testing.T) {
	good := recordOf(0, []byte("good"), nil)
	head := pack(int8(0), varint(0), varint(1)) // attributes, timestamp delta, offset delta
	for name, c := range map[string]struct {
		broken []byte
		known  string // why it is not refused yet
	}{
		"length that does not end":             {never, ""},
		"length of -1":                         {varint(-1), ""},
		"length of -2^31":                      {varint(-1 << 31), ""},
		"length beyond the batch":              {varint(1 << 20), ""},
		"length of 2^31-1":                     {varint(1<<31 - 1), ""},
		"length of 2^62":                       {varint(1 << 62), ""},
		"length of 0":                          {sized(), ""},
		"attributes alone":                     {sized(int8(0)), ""},
		"timestamp that does not end":          {sized(int8(0), never), ""},
		"timestamp that ends with the record":  {sized(int8(0), varint(0)), ""},
		"offset that does not end":             {sized(int8(0), varint(0), never), ""},
		"no key":                               {sized(head), ""},
		"key of -2":                            {sized(head, varint(-2), varint(-1), varint(0)), ""},
		"key that is one too long":             {sized(head, varint(4), "key", varint(-1), varint(0)), ""},
		"key beyond the record":                {sized(head, varint(100), "key", varint(-1), varint(0)), ""},
		"key of 2^31-1":                        {sized(head, varint(1<<31-1), varint(-1), varint(0)), ""},
		"no value":                             {sized(head, varint(-1)), ""},
		"value of -2":                          {sized(head, varint(-1), varint(-2), varint(0)), ""},
		"value beyond the record":              {sized(head, varint(-1), varint(3), "v", varint(0)), ""},
		"no header count":                      {sized(head, varint(-1), varint(-1)), ""},
		"header count of -1":                   {sized(head, varint(-1), varint(-1), varint(-1)), ""},
		"header count of 1 without a header":   {sized(head, varint(-1), varint(-1), varint(1)), ""},
		"header count of 2^31-1":               {sized(head, varint(-1), varint(-1), varint(1<<31-1), make([]byte, 100)), ""},
		"header count that is one too large":   {sized(head, varint(-1), varint(-1), varint(2), varint(1), "k", varint(-1)), ""},
		"header count that is one too small":   {sized(head, varint(-1), varint(-1), varint(1), varint(1), "k", varint(-1), varint(1), "k", varint(-1)), ""},
		"header key beyond the record":         {sized(head, varint(-1), varint(-1), varint(1), varint(5), "k", varint(-1)), ""},
		"header key of -2":                     {sized(head, varint(-1), varint(-1), varint(1), varint(-2), varint(-1)), ""},
		"header key that is null":              {sized(head, varint(-1), varint(-1), varint(1), varint(-1), varint(-1)), "null header keys are taken for empty ones"},
		"header value beyond the record":       {sized(head, varint(-1), varint(-1), varint(1), varint(1), "k", varint(2), "v"), ""},
		"header value of -2":                   {sized(head, varint(-1), varint(-1), varint(1), varint(1), "k", varint(-2)), ""},
		"bytes behind the last header":         {sized(head, varint(-1), varint(-1), varint(0), "x"), ""},
		"length in a varint of 6 bytes":        {pack(unhex("8c 80 80 80 80 00"), head, varint(-1), varint(-1), varint(0)), "lengths are read as varints of up to 10 bytes"},
		"key length in a varint of 6 bytes":    {sized(head, unhex("81 80 80 80 80 00"), varint(-1), varint(0)), "lengths are read as varints of up to 10 bytes"},
		"header count in a varint of 11 bytes": {sized(head, varint(-1), varint(-1), bytes.Repeat([]byte{0x80}, 10), byte(0)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			keys, codes := keysIn(t, batchOf(0, 3, slices.Concat(good, c.broken, good)))
			refused := slices.Equal(keys, []string{"good"}) && slices.Equal(codes, []Code{BadRecord})
			if refused && c.known != "" {
				t.Errorf("this holds by now, it is no longer known: %s", c.known)
			}
			if !refused && c.known != "" {
				t.Skip("known: " + c.known)
			}
			if !refused {
				t.Errorf("%q, %v", keys, codes)
			}
		})
	}
}

// The count of a batch and its records need not agree.
func TestRecordCounts(t *testing.T) {
	laidOut, want := three()
	for _, c := range []struct {
		count int32
		keys  []string
		codes []Code
	}{
		{3, want, nil},
		{2, want[:2], []Code{BadRecord}},
		{4, want, []Code{BadRecord}},
		{0, nil, []Code{BadRecord}},
		{-1, nil, []Code{BadRecord}},
		{1<<31 - 1, want, []Code{BadRecord}},
		{-1 << 31, nil, []Code{BadRecord}},
	} {
		for codec := int16(0); codec <= 4; codec++ {
			packed := laidOut
			if codec > 0 {
				packed = compressors[codec](laidOut)
			}
			if keys, codes := keysIn(t, batchOf(codec, c.count, packed)); !slices.Equal(keys, c.keys) || !slices.Equal(codes, c.codes) {
				t.Errorf("%s, a count of %d: %v, %v", Codec(codec), c.count, keys, codes)
			}
		}
	}
}

// Kafka refuses a batch whose count is negative, an empty one, too.
func TestNegativeCountOfNoRecords(t *testing.T) {
	if _, codes := keysIn(t, batchOf(0, -1, nil)); !slices.Equal(codes, []Code{BadRecord}) {
		t.Skip("known: a batch without records may say any negative count")
	}
}

// Messages of the older magics whose parts do not fit. Their size in front is right, so the one behind is found.
func TestBrokenOldMessages(t *testing.T) {
	good := messageOf(1, 0, 0, []byte("good"), nil)
	reach := func(magic int8, parts ...any) []byte { return messageParts(magic, 0, parts...) }
	for name, broken := range map[string][]byte{
		"no key":             reach(1),
		"no value":           reach(1, int32(-1)),
		"key of -2":          reach(1, int32(-2), int32(-1)),
		"key too long":       reach(1, int32(100), "k", int32(-1)),
		"key of 2^31-1":      reach(0, int32(1<<31-1), "k"),
		"value of -2":        reach(0, int32(-1), int32(-2)),
		"value too long":     reach(0, int32(-1), int32(3), "v"),
		"value length cut":   reach(0, int32(-1), int16(0)),
		"timestamp cut":      oldMessage(pack(int8(1), int8(0), int32(0))),
		"magic and no more":  oldMessage(pack(int8(0))),
		"magic 1 and a byte": oldMessage(pack(int8(1), int8(0), int8(0))),
	} {
		keys, codes := keysIn(t, slices.Concat(good, broken, good))
		if !slices.Equal(keys, []string{"good", "good"}) || !slices.Contains(codes, BadRecord) || len(codes) > 1 {
			t.Errorf("%s: %q, %v", name, keys, codes)
		}
	}
}

// oldMessage puts offset, size and a right CRC in front of what they cover.
func oldMessage(checked []byte) []byte {
	rest := pack(int32(crc32.ChecksumIEEE(checked)), checked)
	return pack(int64(0), int32(len(rest)), rest)
}

// messageParts lays out a message of magic 0 or 1 out of what is behind its attributes and timestamp.
func messageParts(magic, attributes int8, parts ...any) []byte {
	checked := pack(magic, attributes)
	if magic == 1 {
		checked = pack(checked, int64(1_700_000_000_000))
	}
	return oldMessage(pack(checked, pack(parts...)))
}

// Bytes behind the value of an old message belong to it; Kafka passes over them.
func TestBytesBehindAnOldMessage(t *testing.T) {
	keys, _ := keysIn(t, messageParts(0, 0, int32(1), "k", int32(1), "v", "surplus"))
	if !slices.Equal(keys, []string{"k"}) {
		t.Errorf("%q", keys)
	}
}
