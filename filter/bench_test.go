package filter_test

import (
	"io"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/filter"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// taken is a format that keeps the exchanges of a capture, so that they can be looked at again and again.
type taken struct {
	exchanges []dissect.Exchange
	snapshots [][2]*dissect.Snapshot // nil where there is no message
	bytes     int64                  // of the frames
}

func (*taken) Needs() dissect.Needs {
	return dissect.NeedExchanges | dissect.NeedBatches | dissect.NeedRecords
}
func (*taken) Message(*dissect.Message) {}
func (*taken) Report(*dissect.Report)   {}
func (*taken) Close(*dissect.Counts)    {}
func (*taken) Flush() error             { return nil }

func (t *taken) Exchange(x *dissect.Exchange) {
	t.exchanges = append(t.exchanges, *x)
	var pair [2]*dissect.Snapshot
	for i, m := range []*dissect.Message{x.Request, x.Response} {
		if m != nil {
			t.bytes += int64(m.Size)
			pair[i] = &dissect.Snapshot{}
			pair[i].Take(m, nil)
		}
	}
	t.snapshots = append(t.snapshots, pair)
}

// through is a format that prints nothing.
type through struct{ taken }

func (*through) Exchange(*dissect.Exchange) {}

// BenchmarkFilter looks for what is not there in a session of a client. The bytes are those of its frames.
func BenchmarkFilter(b *testing.B) {
	source, err := pcaps.Open("../testdata/sample.pcap")
	if err != nil {
		b.Fatal(err)
	}
	defer source.Close()
	var session taken
	assembler := reassembly.New(dissect.New(schema.Embedded(), session.Needs(), &session))
	var batch pcaps.Batch
	for err = source.Next(&batch); err == nil; err = source.Next(&batch) {
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	if err != io.EOF {
		b.Fatal(err)
	}
	assembler.Close()

	where, err := filter.ParseWhere(`size > 1e9`, schema.Embedded())
	if err != nil {
		b.Fatal(err)
	}
	nothing := filter.ParsePattern("nothing")
	for name, criteria := range map[string]filter.Criteria{
		"client": {Clients: []filter.Pattern{nothing}},
		"slow":   {Slow: time.Hour},
		"topic":  {Topics: []filter.Topic{{Name: nothing, Partition: -1, Offset: -1}}},
		"group":  {Groups: []filter.Pattern{nothing}},
		"where":  {Where: where},
		"grep":   {Grep: regexp.MustCompile("nothing here")},
	} {
		b.Run(name, func(b *testing.B) {
			var matched atomic.Int64
			f := filter.Heads(&criteria, filter.Exchanges(&criteria, &through{}, &matched, 0))
			r, x := dissect.NewReader(), &dissect.Exchange{}
			b.SetBytes(session.bytes)
			b.ReportAllocs()
			for b.Loop() {
				for i := range session.exchanges {
					*x = session.exchanges[i]
					r.Exchange(x, session.snapshots[i][0], session.snapshots[i][1])
					f.Exchange(x)
				}
			}
			if matched.Load() > 0 {
				b.Fatal(matched.Load(), " exchanges match")
			}
		})
	}
}
