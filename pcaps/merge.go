package pcaps

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
)

// maxFiles is how many files Packet.File can tell apart.
const maxFiles = math.MaxUint16 + 1

// mergedPackets is the number of packets after which a batch of several files is handed over.
const mergedPackets = 8 << 10

// peekSize is how much of a file is read at a time to find its first packet.
const peekSize = 64 << 10

// OpenAll opens several captures as one, in the order of time: what was rotated, in whatever order it is
// named, or recorded at the same time in several places. Packets of the same time come in the order of
// the files, which is that of their first packets. Within a file the order stays even where
// its times go backwards.
//
// Packet.Number counts within each file, Packet.File tells the file, and Source.Files has the names
// in the order given. A path is as for Open. A file that cannot be opened is an error that begins with its name;
// so is one that fails later, and ends the Source. Damage is as in one file, and a file that is empty or ends inside its header
// is damage, too, as long as another can be read: a rotation that was interrupted leaves such a file. What Next returns besides io.EOF is a
// *FileError.
//
// OpenAll reads the beginning of each file. A file is opened again when the others have come to its first
// packet, and closed at its end: of files that follow one another two are open at most. Each open
// file takes about 1 MiB.
func OpenAll(paths ...string) (Source, error) {
	switch {
	case len(paths) == 0:
		return nil, errors.New("no capture file to open")
	case len(paths) == 1:
		return Open(paths[0])
	case len(paths) > maxFiles:
		return nil, fmt.Errorf("%d capture files (%d can be read as one)", len(paths), maxFiles)
	}
	m := &merged{}
	for i, path := range paths {
		c := &capture{path: path, index: uint16(i)}
		m.waiting = append(m.waiting, c)
		m.files = append(m.files, c.name())
		err := c.peek()
		if headless := c.headless(err); headless != nil {
			m.headless = append(m.headless, &FileError{c.index, headless})
			m.waiting = m.waiting[:len(m.waiting)-1]
			err = nil
			if len(m.headless) == len(paths) {
				err = m.headless[0]
			}
		}
		if err != nil {
			m.Close()
			return nil, err
		}
	}
	slices.SortStableFunc(m.waiting, func(a, b *capture) int { return cmp.Compare(a.time, b.time) })
	for i, c := range m.waiting {
		c.rank = i
	}
	return m, nil
}

// A FileError is what is wrong with one of several files.
type FileError struct {
	File uint16 // index into Source.Files
	Err  error  // begins with the file's name
}

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the file.
func (e *FileError) Unwrap() error { return e.Err }

// A capture is one of several files.
type capture struct {
	path   string
	index  uint16 // in the list given
	rank   int    // by the time of the first packet
	source *fileSource

	time    int64  // of the next packet; math.MinInt64 as long as it is not known
	batch   *Batch // what was read last
	packets int    // of batch that are handed on
	events  int    // of batch that are handed on
	turn    int    // in which the slab of batch was last shared
}

// headless returns as damage the error of opening a file that has no whole header, nil for any other.
func (c *capture) headless(err error) *DamageError {
	damage := (*DamageError)(nil)
	switch {
	case errors.As(err, &damage):
	case errors.Is(err, errEmpty):
		damage = &DamageError{File: c.name(), Code: TruncatedFile, Detail: errEmpty.Error()}
	}
	return damage
}

func (c *capture) name() string {
	if c.path == "-" {
		return standardInput
	}
	return c.path
}

// before orders captures by their next packets.
func (c *capture) before(d *capture) bool {
	return c.time < d.time || c.time == d.time && c.rank < d.rank
}

// never is a capture behind all others.
var never = &capture{time: math.MaxInt64, rank: math.MaxInt}

// peek finds the time of the first packet. What can be read but once stays open, and its time unknown.
func (c *capture) peek() error {
	c.time = math.MinInt64
	if info, err := os.Stat(c.path); c.path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return c.open()
	}
	s, err := openFile(c.path, func(f *os.File) io.Reader { return smallReads{f} })
	if err != nil {
		return err
	}
	defer s.Close()
	for b := new(Batch); ; {
		err := s.Next(b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if damage := (*DamageError)(nil); errors.As(err, &damage) {
				continue
			}
			return err
		}
		if len(b.Packets) > 0 {
			c.time = b.Packets[0].Time
		}
		b.Release()
		if c.time != math.MinInt64 {
			return nil
		}
	}
}

// smallReads reads no more than peekSize at a time.
type smallReads struct{ io.Reader }

func (r smallReads) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), peekSize)]) }

func (c *capture) open() (err error) {
	if c.path == "-" {
		c.source, err = newFileSource(os.Stdin, standardInput)
	} else {
		c.source, err = openFile(c.path, func(f *os.File) io.Reader { return f })
	}
	if err == nil {
		c.source.index = c.index
	}
	return err
}

// close closes the file, keeping nothing of it.
func (c *capture) close() error {
	if c.source == nil {
		return nil
	}
	if c.batch != nil && c.batch.slab != nil {
		c.batch.Release()
	}
	source := c.source
	c.source = nil
	return source.Close()
}

