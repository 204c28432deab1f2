package pcaps

import "io"

// minRead is the least room worth a read call.
const minRead = 64 << 10

// A window is the part of a stream that lies in memory: what has been read and not been used
// yet. Reads go straight into a slab. When its room runs out the unused tail, at most one
// unfinished record, is copied to a fresh slab; all else stays where it was read.
type window struct {
	source     io.Reader
	slab       *slab
	start, end int   // the unused bytes are slab.bytes[start:end]
	offset     int64 // of slab.bytes[start] in the stream
	failed     error // what source said along with its last bytes
}

func newWindow(source io.Reader) window {
	return window{source: source, slab: newSlab(firstSlabSize)}
}

// slabSize returns how large the next ordinary slab is.
func (w *window) slabSize() int {
	if w.offset < firstBytes && w.end-w.start <= firstSlabSize-minRead {
		return firstSlabSize
	}
	return slabSize
}

func (w *window) unread() []byte { return w.slab.bytes[w.start:w.end:w.end] }

// advance uses up n bytes.
func (w *window) advance(n int) {
	w.start += n
	w.offset += int64(n)
}

// peek returns the first n bytes without using them up, fewer only with the error that
// ended reading.
func (w *window) peek(n int) ([]byte, error) {
	for w.end-w.start < n {
		if err := w.fill(); err != nil {
			return w.unread(), err
		}
	}
	return w.unread()[:n], nil
}

// fill reads once, so it waits for bytes but never for more bytes. It returns nil when
// there are more than before.
func (w *window) fill() error {
	if w.failed != nil {
		return w.failed
	}
	w.makeRoom()
	room := w.slab.bytes[w.end:]
	room = room[:min(len(room), slabSize)]
	for range 100 {
		n, err := w.source.Read(room)
		w.end += n
		if n > 0 {
			w.failed = err
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom moves to another slab when there is little room left. The tail of a record that is
// larger than an ordinary slab moves to one twice the tail's size: what is allocated depends
// on the bytes that came, not on the length that the record claims.
func (w *window) makeRoom() {
	tail := w.unread()
	size := w.slabSize()
	fits := len(tail) <= size-minRead
	outgrown := len(w.slab.bytes) > size && fits
	if len(w.slab.bytes)-w.end >= minRead && !outgrown {
		return
	}
	if !fits {
		size = 2 * len(tail)
	}
	next := newSlab(size)
	w.start, w.end = 0, copy(next.bytes, tail)
	w.slab.release()
	w.slab = next
}

// close gives up the slab. The window cannot be used any more.
func (w *window) close() {
	w.slab.release()
	w.slab = nil
}
