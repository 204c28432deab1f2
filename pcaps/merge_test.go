package pcaps

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeCapture writes a classic pcap file of small packets at the given times in nanoseconds.
func writeCapture(t testing.TB, path string, times []int64) {
	t.Helper()
	file := unhex(t, `4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000`)
	for i, at := range times {
		data := fmt.Appendf(nil, "packet %d of %s", i+1, filepath.Base(path))
		for _, word := range []uint32{uint32(at / 1e9), uint32(at % 1e9), uint32(len(data)), uint32(len(data))} {
			file = binary.LittleEndian.AppendUint32(file, word)
		}
		file = append(file, data...)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOpenAll holds merged files against a stable sort of all packets.
func TestOpenAll(t *testing.T) {
	const start = int64(1790000000_000000000)
	random := rand.New(rand.NewPCG(7, 7))
	for name, test := range map[string]struct {
		files, packets int
		offset         int64 // of a file's beginning to that of the one before
		step           int64 // between packets, at most
	}{
		"rotated":             {20, 500, 1e9, 1e6},
		"parallel":            {5, 30000, 10, 1000},
		"overlapping":         {20, 500, 1e6, 2e4},
		"many of equal times": {7, 2000, 0, 2},
		"one packet each":     {300, 1, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			var want []Packet
			for i := range test.files {
				path := filepath.Join(dir, fmt.Sprint(i))
				at := start + int64(i)*test.offset
				var times []int64
				for n := range test.packets {
					times = append(times, at)
					want = append(want, Packet{Number: int64(n + 1), Time: at, File: uint16(i)})
					at += random.Int64N(test.step)
				}
				writeCapture(t, path, times)
				paths = append(paths, path)
			}
			slices.SortStableFunc(want, func(a, b Packet) int { return int(a.Time - b.Time) })
			sameOrder(t, paths, want)

			// The order of the names does not matter, but for files that begin at the same time.
			if test.offset > 0 {
				slices.Reverse(paths)
				for i := range want {
					want[i].File = uint16(test.files-1) - want[i].File
				}
				sameOrder(t, paths, want)
			}
		})
	}
}

// sameOrder reads files as one and compares time, number and file of each packet.
func sameOrder(t *testing.T, paths []string, want []Packet) {
	t.Helper()
	s, err := OpenAll(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := drain(s)
	wantEOF(t, got)
	if len(got.packets) != len(want) {
		t.Fatalf("%d packets, want %d", len(got.packets), len(want))
	}
	for i, p := range got.packets {
		if w := want[i]; p.Time != w.Time || p.Number != w.Number || p.File != w.File {
			t.Fatalf("packet %d: %+v, want %+v", i+1, p, w)
		}
		name := s.Files()[p.File]
		if data := fmt.Sprintf("packet %d of %s", p.Number, filepath.Base(name)); string(p.Data) != data {
			t.Fatalf("packet %d is %q, want %q", i+1, p.Data, data)
		}
	}
}

// TestOpenAllBackwards keeps the order of each file where its times go backwards.
func TestOpenAllBackwards(t *testing.T) {
	const s = int64(1e9)
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	writeCapture(t, a, []int64{10 * s, 14 * s, 11 * s, 12 * s, 20 * s})
	writeCapture(t, b, []int64{9 * s, 13 * s, 15 * s, 14 * s})
	sameOrder(t, []string{a, b}, []Packet{
		{Number: 1, Time: 9 * s, File: 1},
		{Number: 1, Time: 10 * s, File: 0},
		{Number: 2, Time: 13 * s, File: 1},
		{Number: 2, Time: 14 * s, File: 0},
		{Number: 3, Time: 11 * s, File: 0},
		{Number: 4, Time: 12 * s, File: 0},
		{Number: 3, Time: 15 * s, File: 1},
		{Number: 4, Time: 14 * s, File: 1},
		{Number: 5, Time: 20 * s, File: 0},
	})
}

// TestOpenAllHoldsFew opens many rotated files and counts those that are open at a time.
func TestOpenAllHoldsFew(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 1000 {
		path := filepath.Join(dir, fmt.Sprint(i))
		writeCapture(t, path, []int64{int64(i) * 10, int64(i)*10 + 9})
		paths = append(paths, path)
	}
	rand.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	s, err := OpenAll(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := s.(*merged)
	before := allocated()
	packets := 0
	for b := new(Batch); ; {
		err := s.Next(b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packets += len(b.Packets)
		open := len(m.open)
		if m.hungry != nil && m.hungry.source != nil {
			open++
		}
		if open > 2 {
			t.Fatalf("%d files are open", open)
		}
		b.Release()
	}
	if packets != 2000 {
		t.Errorf("%d packets, want 2000", packets)
	}
	if grown := allocated() - before; grown > uint64(len(paths))*slabSize/2 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

// TestOpenAllEvents keeps events beside their packets.
func TestOpenAllEvents(t *testing.T) {
	dir := t.TempDir()
	comment := `06000000 30000000 00000000 01000000 05000000 03000000 09000000 61626300 0100 0300 6f6e6500 0000 0000 30000000`
	section := `0a0d0d0a 28000000 4d3c2b1a 0100 0000 ffffffffffffffff 0100 0200 68690000 0000 0000 28000000`
	var paths []string
	for i, blocks := range []string{section + ngEthernet, section + ngEthernet + ngEnhanced + comment} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, unhex(t, blocks), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	s, err := OpenAll(paths...)
	if err != nil {
		t.Fatal(err)
	}
	got := drain(s)
	wantEOF(t, got)
	sameEvents(t, got.events, []Event{
		{Kind: Comment, Packet: 0, Data: []byte("hi"), File: 0},
		{Kind: Comment, Packet: 0, Data: []byte("hi"), File: 1},
		{Kind: Comment, Packet: 2, Data: []byte("one"), File: 1},
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if err := s.Next(new(Batch)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

// TestOpenAllDamage goes on behind damage, and at the end of a file that is cut with the others.
func TestOpenAllDamage(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprint(i))
		var times []int64
		for n := range 100 {
			times = append(times, int64(n*10+i))
		}
		writeCapture(t, path, times)
		paths = append(paths, path)
	}
	file, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	copy(file[1000:], bytes.Repeat([]byte{0xff}, 50))
	if err := os.WriteFile(paths[1], file[:len(file)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenAll(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := drain(s)
	if len(got.damage) != 2 || !got.damage[0].Resumed || got.damage[1].Code != TruncatedFile || got.end != io.EOF {
		t.Errorf("damage %v, then %v", got.damage, got.end)
	}
	for _, d := range got.damage {
		if d.File != paths[1] {
			t.Errorf("damage of %s, want %s", d.File, paths[1])
		}
	}
	counts := make([]int, 3)
	for _, p := range got.packets {
		counts[p.File]++
	}
	if counts[0] != 100 || counts[2] != 100 || counts[1] < 95 || counts[1] > 99 {
		t.Errorf("packets of each file: %v", counts)
	}
	if !slices.IsSortedFunc(got.packets, func(a, b Packet) int { return int(a.Time - b.Time) }) {
		t.Error("packets are not in the order of time")
	}
}

func TestOpenAllErrors(t *testing.T) {
	dir := t.TempDir()
	good, text := filepath.Join(dir, "good"), filepath.Join(dir, "text")
	writeCapture(t, good, []int64{1, 2})
	if err := os.WriteFile(text, []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		paths []string
		want  string
	}{
		{nil, "no capture file"},
		{[]string{good, text}, text + ": not a capture file"},
		{[]string{filepath.Join(dir, "none"), good}, filepath.Join(dir, "none") + ": no such file"},
		{[]string{good, dir}, dir + ": is a directory"},
		{make([]string, maxFiles+1), "65537 capture files"},
	} {
		s, err := OpenAll(test.paths...)
		if s != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got %v, %v, want %s", s, err, test.want)
		}
	}

	// A file that goes away before its turn.
	later := filepath.Join(dir, "later")
	writeCapture(t, later, []int64{3, 4})
	s, err := OpenAll(later, good)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Remove(later); err != nil {
		t.Fatal(err)
	}
	got := drain(s)
	if len(got.packets) != 2 || !errors.Is(got.end, fs.ErrNotExist) || !strings.HasPrefix(got.end.Error(), later) {
		t.Errorf("%d packets, then %v", len(got.packets), got.end)
	}
	if again := s.Next(new(Batch)); again != got.end {
		t.Errorf("then %v", again)
	}
}

// TestOpenAllHolders keeps merged batches, which lie in several slabs, beyond the Source.
func TestOpenAllHolders(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprint(i))
		var times []int64
		for n := range 50000 {
			times = append(times, int64(n*10+i))
		}
		writeCapture(t, path, times)
		paths = append(paths, path)
	}
	s, err := OpenAll(paths...)
	if err != nil {
		t.Fatal(err)
	}
	var held []*Batch
	for {
		b := new(Batch)
		if err = s.Next(b); err != nil {
			break
		}
		held = append(held, b)
	}
	if err != io.EOF {
		t.Error(err)
	}
	s.Close()
	packets := 0
	for _, b := range held {
		for _, p := range b.Packets {
			packets++
			if want := fmt.Sprintf("packet %d of %d", p.Number, p.File); string(p.Data) != want {
				t.Fatalf("packet %q, want %q", p.Data, want)
			}
		}
		b.Release()
	}
	if packets != 150000 {
		t.Errorf("%d packets, want 150000", packets)
	}
}

func BenchmarkOpenAll(b *testing.B) {
	dir := b.TempDir()
	var paths []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprint(i))
		var times []int64
		for n := range 100000 {
			times = append(times, int64(n*10+i))
		}
		writeCapture(b, path, times)
		paths = append(paths, path)
	}
	for b.Loop() {
		s, err := OpenAll(paths...)
		if err != nil {
			b.Fatal(err)
		}
		for batch := new(Batch); s.Next(batch) == nil; {
			batch.Release()
		}
		s.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300000, "ns/packet")
}

// TestOpenAllHeadless reads on where files have no header, and says of each what is wrong.
func TestOpenAllHeadless(t *testing.T) {
	dir := t.TempDir()
	good, empty, cut := filepath.Join(dir, "good"), filepath.Join(dir, "empty"), filepath.Join(dir, "cut")
	writeCapture(t, good, []int64{1, 2})
	for path, data := range map[string]string{empty: "", cut: "\x4d\x3c\xb2\xa1\x02"} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenAll(empty, good, cut)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, file := range []uint16{0, 2} {
		err := s.Next(new(Batch))
		var damage *DamageError
		var of *FileError
		if !errors.As(err, &damage) || damage.Code != TruncatedFile || damage.File != s.Files()[file] || !errors.As(err, &of) || of.File != file {
			t.Errorf("file %d: %v", file, err)
		}
	}
	got := drain(s)
	wantEOF(t, got)
	if len(got.packets) != 2 || got.packets[0].File != 1 {
		t.Errorf("packets %v", got.packets)
	}

	if s, err := OpenAll(empty, cut); s != nil || err == nil || !strings.HasPrefix(err.Error(), empty) {
		t.Errorf("no file with a header: %v, %v", s, err)
	}
	if _, err := OpenAll(empty, good, filepath.Join(dir, "none")); err == nil || !strings.HasSuffix(err.Error(), "none: no such file or directory") {
		t.Errorf("a file that is not there: %v", err)
	}
}
