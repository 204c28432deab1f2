package render

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/kdissect/kdissect/dissect"
)

// Parallel runs several instances of a format at once: messages are decoded and written by workers while the dissector goes on, and
// the output comes out in the order of the messages, the same bytes as one instance would write. That needs a format whose output of
// a message does not depend on the messages before; one that does is run with a single worker, and still decodes beside the dissector, or waits for its
// turn to write where it has to know of them.
//
// Work is handed over in jobs of a few hundred messages, since a channel operation for each would cost more than most messages do.
type Parallel struct {
	needs   dissect.Needs
	out     io.Writer
	log     io.Writer
	last    Format // prints what comes at the end
	lastOut *bytes.Buffer
	lastLog *bytes.Buffer

	job     *job
	free    chan *job
	work    chan *job
	queue   queue
	waiting sync.WaitGroup // workers
}

// Bounds of a job, and how many of them there are for each worker. Together they bound what is held: a message may be larger than a job,
// but there is only one job at a time for it.
const (
	jobEntries    = 256
	jobBytes      = 64 << 10
	jobsPerWorker = 3

	largeJob   = 1 << 20           // there is one of these at a time
	firstArena = jobBytes + 16<<10 // a buffer that grows is copied, and leaves behind what it was
	maxArena   = 512 << 10         // that is kept for the next messages
)

// A job is a run of what the dissector handed over, and the output it became.
type job struct {
	entries   []entry
	snapshots []dissect.Snapshot
	used      int // of snapshots
	reports   []dissect.Report
	arena     []byte
	out, log  output
	turn      chan struct{} // has something in it when it is this job's turn to write
	done      bool          // all its entries are
}

// An entry is one call of the dissector. first and second index snapshots, -1 where there is none; of a report first indexes reports.
type entry struct {
	kind          entryKind
	first, second int
	exchange      dissect.Exchange
}

type entryKind uint8

const (
	messageEntry entryKind = iota
	exchangeEntry
	reportEntry
)

// NewParallel returns a format that writes what several instances of a format write, as many as there are workers. create makes an instance; first
// is true for the one that writes what comes before and behind all messages.
func NewParallel(out, log io.Writer, workers int, create func(out, log io.Writer, first bool) Format) *Parallel {
	return newParallel(out, log, workers, workers*jobsPerWorker, create)
}

func newParallel(out, log io.Writer, workers, jobs int, create func(out, log io.Writer, first bool) Format) *Parallel {
	p := &Parallel{out: out, log: log, lastOut: &bytes.Buffer{}, lastLog: &bytes.Buffer{}}
	p.last = create(p.lastOut, p.lastLog, true)
	p.needs = p.last.Needs()
	p.last.Flush()
	p.queue.write(out, p.lastOut.Bytes())
	p.lastOut.Reset()
	p.free, p.work = make(chan *job, jobs), make(chan *job, jobs)
	held := min(maxHeld, maxHeldInAll/jobs)
	for range jobs {
		j := &job{arena: make([]byte, 0, firstArena), turn: make(chan struct{}, 1)}
		j.out, j.log = output{to: out, job: j, queue: &p.queue, held: held}, output{to: log, job: j, queue: &p.queue, held: held}
		p.free <- j
	}
	p.job = <-p.free
	p.waiting.Add(workers)
	for range workers {
		w := &worker{reader: dissect.NewReader()}
		w.format = create(&w.out, &w.log, false)
		go p.run(w)
	}
	return p
}

// A worker decodes and writes the messages of one job after the other.
type worker struct {
	format   Format
	reader   *dissect.Reader
	out, log redirect
}

// A redirect writes to the output of the job that is being done.
type redirect struct{ *output }

func (p *Parallel) run(w *worker) {
	defer p.waiting.Done()
	for j := range p.work {
		w.out.output, w.log.output = &j.out, &j.log
		for i := range j.entries {
			w.do(j, &j.entries[i])
		}
		w.format.Flush() // an error of the writer is kept in the queue
		p.finish(j)
	}
}

// finish writes a job that is done, if it has the turn, and those behind it that are done.
func (p *Parallel) finish(j *job) {
	if !p.queue.done(j) {
		return
	}
	for next := j; next != nil; j = next {
		j.out.finish()
		j.log.finish()
		next = p.queue.next()
		j.reset()
		p.free <- j
	}
}

