package dissect

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Flags of a TCP header.
const (
	tcpSYN = 2
	tcpRST = 4
	tcpACK = 16
)

// A knocking sends TCP segments to an assembler.
type knocking struct {
	recorder
	dissector *Dissector
	assembler *reassembly.Assembler
	packet    int64
}

func newKnocking() *knocking {
	h := &knocking{}
	h.dissector = New(schema.Embedded(), NeedMessages, &h.recorder)
	h.assembler = reassembly.New(h.dissector)
	return h
}

// segment sends a segment in a bare IPv4 packet.
func (h *knocking) segment(from, to string, seq, ack int32, flags byte, payload ...any) {
	src, dst := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	data := pack(payload...)
	ip := pack(byte(0x45), byte(0), int16(40+len(data)), int32(0), byte(64), byte(6), int16(0), src.Addr().AsSlice(), dst.Addr().AsSlice())
	tcp := pack(int16(src.Port()), int16(dst.Port()), seq, ack, byte(0x50), flags, unhex("ffff 0000 0000"))
	all := pack(ip, tcp, data)
	h.packet++
	if err := h.assembler.Packet(&pcaps.Packet{Number: h.packet, Time: h.packet * 1e6, Link: pcaps.LinkTypeRaw, Data: all, WireLen: uint32(len(all))}); err != nil {
		panic(err)
	}
}

func (h *knocking) close() (texts []string) {
	h.assembler.Close()
	h.dissector.Close()
	for _, r := range h.reports {
		for _, f := range r.Findings {
			texts = append(texts, fmt.Sprintf("%s %s: %s", f.Code, f.Severity, f.Text))
		}
	}
	return texts
}

// client is the i-th port of a client.
func client(i int) string { return fmt.Sprintf("10.0.0.1:%d", 40000+i) }

// Attempts to connect to a broker that nobody accepts are told once for each endpoint.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		play func(*knocking)
		want []string
	}{
		"refused": {func(h *knocking) {
			for i := range 3 {
				h.segment(client(i), "10.0.0.2:9092", 100, 0, tcpSYN)
				h.segment("10.0.0.2:9092", client(i), 0, 101, tcpRST|tcpACK)
			}
		}, []string{"refused warn: 3 connections to 10.0.0.2:9092 were refused (SYN answered by RST)"}},
		"no answer, however often the SYN was repeated": {func(h *knocking) {
			for i := range 2 {
				h.segment(client(i), "10.0.0.2:9093", 100, 0, tcpSYN)
				h.segment(client(i), "10.0.0.2:9093", 100, 0, tcpSYN)
			}
			h.segment(client(9), "10.0.0.3:9092", 100, 0, tcpSYN)
		}, []string{"no-answer warn: no answer to 2 connection attempts to 10.0.0.2:9093", "no-answer warn: no answer to 1 connection attempt to 10.0.0.3:9092"}},
		"accepted, then reset": {func(h *knocking) {
			h.segment(client(0), "10.0.0.2:9092", 100, 0, tcpSYN)
			h.segment("10.0.0.2:9092", client(0), 500, 101, tcpSYN|tcpACK)
			h.segment(client(0), "10.0.0.2:9092", 101, 501, tcpACK)
			h.segment("10.0.0.2:9092", client(0), 501, 101, tcpRST)
		}, nil},
		"accepted, and only the client's side was captured": {func(h *knocking) {
			h.segment(client(0), "10.0.0.2:9092", 100, 0, tcpSYN)
			h.segment(client(0), "10.0.0.2:9092", 101, 501, tcpACK)
		}, nil},
		"a check that somebody listens": {func(h *knocking) {
			h.segment(client(0), "10.0.0.2:9092", 100, 0, tcpSYN)
			h.segment("10.0.0.2:9092", client(0), 500, 101, tcpSYN|tcpACK)
			h.segment(client(0), "10.0.0.2:9092", 101, 501, tcpRST|tcpACK)
		}, nil},
		"a port that is nothing to Kafka": {func(h *knocking) {
			h.segment(client(0), "10.0.0.2:443", 100, 0, tcpSYN)
			h.segment("10.0.0.2:443", client(0), 0, 101, tcpRST|tcpACK)
		}, nil},
		"a port on which Kafka was spoken before": {func(h *knocking) {
			h.segment(client(0), "10.0.0.2:30001", 100, 0, tcpSYN)
			h.segment("10.0.0.2:30001", client(0), 500, 101, tcpSYN|tcpACK)
			h.segment(client(0), "10.0.0.2:30001", 101, 501, tcpACK, apiVersions(1))
			h.segment("10.0.0.2:30001", client(0), 501, 101, tcpACK, apiVersionsAnswer(1))
			h.segment(client(1), "10.0.0.2:30001", 100, 0, tcpSYN)
			h.segment("10.0.0.2:30001", client(1), 0, 101, tcpRST|tcpACK)
		}, []string{"refused warn: 1 connection to 10.0.0.2:30001 was refused (SYN answered by RST)"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newKnocking()
			c.play(h)
			if got := h.close(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// However many endpoints refuse, what is remembered and told of them is bounded. Connections that fell asleep count, too.
func TestRefusedByMany(t *testing.T) {
	h := newKnocking()
	for i := range 3000 {
		server := fmt.Sprintf("10.1.%d.%d:9092", i/250, i%250)
		h.segment(client(0), server, 100, 0, tcpSYN)
		if i%2 == 0 {
			h.segment(server, client(0), 0, 101, tcpRST|tcpACK)
		}
	}
	got := h.close()
	if len(got) != maxSilent+2 || len(h.dissector.silent.endpoints) != maxSilent {
		t.Fatalf("%d findings, %d endpoints", len(got), len(h.dissector.silent.endpoints))
	}
	refused, unanswered := h.dissector.silent.others.refused, h.dissector.silent.others.unanswered
	for _, a := range h.dissector.silent.endpoints {
		refused, unanswered = refused+a.refused, unanswered+a.unanswered
	}
	if refused != 1500 || unanswered != 1500 {
		t.Errorf("%d refused, %d unanswered; %q", refused, unanswered, got[len(got)-2:])
	}
}
