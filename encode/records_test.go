package encode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// produce encodes batches as the records of a Produce request and returns the records alone.
func produce(t *testing.T, batches any) ([]byte, error) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiName": "Produce", "apiVersion": 3, "type": "REQUEST", "payload": map[string]any{
		"transactionalId": nil, "acks": -1, "timeoutMs": 1000, "topicData": []any{map[string]any{
			"name": "t", "partitionData": []any{map[string]any{"index": 0, "records": batches}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := encode.Parse(schema.Embedded(), text)
	if err != nil {
		return nil, err
	}
	body, err := m.Encode(encode.Options{BodyOnly: true})
	if err != nil {
		return nil, err
	}
	const before = 2 + 2 + 4 + 4 + 3 + 4 + 4 // transactional id, acks, timeout, topics, name, partitions, index
	size := int(binary.BigEndian.Uint32(body[before:]))
	if size != len(body)-before-4 {
		t.Fatalf("records of %d bytes in a body of %d", size, len(body))
	}
	return body[before+4:], nil
}

// base64Of turns the hex of the oracle, or null, into what encode reads.
func base64Of(v any) any {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	b, _ := hex.DecodeString(text)
	return base64.StdEncoding.EncodeToString(b)
}

// batchOf is the JSON of a batch, out of what Kafka read from its bytes. whole is false for those whose bytes do not follow from that: a
// compressed one depends on the library, and with the broker's time the producer's times are not told.
func batchOf(b map[string]any) (batch map[string]any, whole bool) {
	batch = map[string]any{}
	for _, name := range []string{"partitionLeaderEpoch", "magic", "attributes", "lastOffset", "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch",
		"baseSequence", "count", "compression", "timestampType", "isTransactional", "isControl", "baseOffset"} {
		if b[name] != nil {
			batch[name] = b[name]
		}
	}
	if b["magic"] != json.Number("2") {
		for _, name := range []string{"baseTimestamp", "maxTimestamp", "isTransactional", "isControl", "lastOffset", "partitionLeaderEpoch", "count"} {
			delete(batch, name)
		}
		if b["timestampType"] == "NoTimestampType" {
			delete(batch, "timestampType")
		}
	}
	list, ok := b["records"].([]any)
	records := []any{}
	for _, v := range list {
		r := v.(map[string]any)
		headers := []any{}
		for _, h := range r["headers"].([]any) {
			pair := h.([]any)
			headers = append(headers, map[string]any{"keyBase64": base64.StdEncoding.EncodeToString([]byte(pair[0].(string))), "valueBase64": base64Of(pair[1])})
		}
		record := map[string]any{"offset": r["offset"], "keyBase64": base64Of(r["key"]), "valueBase64": base64Of(r["value"]), "headers": headers}
		if r["timestamp"] != nil { // magic 0 has none
			record["timestamp"] = r["timestamp"]
		}
		records = append(records, record)
	}
	batch["records"] = records
	return batch, ok && b["crcValid"] == true && b["compression"] == "none" && b["timestampType"] != "LogAppendTime"
}

// Batches of every magic must come out as the bytes from which Kafka read them.
func TestBatches(t *testing.T) {
	whole := 0
	oracleLines(t, "records.jsonl.gz", func(o *oracleLine) {
		for _, b := range o.Batches {
			batch, ok := batchOf(b)
			if !ok {
				continue
			}
			position, _ := b["position"].(json.Number).Int64()
			size, _ := b["sizeInBytes"].(json.Number).Int64()
			want := o.bytes[position : position+size]
			got, err := produce(t, []any{batch})
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n got %x\nwant %x", o.Name, err, got, want)
			}
			whole++
		}
	})
	if whole < 100 {
		t.Errorf("only %d batches could be tried", whole)
	}
}

// recordsDifference says where the records that render printed of one batch are not those that Kafka read, "" where they are.
func recordsDifference(want map[string]any, text []byte) string {
	type part struct {
		Key, Value             *string
		KeyBase64, ValueBase64 []byte
	}
	var line struct {
		Value struct {
			Records []struct {
				Records []struct {
					part
					Offset    int64
					Timestamp *int64
					Headers   []part
				}
			}
		}
	}
	if err := json.Unmarshal(text, &line); err != nil || len(line.Value.Records) != 1 {
		return string(text)
	}
	same := func(got *string, packed []byte, v any) bool {
		digits, there := v.(string)
		if got != nil {
			packed = []byte(*got)
		}
		return there == (got != nil || packed != nil) && hex.EncodeToString(packed) == digits
	}
	records := want["records"].([]any)
	got := line.Value.Records[0].Records
	if len(got) != len(records) {
		return fmt.Sprintf("%d records, want %d", len(got), len(records))
	}
	for i := range got {
		r, w := &got[i], records[i].(map[string]any)
		number := func(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
		switch headers := w["headers"].([]any); {
		case number(r.Offset) != w["offset"], r.Timestamp != nil && number(*r.Timestamp) != w["timestamp"], len(r.Headers) != len(headers),
			!same(r.Key, r.KeyBase64, w["key"]), !same(r.Value, r.ValueBase64, w["value"]):
			return fmt.Sprintf("record %d of %s is not %v", i, text, w)
		}
	}
	return ""
}
