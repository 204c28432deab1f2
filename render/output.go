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
	inserts []insert
	made    int // how many inserts were written
	err     error
}

// An insert is a piece of the output that is made when it is written.
type insert struct {
	chunk, at int // it stands in front of this byte of that chunk
	make      func(b []byte) []byte
}

// How much output a job holds, and all jobs together.
const (
	maxHeld      = 4 << 20
	maxHeldInAll = 24 << 20
)

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if !o.passes(b) {
		o.add(append(o.empty(), b...))
	}
	return len(b), nil
}

// exchange takes over a buffer, without a copy of what is in it, and returns an empty one.
func (o *output) exchange(b []byte) []byte {
	if o.passes(b) {
		return b[:0]
	}
	o.add(b)
	return o.empty()
}

// passes writes straight on, after what was held before, where more would be held than may be.
func (o *output) passes(b []byte) bool {
	switch {
	case o.through:
		o.pass(b)
	case o.size+len(b) <= o.held:
		return false
	default:
		o.awaitTurn()
		o.through = true
		o.add(b)
		o.each(o.pass)
		o.chunks, o.spare = nil, nil
	}
	return true
}

// each calls write for what is held, in order, with what was to be inserted.
func (o *output) each(write func([]byte)) {
	for i, b := range o.chunks {
		from := 0
		for ; o.made < len(o.inserts) && o.inserts[o.made].chunk == i; o.made++ {
			in := &o.inserts[o.made]
			write(b[from:in.at])
			write(in.make(nil))
			from = in.at
		}
		write(b[from:])
	}
}

// awaitTurn waits until all jobs before this one have been written.
func (o *output) awaitTurn() {
	<-o.job.turn
	o.job.turn <- struct{}{} // for whoever asks again
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
	clear(o.inserts)
	o.chunks, o.size, o.through, o.inserts, o.made, o.err = o.chunks[:0], 0, false, o.inserts[:0], 0, nil
	kept := 0
	for i, b := range o.spare {
		if kept += cap(b); kept > o.held {
			clear(o.spare[i:])
			o.spare = o.spare[:i]
			break
		}
	}
}
