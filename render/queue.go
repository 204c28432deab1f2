package render

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// A queue has the jobs that were handed over and are not written yet, in that order. The first one has the turn to write: its worker writes straight on what
// it makes, in a buffer that stays in the processor's caches. Whoever is done with the first job also writes those behind it that are done.
type queue struct {
	mutex  sync.Mutex
	jobs   []*job
	spare  [][]byte // buffers to be used again, the latest first
	kept   int      // bytes of those
	failed atomic.Pointer[error]
}

// bufferSize is room for output that is handed on when it has reached flushSize, and for most messages besides: to let it grow to that from nothing takes five times the
// memory.
const bufferSize = flushSize + 32<<10

// enter puts a job at the end.
func (q *queue) enter(j *job) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	j.done = false
	q.jobs = append(q.jobs, j)
	if len(q.jobs) == 1 {
		j.turn <- struct{}{}
	}
}

// done notes that a job is done, and tells whether it has the turn. If not it will be written by whoever has it.
func (q *queue) done(j *job) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	j.done = true
	return q.jobs[0] == j
}

// next takes the first job off the queue, which has been written, and gives the turn to the one behind it. It returns that if it is done.
func (q *queue) next() *job {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	<-q.jobs[0].turn
	q.jobs = slices.Delete(q.jobs, 0, 1)
	if len(q.jobs) == 0 {
		return nil
	}
	j := q.jobs[0]
	j.turn <- struct{}{}
	if j.done {
		return j
	}
	return nil
}

// buffer returns an empty buffer.
func (q *queue) buffer() []byte {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	n := len(q.spare)
	if n == 0 {
		return make([]byte, 0, bufferSize)
	}
	b := q.spare[n-1]
	q.spare[n-1] = nil
	q.spare = q.spare[:n-1]
	q.kept -= cap(b)
	return b
}

// keep keeps buffers to be used again, no more of them than may be held.
func (q *queue) keep(buffers [][]byte) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, b := range buffers {
		if q.kept+cap(b) <= maxHeldInAll {
			q.kept += cap(b)
			q.spare = append(q.spare, b[:0])
		}
	}
}

// write writes, unless that has failed before. Only the job that has the turn may.
func (q *queue) write(w io.Writer, b []byte) {
	if len(b) == 0 || q.failed.Load() != nil {
		return
	}
	if _, err := w.Write(b); err != nil {
		q.failed.CompareAndSwap(nil, &err)
	}
}

// failure returns the error of an earlier write.
func (q *queue) failure() error {
	if err := q.failed.Load(); err != nil {
		return *err
	}
	return nil
}
