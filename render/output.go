package render

import "io"

// An output takes what a job writes. It is held in memory until it is the job's turn, and written straight on from then. What is more than may be held waits
// for the turn.
type output struct {
	chunks  [][]byte
	size    int // of all chunks
	to      io.Writer
	job     *job
	queue   *queue
	held    int  // at most
	through bool // all is written straight on
	inserts []insert
	made    int // how many inserts were written
}

// An insert is a piece of the output that is made when it is written.
type insert struct {
	chunk, at int // it stands in front of this byte of that chunk
	make      func(b []byte) []byte
}

// How much output a job holds, and all jobs together.
const (
	maxHeld      = 1 << 20
	maxHeldInAll = 24 << 20
)

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if !o.passes(b) {
		o.add(append(o.queue.buffer(), b...))
	}
	return len(b), nil
}

// exchange takes over a buffer, without a copy of what is in it, and returns an empty one.
func (o *output) exchange(b []byte) []byte {
	if o.passes(b) {
		return b[:0]
	}
	o.add(b)
	return o.queue.buffer()
}

// passes writes straight on, after what was held before, where it is the job's turn or more would be held than may be.
func (o *output) passes(b []byte) bool {
	switch {
	case o.through:
		o.pass(b)
	case o.size+len(b) <= o.held && !o.job.hasTurn():
		return false
	default:
		o.awaitTurn()
		o.through = true
		o.add(b)
		o.each(o.pass)
		o.chunks = o.chunks[:len(o.chunks)-1] // b is the caller's
		o.empty()
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

func (o *output) pass(b []byte) { o.queue.write(o.to, b) }

func (o *output) add(b []byte) {
	o.chunks = append(o.chunks, b)
	o.size += len(b)
}

// empty gives up what is held.
func (o *output) empty() {
	o.queue.keep(o.chunks)
	clear(o.chunks)
	clear(o.inserts)
	o.chunks, o.size, o.inserts, o.made = o.chunks[:0], 0, o.inserts[:0], 0
}

// finish writes what is held and makes the output ready for another job. It has to be the job's turn.
func (o *output) finish() {
	o.each(o.pass)
	o.empty()
	o.through = false
}
