package dissect

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// exchanged says how the exchanges differ from what is wanted, "" when they do not.
func exchanged(want ...exchangeSeen) func(k *talk) string {
	return func(k *talk) string {
		if !slices.Equal(k.exchanges, want) {
			return fmt.Sprintf("exchanges %v, want %v", k.exchanges, want)
		}
		return ""
	}
}

func TestPairingRules(t *testing.T) {
	checkRules(t, []rule{
		{name: "no answer is expected", play: func(k *talk) {
			k.client(produceAcks(1, 0), metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: "Produce v3 request 1\nMetadata v1 request 2\nMetadata v1 response 2",
			also: exchanged(exchangeSeen{request: 1, noAnswer: true}, exchangeSeen{request: 2, response: 3})},
		{name: "no answer is expected, flexible", play: func(k *talk) {
			k.client(flexible(0, 9, 1, byte(0), int16(0), int32(0), byte(1), byte(0)), metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: "Produce v9 request 1\nMetadata v1 request 2\nMetadata v1 response 2",
			also: exchanged(exchangeSeen{request: 1, noAnswer: true}, exchangeSeen{request: 2, response: 3})},
		{name: "no answer is expected, with tagged fields in the header", play: func(k *talk) {
			k.client(framed(int16(0), int16(9), int32(1), text("c"), unhex("01 05 01 78"), byte(0), int16(0), int32(0), byte(1), byte(0)))
			k.end(reassembly.Closed)
		}, want: "Produce v9 request 1 unknown-tag", also: exchanged(exchangeSeen{request: 1, noAnswer: true})},
		{name: "an answer is expected of one replica and of all", play: func(k *talk) {
			k.client(produceAcks(1, 1), produceAcks(2, -1))
			k.server(framed(int32(1), int32(0), int32(0)), framed(int32(2), int32(0), int32(0)))
			k.end(reassembly.Closed)
		}, want: "Produce v3 request 1\nProduce v3 request 2\nProduce v3 response 1\nProduce v3 response 2",
			also: exchanged(exchangeSeen{request: 1, response: 3}, exchangeSeen{request: 2, response: 4})},
		{name: "two answers change places", play: func(k *talk) {
			k.client(metadata(1), metadata(2))
			k.server(metadataAnswer(2), metadataAnswer(1))
			k.end(reassembly.Closed)
		}, want: "Metadata v1 request 1\nMetadata v1 request 2\nMetadata v1 response 2 out-of-order-response\nMetadata v1 response 1",
			also: exchanged(exchangeSeen{request: 2, response: 3}, exchangeSeen{request: 1, response: 4})},
		{name: "the last of three is first", play: func(k *talk) {
			k.client(metadata(1), metadata(2), metadata(3))
			k.server(metadataAnswer(3), metadataAnswer(1), metadataAnswer(2))
		}, want: `Metadata v1 request 1
			Metadata v1 request 2
			Metadata v1 request 3
			Metadata v1 response 3 out-of-order-response
			Metadata v1 response 1
			Metadata v1 response 2`},
		{name: "an id is used again before its answer", play: func(k *talk) {
			k.client(apiVersions(5), metadata(5))
			k.server(apiVersionsAnswer(5), metadataAnswer(5))
			k.end(reassembly.Closed)
		}, want: "ApiVersions v0 request 5\nMetadata v1 request 5 reused-correlation-id\nApiVersions v0 response 5\nMetadata v1 response 5",
			also: exchanged(exchangeSeen{request: 1, response: 3}, exchangeSeen{request: 2, response: 4})},
		{name: "an id is used again behind its answer", play: func(k *talk) {
			for range 2 {
				k.client(metadata(5))
				k.server(metadataAnswer(5))
			}
		}, want: "Metadata v1 request 5\nMetadata v1 response 5\nMetadata v1 request 5\nMetadata v1 response 5"},
		{name: "orphan", play: func(k *talk) {
			k.client(metadata(1))
			k.server(metadataAnswer(1), metadataAnswer(77))
			k.client(metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: "Metadata v1 request 1\nMetadata v1 response 1\nMetadata v1 request 2\n? v0 response 77 orphan-response\nMetadata v1 response 2"},
		{name: "the request comes behind its answer", play: func(k *talk) { // captures shuffle packets
			k.client(metadata(1))
			k.server(metadataAnswer(1))
			k.server(metadataAnswer(2))
			k.client(metadata(2))
			k.end(reassembly.Closed)
		}, want: "Metadata v1 request 1\nMetadata v1 response 1\nMetadata v1 request 2\nMetadata v1 response 2"},
		{name: "unanswered at the end of the capture", play: func(k *talk) {
			k.client(metadata(1))
			k.end(reassembly.EndOfInput)
		}, want: "Metadata v1 request 1\n- unanswered info", also: exchanged(exchangeSeen{request: 1})},
		{name: "unanswered when both have closed, the client first", play: func(k *talk) {
			k.client(metadata(1))
			k.fin(fromClient)
			k.end(reassembly.Closed)
		}, want: "Metadata v1 request 1\n- unanswered warn", also: exchanged(exchangeSeen{request: 1})},
		{name: "the server closes", play: func(k *talk) {
			k.client(metadata(1))
			k.fin(fromServer)
			k.fin(fromClient)
			k.end(reassembly.Closed)
		}, want: "Metadata v1 request 1\n- closed-without-answer warn"},
		{name: "the server closes, and the capture ends", play: func(k *talk) {
			k.client(metadata(1))
			k.fin(fromServer)
			k.end(reassembly.EndOfInput)
		}, want: "Metadata v1 request 1\n- closed-without-answer warn"},
		{name: "the server resets", play: func(k *talk) {
			k.client(metadata(1))
			k.reset(fromServer)
		}, want: "Metadata v1 request 1\n- closed-without-answer warn"},
		{name: "the server resets, and a FIN of the client was under way", play: func(k *talk) {
			k.client(metadata(1))
			rst := k.rst(fromServer)
			k.fin(fromClient)
			k.dissector.End(k.conn, reassembly.Reset, rst)
		}, want: "Metadata v1 request 1\n- closed-without-answer warn"},
		{name: "the server resets behind the FIN of the client", play: func(k *talk) {
			k.client(metadata(1))
			k.fin(fromClient)
			k.reset(fromServer)
		}, want: "Metadata v1 request 1\n- unanswered warn"},
		{name: "the client resets", play: func(k *talk) {
			k.client(metadata(1))
			k.reset(fromClient)
		}, want: "Metadata v1 request 1\n- unanswered warn"},
		{name: "the client resets, and a FIN of the server was under way", play: func(k *talk) {
			k.client(metadata(1))
			rst := k.rst(fromClient)
			k.fin(fromServer)
			k.dissector.End(k.conn, reassembly.Reset, rst)
		}, want: "Metadata v1 request 1\n- unanswered warn"},
		{name: "the server resets behind its answer", play: func(k *talk) {
			k.client(metadata(1))
			k.server(metadataAnswer(1))
			k.reset(fromServer)
		}, want: "Metadata v1 request 1\nMetadata v1 response 1"},
		{name: "a request is passed over for good", play: func(k *talk) {
			k.client(metadata(1), metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.EndOfInput)
		}, want: "Metadata v1 request 1\nMetadata v1 request 2\nMetadata v1 response 2 out-of-order-response\n- unanswered warn",
			also: exchanged(exchangeSeen{request: 2, response: 3}, exchangeSeen{request: 1})},
		{name: "a request that is not whole is not unanswered", play: func(k *talk) {
			k.client(metadata(1))
			k.server(metadataAnswer(1))
			k.client(metadata(2)[:9])
			k.end(reassembly.EndOfInput)
		}, want: "Metadata v1 request 1\nMetadata v1 response 1\n- missing-bytes warn"},
	})
}

// handshake is a SaslHandshake request, and the answer that accepts its mechanism.
func handshake(version int16, mechanism string) (request, answer []byte) {
	return framed(int16(17), version, int32(1), text("c"), text(mechanism)), framed(int32(1), int16(0), int32(1), text(mechanism))
}

// authenticate is a SaslAuthenticate v0 request, and an answer without an error.
func authenticate(correlationID int32, token, answer string) ([]byte, []byte) {
	return framed(int16(36), int16(0), correlationID, text("c"), int32(len(token)), token),
		framed(correlationID, int16(0), int16(-1), int32(len(answer)), answer)
}

// The messages of an SCRAM exchange: RFC 7677, section 3.
var scram = []string{
	"n,,n=us=2Cer,r=rOprNGfwEbeRWgbNEkqO",
	"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
	"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
	"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
}

// auths writes down what the authentication messages say.
func auths(want string) func(k *talk) string {
	return func(k *talk) string {
		var lines []string
		for _, m := range k.messages {
			if m.Auth != (Auth{}) {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", m.Auth.Mechanism, m.Auth.Step, m.Auth.User, m.Auth.Result)))
			}
			if m.Header.Token != m.Secret && m.Name != "SaslAuthenticate" {
				return m.short() + " is secret or should be"
			}
		}
		if got := strings.Join(lines, "\n"); got != strings.ReplaceAll(want, "\t", "") {
			return "auth:\n" + got
		}
		return ""
	}
}

func TestSASLRules(t *testing.T) {
	plain := "\x00user\x00secret"
	bearer := "n,,\x01auth=Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"alice"}`)) + ".x\x01\x01"
	const refusal = `{"status":"invalid_token"}`
	const refused = int16(58) // SASL_AUTHENTICATION_FAILED
	kerberos := pack(unhex("60 82 01 00 06 09 2a 86 48 86 f7 12 01 02 02 01 00"), make([]byte, 40))
	checkRules(t, []rule{
		{name: "PLAIN in raw tokens, and back", play: func(k *talk) {
			request, answer := handshake(0, "PLAIN")
			k.client(request)
			k.server(answer)
			k.client(framed(plain))
			k.server(framed())
			k.client(metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: `SaslHandshake v0 request 1
			SaslHandshake v0 response 1
			SaslToken v0 request 0
			SaslToken v0 response 0
			Metadata v1 request 2
			Metadata v1 response 2`, also: auths("PLAIN handshake\nPLAIN handshake  ok\nPLAIN client-first user\nPLAIN server-first user ok")},
		{name: "SCRAM in raw tokens", play: func(k *talk) {
			request, answer := handshake(0, "SCRAM-SHA-256")
			k.client(request)
			k.server(answer)
			for i, token := range scram {
				k.send(reassembly.Direction(i%2), framed(token))
			}
			k.client(metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: `SaslHandshake v0 request 1
			SaslHandshake v0 response 1
			SaslToken v0 request 0
			SaslToken v0 response 0
			SaslToken v0 request 0
			SaslToken v0 response 0
			Metadata v1 request 2
			Metadata v1 response 2`, also: auths(`SCRAM-SHA-256 handshake
			SCRAM-SHA-256 handshake  ok
			SCRAM-SHA-256 client-first us,er
			SCRAM-SHA-256 server-first us,er continue
			SCRAM-SHA-256 client-final us,er
			SCRAM-SHA-256 server-final us,er ok`)},
		{name: "a mechanism that is refused lets no tokens follow", play: func(k *talk) {
			request, _ := handshake(0, "NOPE")
			k.client(request)
			k.server(framed(int32(1), int16(33), int32(0)))
			k.client(metadata(2))
			k.server(metadataAnswer(2))
		}, want: `SaslHandshake v0 request 1
			SaslHandshake v0 response 1 sasl-failed
			Metadata v1 request 2
			Metadata v1 response 2`, also: auths("NOPE handshake\nNOPE handshake  failed")},
		{name: "PLAIN", play: func(k *talk) {
			request, answer := handshake(1, "PLAIN")
			k.client(request)
			k.server(answer)
			request, answer = authenticate(2, plain, "")
			k.client(request)
			k.server(answer)
			k.client(metadata(3))
			k.server(metadataAnswer(3))
		}, want: `SaslHandshake v1 request 1
			SaslHandshake v1 response 1
			SaslAuthenticate v0 request 2
			SaslAuthenticate v0 response 2
			Metadata v1 request 3
			Metadata v1 response 3`, also: auths("PLAIN handshake\nPLAIN handshake  ok\nPLAIN client-first user\nPLAIN server-first user ok")},
		{name: "PLAIN, refused", play: func(k *talk) {
			request, answer := handshake(1, "PLAIN")
			k.client(request)
			k.server(answer)
			request, _ = authenticate(2, plain, "")
			k.client(request)
			k.server(framed(int32(2), refused, text("no"), int32(0)))
			k.fin(fromServer)
			k.end(reassembly.Closed)
		}, want: "SaslHandshake v1 request 1\nSaslHandshake v1 response 1\nSaslAuthenticate v0 request 2\nSaslAuthenticate v0 response 2 sasl-failed",
			also: auths("PLAIN handshake\nPLAIN handshake  ok\nPLAIN client-first user\nPLAIN server-first user failed")},
		{name: "SCRAM", play: func(k *talk) {
			request, answer := handshake(1, "SCRAM-SHA-256")
			k.client(request)
			k.server(answer)
			for i := int32(0); i < 2; i++ {
				request, answer = authenticate(2+i, scram[2*i], scram[2*i+1])
				k.client(request)
				k.server(answer)
			}
		}, want: `SaslHandshake v1 request 1
			SaslHandshake v1 response 1
			SaslAuthenticate v0 request 2
			SaslAuthenticate v0 response 2
			SaslAuthenticate v0 request 3
			SaslAuthenticate v0 response 3`, also: auths(`SCRAM-SHA-256 handshake
			SCRAM-SHA-256 handshake  ok
			SCRAM-SHA-256 client-first us,er
			SCRAM-SHA-256 server-first us,er continue
			SCRAM-SHA-256 client-final us,er
			SCRAM-SHA-256 server-final us,er ok`)},
		{name: "OAUTHBEARER, refused with a challenge", play: func(k *talk) { // RFC 7628, section 3.2.3
			request, answer := handshake(1, "OAUTHBEARER")
			k.client(request)
			k.server(answer)
			request, answer = authenticate(2, bearer, refusal)
			k.client(request)
			k.server(answer)
			request, _ = authenticate(3, "\x01", "")
			k.client(request)
			k.server(framed(int32(3), refused, text("no"), int32(0)))
		}, want: `SaslHandshake v1 request 1
			SaslHandshake v1 response 1
			SaslAuthenticate v0 request 2
			SaslAuthenticate v0 response 2 sasl-failed
			SaslAuthenticate v0 request 3
			SaslAuthenticate v0 response 3 sasl-failed`, also: func(k *talk) string {
			if a := k.messages[3].Auth; a.Result != "failed" || a.User != "alice" {
				return fmt.Sprintf("the challenge: %+v", a)
			}
			if a := k.messages[5].Auth; a.Result != "failed" {
				return fmt.Sprintf("the error: %+v", a)
			}
			return ""
		}},
		{name: "OAUTHBEARER", play: func(k *talk) {
			request, answer := handshake(1, "OAUTHBEARER")
			k.client(request)
			k.server(answer)
			request, answer = authenticate(2, bearer, "")
			k.client(request)
			k.server(answer)
		}, want: "SaslHandshake v1 request 1\nSaslHandshake v1 response 1\nSaslAuthenticate v0 request 2\nSaslAuthenticate v0 response 2",
			also: auths("OAUTHBEARER handshake\nOAUTHBEARER handshake  ok\nOAUTHBEARER client-first alice\nOAUTHBEARER server-first alice ok")},
		{name: "Kerberos without a handshake", play: func(k *talk) {
			k.client(framed(kerberos))
			k.server(framed(kerberos))
			k.client(framed("the client's answer to it"))
			k.server(framed("the server's, in turn"))
			k.client(metadata(2))
			k.server(metadataAnswer(2))
			k.end(reassembly.Closed)
		}, want: `SaslToken v0 request 0
			SaslToken v0 response 0
			SaslToken v0 request 0
			SaslToken v0 response 0
			Metadata v1 request 2
			Metadata v1 response 2`},
	})
}

func TestOfferedVersions(t *testing.T) {
	offer := framed(int32(1), int16(0), int32(2), int16(3), int16(2), int16(5), int16(18), int16(1), int16(3)) // Metadata 2-5, ApiVersions 1-3
	checkRules(t, []rule{
		{name: "below", play: func(k *talk) {
			k.client(apiVersions(1))
			k.server(offer)
			k.client(metadata(2))
		}, want: "ApiVersions v0 request 1\nApiVersions v0 response 1\nMetadata v1 request 2 version-not-offered"},
		{name: "inside", play: func(k *talk) {
			k.client(apiVersions(1))
			k.server(offer)
			k.client(framed(int16(3), int16(2), int32(2), text("c"), int32(0)))
		}, want: "ApiVersions v0 request 1\nApiVersions v0 response 1\nMetadata v2 request 2"},
		{name: "above, and unknown to anybody", play: func(k *talk) {
			k.client(apiVersions(1))
			k.server(offer)
			k.client(framed(int16(3), int16(90), int32(2), text("c"), int32(0)))
		}, want: "ApiVersions v0 request 1\nApiVersions v0 response 1\nMetadata v90 request 2 unknown-version version-not-offered"},
		{name: "ApiVersions itself", play: func(k *talk) {
			k.client(apiVersions(1))
			k.server(offer)
			k.client(apiVersions(2))
		}, want: "ApiVersions v0 request 1\nApiVersions v0 response 1\nApiVersions v0 request 2"},
		{name: "before the offer", play: func(k *talk) {
			k.client(apiVersions(1), metadata(2))
			k.server(offer)
		}, want: "ApiVersions v0 request 1\nMetadata v1 request 2\nApiVersions v0 response 1"},
		{name: "an API that is not offered at all", play: func(k *talk) {
			k.client(apiVersions(1))
			k.server(offer)
			k.client(produceAcks(2, 1))
		}, want: "ApiVersions v0 request 1\nApiVersions v0 response 1\nProduce v3 request 2 version-not-offered"},
	})
}

// Bodies that carry credentials are secret, those of other APIs are not; also inside an Envelope.
func TestSecretBodies(t *testing.T) {
	secret := map[int16]bool{36: true, 38: true, 39: true, 40: true, 41: true, 51: true}
	for api := range schema.Embedded().APIs {
		if api.Key == keyEnvelope || api.Key == keyProduce {
			continue // with acks=0, which zeros say, there is no answer
		}
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			k := newTalk(NeedMessages, true)
			k.client(apiVersions(1))
			k.server(apiVersionsAnswer(1))
			k.client(framed(api.Key, v, int32(2), text("c"), make([]byte, 8)))
			k.server(framed(int32(2), make([]byte, 8)))
			if len(k.messages) != 4 || k.messages[2].Secret != secret[api.Key] || k.messages[3].Secret != secret[api.Key] {
				t.Errorf("%s v%d: %d messages", api.Name, v, len(k.messages))
			}
		}
		k := newTalk(NeedMessages, true)
		k.client(envelopeOf(pack(api.Key, int16(0), int32(7), text("c"), make([]byte, 8)), nil))
		k.server(framed(int32(1), byte(0), unhex("05 00 00 00 07"), int16(0), byte(0)))
		if len(k.messages) != 2 || k.messages[0].Secret != secret[api.Key] || k.messages[1].Secret != secret[api.Key] {
			t.Errorf("%s in an Envelope: %v", api.Name, k.shorts())
		}
	}
}

// Values of sensitive configs are secret wherever they stand: only those, and not their names.
func TestSecretConfigs(t *testing.T) {
	config := func(name, value string) []byte { return pack(text(name), int8(0), text(value)) }
	body := pack(int32(1), int8(4), text("1"), int32(3), config("ssl.keystore.password", "hunter2"), config("log.retention.ms", "1000"),
		config("listener.name.x.sasl.jaas.config", "hunter3"), int8(0))
	inner := pack(int16(44), int16(0), int32(7), text("c"), body)
	k := newTalk(NeedMessages, true)
	k.client(framed(inner), envelopeOf(pack(int16(44), int16(0), int32(7), text("c"), body), nil), envelopeOf(pack(int16(18), int16(0), int32(7), text("c")), nil))
	if len(k.messages) != 3 {
		t.Fatal(k.shorts())
	}
	var hidden []string
	for _, n := range k.messages[0].Tape {
		if n.Secret {
			hidden = append(hidden, n.Name+"="+n.Value)
		}
	}
	if want := []string{"Value=hunter2", "Value=hunter3"}; !slices.Equal(hidden, want) {
		t.Errorf("secret are %q, want %q", hidden, want)
	}
	for i, want := range []bool{true, false} {
		if n := k.messages[1+i].node("RequestData"); n == nil || n.Secret != want {
			t.Errorf("what is in an Envelope: %+v, want it secret: %t", n, want)
		}
	}
}

// fetchV13 is a Fetch v13 request, which knows topics by id alone.
func fetchV13(correlationID int32, id []byte) []byte {
	return flexible(1, 13, correlationID, int32(-1), int32(0), int32(0), int32(0), int8(0), int32(0), int32(-1),
		byte(2), id, byte(2), int32(0), int32(-1), int64(5), int32(-1), int64(-1), int32(100), byte(0), byte(0), byte(1), byte(1), byte(0))
}

// metadataV12Answer tells the name of a topic id.
func metadataV12Answer(correlationID int32, name string, id []byte) []byte {
	return framed(correlationID, byte(0), int32(0), byte(1), byte(0), int32(1), byte(2), int16(0), compactOf(name), id, int8(0), byte(1), int32(0), byte(0), byte(0))
}

// A message knows the names of topics that messages before it have told, whether it is looked at at once or later, and whoever looks.
func TestTopicNamesDoNotDependOnWhoLooks(t *testing.T) {
	id, other := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	var direct []string
	var kept []*Snapshot
	about := func(m *Message) string {
		text := fmt.Sprintf("%s %d:", m.Name(), m.Number)
		for _, topic := range m.Facts().Topics {
			text += fmt.Sprintf(" %q %t", topic.Name, topic.Resolved)
		}
		return text
	}
	k := listen(NeedMessages, func(m *Message) {
		s := &Snapshot{}
		s.Take(m, nil)
		kept = append(kept, s)
		direct = append(direct, about(m))
	})
	k.client(fetchV13(1, id), flexible(3, 12, 2, byte(0), int8(0), int8(0), byte(0)))
	k.server(framed(int32(1), byte(0), int32(0), int16(0), int32(0), byte(1), byte(0)), metadataV12Answer(2, "orders", id))
	k.client(fetchV13(3, id), fetchV13(4, other))
	want := []string{`Fetch 1: "" false`, "Metadata 2:", "Fetch 3:", `Metadata 4: "orders" false`, `Fetch 5: "orders" true`, `Fetch 6: "" false`}
	if !slices.Equal(direct, want) {
		t.Fatalf("\n got %q\nwant %q", direct, want)
	}
	snapshots, texts := slices.Clone(kept), slices.Clone(direct)
	var wait sync.WaitGroup
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r := NewReader()
			for i, s := range snapshots {
				if got := about(r.Message(s)); got != texts[i] {
					t.Errorf("later: %s, at once: %s", got, texts[i])
				}
			}
		}()
	}
	// Meanwhile the dissector goes on to learn.
	for i := range int32(200) {
		k.client(flexible(3, 12, 10+i, byte(0), int8(0), int8(0), byte(0)))
		k.server(metadataV12Answer(10+i, fmt.Sprint("t", i), fmt.Appendf(nil, "%016d", i)))
	}
	wait.Wait()
}

// flights are how many requests were in flight, of each response.
type flights []int32

func (f *flights) Message(m *Message) {
	if m.Kind == schema.Response {
		*f = append(*f, m.Timing.InFlight)
	}
}
func (*flights) Exchange(*Exchange) {}
func (*flights) Report(*Report)     {}

// What waits in front of a request is what may still be answered: not what was lost.
func TestInFlight(t *testing.T) {
	var got flights
	k := newTalk(NeedMessages, true)
	k.dissector = New(schema.Embedded(), NeedMessages, &got)
	answer := metadataAnswer
	k.client(metadata(1), metadata(2))
	k.gap(fromServer, int64(len(answer(1))), reassembly.NotCaptured)
	k.server(answer(2))
	k.client(metadata(3))
	k.server(answer(3))
	k.client(metadata(4), metadata(5))
	k.server(answer(4), answer(5))
	if want := (flights{2, 1, 1, 2}); !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

// However many requests wait, each is found by its correlation id, also one that is in use twice, until it is taken.
func TestManyPending(t *testing.T) {
	var q queue
	const many = 3 * fewPending
	for i := range int32(many) {
		q.push(&request{outstanding: outstanding{header: Header{CorrelationID: i / 2}}})
	}
	for left := many; left > 0; left-- {
		id := int32(left-1) / 2
		at := q.find(id, reassembly.Origin{})
		if at < 0 || q.find(many, reassembly.Origin{}) >= 0 {
			t.Fatalf("%d left: request %d is at %d", left, id, at)
		}
		q.take(at)
		if left%2 == 1 && q.find(id, reassembly.Origin{}) >= 0 {
			t.Fatalf("%d left: request %d is still there", left, id)
		}
	}
	if q.ids != nil || q.held != 0 {
		t.Errorf("an empty queue holds %d bytes and %d ids", q.held, len(q.ids))
	}
}
