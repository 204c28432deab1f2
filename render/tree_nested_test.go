package render

import (
	"strings"
	"testing"
)

// subscription is a ConsumerProtocolSubscription v1 to "a" with no user data and no partition owned.
const subscription = `0001 00000001 0001 61 ffffffff 00000000`

// joinGroup is a JoinGroup v5 request with that subscription.
func joinGroup(t testing.TB) step {
	return request(frame(unhex(t, `000b 0005 00000009 ffff  0001 67 00001770 0000ea60 0000 ffff`), unhex(t, "0008"), []byte("consumer"),
		unhex(t, `00000001 0005`), []byte("range"), unhex(t, "00000011"), unhex(t, subscription)))
}

func TestSubscription(t *testing.T) {
	text := tree(Options{Full: true}, joinGroup(t))
	wantLines(t, nodes(below(t, text, "+-- Metadata bytes")), `+-- Metadata bytes = 17 bytes 0x000100000001000161ffffffff00000000 (int32 len=17) [0x0032, 21B]
    +-- version int16 = 1 [0x0036, 2B]
    +-- ConsumerProtocolSubscription v1 [0x0038, 15B]
        +-- Topics []string = 1 element [0x0038, 7B]
        |   +-- length int32 = 1 (int32 n) [0x0038, 4B]
        |   +-- string[0] string = "a" (int16 len=1) [0x003c, 3B]
        +-- UserData bytes = null (int32 len=-1) [0x003f, 4B]
        +-- OwnedPartitions []TopicPartition = 0 elements [0x0043, 4B]
            +-- length int32 = 0 (int32 n) [0x0043, 4B]
`)
}

func TestAuthentication(t *testing.T) {
	shake := request(frame(unhex(t, `0011 0001 00000001 ffff 0005 504c41494e`)))
	shook := response(frame(unhex(t, `00000001 0000 00000001 0005 504c41494e`)))
	ask := request(frame(unhex(t, `0024 0001 00000002 ffff 0000000f`), []byte("\x00al\x1bice\x00hunter2")))
	answer := response(frame(unhex(t, `00000002 0000 ffff 00000000 0000000000000000`)))
	text := tree(Options{}, shake, shook, ask, answer)
	for _, want := range []string{"\nauth PLAIN handshake\n", "\nauth PLAIN handshake ok\n", "\nauth PLAIN client-first user=al\\x1bice\n", " user=al\\x1bice ok\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	wantPlain(t, text)
}

// A topic that has been named is named wherever its id occurs alone.
func TestTopicNamesBehindIDs(t *testing.T) {
	id := `0102030405060708090a0b0c0d0e0f10`
	ask := request(frame(unhex(t, `0003 000c 00000001 ffff 00  02 `+id+` 05 6e616d65 00 01 00 00`)))
	fetch := request(frame(unhex(t, `0001 000d 00000002 ffff 00  ffffffff 000001f4 00000001 00100000 00 00000000 ffffffff
		02 `+id+` 02 00000000 ffffffff 0000000000000000 ffffffff ffffffffffffffff 00100000 00 00 01 01 00`)))
	text := tree(Options{}, ask, fetch)
	if !strings.Contains(text, "TopicId uuid = AQIDBAUGBwgJCgsMDQ4PEA [") || !strings.Contains(text, "AQIDBAUGBwgJCgsMDQ4PEA (name)") {
		t.Errorf("the id is not named once:\n%s", text)
	}
}

func TestMetrics(t *testing.T) {
	var out strings.Builder
	printer := NewTree(&out, Options{})
	b := printer.metrics(nil, []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
		{"name":"a.b","gauge":{"dataPoints":[{"asDouble":1.5,"attributes":[{"key":"topic","value":{"stringValue":"t"}}]},{"asDouble":"NaN"}]}},
		{"name":"c\u001b","unit":"ms","sum":{"dataPoints":[{"asInt":"7"}]}},
		{"name":"d","histogram":{"dataPoints":[{"count":"3","sum":4}]}}]}]}]}`))
	wantLines(t, string(b), `+-- a.b gauge = 1.5 {topic="t"}, NaN
+-- c\x1b sum = 7 ms
+-- d histogram = count 3 sum 4
`)
	var many strings.Builder
	many.WriteString(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m"}`)
	many.WriteString(strings.Repeat(`,{"name":"m"}`, 24) + `]}]}]}`)
	if text := string(printer.metrics(nil, []byte(many.String()))); !strings.HasSuffix(text, "+-- ... 5 more metrics\n") {
		t.Errorf("the list is not cut:\n%s", text)
	}
}

// A secret config inside an Envelope is withheld in the structure as well as in the bytes that it stands in.
func TestSecretsInEnvelopes(t *testing.T) {
	inner := append(unhex(t, `002c 0000 00000001 ffff  00000001 02 0001 74 00000001 000c`), "ssl.password"...)
	inner = append(append(append(inner, 0, 0, 7), "hunter2"...), 0)
	ask := request(frame(unhex(t, `003a 0000 00000003 ffff 00`), []byte{byte(len(inner) + 1)}, inner, unhex(t, `00 05 7f000001 00`)))
	for _, o := range []Options{{}, {Full: true}, {Full: true, Hex: true}} {
		text := tree(o, ask)
		if shows(text, "hun") {
			t.Errorf("%+v shows the password:\n%s", o, text)
		}
		if !strings.Contains(text, "IncrementalAlterConfigsRequest v0") || !strings.Contains(text, `"ssl.password"`) {
			t.Errorf("%+v does not open the envelope:\n%s", o, text)
		}
		o.ShowSecrets = true
		if text := tree(o, ask); !strings.Contains(text, `"hunter2"`) {
			t.Errorf("%+v hides the password:\n%s", o, text)
		}
	}
}
