package encode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
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
