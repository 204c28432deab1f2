package pcaps

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// unhex returns the bytes of hexadecimal text; white space is for the reader.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A contents is all that a source yielded, in memory of its own.
type contents struct {
	packets []Packet
	events  []Event
	damage  []*DamageError
	// err is the first error after a batch, so the first of damage if there is any.
	err error
	end error // what came last, io.EOF at a regular end
}

func readAll(t testing.TB, r io.Reader) contents {
	t.Helper()
	s, err := NewSource(r, "test")
	if err != nil {
		return contents{err: err, end: err}
	}
	defer s.Close()
	return drain(s)
}

func drain(s Source) (c contents) {
	var b Batch
	for {
		if err := s.Next(&b); err != nil {
			if c.err == nil {
				c.err = err
			}
			damage := (*DamageError)(nil)
			if !errors.As(err, &damage) {
				c.end = err
				return c
			}
			c.damage = append(c.damage, damage)
			continue
		}
		for _, p := range b.Packets {
			p.Data = bytes.Clone(p.Data)
			c.packets = append(c.packets, p)
		}
		for _, e := range b.Events {
			e.Data = bytes.Clone(e.Data)
			c.events = append(c.events, e)
		}
		b.Release()
	}
}

// samePackets compares packets field by field and reports the first difference.
func samePackets(t testing.TB, got, want []Packet) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d packets, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.Number != w.Number || g.Time != w.Time || g.WireLen != w.WireLen || g.Link != w.Link || g.File != w.File || !bytes.Equal(g.Data, w.Data) {
			t.Fatalf("packet %d:\n got %+v\nwant %+v", i+1, g, w)
		}
	}
}

func sameEvents(t testing.TB, got, want []Event) {
	t.Helper()
	same := func(a, b Event) bool {
		return a.Kind == b.Kind && a.Packet == b.Packet && bytes.Equal(a.Data, b.Data) && a.Type == b.Type && a.Count == b.Count && a.File == b.File
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("got events\n%v\nwant\n%v", got, want)
	}
}

func wantEOF(t testing.TB, c contents) {
	t.Helper()
	if c.err != io.EOF {
		t.Errorf("ended with %v, want io.EOF", c.err)
	}
}

func wantDamage(t testing.TB, err error, code string, offset, packet int64) *DamageError {
	t.Helper()
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("got error %v, want a DamageError", err)
	}
	if damage.Code != code || damage.Offset != offset || damage.Packet != packet || damage.File != "test" {
		t.Errorf("got %s\nwant code %s, offset %d, packet %d", damage, code, offset, packet)
	}
	if text := damage.Error(); strings.ContainsAny(text, "\n\r") {
		t.Errorf("%q is not one line", text)
	}
	return damage
}

// A recording is a capture file made by one of gopacket's writers, and what is in it.
type recording struct {
	name    string
	file    []byte
	header  int   // bytes that must be there for the file to be opened
	borders []int // borders[n] is where packet n ends, borders[0] where the first begins
	packets []Packet
}

// recordings returns packets of the given sizes as classic pcap and as pcapng. Two of three are cut.
func recordings(t testing.TB, sizes []int) []recording {
	return []recording{record(t, "pcap", classicHeaderLen, sizes, 3), record(t, "pcapng", sectionMinLen, sizes, 3)}
}

// uncutRecordings is recordings of packets that are whole, as most are.
func uncutRecordings(t testing.TB, sizes []int) []recording {
	return []recording{record(t, "pcap", classicHeaderLen, sizes, 1), record(t, "pcapng", sectionMinLen, sizes, 1)}
}

// record makes a recording; packet n lacks n modulo cuts bytes.
func record(t testing.TB, name string, header int, sizes []int, cuts int) recording {
	t.Helper()
	var file bytes.Buffer
	write := writerOf(t, name, &file)
	rec := recording{name: name, header: header, borders: []int{file.Len()}}
	random := rand.NewChaCha8([32]byte{})
	for i, size := range sizes {
		p := Packet{
			Number:  int64(i + 1),
			Time:    1790000000_000000000 + int64(i)*1001,
			Data:    make([]byte, size),
			WireLen: uint32(size + i%cuts),
			Link:    LinkTypeEthernet,
		}
		random.Read(p.Data) // never fails
		write(gopacket.CaptureInfo{Timestamp: time.Unix(0, p.Time), CaptureLength: size, Length: int(p.WireLen)}, p.Data)
		rec.packets = append(rec.packets, p)
		rec.borders = append(rec.borders, file.Len())
	}
	rec.file = file.Bytes()
	return rec
}

// writerOf returns a function that writes a packet through to file.
func writerOf(t testing.TB, name string, file io.Writer) func(gopacket.CaptureInfo, []byte) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if name == "pcap" {
		w := pcapgo.NewWriterNanos(file)
		must(w.WriteFileHeader(1<<18, layers.LinkTypeEthernet))
		return func(ci gopacket.CaptureInfo, data []byte) { must(w.WritePacket(ci, data)) }
	}
	w, err := pcapgo.NewNgWriter(file, layers.LinkTypeEthernet)
	must(err)
	must(w.Flush())
	return func(ci gopacket.CaptureInfo, data []byte) {
		must(w.WritePacket(ci, data))
		must(w.Flush())
	}
}
