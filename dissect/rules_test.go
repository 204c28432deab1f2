package dissect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Frames of the rules, laid out by Kafka's schemas.

// metadata is a Metadata v1 request for topics.
func metadata(correlationID int32, topics ...string) []byte {
	body := pack(int32(len(topics)))
	for _, topic := range topics {
		body = pack(body, text(topic))
	}
	return framed(int16(3), int16(1), correlationID, text("c"), body)
}

// metadataAnswer is a Metadata v1 response without brokers and topics, which metadata of any topics may get.
func metadataAnswer(correlationID int32) []byte {
	return framed(correlationID, int32(0), int32(1), int32(0))
}

// apiVersionsAnswer is an ApiVersions v0 response that offers nothing.
func apiVersionsAnswer(correlationID int32) []byte { return framed(correlationID, int16(0), int32(0)) }

// flexible is a request of a flexible version, without tagged fields in its header.
func flexible(key, version int16, correlationID int32, body ...any) []byte {
	return framed(key, version, correlationID, text("c"), byte(0), pack(body...))
}

// produceAcks is a Produce v3 request with no topic.
func produceAcks(correlationID int32, acks int16) []byte {
	return framed(int16(0), int16(3), correlationID, text("c"), int16(-1), acks, int32(0), int32(0))
}

// compactOf is a compact string or bytes.
func compactOf(s string) []byte { return pack(uvarintOf(uint64(len(s)+1)), s) }

// told writes down what came out: a line a message with the codes of its findings, then a line a report.
func (r *recorder) told() string {
	var lines []string
	for _, m := range r.messages {
		line := m.short()
		for _, code := range m.codes() {
			line += " " + string(code)
		}
		lines = append(lines, line)
	}
	for _, report := range r.reports {
		for _, f := range report.Findings {
			lines = append(lines, fmt.Sprintf("- %s %s", f.Code, f.Severity))
		}
	}
	return strings.Join(lines, "\n")
}

// A rule is a conversation and what must come out of it.
type rule struct {
	name string
	play func(k *talk)
	want string // as told writes it down, with leading tabs
	// also says what else must be true, "" when it is.
	also  func(k *talk) string
	known string // why it does not hold yet
}

// checkRules plays each conversation.
func checkRules(t *testing.T, rules []rule) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			k := newTalk(NeedMessages|NeedExchanges|NeedRecords, true)
			r.play(k)
			k.checkTapes(t)
			want := strings.ReplaceAll(strings.TrimSpace(r.want), "\t", "")
			got, also := k.told(), ""
			if r.also != nil && got == want {
				also = r.also(k)
			}
			if got == want && also == "" {
				if r.known != "" {
					t.Errorf("this holds by now, it is no longer known: %s", r.known)
				}
				return
			}
			if r.known != "" {
				t.Skip("known: " + r.known)
			}
			t.Errorf("%s\n got:\n%s\nwant:\n%s", also, got, want)
		})
	}
}

// asked plays one request, to a server that is known for Kafka, and answered one request and its response; nobody waits for more.
func asked(request []byte) func(*talk) {
	return func(k *talk) {
		k.knowBroker()
		k.client(request)
	}
}

func answered(request, response []byte) func(*talk) {
	return func(k *talk) {
		k.client(request)
		k.server(response)
	}
}

// last returns the first node of a name in the last message that is not the head of a tagged field.
func (r *recorder) last(name string) *nodeSeen {
	tape := r.messages[len(r.messages)-1].Tape
	i := slices.IndexFunc(tape, func(n nodeSeen) bool { return n.Name == name && n.Kind != TagNode })
	if i < 0 {
		return nil
	}
	return &tape[i]
}

// value says how the value of a field of the last message differs from what is wanted, "" when it does not.
func value(name, want string) func(k *talk) string {
	return func(k *talk) string {
		n := k.last(name)
		if n == nil || n.Value != want {
			return fmt.Sprintf("%s is %+v, want %q", name, n, want)
		}
		return ""
	}
}

