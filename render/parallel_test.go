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
	"tree":       func(out, _ io.Writer, o Options) Format { return NewTree(out, o) },
	"full tree":  func(out, _ io.Writer, o Options) Format { o.Full = true; return NewTree(out, o) },
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
				o.Explained = NewExplained()
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

// oneByOne makes a job of each message, so that a message and what it depends on are in different ones.
type oneByOne struct{ Format }

func (f oneByOne) Message(m *dissect.Message) {
	f.Format.Message(m)
	f.Flush()
}

// What a compact tree says depends on what it has said before: that must come out right wherever jobs end, and where a job's output is more than may be held.
func TestWorkersOfCompactTree(t *testing.T) {
	for _, file := range []string{"../testdata/sample.pcap", "../testdata/midstream.pcap", "../testdata/odd-frames.pcap"} {
		var want bytes.Buffer
		if err := dissectFile(t, file, NewTree(&want, Options{})); err != nil {
			t.Fatal(err)
		}
		for workers := 2; workers <= 4; workers++ {
			for _, jobs := range []int{workers * jobsPerWorker, maxHeldInAll / 10_000} {
				o := Options{Explained: NewExplained()}
				var got, split bytes.Buffer
				create := func(out, _ io.Writer, _ bool) Format { return NewTree(out, o) }
				if err := dissectFile(t, file, newParallel(&got, io.Discard, workers, jobs, create)); err != nil {
					t.Fatal(err)
				}
				o.Explained = NewExplained()
				if err := dissectFile(t, file, oneByOne{newParallel(&split, io.Discard, workers, jobs, create)}); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) || !bytes.Equal(split.Bytes(), want.Bytes()) {
					t.Errorf("%s with %d workers and %d jobs differs", file, workers, jobs)
				}
			}
		}
	}
}

// A piece that depends on what was written before it is made when that has been written, wherever in a job's output it stands.
func TestInsertsAreMadeWhenWritten(t *testing.T) {
	for _, held := range []int{1 << 20, 3, 1} {
		turn := make(chan struct{}, 1)
		var got bytes.Buffer
		job := &output{to: &got, queue: &queue{}, held: held, job: &job{turn: turn}}
		s := sink{w: &redirect{job}}
		before := 0
		count := func(b []byte) []byte { before++; return append(b, byte(before)+48) }
		s.buf = append(s.insert(append(s.buf, 'a'), count), 'b')
		s.buf = s.insert(s.buf, count)
		if held > 3 {
			s.Flush()
		}
		if before > 0 || got.Len() > 0 {
			t.Fatal("made too early")
		}
		before = 4 // by a job in front
		turn <- struct{}{}
		s.buf = append(s.buf, 'x')
		s.Flush()
		s.buf = append(s.insert(append(s.buf, 'c'), count), 'd')
		s.Flush()
		if want := "a5b6xc7d"; got.String() != want {
			t.Errorf("with the turn %q are written, want %q", &got, want)
		}
		job.finish()
		if want := "a5b6xc7d"; got.String() != want || job.through {
			t.Errorf("%q in the end, want %q", &got, want)
		}
	}
}

// Whoever has the turn writes straight on, from the buffer that it goes on with; what others have made is held.
func TestTurnToWrite(t *testing.T) {
	var q queue
	var got bytes.Buffer
	jobs := make([]*job, 4)
	for i := range jobs {
		j := &job{turn: make(chan struct{}, 1)}
		j.out = output{to: &got, queue: &q, held: 10, job: j}
		q.enter(j)
		jobs[i] = j
	}
	line := []byte("1")
	if b := jobs[0].out.exchange(line); &b[:1][0] != &line[0] || got.String() != "1" {
		t.Errorf("%q are written of a job that has the turn", &got)
	}
	for i, text := range []string{"2", "3"} {
		line := []byte(text)
		if b := jobs[i+1].out.exchange(line); &b[:1][0] == &line[0] || q.done(jobs[i+1]) {
			t.Errorf("job %d has the turn", i+1)
		}
	}
	if got.String() != "1" {
		t.Errorf("%q are written in front of the turn", &got)
	}
	if !q.done(jobs[0]) {
		t.Error("the first job has no turn")
	}
	for _, want := range []*job{jobs[1], jobs[2], nil} { // the last is not done
		if j := q.next(); j != want {
			t.Fatal("not in order")
		} else if j != nil {
			j.out.finish()
		}
	}
	jobs[3].out.Write([]byte("4"))
	if got.String() != "1234" || !q.done(jobs[3]) || q.next() != nil {
		t.Errorf("%q are written in the end", &got)
	}
}

// Buffers are used again, the one that was used last first, and not more is kept than may be held.
func TestBuffersAreUsedAgain(t *testing.T) {
	var q queue
	first, last := make([]byte, 5, 10), make([]byte, 5, 20)
	q.keep([][]byte{first, last, make([]byte, 0, maxHeldInAll)})
	if b := q.buffer(); len(b) != 0 || cap(b) != 20 {
		t.Errorf("%d of %d bytes", len(b), cap(b))
	}
	q.keep([][]byte{make([]byte, 0, maxHeldInAll-10)})
	for _, want := range []int{maxHeldInAll - 10, 10, bufferSize} {
		if b := q.buffer(); cap(b) != want {
			t.Errorf("a buffer of %d bytes, want %d", cap(b), want)
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
