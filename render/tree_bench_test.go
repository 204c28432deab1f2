package render

import (
	"io"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// decodeOnly is a format that decodes and prints nothing: what is left when the tree's own cost is taken away.
type decodeOnly struct{ sink }

func (*decodeOnly) Needs() dissect.Needs       { return dissect.NeedMessages }
func (*decodeOnly) Message(m *dissect.Message) { m.Tape() }
func (*decodeOnly) Exchange(*dissect.Exchange) {}
func (*decodeOnly) Report(*dissect.Report)     {}

// counter counts the bytes and lines written to it.
type counter struct{ bytes, lines int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	for _, b := range p {
		if b == '\n' {
			c.lines++
		}
	}
	return len(p), nil
}

const benchCapture = "kraft-4.4-3node-start.pcap"

func BenchmarkTree(b *testing.B) {
	for _, bench := range []struct {
		name    string
		options Options
	}{
		{"full", Options{Full: true}},
		{"full-color", Options{Full: true, Color: true}},
		{"full-hex", Options{Full: true, Hex: true}},
		{"compact", Options{}},
		{"full-records", Options{Full: true, Records: RecordsFull}},
		{"full-records-hex", Options{Full: true, Hex: true, Records: RecordsFull}},
		{"compact-records", Options{Records: RecordsFull}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var count counter
			readCapture(b, benchCapture, NewTree(&count, bench.options))
			b.ReportAllocs()
			b.SetBytes(count.bytes)
			for b.Loop() {
				tree := NewTree(io.Discard, bench.options)
				readCapture(b, benchCapture, tree)
			}
			b.ReportMetric(float64(count.lines), "lines/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count.lines), "ns/line")
		})
	}
	b.Run("decode-only", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			readCapture(b, benchCapture, &decodeOnly{})
		}
	})
}
