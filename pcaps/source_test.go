package pcaps

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

// TestCutAnywhere cuts files at every byte: each packet that is there is handed over, and the
// cut is reported unless it falls between two records.
func TestCutAnywhere(t *testing.T) {
	for _, rec := range recordings(t, []int{60, 0, 1, 2, 3, 4, 1500, 61}) {
		t.Run(rec.name, func(t *testing.T) {
			// A pcapng file has no packet border between its head and the first packet, but blocks end there.
			blocks := rec.borders
			if rec.name == "pcapng" {
				blocks = append([]int{int(littleEndian.uint32(rec.file[4:]))}, blocks...)
			}
			for cut := rec.header; cut <= len(rec.file); cut++ {
				whole, border := 0, 0
				for whole < len(rec.packets) && rec.borders[whole+1] <= cut {
					whole++
				}
				for _, b := range blocks {
					if b <= cut {
						border = b
					}
				}
				got := readAll(t, bytes.NewReader(rec.file[:cut]))
				samePackets(t, got.packets, rec.packets[:whole])
				if cut == border {
					wantEOF(t, got)
				} else {
					wantDamage(t, got.err, TruncatedFile, int64(border), int64(whole))
				}
				if t.Failed() {
					t.Fatalf("cut after %d bytes", cut)
				}
			}
		})
	}
}

// TestReadSizes reads through readers that return little, or data with an error.
func TestReadSizes(t *testing.T) {
	for _, rec := range recordings(t, manySizes(300)) {
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"one byte":        iotest.OneByteReader,
			"half":            iotest.HalfReader,
			"data with error": iotest.DataErrReader,
		} {
			t.Run(rec.name+"/"+name, func(t *testing.T) {
				got := readAll(t, reader(bytes.NewReader(rec.file)))
				wantEOF(t, got)
				samePackets(t, got.packets, rec.packets)
			})
		}
	}
}

// manySizes returns n packet sizes from 0 to 9000, small ones most.
func manySizes(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = i * 7919 % 200
		if i%10 == 0 {
			sizes[i] = i * 104729 % 9001
		}
	}
	return sizes
}

// TestSlabBorders reads files of several slabs, and packets that are larger than one.
func TestSlabBorders(t *testing.T) {
	for name, sizes := range map[string][]int{
		"small packets":       manySizes(8000),
		"slab and a half":     {100, slabSize * 3 / 2, 100, 200},
		"just about a slab":   {slabSize - 17, slabSize - 16, slabSize - 15, slabSize, slabSize + 1, 5},
		"largest":             {5, maxRecord - 64, 6},
		"one after the other": {3 * slabSize, 3 * slabSize, 10, 2 * slabSize, 10},
	} {
		for _, rec := range recordings(t, sizes) {
			t.Run(name+"/"+rec.name, func(t *testing.T) {
				got := readAll(t, bytes.NewReader(rec.file))
				wantEOF(t, got)
				samePackets(t, got.packets, rec.packets)
			})
		}
	}
}

// TestPipe demands each packet as soon as it is written.
func TestPipe(t *testing.T) {
	for _, rec := range uncutRecordings(t, []int{60, 1500, 70}) {
		t.Run(rec.name, func(t *testing.T) {
			r, w := io.Pipe()
			go w.Write(rec.file[:rec.borders[0]])
			s, err := NewSource(r, "test")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var b Batch
			for i, want := range rec.packets {
				go w.Write(rec.file[rec.borders[i]:rec.borders[i+1]])
				if err := s.Next(&b); err != nil {
					t.Fatal(err)
				}
				samePackets(t, b.Packets, []Packet{want})
				b.Release()
			}
			w.Close()
			if err := s.Next(&b); err != io.EOF {
				t.Errorf("got %v at the end, want io.EOF", err)
			}
		})
	}
}