func (w *worker) do(j *job, e *entry) {
	switch e.kind {
	case messageEntry:
		w.format.Message(w.reader.Message(&j.snapshots[e.first]))
	case exchangeEntry:
		w.reader.Exchange(&e.exchange, j.snapshot(e.first), j.snapshot(e.second))
		w.format.Exchange(&e.exchange)
	default:
		w.format.Report(&j.reports[e.first])
	}
}

// snapshot returns one of the job's snapshots, nil for -1.
func (j *job) snapshot(i int) *dissect.Snapshot {
	if i < 0 {
		return nil
	}
	return &j.snapshots[i]
}

// hasTurn tells whether all jobs before this one have been written.
func (j *job) hasTurn() bool { return len(j.turn) > 0 }

// reset makes a job ready to be filled again. What a large message left behind is not kept.
func (j *job) reset() {
	clear(j.reports)
	j.entries, j.reports, j.used, j.arena = j.entries[:0], j.reports[:0], 0, j.arena[:0]
	if cap(j.arena) > maxArena {
		j.arena = nil
	}
}

// Needs implements Format.
func (p *Parallel) Needs() dissect.Needs { return p.needs }

// Message implements dissect.Output.
func (p *Parallel) Message(m *dissect.Message) {
	e := p.next(messageEntry)
	e.first = p.snapshot(m)
	p.added()
}

// Exchange implements dissect.Output.
func (p *Parallel) Exchange(x *dissect.Exchange) {
	e := p.next(exchangeEntry)
	e.first, e.second, e.exchange = -1, -1, *x
	if x.Request != nil {
		e.first = p.snapshot(x.Request)
	}
	if x.Response != nil {
		e.second = p.snapshot(x.Response)
	}
	p.added()
}

// Report implements dissect.Output.
func (p *Parallel) Report(r *dissect.Report) {
	p.next(reportEntry).first = len(p.job.reports)
	p.job.reports = append(p.job.reports, *r)
	p.added()
}

func (p *Parallel) snapshot(m *dissect.Message) int {
	j := p.job
	if j.used == len(j.snapshots) {
		j.snapshots = append(j.snapshots, dissect.Snapshot{})
	}
	j.arena = j.snapshots[j.used].Take(m, j.arena)
	j.used++
	return j.used - 1
}

// next returns a new entry of the job, to be filled in before added is called.
func (p *Parallel) next(kind entryKind) *entry {
	j := p.job
	if len(j.entries) == cap(j.entries) {
		j.entries = slices.Grow(j.entries, jobEntries)
	}
	j.entries = j.entries[:len(j.entries)+1]
	e := &j.entries[len(j.entries)-1]
	e.kind = kind
	return e
}

// added hands the job over when it is full.
func (p *Parallel) added() {
	if len(p.job.entries) >= jobEntries || len(p.job.arena) >= jobBytes {
		p.dispatch()
	}
}

// dispatch hands the job over and takes another one, when there is one.
func (p *Parallel) dispatch() {
	if len(p.job.entries) == 0 {
		return
	}
	large := len(p.job.arena) > largeJob
	p.queue.enter(p.job)
	p.work <- p.job
	p.job = <-p.free
	if large {
		p.drain()
	}
}

// drain waits until all other jobs are written, so that large messages do not pile up.
func (p *Parallel) drain() {
	held := make([]*job, 0, cap(p.free))
	for len(held) < cap(p.free)-1 {
		held = append(held, <-p.free)
	}
	for _, j := range held {
		p.free <- j
	}
}

// Flush implements Format: what has been handed over so far is written soon. It returns the error of an earlier write.
func (p *Parallel) Flush() error {
	p.dispatch()
	return p.queue.failure()
}

// Wait waits until all that has been handed over so far is written.
func (p *Parallel) Wait() {
	p.dispatch()
	p.drain()
}

// Close implements Format: it waits until all is written.
func (p *Parallel) Close(c *dissect.Counts) {
	p.dispatch()
	close(p.work)
	p.waiting.Wait()
	p.last.Close(c)
	p.last.Flush()
	p.queue.write(p.out, p.lastOut.Bytes())
	p.queue.write(p.log, p.lastLog.Bytes())
}
