package dissect

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
)

// Of every capture it is known where each byte of payload went.
func TestAccountOfCaptures(t *testing.T) {
	var files []string
	for _, pattern := range []string{"captures/real/*.pcap*", "captures/public/*.pcap*", "cases/*.pcap*"} {
		files = append(files, needShared(t, pattern)...)
	}
	for _, file := range files {
		if name := filepath.Base(file); name == "cut-file-header.pcap" || name == "empty-file.pcap" {
			continue // there is nothing in it
		}
		for _, needs := range []Needs{0, NeedMessages | NeedExchanges | NeedRecords} {
			d := newTalk(needs, true).dissector
			s := readCapture(t, file, d)
			b := &d.Counts.Bytes
			if b.Total() != s.Delivered {
				t.Errorf("%s: %d bytes were handed on, the account has %d: %+v", filepath.Base(file), s.Delivered, b.Total(), *b)
			}
			if gone := s.Delivered + s.Repeated + s.BeforeStart + s.BehindFin + s.InReset + s.OfTwins + s.OfEnded; gone != s.PayloadBytes {
				t.Errorf("%s: of %d bytes it is known where %d went: %+v", filepath.Base(file), s.PayloadBytes, gone, s.Bytes)
			}
		}
	}
}

func TestAccount(t *testing.T) {
	hello := framed(int16(18), int16(0), int32(1), text("c"))             // 4 + 11 bytes
	metadata := framed(int16(3), int16(1), int32(2), text("c"), int32(0)) // 4 + 15
	answer := framed(int32(1), int16(0), int32(0))                        // 4 + 10
	tests := []struct {
		name   string
		opened bool
		play   func(*talk)
		want   Bytes
	}{
		{"messages", true, func(k *talk) {
			k.client(hello)
			k.server(answer)
		}, Bytes{Requests: 15, Responses: 14}},
		{"the capture begins inside a message", false, func(k *talk) {
			k.client(hello[5:])
			k.client(metadata)
		}, Bytes{Requests: 19, MidStream: 10}},
		{"a message lacks bytes", true, func(k *talk) {
			k.client(hello, metadata[:16])
			k.gap(fromClient, 2, reassembly.NotCaptured)
			k.client(metadata[18:])
		}, Bytes{Requests: 15 + 17}},
		{"a message lacks its end", true, func(k *talk) {
			k.client(hello, metadata[:16])
		}, Bytes{Requests: 15 + 16}},
		{"a gap hits a size", true, func(k *talk) {
			k.client(hello, metadata[:3])
			k.gap(fromClient, 9, reassembly.NotCaptured)
			k.client(metadata[12:])
			k.client(metadata)
		}, Bytes{Requests: 15 + 19, CutFrames: 3, PassedOver: 7}},
		{"nothing is found behind a gap", true, func(k *talk) {
			k.client(hello, metadata[:3])
			k.gap(fromClient, 9, reassembly.NotCaptured)
			k.client(metadata[12:])
		}, Bytes{Requests: 15, CutFrames: 3, PassedOver: 7}},
		{"an impossible size", true, func(k *talk) {
			k.client(hello)
			k.client(int32(-2), "rest")
			k.client(metadata)
		}, Bytes{Requests: 15 + 19, PassedOver: 8}},
		{"a request stops in its header", true, func(k *talk) {
			k.client(hello)
			k.client(metadata[:9])
		}, Bytes{Requests: 15, CutFrames: 9}},
		{"half of the first request", true, func(k *talk) {
			k.client(metadata[:9])
		}, Bytes{CutFrames: 9}},
		{"TLS, of which the answer tells nothing", true, func(k *talk) {
			k.client(unhex("16 03 01 00 05 01 00 00 01 00"))
			k.server("some bytes")
			k.client("more")
		}, Bytes{Other: map[string]int64{"TLS": 24}}},
		{"HTTP", true, func(k *talk) {
			k.client("GET / HTTP/1.1\r\n")
			k.server("HTTP/1.1 200 OK\r\n")
		}, Bytes{Other: map[string]int64{"HTTP": 33}}},
		{"SSH", true, func(k *talk) {
			k.client("SSH-2.0-OpenSSH_9.2\r\n")
		}, Bytes{Other: map[string]int64{"SSH": 21}}},
		{"who knows", false, func(k *talk) {
			k.client("nothing that anybody knows")
			k.gap(fromClient, 100, reassembly.NotCaptured)
			k.client("more of it")
		}, Bytes{Other: map[string]int64{"": 36}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk(NeedMessages|NeedExchanges, tt.opened)
			tt.play(k)
			k.end(reassembly.Closed)
			if got := k.dissector.Counts.Bytes; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if tt.want.Total() != k.sent {
				t.Errorf("%d bytes were sent, the test wants %d", k.sent, tt.want.Total())
			}
		})
	}
}
