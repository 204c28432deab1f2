package pcaps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// FuzzSource reads any bytes, and on behind damage. Nothing may panic; reading must end; packets must be slices of
// the input, in its order and not of what was passed over as damage, and be numbered in order; memory must go by the bytes that are
// there; and how the bytes arrive must not matter.
func FuzzSource(f *testing.F) {
	for _, rec := range recordings(f, []int{60, 0, 1, 2, 3, 100}) {
		f.Add(rec.file, uint64(1))
		f.Add(gzipped(f, rec.file), uint64(2))
		f.Add(zstandard(f, rec.file), uint64(3))
	}
	f.Add(unhex(f, ngSection+ngShortSnap+ngSLL2Nano+ngEnhanced+ngSectionBE+ngEthernetBE+ngEnhancedBE), uint64(4))
	f.Add(unhex(f, `34cdb2a1 0200 0400 00000000 00000000 00000400 01000000
		0a000000 07000000 03000000 03000000 01000000 0008 04 00 616263`), uint64(5))
	for _, file := range smallCaptures(f) {
		f.Add(file, uint64(6))
	}
	for _, rec := range uncutRecordings(f, []int{60, 5, 70, 100, 54}) {
		for _, at := range []int{rec.borders[1] + 1, rec.borders[2] + 8} {
			file := bytes.Clone(rec.file)
			file[at] ^= 7
			f.Add(file, uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		before := allocated()
		packets := skim(t, file)
		compressed := isGzip(file) || isZstd(file) // a zstd frame says how far it looks back
		if grown := allocated() - before; !compressed && grown > 4*slabSize+uint64(200*len(file)) {
			t.Errorf("%d bytes were allocated for a file of %d", grown, len(file))
		}
		whole := readAll(t, bytes.NewReader(file))
		if len(whole.packets) != packets {
			t.Errorf("%d packets, %d the second time", packets, len(whole.packets))
		}
		split := readAll(t, &pieces{file, rand.New(rand.NewPCG(seed, 0))})
		samePackets(t, split.packets, whole.packets)
		sameEvents(t, split.events, whole.events)
		if fmt.Sprint(split.damage, split.end) != fmt.Sprint(whole.damage, whole.end) {
			t.Errorf("damage %v, then %v\nread in pieces %v, then %v", whole.damage, whole.end, split.damage, split.end)
		}
	})
}

// skim reads a file without keeping anything, checks each packet and returns how many there are.
func skim(t *testing.T, file []byte) (packets int) {
	t.Helper()
	s, err := newFileSource(bytes.NewReader(file), "test")
	if err != nil {
		return 0
	}
	defer s.Close()
	var b Batch
	plain := s.input.compression == ""
	rest := file // where the next packet may lie
	passed := int64(0)
	for items := 0; ; items++ {
		if items > 2*len(file)+10 && plain {
			t.Fatalf("%d batches and errors out of %d bytes", items, len(file))
		}
		if err = s.Next(&b); err == io.EOF {
			break
		}
		if damage := (*DamageError)(nil); errors.As(err, &damage) {
			switch end := damage.Offset + damage.Skipped; {
			case damage.Packet != int64(packets):
				t.Fatalf("%d packets, then %v", packets, damage)
			case damage.Offset < passed || damage.Skipped < 0 || plain && end > int64(len(file)):
				t.Fatalf("%v, after damage up to byte %d", damage, passed)
			case damage.Resumed && damage.Skipped == 0:
				t.Fatalf("%v passes over nothing", damage)
			default:
				passed = end
			}
			if plain {
				rest = file[max(passed, int64(len(file)-len(rest))):]
			}
			continue
		}
		if err != nil {
			t.Fatalf("memory cannot fail, but got %v", err)
		}
		for _, p := range b.Packets {
			if packets++; p.Number != int64(packets) {
				t.Fatalf("packet %d has number %d", packets, p.Number)
			}
			if int(p.WireLen) < len(p.Data) {
				t.Fatalf("packet %d: %d bytes captured of %d", packets, len(p.Data), p.WireLen)
			}
			if cap(p.Data) > len(p.Data) {
				t.Fatalf("packet %d: appending to it writes over what follows", packets)
			}
			at := bytes.Index(rest, p.Data)
			if plain && at < 0 {
				t.Fatalf("packet %d is not in the rest of the file", packets)
			}
			if plain {
				rest = rest[at+len(p.Data):]
			}
		}
		b.Release()
	}
	return packets
}

// pieces returns its bytes in pieces of random length, small ones most.
type pieces struct {
	rest   []byte
	random *rand.Rand
}

func (r *pieces) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	length := 1 << r.random.IntN(12)
	n := copy(p, r.rest[:min(length, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

// smallCaptures returns the small files of the collection of cases, where it is at hand.
func smallCaptures(t testing.TB) (files [][]byte) {
	t.Helper()
	paths, err := filepath.Glob("../../shared/cases/*.pcap*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(file) < 10_000 {
			files = append(files, file)
		}
	}
	return files
}
