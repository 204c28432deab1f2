package pcaps

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// benchmarkBytes is the size of the captures that the benchmarks read from memory.
const benchmarkBytes = 64 << 20

func BenchmarkPcap(b *testing.B)   { benchmarkFormat(b, 0) }
func BenchmarkPcapng(b *testing.B) { benchmarkFormat(b, 1) }

// benchmarkFormat compares the package with gopacket's reader as its users set it up for speed.
func benchmarkFormat(b *testing.B, format int) {
	sizes := make([]int, 2000)
	for i := range sizes {
		sizes[i] = 60 + i%100
	}
	rec := uncutRecordings(b, sizes)[format]
	head, body := rec.file[:rec.borders[0]], rec.file[rec.borders[0]:]
	file := append(bytes.Clone(head), bytes.Repeat(body, benchmarkBytes/len(body))...)
	packets := len(rec.packets) * (benchmarkBytes / len(body))

	b.Run("pcaps", func(b *testing.B) {
		measure(b, file, packets, readWithPackage)
	})
	b.Run("gopacket", func(b *testing.B) {
		measure(b, file, packets, readWithGopacket)
	})
}

// measure reports bytes a second and nanoseconds a packet of read, which returns the
// number of packets in a file and the sum of their lengths.
func measure(b *testing.B, file []byte, packets int, read func(testing.TB, io.Reader) (int, int64)) {
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if n, _ := read(b, bytes.NewReader(file)); n != packets {
			b.Fatalf("%d packets, want %d", n, packets)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(packets), "ns/packet")
}

func readWithPackage(t testing.TB, r io.Reader) (packets int, bytes int64) {
	s, err := NewSource(r, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var batch Batch
	for {
		if err := s.Next(&batch); err != nil {
			return packets, bytes
		}
		for i := range batch.Packets {
			packets++
			bytes += int64(len(batch.Packets[i].Data))
		}
		batch.Release()
	}
}

func readWithGopacket(t testing.TB, r io.Reader) (packets int, bytes int64) {
	read, _, err := gopacketReader(bufio.NewReaderSize(r, 1<<20), true)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, _, err := read()
		if err != nil {
			return packets, bytes
		}
		packets++
		bytes += int64(len(data))
	}
}
