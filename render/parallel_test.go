package render

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// dissectFile runs a capture through a format, to its end or the first error of the writer.
func dissectFile(t testing.TB, file string, f Format) error {
	t.Helper()
	source, err := pcaps.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	d := dissect.New(schema.Embedded(), f.Needs(), f)
	a := reassembly.New(d)
	var batch pcaps.Batch
	for {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Packets {
			if err := a.Packet(&batch.Packets[i]); err != nil {
				t.Fatal(err)
			}
		}
		batch.Release()
		if err := f.Flush(); err != nil {
			return err
		}
	}
	a.Close()
	f.Close(&d.Counts)
	return f.Flush()
}

var formats = map[string]func(out, log io.Writer, o Options) Format{
	"json":       func(out, _ io.Writer, o Options) Format { return NewJSON(out, o) },
	"requestlog": func(out, log io.Writer, o Options) Format { return NewRequestLog(out, log, o) },
	"summary":    func(out, log io.Writer, o Options) Format { return NewSummary(out, log, o) },
	"records":    func(out, log io.Writer, o Options) Format { return NewRecords(out, log, o) },
	"csv":        func(out, log io.Writer, o Options) Format { return NewCSV(out, log, tableOfAll, o) },
	"tsv":        func(out, log io.Writer, o Options) Format { return NewTSV(out, log, tableOfAll, o) },
	"tree":       func(out, _ io.Writer, o Options) Format { o.Full = true; return NewTree(out, o) },
}

var tableOfAll, _ = Columns(strings.Join(ColumnNames(), ",")+",payload.topics[].partitions[],request.topicData[].name", schema.Embedded())

// Workers must give the bytes that a plain loop gives, however many there are.
func TestWorkersChangeNothing(t *testing.T) {
	for name, create := range formats {
		for _, file := range []string{"../testdata/sample.pcap", "../testdata/midstream.pcap", "../testdata/odd-frames.pcap", "../testdata/one-direction.pcap"} {
			o := Options{Records: RecordsFull, MaxRecords: 10, MaxBytes: 64}
			var want, wantLog bytes.Buffer
			if err := dissectFile(t, file, create(&want, &wantLog, o)); err != nil {
				t.Fatal(err)
			}
			if want.Len()+wantLog.Len() == 0 {
				t.Fatalf("%s of %s is empty", name, file)
			}
			for workers := 1; workers <= 4; workers++ {
				var got, gotLog bytes.Buffer
				parallel := NewParallel(&got, &gotLog, workers, func(out, log io.Writer, first bool) Format {
					o := o
					o.Continued = !first
					return create(out, log, o)
				})
				if err := dissectFile(t, file, parallel); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s of %s with %d workers differs", name, file, workers)
				}
				if name != "summary" && !bytes.Equal(gotLog.Bytes(), wantLog.Bytes()) {
					t.Errorf("findings of %s of %s with %d workers differ", name, file, workers)
				}
			}
		}
	}
}

// failingWriter takes some bytes and fails from then on.
type failingWriter struct{ left int }

var errFull = errors.New("the disk is full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// An error of the writer must come out, and nothing must hang.
func TestWorkersReportWriteErrors(t *testing.T) {
	parallel := NewParallel(&failingWriter{left: 1000}, io.Discard, 2, func(out, _ io.Writer, _ bool) Format { return NewJSON(out, Options{}) })
	if err := dissectFile(t, "../testdata/sample.pcap", parallel); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}