// merged is the Source of several files. Each of them is waiting, or open, or the hungry one, or done.
type merged struct {
	files    []string
	headless []*FileError // of files that have no header, not told yet
	waiting  []*capture   // not begun, in the order of their first packets
	open     captures     // each with a packet to hand on
	hungry   *capture     // begun, and its next packet not read
	spare    []*Batch     // of files that are done
	turn     int          // counts the calls of Next
	done     int64        // bytes of the files that were read to their end
	err      error        // what Next returns from now on
}

// Next implements Source.
func (m *merged) Next(b *Batch) error {
	b.reset(0, 0)
	m.turn++
	for m.err == nil && len(b.Packets) < mergedPackets {
		switch {
		case len(m.headless) > 0:
			err := m.headless[0]
			m.headless = m.headless[1:]
			return err
		case m.hungry != nil:
			// Reading may wait, or fail: what there is goes first.
			if !b.isEmpty() {
				return nil
			}
			if err := m.feed(b); err != nil {
				return err
			}
		case len(m.waiting) > 0 && (len(m.open) == 0 || m.waiting[0].before(m.open[0])):
			m.hungry = m.waiting[0]
			m.waiting = m.waiting[1:]
		case len(m.open) == 0:
			m.err = io.EOF
		default:
			m.take(b)
		}
	}
	if !b.isEmpty() {
		return nil
	}
	return m.err
}

// feed reads on in the hungry file. Its error is what Next returns.
func (m *merged) feed(b *Batch) error {
	c := m.hungry
	if c.source == nil {
		if err := c.open(); err != nil {
			// A file that could be read is not any more, so this is no damage.
			m.err = &FileError{c.index, err}
			return m.err
		}
	}
	if c.batch == nil {
		c.batch = new(Batch)
		if last := len(m.spare) - 1; last >= 0 {
			c.batch, m.spare = m.spare[last], m.spare[:last]
		}
	}
	if c.batch.slab != nil {
		c.batch.Release()
	}
	c.packets, c.events, c.turn = 0, 0, 0
	err := c.source.Next(c.batch)
	if err == io.EOF {
		m.spare = append(m.spare, c.batch)
		m.hungry, c.batch = nil, nil
		m.done += c.source.Position()
		if err := c.close(); err != nil {
			m.err = &FileError{c.index, fmt.Errorf("%s: %w", c.name(), cause(err))}
			return m.err
		}
		return nil
	}
	if err != nil {
		err = &FileError{c.index, err}
		if damage := (*DamageError)(nil); !errors.As(err, &damage) {
			m.err = err
		}
		return err
	}
	c.passEvents(b, m.turn, c.batch.first-1)
	if len(c.batch.Packets) > 0 {
		c.time = c.batch.Packets[0].Time
		m.hungry = nil
		heap.Push(&m.open, c)
	}
	return nil
}

// take hands on packets of the file that is first, up to one that another file has a packet for first.
func (m *merged) take(b *Batch) {
	c := m.open[0]
	rival := never
	for _, d := range m.open[1:min(3, len(m.open))] { // one of these is second in a heap
		if d.before(rival) {
			rival = d
		}
	}
	if len(m.waiting) > 0 && m.waiting[0].before(rival) {
		rival = m.waiting[0]
	}
	for {
		p := &c.batch.Packets[c.packets]
		c.share(b, m.turn)
		b.Packets = append(b.Packets, *p)
		c.packets++
		c.passEvents(b, m.turn, p.Number)
		if c.packets == len(c.batch.Packets) {
			heap.Pop(&m.open)
			m.hungry = c
			return
		}
		c.time = c.batch.Packets[c.packets].Time
		if rival.before(c) || len(b.Packets) >= mergedPackets {
			heap.Fix(&m.open, 0)
			return
		}
	}
}

// passEvents hands on the events up to those of a packet.
func (c *capture) passEvents(b *Batch, turn int, packet int64) {
	for c.events < len(c.batch.Events) && c.batch.Events[c.events].Packet <= packet {
		c.share(b, turn)
		b.Events = append(b.Events, c.batch.Events[c.events])
		c.events++
	}
}

// share makes b, the batch of a turn, hold what the packets and events of c lie in.
func (c *capture) share(b *Batch, turn int) {
	if c.turn != turn {
		c.turn = turn
		b.holdAlso(c.batch.slab)
	}
}

// Position implements Source.
func (m *merged) Position() int64 {
	bytes := m.done
	for _, c := range m.open {
		bytes += c.source.Position()
	}
	if m.hungry != nil && m.hungry.source != nil {
		bytes += m.hungry.source.Position()
	}
	return bytes
}

// Files implements Source.
func (m *merged) Files() []string { return m.files }

// Close implements Source.
func (m *merged) Close() error {
	if m.err == fs.ErrClosed {
		return fs.ErrClosed
	}
	m.err = fs.ErrClosed
	all := append(slices.Concat(m.waiting, m.open), m.hungry)
	var first error
	for _, c := range all {
		if c == nil {
			continue
		}
		if err := c.close(); err != nil && first == nil {
			first = err
		}
	}
	m.waiting, m.open, m.hungry, m.spare = nil, nil, nil, nil
	return first
}

// captures is a heap of files by their next packets.
type captures []*capture

func (h captures) Len() int           { return len(h) }
func (h captures) Less(i, j int) bool { return h[i].before(h[j]) }
func (h captures) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *captures) Push(c any)        { *h = append(*h, c.(*capture)) }
func (h *captures) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
