package render

import (
	"io"
	"sync/atomic"

	"github.com/kdissect/kdissect/dissect"
)

// Options says how an output is written. Each format uses those that concern it.
type Options struct {
	Color       bool          // ANSI colours
	Full        bool          // tree: every node, nothing cut
	Hex         bool          // tree: the bytes as well, 16 a row
	Layout      bool          // json: the leaves with their offsets
	Records     RecordsMode   // how records fields are shown
	MaxRecords  int           // tree: records shown of a batch
	MaxBytes    int           // tree, records: bytes shown of a value; records: 0 for all
	Packets     bool          // json: the numbers of all packets of a message
	ShowSecrets bool          // bodies that carry credentials are printed
	Aligned     bool          // summary, records: columns aligned for a terminal, not tab-separated
	Time        TimeMode      // how times are written; those of json are in UTC
	Start       *atomic.Int64 // capture time of the first packet, for relative times
	Explained   *Explained    // tree: what was explained before, for all instances together; nil for one alone
	Ranking     *Ranking      // summary, tsv, csv: keeps the lines in another order, for all instances together; nil for that of completion
	Rows        int           // intervals: of each table, 0 for DefaultRows
	Int64Text   bool          // json: int64 values as strings
	Selected    *atomic.Int64 // summary: exchanges that a filter has picked; nil without one
	Errors      *atomic.Int64 // summary: counts answers with errors, for all instances together
	Continued   bool          // what comes before the messages is left out
	Files       []string      // names of the captures that are read as one, by their index; of one it is told in findings of the whole capture only
}

// several says whether packets have to be told by their files, too.
func (o *Options) several() bool { return len(o.Files) > 1 }

// file returns the name of a capture.
func (o *Options) file(index uint16) string {
	if int(index) < len(o.Files) {
		return o.Files[index]
	}
	return ""
}

// A RecordsMode says how much of records fields is shown.
type RecordsMode uint8

const (
	RecordsSize    RecordsMode = iota // their size
	RecordsNone                       // nothing
	RecordsBatches                    // the headers of the batches
	RecordsFull                       // the records as well
)

// needs is what the dissector has to provide for a mode.
func (r RecordsMode) needs() dissect.Needs {
	switch r {
	case RecordsBatches:
		return dissect.NeedBatches
	case RecordsFull:
		return dissect.NeedBatches | dissect.NeedRecords
	}
	return 0
}

// A Format writes what was dissected. Errors of the writer stick and are returned by Flush.
type Format interface {
	dissect.Output
	// Needs says what the dissector has to provide.
	Needs() dissect.Needs
	// Close is called when all has been handed over, with what was seen.
	Close(*dissect.Counts)
	// Flush writes what is buffered.
	Flush() error
}

// A sink buffers output. Its error sticks: after it, nothing is written any more.
type sink struct {
	w   io.Writer
	buf []byte
	err error
}

// flushSize is when buffered output is written.
const flushSize = 64 << 10

// spillSize is when the output of one message is written before it is whole.
const spillSize = 128 << 10

// Close implements Format for those that print nothing at the end.
func (s *sink) Close(*dissect.Counts) {}

// written is called behind each complete piece of output.
func (s *sink) written() {
	if len(s.buf) >= flushSize {
		s.Flush()
	}
}

// spill writes the output of a message that is large, while it is being made. b is all that is buffered; the last byte is kept, for what comes behind
// it to be separated from.
func (s *sink) spill(b []byte) []byte {
	if len(b) < spillSize {
		return b
	}
	last := b[len(b)-1]
	s.buf = b[:len(b)-1]
	s.Flush()
	return append(s.buf, last)
}

// awaitTurn waits until all that comes in front of what is being written has been written.
func (s *sink) awaitTurn() {
	if job, ok := s.w.(*redirect); ok {
		job.awaitTurn()
	}
}

// insert appends what depends on that which was written before it. It is made when it is written, if that is not now.
func (s *sink) insert(b []byte, make func(b []byte) []byte) []byte {
	if job, ok := s.w.(*redirect); ok && !job.through {
		job.inserts = append(job.inserts, insert{len(job.chunks), len(b), make})
		return b
	}
	return make(b)
}

// Flush writes what is buffered.
func (s *sink) Flush() error {
	if job, ok := s.w.(*redirect); ok {
		if len(s.buf) > 0 {
			s.buf = job.exchange(s.buf)
		}
		return nil // an error is kept in the queue
	}
	if s.err == nil && len(s.buf) > 0 {
		_, s.err = s.w.Write(s.buf)
	}
	s.buf = s.buf[:0]
	return s.err
}