// null says whether a field of the last message is null.
func null(name string, want bool) func(k *talk) string {
	return func(k *talk) string {
		if n := k.last(name); n == nil || n.Null != want {
			return fmt.Sprintf("%s is %+v, null is to be %t", name, n, want)
		}
		return ""
	}
}

// kinds says whether the last message has a leaf of a kind, and how many bytes are in leaves of it.
func kinds(kind NodeKind, want uint32) func(k *talk) string {
	return func(k *talk) string {
		got := uint32(0)
		for _, n := range k.messages[len(k.messages)-1].Tape {
			if n.Kind == kind {
				got += n.Length
			}
		}
		if got != want {
			return fmt.Sprintf("%d bytes of kind %d, want %d", got, kind, want)
		}
		return ""
	}
}

func TestHeaderRules(t *testing.T) {
	clientID := func(id string, null bool) func(k *talk) string {
		return func(k *talk) string {
			if h := k.messages[0].Header; h.ClientID != id || h.ClientIDNull != null {
				return fmt.Sprintf("%+v", h)
			}
			return ""
		}
	}
	checkRules(t, []rule{
		{name: "null client id", play: asked(framed(int16(3), int16(1), int32(7), int16(-1), int32(0))),
			want: "Metadata v1 request 7", also: clientID("", true)},
		{name: "empty client id", play: asked(framed(int16(3), int16(1), int32(7), int16(0), int32(0))),
			want: "Metadata v1 request 7", also: clientID("", false)},
		{name: "null client id, flexible", play: asked(framed(int16(3), int16(9), int32(7), int16(-1), byte(0), unhex("01 01 00 00 00"))),
			want: "Metadata v9 request 7", also: clientID("", true)},
		{name: "client id with a NUL", play: func(k *talk) {
			k.client(apiVersions(1))
			k.client(framed(int16(3), int16(1), int32(7), text("a\x00b"), int32(0)))
		}, want: "ApiVersions v0 request 1\nMetadata v1 request 7"},
		{name: "client id of a length below -1", play: func(k *talk) {
			k.client(apiVersions(1))
			k.client(framed(int16(3), int16(1), int32(7), int16(-2), int32(0)))
		}, want: "ApiVersions v0 request 1\nMetadata v1 request 7 invalid-length"},
		{name: "client id beyond the frame", play: func(k *talk) {
			k.client(apiVersions(1))
			k.client(framed(int16(3), int16(1), int32(7), int16(100), int32(0)))
		}, want: "ApiVersions v0 request 1\nMetadata v1 request 7 invalid-length"},
		{name: "no client id at all", play: func(k *talk) { // header version 0 is ControlledShutdown v0's alone
			k.client(framed(int16(7), int16(0), int32(9), int32(5)))
			k.server(framed(int32(9), int16(0), int32(1), text("t"), int32(3)))
		}, want: "ControlledShutdown v0 request 9\nControlledShutdown v0 response 9", also: value("PartitionIndex", "\x00\x00\x00\x03")},
		{name: "ControlledShutdown v1 has one", play: asked(framed(int16(7), int16(1), int32(9), text("c"), int32(5))),
			want: "ControlledShutdown v1 request 9", also: value("BrokerId", "\x00\x00\x00\x05")},
		{name: "tagged field in a request's header", play: asked(framed(int16(18), int16(3), int32(7), text("c"), unhex("01 05 02"), "ab", compactOf("n"), compactOf("1"), byte(0))),
			want: "ApiVersions v3 request 7 unknown-tag", also: value("ClientSoftwareName", "n")},
		{name: "tagged field in a response's header", play: answered(flexible(3, 9, 7, unhex("01 01 00 00 00")),
			framed(int32(7), unhex("01 8001 03"), "abc", int32(0), byte(1), byte(0), int32(5), byte(1), int32(0), byte(0))),
			want: "Metadata v9 request 7\nMetadata v9 response 7 unknown-tag", also: value("ControllerId", "\x00\x00\x00\x05")},
		{name: "correlation ids are signed", play: answered(metadata(-2147483648), metadataAnswer(-2147483648)),
			want: "Metadata v1 request -2147483648\nMetadata v1 response -2147483648"},
		{name: "unknown API in mid-connection", play: func(k *talk) {
			k.client(apiVersions(1), framed(int16(999), int16(3), int32(2), text("c"), "whatever"), metadata(3))
			k.server(apiVersionsAnswer(1), framed(int32(2), "anything"), metadataAnswer(3))
		}, want: `ApiVersions v0 request 1
			? v3 request 2 unknown-api
			Metadata v1 request 3
			ApiVersions v0 response 1
			? v3 response 2 unknown-api
			Metadata v1 response 3`},
		{name: "unknown version", play: func(k *talk) {
			k.client(apiVersions(1), framed(int16(3), int16(90), int32(2), text("c"), "whatever"), metadata(3))
			k.server(apiVersionsAnswer(1), framed(int32(2), "anything"), metadataAnswer(3))
		}, want: `ApiVersions v0 request 1
			Metadata v90 request 2 unknown-version
			Metadata v1 request 3
			ApiVersions v0 response 1
			Metadata v90 response 2 unknown-version
			Metadata v1 response 3`},
	})
}

