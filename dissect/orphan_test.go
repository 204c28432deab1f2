package dissect

import (
	"slices"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// orphans plays a connection of which only the server's side was captured, from its beginning on.
func orphans(frames ...[]byte) *talk {
	k := newTalk(NeedMessages|NeedExchanges, true)
	k.conn.Seen[fromClient] = false
	for _, frame := range frames {
		k.server(frame)
	}
	k.end(reassembly.EndOfInput)
	return k
}

// offerOf is an ApiVersions answer of version 0: the key and the first and last version of each API.
func offerOf(ranges ...[3]int16) []byte {
	parts := []any{int32(1), int16(0), int32(len(ranges))}
	for _, r := range ranges {
		parts = append(parts, r[0], r[1], r[2])
	}
	return framed(parts...)
}

func producedV2(rest ...any) []byte { // versions 2 to 4
	return framed(append([]any{int32(4), int32(1), text("orders"), int32(1), int32(0), int16(0), int64(100), int64(-1), int32(0)}, rest...)...)
}

func TestOrphans(t *testing.T) {
	offer := offerOf([3]int16{0, 0, 13}, [3]int16{1, 4, 17}, [3]int16{3, 0, 13}, [3]int16{12, 0, 4}, [3]int16{13, 0, 5}, [3]int16{18, 0, 4}, [3]int16{36, 0, 2})
	narrow := offerOf([3]int16{0, 0, 3}, [3]int16{12, 0, 4}, [3]int16{18, 0, 4})
	small := framed(int32(7), int32(0), int16(0)) // a throttle time and an error, as many answers are
	for _, c := range []struct {
		name  string
		offer []byte
		frame []byte
		want  string // the candidates, "" for none
		clear bool
		short string
	}{
		{"of one API", offer, producedV2(), "Produce v2-4", true, "Produce v4 response 4"},
		{"no further than the offer", narrow, producedV2(), "Produce v2-3", true, "Produce v3 response 4"},
		{"of some APIs", offer, small, "Heartbeat v1-3 | LeaveGroup v1-2", false, "? v0 response 7"},
		{"of one that is offered", narrow, small, "Heartbeat v1-3", true, "Heartbeat v3 response 7"},
		{"a byte too many", offer, producedV2(byte(0)), "", false, "? v0 response 4"},
		{"an error that does not exist", offer, framed(int32(7), int32(0), int16(9999)), "", false, "? v0 response 7"},
		{"a negative throttle time", offer, framed(int32(7), int32(-2), int16(0)), "", false, "? v0 response 7"},
		{"a name that is no text", offer, framed(int32(4), int32(1), text("ord\xffrs"), int32(1), int32(0), int16(0), int64(100), int64(-1), int32(0)), "", false, "? v0 response 4"},
		{"a name with a control character", offer, framed(int32(4), int32(1), text("ord\x01rs"), int32(1), int32(0), int16(0), int64(100), int64(-1), int32(0)), "", false, "? v0 response 4"},
		{"a negative partition", offer, framed(int32(4), int32(1), text("orders"), int32(1), int32(-9), int16(0), int64(100), int64(-1), int32(0)), "", false, "? v0 response 4"},
		// Versions 4 and 5: throttle time, error, and tagged fields behind both header and body.
		{"a tagged field that nobody knows", offer, framed(int32(7), byte(0), int32(0), int16(0), byte(1), byte(9), byte(1), byte(0)), "", false, "? v0 response 7"},
		{"an answer to a login", offer, framed(int32(7), int16(0), int16(-1), int32(22), "v=rmF9pqV8S7suAoZWja4="), "SaslAuthenticate v0", true, "SaslAuthenticate v0 response 7"},
		{"a raw token", offer, framed("v=rmF9pqV8S7suAoZWja4dJRkFsKQ="), "", false, "? v0 response 1983738477"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := orphans(c.offer, c.frame)
			k.checkTapes(t)
			if len(k.messages) != 2 {
				t.Fatalf("messages %q", k.shorts())
			}
			m := k.messages[1]
			got := ""
			if m.Inferred != nil {
				got = m.Inferred.String()
			}
			if got != c.want || m.short() != c.short || (m.Inferred != nil && m.Inferred.Clear) != c.clear {
				t.Errorf("%s is %q, want %s and %q", m.short(), got, c.short, c.want)
			}
			if m.Header.Known != c.clear || (m.Body > 0) != c.clear || slices.Contains(m.codes(), InferredVersion) != c.clear || !slices.Contains(m.codes(), OrphanResponse) {
				t.Errorf("known %t, body %d, findings %v", m.Header.Known, m.Body, m.codes())
			}
			if secret := m.Header.Known && m.Header.APIKey == keySaslAuthenticate; m.Secret != secret {
				t.Errorf("secret is %t", m.Secret)
			}
			if !slices.Equal(k.orphans, []int64{1, 2}) {
				t.Errorf("exchanges without requests: %v", k.orphans)
			}
		})
	}
}

