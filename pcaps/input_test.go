package pcaps

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// TestCompressed reads compressed files whole, in several parts and bit by bit.
func TestCompressed(t *testing.T) {
	// A skippable frame, RFC 8878 section 3.1.2: magic number, length, content.
	skippable := unhex(t, `5a2a4d18 03000000 616263`)
	for _, rec := range recordings(t, manySizes(2000)) {
		middle := rec.borders[700] + 5
		front, back := rec.file[:middle], rec.file[middle:]
		for name, file := range map[string][]byte{
			"gzip":               gzipped(t, rec.file),
			"gzip, two members":  slices.Concat(gzipped(t, front), gzipped(t, back)),
			"gzip, empty member": slices.Concat(gzipped(t, nil), gzipped(t, rec.file), gzipped(t, nil)),
			"zstd":               zstandard(t, rec.file),
			"zstd, three frames": slices.Concat(skippable, zstandard(t, front), zstandard(t, back)),
		} {
			t.Run(rec.name+"/"+name, func(t *testing.T) {
				for _, r := range []io.Reader{bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file))} {
					got := readAll(t, r)
					wantEOF(t, got)
					samePackets(t, got.packets, rec.packets)
				}
			})
		}
	}
}

// TestCompressedCut cuts compressed files: what comes out before the cut is handed over.
func TestCompressedCut(t *testing.T) {
	rec := recordings(t, manySizes(2000))[0]
	for name, file := range map[string][]byte{"gzip": gzipped(t, rec.file), "zstd": zstandard(t, rec.file)} {
		t.Run(name, func(t *testing.T) {
			for cut := len(file) / 2; cut < len(file); cut += 1 + len(file)/50 {
				got := readAll(t, bytes.NewReader(file[:cut]))
				samePackets(t, got.packets, rec.packets[:min(len(got.packets), len(rec.packets))])
				if rec.borders[len(got.packets)] < cut/2 {
					t.Fatalf("cut after %d bytes: only %d packets", cut, len(got.packets))
				}
				damage := wantDamage(t, got.err, TruncatedFile, int64(rec.borders[len(got.packets)]), int64(len(got.packets)))
				if damage.Compression != name {
					t.Errorf("damage in %q data, want %q", damage.Compression, name)
				}
			}
		})
	}
}

// TestCompressedDamage alters the checksum at the end: all packets are there, then the damage.
func TestCompressedDamage(t *testing.T) {
	rec := recordings(t, manySizes(300))[0]
	packets := len(rec.packets)
	file := gzipped(t, rec.file)
	file[len(file)-8] ^= 1 // CRC-32, RFC 1952 section 2.3.1
	got := readAll(t, bytes.NewReader(file))
	samePackets(t, got.packets, rec.packets)
	wantDamage(t, got.err, DamagedBlock, int64(rec.borders[packets]), int64(packets))
}

// TestCompressedReadError tells an error of the disk from damage of the compressed data.
func TestCompressedReadError(t *testing.T) {
	rec := recordings(t, manySizes(300))[0]
	broken := errors.New("input/output error")
	for name, file := range map[string][]byte{"gzip": gzipped(t, rec.file), "zstd": zstandard(t, rec.file)} {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(broken)))
			if !errors.Is(got.err, broken) {
				t.Errorf("got %v, want the error of the disk", got.err)
			}
			if damage := (*DamageError)(nil); errors.As(got.err, &damage) {
				t.Errorf("%v is called damage", got.err)
			}
		})
	}
}
