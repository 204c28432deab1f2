package dissect

import (
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
)

// offering is an ApiVersions v0 answer that offers one API after the other: key, lowest and highest version.
func offering(correlation int32, offers ...int16) []byte {
	return framed(correlation, int16(0), int32(len(offers)/3), pack16(offers...))
}

func pack16(numbers ...int16) []byte {
	var b []byte
	for _, n := range numbers {
		b = append(b, pack(n)...)
	}
	return b
}

func produceOld(correlation int32, acks int16) []byte { // version 2
	return framed(int16(0), int16(2), correlation, text("c"), acks, int32(1000), int32(0))
}

func TestWhyTheServerClosed(t *testing.T) {
	for _, test := range []struct {
		name string
		play func(k *talk)
		want string
	}{
		{"offered and not taken", func(k *talk) {
			k.client(apiVersions(1))
			k.server(offering(1, 0, 0, 13, 1, 4, 18))
			k.client(produceOld(2, 1))
		}, "for the sake of old clients"},
		{"offered and taken", func(k *talk) {
			k.client(apiVersions(1))
			k.server(offering(1, 0, 0, 9, 1, 0, 13))
			k.client(produceOld(2, 1))
		}, ""},
		{"not offered", func(k *talk) {
			k.client(apiVersions(1))
			k.server(offering(1, 3, 5, 13))
			k.client(metadata(2))
		}, "it offers v5-13 of this API"},
		{"no negotiation", func(k *talk) { k.client(produceOld(2, 1)) }, "brokers from 4.0 on take none of this API below v3"},
		{"the first request", func(k *talk) { k.client(metadata(2)) }, "it may expect TLS, or a login first"},
		{"others log in", func(k *talk) {
			request, answer := handshake(1, "PLAIN")
			k.client(request)
			k.server(answer)
			k.end(reassembly.Closed)
			k.open(true)
			k.client(metadata(2))
		}, "begin with a login"},
		{"an unknown API", func(k *talk) {
			k.client(apiVersions(1))
			k.server(offering(1, 0, 0, 13))
			k.client(framed(int16(900), int16(0), int32(2), text("c")))
		}, "an API that they do not have"},
		{"no answer is wanted", func(k *talk) {
			k.client(metadata(1))
			k.server(metadataAnswer(1))
			k.client(produceAcks(2, 0))
		}, "after this request with acks=0"},
		{"no answer is wanted, and something follows", func(k *talk) {
			k.client(produceAcks(1, 0), metadata(2))
			k.server(metadataAnswer(2))
		}, "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTalk(NeedMessages, true)
			test.play(k)
			k.fin(fromServer)
			k.end(reassembly.Closed)
			got := "none"
			for _, r := range k.reports {
				for _, f := range r.Findings {
					if f.Code == ClosedWithoutAnswer {
						got = f.Text
					}
				}
			}
			if test.want == "" && strings.Contains(got, ";") || !strings.Contains(got, test.want) {
				t.Errorf("said is %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnding(t *testing.T) {
	k := newTalk(NeedMessages, true)
	k.client(framed(int16(18), int16(3), int32(1), text("app"), byte(0), byte(5), "rust", byte(4), "0.1", byte(0)))
	k.server(framed(int32(1), int16(0), unhex("02 00 01 00 04 00 0d 00"), int32(0), // one API; then a tag with a feature
		unhex("01 02 0a 02 04 66 6f 6f 00 03 00 01 00")))
	k.client(metadata(2), metadata(3))
	k.server(metadataAnswer(2))
	k.fin(fromServer)
	k.end(reassembly.Closed)
	var e *Ending
	for _, r := range k.reports {
		if r.Ending != nil {
			e = r.Ending
		}
	}
	if e == nil {
		t.Fatal("nothing is told of the connection")
	}
	if e.Requests != 3 || e.Responses != 2 || e.Unanswered != 1 || !e.ServerFirst || e.Cause != reassembly.Closed || e.Start != 1e6 || e.End != k.now().Time {
		t.Errorf("%+v", e)
	}
	if e.Software != "rust" || e.SoftwareLevel != "0.1" || e.Offered != 1 || len(e.Features) != 1 || e.Features[0] != (Feature{"foo", 3}) {
		t.Errorf("%+v", e)
	}
	if len(e.Used) != 2 || e.Used[0] != (Used{18, 3, "ApiVersions", 1}) || e.Used[1] != (Used{3, 1, "Metadata", 2}) {
		t.Errorf("%+v", e.Used)
	}
	if k.messages[0].request != 0 {
		t.Error("a request answers nothing")
	}
}
