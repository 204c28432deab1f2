package reassembly

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
)

// origins keeps the Origin of all that it is handed.
type origins struct {
	nothing
	all []Origin
}

func (o *origins) Chunk(_ *Connection, _ Direction, k *Chunk) {
	o.all = append(o.all, k.Origin)
}
func (o *origins) Gap(_ *Connection, _ Direction, g Gap)     { o.all = append(o.all, g.Origin) }
func (o *origins) Fin(_ *Connection, _ Direction, at Origin) { o.all = append(o.all, at) }
func (o *origins) End(_ *Connection, _ EndCause, at Origin)  { o.all = append(o.all, at) }
func (o *origins) Note(_ *Connection, _ Direction, n Note)   { o.all = append(o.all, n.Origin, n.First) }

// A stream whose packets lie in two files, in places where times say nothing about the order: each event names its packet and its file.
func TestOriginsOfFiles(t *testing.T) {
	o := &origins{}
	a := New(o)
	for _, p := range []struct {
		file         uint16
		number, time int64
		sent
	}{
		{1, 7, 50, sent{seq: 100, flags: flagSYN}},
		{0, 1, 40, sent{seq: 104, data: "def"}}, // waits
		{1, 8, 60, sent{seq: 101, data: "abc"}},
		{0, 2, 30, sent{seq: 104, data: "xyz"}}, // differs from what was handed on
		{1, 9, 20, sent{seq: 107, flags: flagFIN | flagACK, data: "g", cut: 2}},
		{0, 3, 10, sent{from: FromB, flags: flagRST}},
	} {
		packet := p.packet(p.number, p.time)
		packet.File = p.file
		if err := a.Packet(packet); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	want := []struct {
		file   uint16
		number int64
	}{
		{1, 8}, {0, 1}, // the bytes
		{1, 9}, {1, 9}, {1, 9}, // a byte, the gap behind it, the FIN
		{0, 3}, // the end
	}
	var got, expected string
	for _, at := range o.all {
		got += fmt.Sprintf(" %d/%d", at.File, at.Packet)
	}
	for _, w := range want {
		expected += fmt.Sprintf(" %d/%d", w.file, w.number)
	}
	if got != expected {
		t.Fatalf("got%s, want%s", got, expected)
	}
	// In the order of the packets: 0/1, 1/8, 1/9, 0/3.
	order := []Origin{o.all[1], o.all[0], o.all[2], o.all[5]}
	for i, x := range order {
		for k, y := range order {
			if x.Before(y) != (i < k) {
				t.Errorf("%+v before %+v: %v", x, y, x.Before(y))
			}
		}
	}
}

// A conflict names the packets of both files.
func TestConflictOfFiles(t *testing.T) {
	o := &origins{}
	a := New(o)
	a.CompareDelivered = true
	for i, data := range []string{"abcd", "abXd"} {
		packet := sent{seq: 1, data: data}.packet(5, int64(i))
		packet.File = uint16(i)
		if err := a.Packet(packet); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.all) != 3 || o.all[1].File != 1 || o.all[2].File != 0 || !o.all[2].Before(o.all[1]) {
		t.Errorf("%+v", o.all)
	}
}

// An unsupported link type is told once for each file.
func TestUnsupportedLinkOfFiles(t *testing.T) {
	a := New(&nothing{})
	told := ""
	for _, file := range []uint16{0, 0, 1, 0, 1, 2} {
		err := a.Packet(&pcaps.Packet{Number: 1, Link: 220, File: file})
		if unsupported := (*UnsupportedLinkError)(nil); errors.As(err, &unsupported) {
			told += fmt.Sprint(file)
		}
	}
	if told != "012" {
		t.Errorf("told for files %s", told)
	}
}