// What looks like the answer of one API but could carry the credentials of another one is withheld: DeleteTopics v5 is laid out as
// AlterUserScramCredentials v0 is, and may say so even if the broker does not offer the latter.
func TestOrphanThatMayBeSecret(t *testing.T) {
	offer := offerOf([3]int16{0, 0, 3}, [3]int16{18, 0, 4}, [3]int16{20, 1, 6})
	k := orphans(offer, framed(int32(7), byte(0), int32(0), byte(2), byte(7), "orders", int16(0), byte(0), byte(0), byte(0)))
	if m := k.messages[1]; m.short() != "DeleteTopics v5 response 7" || !m.Secret {
		t.Errorf("%s, secret %t", m.short(), m.Secret)
	}
}

// A connection whose beginning is not in the capture is with a broker that has said on another one what it offers.
func TestOrphanOnSecondConnection(t *testing.T) {
	k := orphans(offerOf([3]int16{0, 0, 3}, [3]int16{12, 0, 4}, [3]int16{18, 0, 4}))
	k.open(false)
	k.conn.Seen[fromServer] = true
	k.server(producedV2())
	k.server(framed(int32(7), int32(0), int16(0)))
	k.end(reassembly.EndOfInput)
	if got := k.shorts(); !slices.Equal(got[1:], []string{"Produce v3 response 4", "Heartbeat v3 response 7"}) {
		t.Errorf("messages %q", got)
	}
}

// FuzzOrphan holds what fits against the decoder, which must find nothing odd in it, and plays the frame on a connection.
func FuzzOrphan(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0})
	f.Add(producedV2()[8:])
	f.Add(offerOf([3]int16{0, 0, 3}, [3]int16{18, 0, 4})[8:])
	f.Add(unhex("00 00000000 02 07 6f7264657273 0000 00 00 00"))
	_, fetch := fetchV4(3, "orders", batchOf(0, 1, recordOf(0, nil, []byte("value"))))
	f.Add(fetch[8:])
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := framed(int32(5), body)
		d := New(schema.Embedded(), 0, nil)
		fits, _ := d.fitsOf(frame)
		for _, fit := range fits {
			for v := fit.versions.Low; v <= fit.versions.High; v++ {
				plan := schema.Embedded().Plan(fit.layout.API.Key, v, schema.Response)
				if !d.trial.fits(plan, frame) || len(d.trial.decoder.findings) > 0 {
					t.Errorf("%s v%d does not decode: %v", fit.layout.API.Name, v, d.trial.decoder.findings)
				}
			}
		}
		k := orphans(offerOf([3]int16{0, 0, 3}, [3]int16{18, 0, 4}), frame, frame)
		k.checkTapes(t)
		for _, m := range k.messages {
			if m.Inferred == nil {
				continue
			}
			if n := len(m.Inferred.Candidates); n == 0 || n > maxListed {
				t.Errorf("%d candidates", n)
			}
			if m.Undecoded != nil && m.Inferred.Clear {
				t.Errorf("%s is clear and does not decode", m.Inferred)
			}
		}
	})
}

// BenchmarkOrphan is what a response costs whose request is not in the capture, read from a connection of which only the server's side was
// captured.
func BenchmarkOrphan(b *testing.B) {
	offer := framed(int32(1), int16(0), int32(4), int16(0), int16(3), int16(11), int16(1), int16(4), int16(17), int16(3), int16(0), int16(13), int16(12), int16(0), int16(4))
	records := batchOf(0, 2, slices.Concat(recordOf(0, []byte("k"), []byte("value")), recordOf(1, nil, []byte("another"))))
	_, fetch := fetchV4(3, "orders", records)
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"fetch", fetch},
		{"produce", framed(int32(4), int32(1), text("orders"), int32(1), int32(0), int16(0), int64(100), int64(-1), int32(0))},
		{"heartbeat", framed(int32(5), byte(0), int32(0), int16(0), byte(0))},
		{"nothing", framed(int32(5), slices.Repeat([]byte{0xaa}, 100))},
	} {
		b.Run(c.name, func(b *testing.B) {
			k := &talk{dissector: New(schema.Embedded(), NeedMessages, onMessage(func(*Message) {}))}
			k.open(false)
			k.conn.Seen[fromServer] = true
			k.server(offer)
			k.server(offer)
			b.ReportAllocs()
			b.SetBytes(int64(len(c.frame)))
			for b.Loop() {
				k.server(c.frame)
			}
		})
	}
}
