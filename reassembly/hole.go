package reassembly

import (
	"bytes"
	"slices"
)

// A piece is a run of stream bytes out of one packet: those captured, followed by those that the snap length cut off.
type piece struct {
	off  int64  // stream offset of the first byte
	data []byte // what was captured
	cut  int64  // bytes behind data that were on the wire only
	origin
}

func (p piece) end() int64  { return p.off + int64(len(p.data)) + p.cut }
func (p piece) empty() bool { return len(p.data) == 0 && p.cut == 0 }

// memory returns how much of it a pending piece takes, in bytes.
func (p piece) memory() int { return cap(p.data) + pieceOverhead }

// since returns what lies at or behind a stream offset.
func (p piece) since(off int64) piece {
	skip := min(max(off-p.off, 0), p.end()-p.off)
	captured := min(skip, int64(len(p.data)))
	p.off += skip
	p.data = p.data[captured:]
	p.cut -= skip - captured
	return p
}

// until returns what lies in front of a stream offset.
func (p piece) until(off int64) piece {
	length := min(max(off-p.off, 0), p.end()-p.off)
	captured := min(length, int64(len(p.data)))
	p.data = p.data[:captured]
	p.cut = length - captured
	return p
}

// A hole is the state of a direction that bytes are missing from, as far as is known: some
// lie behind them, or the FIN does, or the receiver has acknowledged them.
type hole struct {
	pending []piece // captured behind the hole; in stream order, without overlap, data copied
	held    int     // memory behind pending
	slot    int     // index in Assembler.waiting, -1 when not there
	opened  int64   // capture time when the stream came to its present halt

	acked   int64 // stream offset up to which the receiver has acknowledged
	settled int64 // the same, as of a while ago
	recent  []acknowledgement
	heard   bool // the receiver has acknowledged something since the present halt
}

// An acknowledgement is one that moved hole.acked and has not settled.
type acknowledgement struct {
	off     int64  // stream offset of the first byte not acknowledged
	packets uint32 // conn.packets when it came
	time    int64  // its capture time
}

// acknowledge takes note that the receiver has everything in front of off.
func (o *hole) acknowledge(off int64, packets uint32, time int64) {
	if off <= o.acked {
		return
	}
	o.acked = off
	o.recent = append(o.recent, acknowledgement{off, packets, time})
}

// end returns the stream offset behind the last pending byte, 0 if there is none.
func (o *hole) end() int64 {
	if len(o.pending) == 0 {
		return 0
	}
	return o.pending[len(o.pending)-1].end()
}

// pieceOverhead is the memory that a pending piece takes besides its data, rounded up. It keeps a
// stream of tiny segments within the limits, and the number of pieces small.
const pieceOverhead = 256

// keep copies those parts of p that no earlier packet has brought into buffers of b. It returns the memory
// they take, and whether some of p was there before.
func (o *hole) keep(p piece, b *buffers) (held int, repeated bool) {
	i, _ := slices.BinarySearchFunc(o.pending, p.off, func(q piece, off int64) int {
		if q.end() <= off {
			return -1
		}
		return 1
	})
	for !p.empty() {
		if i == len(o.pending) {
			return held + o.insert(i, p, b), repeated
		}
		next := o.pending[i]
		if part := p.until(next.off); !part.empty() {
			held += o.insert(i, part, b)
			i++
		}
		repeated = repeated || p.end() > next.off
		p = p.since(next.end())
		i++
	}
	return held, repeated
}

func (o *hole) insert(i int, p piece, b *buffers) int {
	p.data = b.copy(p.data)
	o.pending = slices.Insert(o.pending, i, p)
	return p.memory()
}

// buffers are those of pieces that were handed on, to be used again: reordering that goes on costs no
// allocations.
type buffers [][]byte

// maxBuffers bounds how many are kept. Each is at most as large as a packet.
const maxBuffers = 32

func (b *buffers) copy(data []byte) []byte {
	last := len(*b) - 1
	if last < 0 || cap((*b)[last]) < len(data) {
		return bytes.Clone(data)
	}
	buf := (*b)[last]
	*b = (*b)[:last]
	return append(buf, data...)
}

// release takes back what copy returned.
func (b *buffers) release(data []byte) {
	if len(*b) < maxBuffers && cap(data) > 0 {
		*b = append(*b, data[:0])
	}
}
