package pcaps

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket/pcapgo"
)

// written is a batch of packets by hand, with an event.
func written(first int64, count, size int) *Batch {
	b := &Batch{}
	for i := range count {
		p := Packet{Number: first + int64(i), Time: 1_700_000_000_123_456_789 + first + int64(i), Data: bytes.Repeat([]byte{byte(first) + byte(i)}, size+i%4), Link: LinkTypeEthernet}
		p.WireLen = uint32(len(p.Data) + i%2*100)
		b.Packets = append(b.Packets, p)
	}
	return b
}

// Another reader finds the packets that were written, and so does this package.
func TestWriter(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	b := written(1, 5, 60)
	b.Packets[3].Link = LinkTypeLinuxSLL2
	b.Events = []Event{{Kind: Dropped, Count: 3}}
	more := written(6, 1, 0)
	more.Events = []Event{{Kind: Dropped, Count: 4}}
	for _, b := range []*Batch{{}, b, more} {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if int64(file.Len()) != w.Size() {
		t.Errorf("%d bytes, counted %d", file.Len(), w.Size())
	}
	want := append(b.Packets, more.Packets...)
	other, err := pcapgo.NewNgReader(bytes.NewReader(file.Bytes()), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range want {
		data, ci, err := other.ReadPacketData()
		if err != nil || !bytes.Equal(data, p.Data) || ci.Timestamp.UnixNano() != p.Time || ci.Length != int(p.WireLen) {
			t.Errorf("packet %d: %v, %+v", p.Number, err, ci)
		}
	}
	source, err := NewSource(&file, "written")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	n, dropped := 0, uint64(0)
	for b := new(Batch); ; b.Release() {
		if err := source.Next(b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Packets {
			if w := want[n]; p.Number != w.Number || p.Time != w.Time || p.Link != w.Link || p.WireLen != w.WireLen || !bytes.Equal(p.Data, w.Data) {
				t.Errorf("%+v\nwant %+v", p, w)
			}
			n++
		}
		for _, e := range b.Events {
			dropped += e.Count
		}
	}
	if n != len(want) || dropped != 7 {
		t.Errorf("%d packets, %d dropped", n, dropped)
	}
}

// A file without a packet is a capture: it begins with a section and an interface, draft-ietf-opsawg-pcapng sections 4.1 and 4.2.
func TestWriterBegins(t *testing.T) {
	var file bytes.Buffer
	if _, err := NewWriter(&file, LinkTypeLinuxSLL2); err != nil {
		t.Fatal(err)
	}
	want := []byte{
		0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
		1, 0, 0, 0, 32, 0, 0, 0, 20, 1, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, // link type 276, if_tsresol 9
	}
	if !bytes.Equal(file.Bytes(), want) {
		t.Errorf("% x\nwant\n% x", file.Bytes(), want)
	}
	// a batch that is larger than a file of a ring may be does not leave one behind that has nothing else
	dir := t.TempDir()
	r, err := NewRing(filepath.Join(dir, "ring.pcapng"), 3, 100, LinkTypeLinuxSLL2)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "ring-000001.pcapng")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: % x", err, got)
	}
	if err := r.Write(written(1, 10, 100)); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("%v", names)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// A ring has so many files of such a size, the latest packets, and goes on where an earlier run ended.
func TestRing(t *testing.T) {
	dir := t.TempDir()
	const files, limit = 3, 10_000
	other := filepath.Join(dir, "ring-12.pcapng")
	if err := os.WriteFile(other, []byte("not of the ring"), 0o644); err != nil {
		t.Fatal(err)
	}
	number := int64(1)
	for run := range 2 {
		r, err := NewRing(filepath.Join(dir, "ring.pcapng"), files, limit, LinkTypeEthernet)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := r.Write(written(number, 10, 200)); err != nil {
				t.Fatal(err)
			}
			number += 10
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "ring-??????.pcapng"))
		if err != nil || len(names) != files {
			t.Fatalf("run %d: %v, %v", run, names, err)
		}
		// 4 batches of 10 packets with 232 to 235 bytes each, rounded up, are in a file
		if want := filepath.Join(dir, []string{"ring-000005.pcapng", "ring-000010.pcapng"}[run]); names[files-1] != want {
			t.Errorf("run %d: the last file is %s, want %s", run, names[files-1], want)
		}
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 || info.Size() > limit || info.Size() < limit/2 {
				t.Errorf("%s: %v, %d bytes", name, info.Mode(), info.Size())
			}
		}
		source, err := OpenAll(names...)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		next := number - 10*4*files
		for b := new(Batch); ; b.Release() {
			if err := source.Next(b); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, p := range b.Packets {
				if len(p.Data) > 0 && p.Data[0] != byte(next) {
					t.Fatalf("packet %d is %d", next, p.Data[0])
				}
				next++
			}
		}
		if next != number {
			t.Errorf("run %d: the last packet is %d, want %d", run, next-1, number-1)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if _, err := Create(other); !os.IsExist(err) {
		t.Errorf("a file that was there: %v", err)
	}
}

// A disk that is full ends the ring with an error that names the file.
func TestRingOnAFullDisk(t *testing.T) {
	if _, err := NewWriter(full{}, LinkTypeEthernet); err == nil {
		t.Error("no error")
	}
	if _, err := NewRing(filepath.Join(t.TempDir(), "none", "ring.pcapng"), 1, 1, LinkTypeEthernet); err == nil {
		t.Error("no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