// TestClaimedLength gives lengths far above the bytes that follow: memory goes by the bytes.
func TestClaimedLength(t *testing.T) {
	for name, text := range map[string]string{
		"pcap":         `d4c3b2a1 0200 0400 00000000 00000000 ffffffff 01000000 0a000000 07000000 00000001 00000001 616263`,
		"pcap damaged": `d4c3b2a1 0200 0400 00000000 00000000 ffffffff 01000000 0a000000 07000000 ffffffff ffffffff 616263`,
		"pcapng":       ngSection + ngEthernet + `06000000 00000001 00000000 01000000 05000000 f0ffff00 f0ffff00 616263`,
	} {
		t.Run(name, func(t *testing.T) {
			file := unhex(t, text)
			readAll(t, bytes.NewReader(file)) // fills the pool
			before := allocated()
			got := readAll(t, bytes.NewReader(file))
			if grown := allocated() - before; grown > 2*slabSize {
				t.Errorf("%d bytes were allocated for a file of %d", grown, len(file))
			}
			var damage *DamageError
			if !errors.As(got.err, &damage) {
				t.Errorf("got %v, want a DamageError", got.err)
			}
		})
	}
}

// TestLargeRecord reads a packet of many slabs that arrives bit by bit. The memory for it grows
// in proportion, and packets behind it lie in ordinary slabs again.
func TestLargeRecord(t *testing.T) {
	for _, rec := range recordings(t, []int{100, 12 * slabSize, 100, slabSize / 2, 100}) {
		t.Run(rec.name, func(t *testing.T) {
			s, err := NewSource(iotest.HalfReader(bytes.NewReader(rec.file)), "test")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			before := allocated()
			var b Batch
			for {
				if err = s.Next(&b); err != nil {
					break
				}
				if large := len(b.slab.bytes) > slabSize; large && b.Packets[0].Number > 2 {
					t.Errorf("packet %d is in a slab of %d bytes", b.Packets[0].Number, len(b.slab.bytes))
				}
				b.Release()
			}
			if err != io.EOF {
				t.Error(err)
			}
			if grown := allocated() - before; grown > 4*12*slabSize {
				t.Errorf("%d bytes were allocated for a packet of %d", grown, 12*slabSize)
			}
		})
	}
}

