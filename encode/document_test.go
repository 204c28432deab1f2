package encode_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

func encodeText(text string, o encode.Options) (string, error) {
	m, err := encode.Parse(schema.Embedded(), []byte(text))
	if err != nil {
		return "", err
	}
	b, err := m.Encode(o)
	return hex.EncodeToString(b), err
}

// api is a document of a request or response.
func api(kind, name string, version int, payload, more string) string {
	return fmt.Sprintf(`{"type":%q,"apiName":%q,"apiVersion":%d,"payload":%s%s}`, kind, name, version, payload, more)
}

// An error says where in the document it is, and what would have been right.
func TestErrors(t *testing.T) {
	fetched := func(records string) string {
		return api("REQUEST", "Produce", 3, `{"transactionalId":null,"acks":1,"timeoutMs":1,"topicData":[{"name":"t","partitionData":[{"index":0,"records":`+records+`}]}]}`, "")
	}
	const at = "payload.topicData[0].partitionData[0].records"
	for _, c := range []struct{ text, path, says string }{
		{``, "", "there is nothing"},
		{`[]`, "", "a JSON object is wanted, not an array"},
		{`{"name":`, "", "not JSON"},
		{`{} {}`, "", "behind the JSON object"},
		{`{"kind":"finding"}`, "kind", "a message is wanted"},
		{`{"payload":{}}`, "type", "it is missing"},
		{`{"type":"ANSWER","payload":{}}`, "type", `"REQUEST" or "RESPONSE" is wanted here, not the string "ANSWER"`},
		{`{"header":5,"payload":{}}`, "header", "an object is wanted here"},
		{`{"type":"REQUEST","payload":{}}`, "apiName", "which API?"},
		{`{"type":"REQUEST","apiKey":7000,"apiVersion":0,"payload":{}}`, "apiKey", "no API with key 7000"},
		{`{"type":"REQUEST","apiKey":1,"apiName":"Produce","apiVersion":0,"payload":{}}`, "apiKey", "1 is Fetch, not Produce"},
		{`{"header":{"type":"REQUEST","apiName":"Fech","apiVersion":1},"payload":{}}`, "header.apiName", `no API "Fech"`},
		{`{"type":"REQUEST","apiName":"Metadata","payload":{"topics":[]}}`, "apiVersion", "a whole number is wanted"},
		{api("REQUEST", "Metadata", 99, `{}`, ""), "apiVersion", "it has 0-13"},
		{api("REQUEST", "Metadata", 1, `null`, ""), "payload", "an object is wanted here, not null"},
		{api("REQUEST", "Metadata", 1, `{}`, ""), "payload", "topics is missing, a field of type []MetadataRequestTopic"},
		{api("REQUEST", "Metadata", 0, `{"topics":null}`, ""), "payload.topics", "MetadataRequest v0 has no null here; an array is wanted"},
		{api("REQUEST", "Metadata", 1, `{"topics":[null]}`, ""), "payload.topics[0]", "no null here; an object is wanted"},
		{api("REQUEST", "Metadata", 1, `{"topics":[],"more":1}`, ""), "payload", `no field "more" here; it has topics`},
		{api("REQUEST", "Metadata", 1, `{"topics":[{"name":"`+strings.Repeat("x", 32768)+`"}]}`, ""), "payload.topics[0].name", "it may have 32767 at most"},
		{api("REQUEST", "Metadata", 1, `{"topics":[],"allowAutoTopicCreation":false}`, ""), "payload", "allowAutoTopicCreation is in v4+ of MetadataRequest, not in v1"},
		{api("REQUEST", "Metadata", 4, `{"topics":[],"allowAutoTopicCreation":1}`, ""), "payload.allowAutoTopicCreation", "true or false is wanted here, not the number 1"},
		{api("REQUEST", "Metadata", 12, `{"topics":[{"topicId":"x","name":null}],"allowAutoTopicCreation":true,"includeTopicAuthorizedOperations":true}`, ""),
			"payload.topics[0].topicId", "URL-safe base64 of 22 characters"},
		{api("REQUEST", "Heartbeat", 0, `{"groupId":"g","generationId":2147483648,"memberId":"m"}`, ""), "payload.generationId", "out of range, which is -2147483648 to 2147483647"},
		{api("REQUEST", "Heartbeat", 0, `{"groupId":"g","generationId":99999999999999999999,"memberId":"m"}`, ""), "payload.generationId", "out of range"},
		{api("REQUEST", "Heartbeat", 0, `{"groupId":"g","generationId":1.5,"memberId":"m"}`, ""), "payload.generationId", "a whole number is wanted here, not the number 1.5"},
		{api("REQUEST", "Heartbeat", 0, `{"groupId":"g","generationId":"1","memberId":"m"}`, ""), "payload.generationId", `not the string "1"`},
		{api("REQUEST", "SaslAuthenticate", 0, `{"authBytes":"a"}`, ""), "payload.authBytes", "is not base64 with padding"},
		{api("REQUEST", "SaslAuthenticate", 0, `null`, `,"payloadWithheld":"why"`), "payload", "--show-secrets shows it"},
		{api("REQUEST", "Heartbeat", 0, `{}`, `,"undecoded":{"offset":5}`), "undecoded", "could not be decoded"},
		{api("REQUEST", "Heartbeat", 4, `{"groupId":"g","generationId":1,"memberId":"m","groupInstanceId":null}`, `,"unknownTags":[{"path":"x","tag":1,"hex":""}]`),
			"unknownTags", `no structure with tagged fields at path "x"`},
		{api("REQUEST", "Heartbeat", 0, `{"groupId":"g","generationId":1,"memberId":"m"}`, `,"unknownTags":[{"path":"","tag":1,"hex":""}]`),
			"unknownTags", `no structure with tagged fields at path ""`},
		{api("REQUEST", "Fetch", 12, `{}`, `,"unknownTags":[{"path":"","tag":1,"hex":"zz"}]`), "unknownTags[0].hex", "hex digits are wanted"},
		{fetched(`5`), at, "base64 or an array of batches is wanted here"},
		{fetched(`[5]`), at + "[0]", "an object, a batch, is wanted here"},
		{fetched(`[{"count":3}]`), at + "[0]", "--records full"},
		{fetched(`[{"count":3,"records":[]}]`), at + "[0]", "count is 3, but there are 0 records"},
		{fetched(`[{"partial":true,"size":4}]`), at + "[0]", "the batch is cut"},
		{fetched(`[{"records":null}]`), at + "[0]", "could not be decompressed"},
		{fetched(`[{"records":[],"compression":"brotli"}]`), at + "[0]", "one of none, gzip, snappy, lz4, zstd is wanted here"},
		{fetched(`[{"records":[],"compression":"gzip","attributes":0}]`), at + "[0]", "compression does not agree with attributes 0"},
		{fetched(`[{"records":[],"attributes":6}]`), at + "[0]", "there is no codec 6"},
		{fetched(`[{"records":[],"magic":3}]`), at + "[0].magic", "0 to 2"},
		{fetched(`[{"records":[],"size":3}]`), at + "[0]", `there is no field "size" here`},
		{fetched(`[{"records":[{"key":5}]}]`), at + "[0].records[0]", "key: a string or null is wanted here"},
		{fetched(`[{"records":[{"keyBase64":"?"}]}]`), at + "[0].records[0]", "keyBase64"},
		{fetched(`[{"records":[{"offset":5000000000}]}]`), at + "[0]", "further from baseOffset than an int32"},
		{fetched(`[{"records":[{"valueWithheld":""}]}]`), at + "[0].records[0]", "--show-secrets"},
		{fetched(`[{"records":[{"headers":[{"value":"v"}]}]}]`), at + "[0].records[0]", "the key of a header cannot be null"},
		{fetched(`[{"magic":1,"records":[{},{}]}]`), at + "[0]", "holds one record, not 2"},
		{strings.Replace(fetched(`5`), `"records":5`, `"recordsSizeInBytes":5`, 1), strings.TrimSuffix(at, ".records"), "there is only the size of records"},
		{`{"name":"Nonsense","version":0,"value":{}}`, "name", `no structure the string "Nonsense"`},
		{`{"name":"MetadataRequest","version":0,"value":{}}`, "name", "has a header"},
		{`{"name":"OffsetCommitKey","version":7,"value":{}}`, "version", "no version 7; it has 0"},
		{`{"name":"OffsetCommitKey","version":0,"value":{}}`, "value", "group is missing"},
	} {
		_, err := encodeText(c.text, encode.Options{})
		var e *encode.Error
		if !errors.As(err, &e) || e.Path != c.path || !strings.Contains(e.Text, c.says) {
			t.Errorf("%.200s:\n%v, want %s: ... %s", c.text, err, c.path, c.says)
		}
	}
}