func TestApiVersionsFallback(t *testing.T) {
	v3 := flexible(18, 3, 7, compactOf("n"), compactOf("1"), byte(0))
	checkRules(t, []rule{
		{name: "error 35 in version 0", play: answered(v3, framed(int32(7), int16(35), int32(1), int16(18), int16(0), int16(2))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 version-fallback error-code", also: value("MaxVersion", "\x00\x02")},
		{name: "error 35 without a version", play: answered(v3, framed(int32(7), int16(35), int32(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 version-fallback error-code", also: kinds(TrailingNode, 0)},
		{name: "error 35 in version 3", play: answered(v3, framed(int32(7), int16(35), byte(2), int16(18), int16(0), int16(4), byte(0), int32(0), byte(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 error-code", also: value("MaxVersion", "\x00\x04")},
		{name: "error 35 in version 3, nothing else", play: answered(v3, framed(int32(7), int16(35), byte(1), int32(0), byte(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 error-code", also: value("ThrottleTimeMs", "\x00\x00\x00\x00")},
		{name: "error 35 in version 1", play: answered(framed(int16(18), int16(1), int32(7), text("c")), framed(int32(7), int16(35), int32(0), int32(0))),
			want: "ApiVersions v1 request 7\nApiVersions v1 response 7 error-code", also: value("ThrottleTimeMs", "\x00\x00\x00\x00")},
		{name: "error 35 and a byte too many for version 0", play: answered(v3, framed(int32(7), int16(35), int32(0), byte(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 null-not-allowed missing-bytes error-code"},
		{name: "error 35 to version 0", play: answered(apiVersions(7), framed(int32(7), int16(35), int32(0))),
			want: "ApiVersions v0 request 7\nApiVersions v0 response 7 error-code"},
		// 129 (REBOOTSTRAP_REQUIRED) says nothing about versions.
		{name: "error 129 in version 3", play: answered(v3, framed(int32(7), int16(129), byte(1), int32(0), byte(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 error-code"},
		{name: "error 129 in what could be version 0", play: answered(v3, framed(int32(7), int16(129), int32(0))),
			want: "ApiVersions v3 request 7\nApiVersions v3 response 7 null-not-allowed missing-bytes error-code"},
		{name: "a version that nobody knows", play: answered(flexible(18, 90, 7, "whatever"), framed(int32(7), int16(35), int32(1), int16(18), int16(0), int16(4))),
			want: "ApiVersions v90 request 7 unknown-version\nApiVersions v90 response 7 version-fallback error-code", also: value("MaxVersion", "\x00\x04")},
	})
}

func TestValueRules(t *testing.T) {
	topics := func(parts ...any) []byte { return framed(int16(3), int16(1), int32(7), text("c"), pack(parts...)) }
	flex := func(parts ...any) []byte { return flexible(3, 9, 7, parts...) }
	check := func(request []byte, codes string, also func(*talk) string, name string) rule {
		return rule{name: name, play: func(k *talk) {
			k.client(apiVersions(1))
			k.client(request)
		}, want: strings.TrimSpace("ApiVersions v0 request 1\n" + "Metadata " + codes), also: also}
	}
	fetch := func(tags ...any) []byte { // Fetch v12, whose body ends in tagged fields: 0 is the cluster's id
		return flexible(1, 12, 7, int32(-1), int32(0), int32(0), int32(0), int8(0), int32(0), int32(-1), byte(1), byte(1), byte(1), pack(tags...))
	}
	describe := func(cursor ...any) []byte { return flexible(75, 0, 7, byte(1), int32(5), pack(cursor...), byte(0)) }
	checkRules(t, []rule{
		check(topics(int32(-1)), "v1 request 7", null("Topics", true), "null array"),
		check(topics(int32(0)), "v1 request 7", null("Topics", false), "empty array"),
		check(framed(int16(3), int16(0), int32(7), text("c"), int32(-1)), "v0 request 7 null-not-allowed", null("Topics", true), "null array where none may be"),
		check(topics(int32(1), int16(-1)), "v1 request 7 null-not-allowed", null("Name", true), "null string where none may be"),
		check(flex(byte(2), byte(0), byte(0), unhex("00 00 00 00")), "v9 request 7 null-not-allowed", null("Name", true), "null compact string where none may be"),
		check(topics(int32(1), int16(-2)), "v1 request 7 invalid-length", nil, "string of -2"),
		check(topics(int32(-2)), "v1 request 7 invalid-length", nil, "array of -2"),
		check(topics(int32(1<<31-1)), "v1 request 7 invalid-length", nil, "array of 2^31-1"),
		check(topics(int32(4), text("a")), "v1 request 7 invalid-length", nil, "array of four with three bytes behind its count"),
		check(topics(int32(2), text("a")), "v1 request 7 missing-bytes", value("Name", "a"), "array of two with one"),
		check(topics(int32(1), int16(5), "abc"), "v1 request 7 invalid-length", nil, "string beyond the frame"),
		check(flex(unhex("ff ff ff ff 0f")), "v9 request 7 invalid-length", nil, "compact array of 2^32-2"),
		check(flex(unhex("80 80 80 80 80 00")), "v9 request 7 invalid-length", nil, "varint of 6 bytes"),
		check(flex(unhex("ff ff ff ff 1f")), "v9 request 7 invalid-length", nil, "varint above 2^32"),
		check(flex(unhex("81 00 01 00 00 00")), "v9 request 7", null("Topics", false), "varint with a byte to spare"),
		check(flex(byte(1), unhex("01 00 00"), byte(0x80)), "v9 request 7 missing-bytes", nil, "varint that ends with the frame"),
		check(topics(int32(1), int16(2), unhex("ff fe")), "v1 request 7 bad-utf8", value("Name", "\xff\xfe"), "bytes that are no UTF-8"),
		check(topics(int32(1), int16(3), unhex("ed a0 80")), "v1 request 7 bad-utf8", value("Name", "\xed\xa0\x80"), "half of a surrogate pair"),
		check(topics(int32(1), text("a\u00e9\U0001f600")), "v1 request 7", value("Name", "a\u00e9\U0001f600"), "UTF-8 of 1, 2 and 4 bytes"),
		check(topics(int32(0), "xyz"), "v1 request 7 trailing-bytes", kinds(TrailingNode, 3), "bytes behind the end"),
		check(flex(unhex("01 01 00 00"), byte(0), "xyz"), "v9 request 7 trailing-bytes", kinds(TrailingNode, 3), "bytes behind the end of a flexible version"),

		{name: "nullable structure, null", play: asked(describe(int8(-1))), want: "DescribeTopicPartitions v0 request 7", also: null("Cursor", true)},
		{name: "nullable structure, there", play: asked(describe(int8(1), compactOf("t"), int32(3), byte(0))), want: "DescribeTopicPartitions v0 request 7",
			also: value("PartitionIndex", "\x00\x00\x00\x03")},
		{name: "nullable structure of which only the first byte is there", play: asked(flexible(75, 0, 7, byte(1), int32(5), int8(1))),
			want: "DescribeTopicPartitions v0 request 7 missing-bytes"},

		{name: "tagged field", play: asked(fetch(unhex("01 00 04"), compactOf("abc"))), want: "Fetch v12 request 7", also: value("ClusterId", "abc")},
		{name: "tagged field, null", play: asked(fetch(unhex("01 00 01 00"))), want: "Fetch v12 request 7", also: null("ClusterId", true)},
		{name: "unknown tag", play: asked(fetch(unhex("01 63 02"), "hi")), want: "Fetch v12 request 7 unknown-tag", also: kinds(UnknownNode, 2)},
		{name: "unknown tag of no bytes", play: asked(fetch(unhex("01 63 00"))), want: "Fetch v12 request 7 unknown-tag", also: kinds(UnknownNode, 0)},
		{name: "tag of a newer version", play: asked(fetch(unhex("01 01 0d"), int32(-1), int64(-1), byte(0))), want: "Fetch v12 request 7 unknown-tag", also: kinds(UnknownNode, 13)},
		{name: "the largest tag", play: asked(fetch(unhex("01 ff ff ff ff 0f 01 00"))), want: "Fetch v12 request 7 unknown-tag"},
		{name: "tag twice", play: asked(fetch(unhex("02 00 02"), compactOf("a"), unhex("00 02"), compactOf("b"))), want: "Fetch v12 request 7 tag-order",
			also: func(k *talk) string {
				var hidden []bool
				for _, n := range k.messages[0].Tape {
					if n.Kind == TagNode {
						hidden = append(hidden, n.Hidden)
					}
				}
				if !slices.Equal(hidden, []bool{true, false}) { // Kafka's reader keeps the later one
					return fmt.Sprint("hidden: ", hidden)
				}
				return ""
			}},
		{name: "tags out of order", play: asked(fetch(unhex("02 63 01"), "x", unhex("00 02"), compactOf("a"))), want: "Fetch v12 request 7 unknown-tag tag-order",
			also: value("ClusterId", "a")},
		{name: "size that is too large", play: asked(fetch(unhex("01 00 06"), compactOf("abc"), "zz")), want: "Fetch v12 request 7 tag-size", also: value("ClusterId", "abc")},
		{name: "value beyond its size", play: asked(fetch(unhex("01 00 02"), unhex("04 61"))), want: "Fetch v12 request 7 tag-size", also: kinds(UndecodedNode, 2)},
		{name: "size of 0 for a value", play: asked(fetch(unhex("01 00 00"))), want: "Fetch v12 request 7 tag-size"},
		{name: "size beyond the frame", play: asked(fetch(unhex("01 00 20"), compactOf("abc"))), want: "Fetch v12 request 7 invalid-length"},
		{name: "count beyond the frame", play: asked(fetch(unhex("7f"))), want: "Fetch v12 request 7 invalid-length"},
		{name: "count without a field", play: asked(fetch(unhex("01"))), want: "Fetch v12 request 7 invalid-length"},
	})
}

// A nullable structure inside a tagged field is led by an unsigned varint: 0 null, 1 present. ConsumerGroupMemberMetadataValue has one.
func TestNullableStructureInATag(t *testing.T) {
	base := pack(int16(0), compactOf("i"), compactOf("r"), compactOf("c"), compactOf("h"), byte(1), byte(0), int32(5), byte(0))
	for name, c := range map[string]struct {
		tag    []byte
		null   bool
		finite int64
	}{
		"null":    {unhex("01 00 01 00"), true, 0},
		"present": {unhex("01 00 07 01 00 00 00 09 01 00"), false, 9},
	} {
		m := &Message{tools: newTools(), Head: &Head{catalog: schema.Embedded()}}
		r := Record{Key: pack(int16(5), text("g"), text("m")), Value: pack(base, c.tag)}
		n := m.DecodeValue("__consumer_offsets", &Batch{Magic: 2}, &r)
		if n == nil {
			t.Errorf("%s: not decoded", name)
			continue
		}
		got, _ := structOf(&n.View, n.Body()).(map[string]any)
		inner, there := got["classicMemberMetadata"].(map[string]any)
		if there == c.null || there && fmt.Sprint(inner["sessionTimeoutMs"]) != fmt.Sprint(c.finite) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A count that is read from the wire allocates nothing by itself.
func TestCountsAllocateNothing(t *testing.T) {
	for name, request := range map[string][]byte{
		"array of structures": framed(int16(3), int16(1), int32(7), text("c"), int32(1<<31-1), make([]byte, 100)),
		"array of integers":   framed(int16(10), int16(4), int32(7), text("c"), byte(0), int8(0), unhex("ff ff ff ff 07"), make([]byte, 100)),
		"string":              framed(int16(3), int16(1), int32(7), text("c"), int32(1), int16(32767), make([]byte, 100)),
		"tagged fields":       framed(int16(3), int16(9), int32(7), text("c"), unhex("ff ff ff ff 07"), make([]byte, 100)),
		"a frame of 2 GiB":    pack(int32(1<<31-1), int16(3), int16(1), int32(7), text("c"), int32(1<<31-1), make([]byte, 100)),
	} {
		k := newTalk(NeedMessages|NeedExchanges|NeedRecords, true)
		k.client(apiVersions(1))
		if used := allocated(func() {
			k.client(request)
			k.end(reassembly.EndOfInput)
		}); used > 256<<10 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
		if len(k.messages) != 2 {
			t.Errorf("%s: %v, %v", name, k.shorts(), k.reportCodes())
		}
	}
}

// A frame may end anywhere: what is there stays, and what is missing is said. So is a surplus, wherever it comes from.
func TestFramesCutAnywhere(t *testing.T) {
	request, response := fetchV4(7, "orders", batchOf(0, 1, recordOf(0, []byte("k"), []byte("v"))))
	flexRequest := flexible(1, 12, 7, int32(-1), int32(0), int32(0), int32(0), int8(0), int32(0), int32(-1),
		byte(2), compactOf("t"), byte(2), int32(0), int32(-1), int64(5), int32(-1), int64(-1), int32(100), byte(0), byte(0), byte(1), byte(1), byte(0))
	flexResponse := framed(int32(7), byte(0), int32(0), int16(0), int32(0), byte(2), compactOf("t"), byte(2), int32(0), int16(0), int64(0), int64(0), int64(0),
		byte(1), int32(-1), byte(1), unhex("01 01 09"), int32(1), int32(2), byte(0), byte(0), byte(0))
	for name, frames := range map[string][2][]byte{"v4": {request, response}, "v12": {flexRequest, flexResponse}} {
		for kind, frame := range frames {
			for n := 8 + 4*(1-kind); n <= len(frame); n++ { // the shortest header of a request has 12 bytes, of a response 8
				cut := slices.Concat(pack(int32(n-4)), frame[4:n])
				k := newTalk(NeedMessages|NeedExchanges|NeedRecords, true)
				k.client(apiVersions(1))
				if kind == 1 {
					k.client(frames[0])
					k.server(apiVersionsAnswer(1), cut, metadataAnswer(9))
				} else {
					k.client(cut, metadata(9))
				}
				k.checkTapes(t)
				wantMessages := 3 + 2*kind
				if len(k.messages) < wantMessages-kind {
					t.Errorf("%s, kind %d, %d of %d bytes: %v, %v", name, kind, n, len(frame), k.shorts(), k.reportCodes())
					continue
				}
				m := k.messages[1+2*kind]
				whole := n == len(frame)
				if whole != (m.Undecoded == nil) || m.Name != "Fetch" {
					t.Errorf("%s, kind %d, %d of %d bytes: %s, undecoded %+v", name, kind, n, len(frame), m.short(), m.Undecoded)
				}
				if !whole && !slices.Contains(m.codes(), MissingBytes) && !slices.Contains(m.codes(), InvalidLength) {
					t.Errorf("%s, kind %d, %d of %d bytes: %v", name, kind, n, len(frame), m.codes())
				}
			}
		}
	}
}
