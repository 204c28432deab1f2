package encode_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// An oracleLine is a frame or structure that Kafka's own classes wrote, and what they say of it.
type oracleLine struct {
	Kafka, Kind        string
	API, Name          string
	Topic              string
	Key                int16
	APIKey             *int16 `json:"apiKey"`
	Version            int16
	Instance           int
	CorrelationID      int32   `json:"correlationId"`
	ClientID           *string `json:"clientId"`
	Hex                string
	JSON               map[string]any
	UnknownTags        []any
	Records            []recordsField
	Batches            []map[string]any
	BodyOffset         int
	bytes              []byte
	TrailingBytes      int
	NestedHeaderUnused any `json:"headerJson"`
}

type recordsField struct {
	Path         string
	Offset, Size int
}

func (o *oracleLine) String() string {
	return fmt.Sprintf("Kafka %s, %s%s %s v%d, instance %d", o.Kafka, o.API, o.Name, o.Kind, o.Version, o.Instance)
}

// oracleLines calls yield for each line of the oracle's files that match a pattern, or of the few that are kept in testdata where the
// oracle is absent.
func oracleLines(t testing.TB, pattern string, yield func(*oracleLine)) (lines int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../shared/oracle", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
			t.Fatalf("%s is absent", pattern)
		}
		t.Skipf("%s is absent", pattern)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := gzip.NewReader(bufio.NewReader(f))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		lines += readLines(t, unzipped, yield)
		f.Close()
	}
	return lines
}

func readLines(t testing.TB, r io.Reader, yield func(*oracleLine)) (lines int) {
	t.Helper()
	decoder := json.NewDecoder(r)
	decoder.UseNumber()
	for {
		var o oracleLine
		if err := decoder.Decode(&o); err == io.EOF {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		if o.bytes, _ = hex.DecodeString(o.Hex); len(o.bytes) == 0 && o.Hex != "" {
			t.Fatalf("%s: bad hex", &o)
		}
		lines++
		yield(&o)
	}
}

// renamed is what 3.9.1 called fields that have another name in the newest release, whose names the catalog has.
var renamed = map[string]string{
	"clientMetricsResources": "configResources", "name": "resourceName",
	"generationId":   "generationIdOrMemberEpoch",
	"candidateEpoch": "replicaEpoch", "candidateId": "replicaId", "candidateDirectoryId": "replicaDirectoryId",
}

// rename gives the fields of a 3.9.1 message their new names, where there are such.
func (o *oracleLine) rename(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			o.rename(value)
			now, changed := renamed[name]
			if changed && (name != "name" || o.Key == 74) {
				delete(v, name)
				v[now] = value
			}
		}
	case []any:
		for _, e := range v {
			o.rename(e)
		}
	}
}

// isRelaid tells whether a line has a layout of 3.9.1 that was unstable then and is another one in the catalog.
func (o *oracleLine) isRelaid() bool {
	return o.Kafka == "3.9.1" && (o.Name == "ShareGroupMetadataValue" || o.API == "ReadShareGroupStateSummary" && o.Kind == "response")
}

