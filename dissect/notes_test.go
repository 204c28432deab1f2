package dissect

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// A conflict names the packet that counts, and its file where that is another one.
func TestConflictNamesFile(t *testing.T) {
	for _, test := range []struct {
		files []string
		first uint16
		want  string
	}{
		{nil, 0, "differ from those in packet 7, which count"},
		{[]string{"a.pcap", "b.pcap"}, 0, "differ from those in packet 7 of a.pcap, which count"},
		{[]string{"a.pcap", "b.pcap"}, 1, "differ from those in packet 7, which count"},
	} {
		var r reports
		d := New(schema.Embedded(), NeedMessages, &r)
		d.Files = test.files
		at := reassembly.Origin{Packet: 9, Time: 5}
		if test.files != nil {
			at.File = 1
		}
		d.Note(&reassembly.Connection{ID: 1}, reassembly.FromA, reassembly.Note{
			Kind: reassembly.RetransmissionConflict, Length: 3, Origin: at, First: reassembly.Origin{Packet: 7, File: test.first}})
		if len(r) != 1 || r[0].Packet != 9 || r[0].File != at.File || !strings.HasSuffix(r[0].Findings[0].Text, test.want) {
			t.Errorf("%v: %+v", test, r)
		}
	}
}

func TestTwinText(t *testing.T) {
	sc := &reassembly.Connection{ID: 12, Ends: [2]netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("[2001:db8::1]:9092")}}
	const want = "connection 12 (10.0.0.1:40000 to [2001:db8::1]:9092) is connection 7 with its addresses translated; it is told once"
	var r reports
	New(schema.Embedded(), NeedMessages, &r).Note(sc, reassembly.FromA, reassembly.Note{Kind: reassembly.NATTwin, Twin: &reassembly.Connection{ID: 7}})
	if len(r) != 1 || r[0].Findings[0].Text != want || r[0].Findings[0].Code != NATTwin {
		t.Errorf("%+v", r)
	}
}

// The name of a server is that of the connection's, also where another one was asked before.
func TestServerNames(t *testing.T) {
	d := New(schema.Embedded(), NeedMessages, &reports{})
	for id, server := range []string{"10.0.0.2:9092", "10.0.0.2:9092", "10.0.0.2:9093", "[2001:db8::1]:9092", "10.0.0.2:9092"} {
		c := d.connection(&reassembly.Connection{ID: id, Ends: [2]netip.AddrPort{talkEnds[0], netip.MustParseAddrPort(server)}, Opened: true})
		if c.ends.ServerName != server || c.ends.ClientName != "10.0.0.1:40000" {
			t.Errorf("%+v", c.ends)
		}
	}
}

// reports keeps what is reported.
type reports []Report

func (*reports) Message(*Message)   {}
func (*reports) Exchange(*Exchange) {}
func (r *reports) Report(x *Report) { *r = append(*r, *x) }
