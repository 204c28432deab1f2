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
	Origin
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
	pending pieces // captured behind the hole
	held    int    // memory behind pending
	slot    int    // index in Assembler.waiting, -1 when not there
	opened  int64  // capture time when the stream came to its present halt

	fin     int64  // stream offset at which the FIN ends the stream, if half.finSeen
	finFrom Origin // the packet that brought it

	acked   int64 // stream offset up to which the receiver has acknowledged
	settled int64 // the same, as of a while ago
	recent  []acknowledgement
	heard   bool // the receiver has acknowledged something since the present halt
}

// An acknowledgement is one that moved hole.acked and has not settled.
type acknowledgement struct {
	off      int64  // stream offset of the first byte not acknowledged
	packets  uint32 // conn.packets when it came
	captured int64  // packets of the capture by then
	time     int64  // its capture time
}

// acknowledge takes note that the receiver has everything in front of off.
func (o *hole) acknowledge(off int64, packets uint32, captured, time int64) {
	if off <= o.acked {
		return
	}
	o.acked = off
	o.recent = append(o.recent, acknowledgement{off, packets, captured, time})
}

// pieces are in order and do not overlap. Their data are copies.
type pieces []piece

// end returns the offset behind the last piece, 0 if there is none.
func (l pieces) end() int64 {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].end()
}

// pieceOverhead is the memory that a pending piece takes besides its data, rounded up. It keeps a
// stream of tiny segments within the limits, and the number of pieces small.
const pieceOverhead = 256

// find returns the index of the first piece that ends behind off.
func (l pieces) find(off int64) int {
	i, _ := slices.BinarySearchFunc(l, off, func(q piece, off int64) int {
		if q.end() <= off {
			return -1
		}
		return 1
	})
	return i
}

// keep copies those parts of p that no earlier packet has brought into buffers of b. It returns the memory
// they take, and how many captured bytes of p have a place that was taken before.
func (l *pieces) keep(p piece, b *buffers) (held int, repeated int64) {
	for i := l.find(p.off); !p.empty(); i++ {
		if i == len(*l) {
			return held + l.insert(i, p, b), repeated
		}
		next := (*l)[i]
		part, rest := p.until(next.off), p.since(next.end())
		if !part.empty() {
			held += l.insert(i, part, b)
			i++
		}
		repeated += int64(len(p.data) - len(part.data) - len(rest.data))
		p = rest
	}
	return held, repeated
}

func (l *pieces) insert(i int, p piece, b *buffers) int {
	p.data = b.copy(p.data)
	*l = slices.Insert(*l, i, p)
	return p.memory()
}

// differs compares the bytes that p and q both have, where they overlap. It returns the stretch from
// the first that differs to the last.
func (p piece) differs(q piece) (off, length int64) {
	from, to := max(p.off, q.off), min(p.off+int64(len(p.data)), q.off+int64(len(q.data)))
	if from >= to {
		return 0, 0
	}
	x, y := p.data[from-p.off:to-p.off], q.data[from-q.off:to-q.off]
	if bytes.Equal(x, y) {
		return 0, 0
	}
	for x[0] == y[0] {
		x, y, from = x[1:], y[1:], from+1
	}
	for x[len(x)-1] == y[len(x)-1] {
		x = x[:len(x)-1]
	}
	return from, int64(len(x))
}

// buffers are those of pieces that were handed on, to be used again: reordering that goes on costs no
// allocations.
type buffers [][]byte

// maxBuffers bounds how many are kept. Each is at most as large as a packet.
const maxBuffers = 32

func (b *buffers) copy(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
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