// document is what encode reads, made of an oracle's line. The records, of which Kafka's JSON has only the size, are taken from the bytes.
func (o *oracleLine) document(t testing.TB) []byte {
	if o.Kafka == "3.9.1" && (o.Key == 28 || o.Key == 52 || o.Key == 74) {
		o.rename(o.JSON)
	}
	for _, r := range o.Records {
		setRecords(t, o.JSON, r.Path, base64.StdEncoding.EncodeToString(o.bytes[r.Offset:r.Offset+r.Size]))
	}
	d := map[string]any{"payload": o.JSON}
	if len(o.UnknownTags) > 0 {
		d["unknownTags"] = o.UnknownTags
	}
	switch {
	case o.API != "":
		d["header"] = map[string]any{"type": strings.ToUpper(o.Kind), "apiKey": o.Key, "apiVersion": o.Version,
			"correlationId": o.CorrelationID, "clientId": o.ClientID}
	default:
		delete(d, "payload")
		d["name"], d["version"], d["value"] = o.Name, o.Version, o.JSON
		if o.Kind == "coordinator-key" { // 3.9.1 counts the record type as the version, and has one name for two types
			plan := schema.Embedded().RecordPlan(o.Topic, schema.CoordinatorKey, int16(binary.BigEndian.Uint16(o.bytes)), 0)
			d["name"], d["version"] = plan.Message.Name, 0
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// setRecords puts a value in place of the size of the records field at a path.
func setRecords(t testing.TB, body map[string]any, path, value string) {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		name, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		v := body[name]
		if index != "" {
			var i int
			fmt.Sscan(index, &i)
			v = v.([]any)[i]
		}
		body = v.(map[string]any)
	}
	name := parts[len(parts)-1]
	if body[name+"SizeInBytes"] == nil {
		t.Fatalf("no size at %s", path)
	}
	delete(body, name+"SizeInBytes")
	body[name] = value
}

// check encodes a line's JSON and compares it with Kafka's bytes.
func (o *oracleLine) check(t testing.TB) error {
	m, err := encode.Parse(schema.Embedded(), o.document(t))
	if err != nil {
		return err
	}
	got, err := m.Encode(encode.Options{})
	if err != nil {
		return err
	}
	if !bytes.Equal(got, o.bytes) {
		return fmt.Errorf("\n got %x\nwant %x", got, o.bytes)
	}
	body, err := m.Encode(encode.Options{BodyOnly: true})
	if err == nil && !bytes.Equal(body, o.bytes[o.BodyOffset:]) {
		return fmt.Errorf("the body alone is\n    %x\nwant %x", body, o.bytes[o.BodyOffset:])
	}
	return err
}

// What Kafka's own classes say of a message must give the bytes that they wrote.
func TestOracle(t *testing.T) {
	for _, file := range []struct {
		name          string
		lines, relaid int
	}{{"kafka-3.9.1", 1938, 3}, {"kafka-4.4.0", 1854, 0}, {"embedded-3.9.1", 392, 4}, {"embedded-4.4.0", 524, 0}} {
		failures, relaid := 0, 0
		lines := oracleLines(t, file.name+".jsonl.gz", func(o *oracleLine) {
			if o.isRelaid() {
				relaid++
				return
			}
			if err := o.check(t); err != nil {
				if failures++; failures < 5 {
					t.Errorf("%s: %.600v", o, err)
				}
			}
		})
		if lines != file.lines || relaid != file.relaid || failures > 0 {
			t.Errorf("%s: %d of %d lines fail, %d of another layout were not tried; there should be %d and %d", file.name, failures, lines, relaid, file.lines, file.relaid)
		}
	}
}

// The smallest message of every API and version, by size and bytes. Only the inside of a batch may differ, which is arbitrary.
func TestSmallest(t *testing.T) {
	lines := oracleLines(t, "minimal.jsonl.gz", func(o *oracleLine) {
		kind := schema.Request
		if o.Kind == "response" {
			kind = schema.Response
		}
		plan := schema.Embedded().Plan(o.Key, o.Version, kind)
		if plan == nil {
			t.Errorf("%s: no plan", o)
			return
		}
		got := encode.Smallest(plan)
		if !bytes.Equal(got, o.bytes) {
			t.Errorf("%s:\n got %x\nwant %x", o, got, o.bytes)
		}
	})
	if lines != 736 {
		t.Errorf("%d lines, want 736", lines)
	}
}

// A few lines of the oracle are kept beside the package.
func TestKeptLines(t *testing.T) {
	f, err := os.Open("testdata/oracle.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := readLines(t, f, func(o *oracleLine) {
		if err := o.check(t); err != nil {
			t.Errorf("%s: %v", o, err)
		}
	})
	if lines != 26 {
		t.Errorf("%d lines", lines)
	}
}
