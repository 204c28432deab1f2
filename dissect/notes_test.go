package dissect

import (
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

// reports keeps what is reported.
type reports []Report

func (*reports) Message(*Message)   {}
func (*reports) Exchange(*Exchange) {}
func (r *reports) Report(x *Report) { *r = append(*r, *x) }
