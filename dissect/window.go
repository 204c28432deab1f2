package dissect

import (
	"encoding/binary"
	"sort"

	"github.com/kdissect/kdissect/reassembly"
)

// maxWindow is how many bytes are held while searching. It is larger than a segment of offloaded reception.
const maxWindow = 256 << 10

// A window holds the bytes among which the first frame is searched, or those that wait.
type window struct {
	data    []byte
	parts   []part
	skipped int64 // bytes of the stream before data[0] that were given up
	missing int64 // those of them that were not captured
	opened  bool  // data[0] is the first byte of the connection
	lost    bool  // frames were in step before

	tried      int         // every position before it was judged
	candidates []candidate // those of them that are still undecided, in order
}

// Bounds of a window that is kept to be used again: bytes and parts of its buffers. The next connection may hold them for as long as one side says nothing.
const (
	maxKeptWindow = 4 << 10
	maxKeptParts  = 64
)

// A part is a run of the window that one packet brought.
type part struct {
	at                int
	reassembly.Origin       // the packet
	seen              int64 // of bytes that wait: how many packets the connection had seen
}

// A candidate is a position at which a frame may begin; that is plain once need bytes from there on are there.
type candidate struct{ at, need int }

// maxCandidates bounds how many positions are kept undecided. Of more the oldest are given up: bytes that look like the beginning of a frame
// so often are none.
const maxCandidates = 64

// newWindow returns an empty window. Each direction of each connection begins with one, so they are used again.
func (d *Dissector) newWindow() *window {
	w := reused(&d.windows)
	*w = window{data: w.data[:0], parts: w.parts[:0], candidates: w.candidates[:0]}
	return w
}

// keepWindow takes back what newWindow returned, and nobody looks at any more.
func (d *Dissector) keepWindow(w *window) {
	if len(d.windows) < maxKept && cap(w.data) <= maxKeptWindow && cap(w.parts) <= maxKeptParts {
		d.windows = append(d.windows, w)
	}
}

func (w *window) add(data []byte, from reassembly.Origin) {
	w.parts = append(w.parts, part{at: len(w.data), Origin: from})
	w.data = append(w.data, data...)
}

func (w *window) clear() {
	w.skipped += int64(len(w.data))
	w.data, w.parts, w.candidates, w.tried, w.opened = w.data[:0], w.parts[:0], w.candidates[:0], 0, false
}

// shrink gives up the first bytes when there are too many.
func (w *window) shrink() {
	if len(w.data) > maxWindow {
		w.forget(len(w.data) - maxWindow/2)
	}
}

// forget gives up the first n bytes.
func (w *window) forget(n int) {
	if n == 0 {
		return
	}
	w.data = w.data[:copy(w.data, w.data[n:])]
	parts := w.parts[:0]
	for i, p := range w.parts {
		if i+1 < len(w.parts) && w.parts[i+1].at <= n {
			continue
		}
		p.at = max(0, p.at-n)
		parts = append(parts, p)
	}
	candidates := w.candidates[:0]
	for _, c := range w.candidates {
		if c.at >= n {
			candidates = append(candidates, candidate{c.at - n, c.need})
		}
	}
	w.parts, w.candidates, w.tried, w.skipped, w.opened = parts, candidates, max(0, w.tried-n), w.skipped+int64(n), false
}

// partOf returns which part a position is in.
func (w *window) partOf(at int) int {
	return sort.Search(len(w.parts), func(i int) bool { return w.parts[i].at > at }) - 1
}

// keep notes that a position is undecided.
func (w *window) keep(c candidate) {
	if len(w.candidates) == maxCandidates {
		w.candidates = append(w.candidates[:0], w.candidates[1:]...)
	}
	w.candidates = append(w.candidates, c)
}

// A place is how much is known in favour of a position.
type place uint8

const (
	anywhere place = iota
	border         // a packet begins there
	aligned        // what begins there fills one or more packets exactly
	opening        // the first byte of a connection
)

func (w *window) placeOf(at int) place {
	switch {
	case at == 0 && w.opened:
		return opening
	case !w.isBorder(at):
		return anywhere
	case len(w.data)-at >= 4 && w.isBorder(at+4+int(binary.BigEndian.Uint32(w.data[at:]))):
		return aligned
	}
	return border
}

// isBorder tells whether a packet begins at a position, or the window ends there.
func (w *window) isBorder(at int) bool {
	i := sort.Search(len(w.parts), func(i int) bool { return w.parts[i].at >= at })
	return i < len(w.parts) && w.parts[i].at == at || at == len(w.data)
}

// leadsTo tells whether whole frames that fill packets lie one after the other from one position to another.
func (w *window) leadsTo(from, to int) bool {
	for from < to && w.placeOf(from) >= aligned && plausibleNext(w.data[from:]) {
		from += 4 + int(binary.BigEndian.Uint32(w.data[from:]))
	}
	return from == to
}