// The bytes are written by hand after the protocol's description.
func TestDocuments(t *testing.T) {
	heartbeat := func(more string) string {
		return `{"type":"request","apiKey":12,"apiVersion":4,"correlationId":1,"clientId":null,"payload":{"groupId":"g","generationId":1,"memberId":"m"` + more
	}
	const front = "000c" + "0004" + "00000001" + "ffff" // key, version, correlation id, no client id
	const body = "0267" + "00000001" + "026d"
	for _, c := range []struct {
		name, text, want string
		options          encode.Options
	}{
		{name: "flexible", text: heartbeat(`,"groupInstanceId":null}}`), want: "00000015" + front + "00" + body + "00" + "00"},
		{name: "body alone", text: heartbeat(`,"groupInstanceId":null}}`), want: body + "00" + "00", options: encode.Options{BodyOnly: true}},
		{name: "default null", text: heartbeat(`}}`), want: body + "00" + "00", options: encode.Options{BodyOnly: true, Defaults: true}},
		{name: "unknown tags ascend", text: heartbeat(`,"groupInstanceId":""},"unknownTags":[{"path":"","tag":300,"hex":"aabb"},{"path":"header","tag":5,"hex":""},{"path":"","tag":2,"hex":"cc"}]}`),
			want: "0000001f" + front + "01" + "0500" + body + "01" + "02" + "02" + "01cc" + "ac02" + "02aabb"},
		{name: "surplus at its default", text: api("REQUEST", "Metadata", 1, `{"topics":[],"allowAutoTopicCreation":true,"includeTopicAuthorizedOperations":false}`, ""),
			want: "00000000", options: encode.Options{BodyOnly: true}},
		{name: "surplus that is ignorable", text: api("RESPONSE", "Heartbeat", 0, `{"throttleTimeMs":7,"errorCode":27}`, ""), want: "00000006" + "00000000" + "001b"},
		{name: "fallback", text: api("RESPONSE", "ApiVersions", 4, `{"errorCode":35,"apiKeys":[{"apiKey":18,"minVersion":0,"maxVersion":3}]}`, ""),
			want: "00000010" + "00000000" + "0023" + "00000001" + "0012" + "0000" + "0003"},
		{name: "tagged field with its default", text: api("REQUEST", "Fetch", 12, `{"clusterId":null,"replicaId":-1,"maxWaitMs":1,"minBytes":1,"maxBytes":1,"isolationLevel":0,"sessionId":0,"sessionEpoch":-1,"topics":[],"forgottenTopicsData":[],"rackId":""}`, ""),
			want: "ffffffff" + "00000001" + "00000001" + "00000001" + "00" + "00000000" + "ffffffff" + "01" + "01" + "01" + "00", options: encode.Options{BodyOnly: true}},
		{name: "tagged field", text: api("REQUEST", "Fetch", 12, `{"clusterId":"c","replicaId":-1,"maxWaitMs":1,"minBytes":1,"maxBytes":1,"isolationLevel":0,"sessionId":0,"sessionEpoch":-1,"topics":[],"forgottenTopicsData":[],"rackId":""}`, ""),
			want: "ffffffff" + "00000001" + "00000001" + "00000001" + "00" + "00000000" + "ffffffff" + "01" + "01" + "01" + "01" + "00" + "02" + "0263", options: encode.Options{BodyOnly: true}},
	} {
		got, err := encodeText(c.text, c.options)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

// No document makes it panic, and an error is an Error.
func FuzzDocument(f *testing.F) {
	kept, err := os.ReadFile("testdata/oracle.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	readLines(f, strings.NewReader(string(kept)), func(o *oracleLine) { f.Add(o.document(f)) })
	f.Add([]byte(api("REQUEST", "Produce", 3, `{"transactionalId":null,"acks":1,"timeoutMs":1,"topicData":[{"name":"t","partitionData":[{"index":0,"records":[{"compression":"gzip","records":[{"key":"k","headers":[{"key":"h","valueBase64":"AA=="}]}]},{"magic":1,"records":[{"value":"v"}]}]}]}]}`, "")))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, o := range []encode.Options{{}, {Defaults: true, BodyOnly: true}} {
			m, err := encode.Parse(schema.Embedded(), text)
			if err == nil {
				_, err = m.Encode(o)
			}
			var e *encode.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}