// TestSlabSizes reads the same packet again and again: a stream begins with small slabs, and goes on with large ones.
func TestSlabSizes(t *testing.T) {
	const size = 60_000
	for _, rec := range recordings(t, slices.Repeat([]int{size}, firstBytes/size+100)) {
		t.Run(rec.name, func(t *testing.T) {
			s, err := NewSource(bytes.NewReader(rec.file), "test")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var b Batch
			var offset int64 // of the batch in the file, less the headers
			last := 0
			for s.Next(&b) == nil {
				last = len(b.slab.bytes)
				if offset < firstBytes-slabSize && last != firstSlabSize {
					t.Fatalf("near byte %d a slab has %d bytes", offset, last)
				}
				offset += int64(len(b.Packets) * size)
				b.Release()
			}
			if last != slabSize {
				t.Errorf("the last slab has %d bytes", last)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestNoAllocations holds Next to allocating nothing once slabs and index are there.
func TestNoAllocations(t *testing.T) {
	for _, rec := range recordings(t, manySizes(100)) {
		t.Run(rec.name, func(t *testing.T) {
			s, err := NewSource(&loop{head: rec.file[:rec.borders[0]], body: rec.file[rec.borders[0]:]}, "test")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var b Batch
			next := func() {
				if err := s.Next(&b); err != nil {
					t.Fatal(err)
				}
				b.Release()
			}
			for range 10 {
				next()
			}
			if n := testing.AllocsPerRun(100, next); n > 1 { // a garbage collection may empty the pool
				t.Errorf("%v allocations a batch", n)
			}
		})
	}
}

// A loop is an endless file: a head, then a body again and again.
type loop struct{ head, body, rest []byte }

func (l *loop) Read(p []byte) (n int, err error) {
	if l.head != nil {
		l.rest, l.head = l.head, nil
	}
	for n < len(p) {
		if len(l.rest) == 0 {
			l.rest = l.body
		}
		m := copy(p[n:], l.rest)
		n, l.rest = n+m, l.rest[m:]
	}
	return n, nil
}

// TestReadError tells an error of the disk from damage.
func TestReadError(t *testing.T) {
	broken := &fs.PathError{Op: "read", Path: "test", Err: errors.New("input/output error")}
	for _, rec := range recordings(t, []int{60, 1500, 70}) {
		t.Run(rec.name, func(t *testing.T) {
			got := readAll(t, io.MultiReader(bytes.NewReader(rec.file[:rec.borders[2]+5]), iotest.ErrReader(broken)))
			samePackets(t, got.packets, rec.packets[:2])
			if got.err == nil || got.err.Error() != "test: input/output error" || !errors.Is(got.err, broken.Err) {
				t.Errorf("got error %v", got.err)
			}
		})
	}
}

// TestErrorWithData demands the error of a reader that returns it once, along with its last bytes.
func TestErrorWithData(t *testing.T) {
	rec := recordings(t, []int{60, 5000, 70})[0]
	broken := errors.New("input/output error")
	got := readAll(t, &failOnce{rec.file, broken})
	samePackets(t, got.packets, rec.packets)
	if !errors.Is(got.err, broken) {
		t.Errorf("got error %v", got.err)
	}
}

type failOnce struct {
	data []byte
	err  error
}

func (r *failOnce) Read(p []byte) (n int, err error) {
	n = copy(p, r.data)
	if r.data = r.data[n:]; len(r.data) == 0 {
		err, r.err = r.err, io.EOF
	}
	return n, err
}

func TestEndStays(t *testing.T) {
	rec := recordings(t, []int{60, 70})[0]
	s, err := NewSource(bytes.NewReader(rec.file[:len(rec.file)-1]), "test")
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := s.Next(&b); err != nil {
		t.Fatal(err)
	}
	b.Release()
	wantDamage(t, s.Next(&b), TruncatedFile, int64(rec.borders[1]), 1)
	for range 2 {
		if err := s.Next(&b); err != io.EOF {
			t.Errorf("got %v after the damage, want io.EOF", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Next(&b); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	if err := s.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// TestHolders lets several goroutines hold each batch while the source reads on, and checks that
// the bytes stay what they were. The race detector has its say too.
func TestHolders(t *testing.T) {
	rec := recordings(t, manySizes(20000))[0]
	s, err := NewSource(bytes.NewReader(rec.file), "test")
	if err != nil {
		t.Fatal(err)
	}
	const workers = 3
	var done sync.WaitGroup
	queues := make([]chan *Batch, workers)
	for i := range queues {
		queues[i] = make(chan *Batch, 8)
		done.Go(func() {
			for b := range queues[i] {
				for _, p := range b.Packets {
					if crc32.ChecksumIEEE(p.Data) != crc32.ChecksumIEEE(rec.packets[p.Number-1].Data) {
						t.Errorf("the bytes of packet %d changed while the batch was held", p.Number)
					}
				}
				b.Release()
			}
		})
	}
	for {
		b := new(Batch)
		if err = s.Next(b); err != nil {
			break
		}
		for _, queue := range queues {
			b.Retain()
			queue <- b
		}
		b.Release()
	}
	if err != io.EOF {
		t.Error(err)
	}
	s.Close() // batches are still held
	for _, queue := range queues {
		close(queue)
	}
	done.Wait()
}

func TestBatchMisuse(t *testing.T) {
	rec := recordings(t, []int{60, 70})[0]
	s, err := NewSource(iotest.OneByteReader(bytes.NewReader(rec.file)), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b Batch
	if err := s.Next(&b); err != nil {
		t.Fatal(err)
	}
	mustPanic(t, "Next into a held Batch", func() { s.Next(&b) })
	b.Release()
	mustPanic(t, "a second Release", b.Release)
	mustPanic(t, "Retain after Release", new(Batch).Retain)
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

// The position is what was read of the files as they are stored: at the end that is their size, packed or not, one or several.
func TestPosition(t *testing.T) {
	plain, err := os.ReadFile("../testdata/sample.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(plain)
	w.Close()
	dir := t.TempDir()
	var paths []string
	for i, data := range [][]byte{plain, packed.Bytes(), plain} {
		paths = append(paths, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(paths[i], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		paths []string
		size  int
	}{{paths[:1], len(plain)}, {paths[1:2], packed.Len()}, {paths, 2*len(plain) + packed.Len()}} {
		s, err := OpenAll(test.paths...)
		if err != nil {
			t.Fatal(err)
		}
		drain(s)
		if got := s.Position(); got != int64(test.size) {
			t.Errorf("%d files: position %d at the end of %d bytes", len(test.paths), got, test.size)
		}
		s.Close()
	}
}
