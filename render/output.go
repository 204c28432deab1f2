package render

import "io"

// An output takes what a job writes. It is held in memory until it is the job's turn, unless it is large: then the worker waits for its turn and writes
// straight on.
type output struct {
	chunks  [][]byte
	size    int      // of all chunks
	spare   [][]byte // buffers to be used again
	to      io.Writer
	job     *job
	held    int // at most
	through bool
	err     error
}

// How much output a job holds, and all jobs together.
const (
	maxHeld      = 4 << 20
	maxHeldInAll = 24 << 20
)

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if o.passes(len(b)) {
		o.pass(b)
	} else {
		o.add(append(o.empty(), b...))
	}
	return len(b), nil
}

// exchange takes over a buffer, without a copy of what is in it, and returns an empty one.
func (o *output) exchange(b []byte) []byte {
	if o.passes(len(b)) {
		o.pass(b)
		return b[:0]
	}
	o.add(b)
	return o.empty()
}

// passes tells whether output of a size is to be written straight on. What was held before it has been written then.
func (o *output) passes(size int) bool {
	if o.through || o.size+size <= o.held {
		return o.through
	}
	<-o.job.turn
	o.job.turn <- struct{}{} // for the other output of the job
	o.through = true
	for _, b := range o.chunks {
		o.pass(b)
	}
	o.chunks, o.spare = nil, nil
	return true
}

func (o *output) pass(b []byte) {
	if o.err == nil {
		_, o.err = o.to.Write(b)
	}
}

func (o *output) add(b []byte) {
	o.chunks = append(o.chunks, b)
	o.size += len(b)
}

// empty returns an empty buffer.
func (o *output) empty() []byte {
	n := len(o.spare)
	if n == 0 {
		return nil
	}
	b := o.spare[n-1]
	o.spare = o.spare[:n-1]
	return b
}

// reset makes the output ready for another job. No more memory is kept than may be held.
func (o *output) reset() {
	for _, b := range o.chunks {
		o.spare = append(o.spare, b[:0])
	}
	clear(o.chunks)
	o.chunks, o.size, o.through, o.err = o.chunks[:0], 0, false, nil
	kept := 0
	for i, b := range o.spare {
		if kept += cap(b); kept > o.held {
			clear(o.spare[i:])
			o.spare = o.spare[:i]
			break
		}
	}
}
