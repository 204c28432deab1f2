package render

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// taken is a format that keeps the exchanges of a capture, so that they can be written again and again.
type taken struct {
	sink
	exchanges []dissect.Exchange
	snapshots [][2]*dissect.Snapshot // nil where there is no message
	bytes     int64                  // of the frames
	exchange  dissect.Exchange       // being written
}

func (*taken) Needs() dissect.Needs {
	return dissect.NeedExchanges | dissect.NeedBatches | dissect.NeedRecords
}
func (*taken) Message(*dissect.Message) {}
func (*taken) Report(*dissect.Report)   {}

func (t *taken) Exchange(x *dissect.Exchange) {
	t.exchanges = append(t.exchanges, *x)
	t.snapshots = append(t.snapshots, [2]*dissect.Snapshot{t.take(x.Request), t.take(x.Response)})
}

func (t *taken) take(m *dissect.Message) *dissect.Snapshot {
	if m == nil {
		return nil
	}
	t.bytes += int64(m.Size)
	s := &dissect.Snapshot{}
	s.Take(m, nil)
	return s
}

// write hands all exchanges to a format, as a worker does.
func (t *taken) write(r *dissect.Reader, f Format) {
	for i := range t.exchanges {
		x := &t.exchange
		*x = t.exchanges[i]
		r.Exchange(x, t.snapshots[i][0], t.snapshots[i][1])
		if f.Needs()&dissect.NeedMessages != 0 {
			for _, m := range []*dissect.Message{x.Request, x.Response} {
				if m != nil {
					f.Message(m)
				}
			}
		}
		if f.Needs()&dissect.NeedExchanges != 0 {
			f.Exchange(x)
		}
	}
	f.Flush()
}

// BenchmarkFormats decodes and writes a session of a client. The bytes are those of its frames.
func BenchmarkFormats(b *testing.B) {
	var session taken
	if err := dissectFile(b, "../testdata/sample.pcap", &session); err != nil {
		b.Fatal(err)
	}
	columns, err := Columns(DefaultFields, schema.Embedded())
	if err != nil {
		b.Fatal(err)
	}
	options := func(o Options) Options {
		o.Errors, o.Start = &atomic.Int64{}, &atomic.Int64{}
		return o
	}
	plain, full := options(Options{MaxRecords: 10, MaxBytes: 64}), options(Options{Records: RecordsFull, MaxRecords: 10, MaxBytes: 64})
	everything := options(Options{Full: true, Records: RecordsFull})
	for name, format := range map[string]Format{
		"summary":    NewSummary(io.Discard, io.Discard, plain),
		"requestlog": NewRequestLog(io.Discard, io.Discard, plain),
		"records":    NewRecords(io.Discard, io.Discard, full),
		"tsv":        NewTSV(io.Discard, io.Discard, columns, plain),
		"csv":        NewCSV(io.Discard, io.Discard, columns, plain),
		"json":       NewJSON(io.Discard, plain),
		"json-full":  NewJSON(io.Discard, full),
		"tree":       NewTree(io.Discard, full),
		"tree-full":  NewTree(io.Discard, everything),
	} {
		b.Run(name, func(b *testing.B) {
			r := dissect.NewReader()
			session.write(r, format)
			b.SetBytes(session.bytes)
			b.ReportAllocs()
			for b.Loop() {
				session.write(r, format)
			}
		})
	}
}
