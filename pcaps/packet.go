package pcaps

import (
	"slices"
	"sync/atomic"
)

// A Packet is one captured packet. Data aliases the slab of the Batch it came in and is
// valid until that Batch is released for the last time.
type Packet struct {
	Number  int64    // counts from 1 over the packets of the file that could be read
	Time    int64    // capture time in nanoseconds since the Unix epoch, UTC; 0 where the file has none
	Data    []byte   // captured bytes, from the link-layer header on
	WireLen uint32   // length on the wire; larger than len(Data) when the snaplen cut the packet, never smaller
	Link    LinkType // link type of the interface the packet was seen on
	File    uint16   // index into Source.Files
}

// A Batch is a slab of bytes and the packets in it, in the order of the source. It belongs
// to the receiver from Source.Next until it has been released. The zero Batch is ready for
// Next; one that was released may be given to Next again, which saves the allocation of its
// index. A Batch must not be copied.
type Batch struct {
	Packets []Packet
	Events  []Event // what else the source said, in order

	first   int64  // number of Packets[0]; set for the decoder that fills the batch, as
	file    uint16 // the index of the file is
	slab    *slab
	others  []*slab // that packets lie in besides, where several files are read as one
	holders atomic.Int32
}

// Retain adds a holder: the slab stays until every holder has called Release. It must be
// called by somebody who holds the Batch, before handing it to somebody else.
func (b *Batch) Retain() {
	if b.holders.Add(1) == 1 {
		panic("pcaps: Batch retained after its release")
	}
}

// Release gives up one hold on b. After the last one the bytes of its packets and events
// are used for others.
func (b *Batch) Release() {
	switch left := b.holders.Add(-1); {
	case left < 0:
		panic("pcaps: Batch released more often than it was held")
	case left == 0:
		b.slab.release()
		b.slab = nil
		for _, s := range b.others {
			s.release()
		}
		clear(b.others)
		b.others = b.others[:0]
	}
}

// reset empties b for packets of a file from number first on.
func (b *Batch) reset(first int64, file uint16) {
	if b.holders.Load() != 0 {
		panic("pcaps: Next into a Batch that has not been released")
	}
	b.Packets, b.Events, b.first, b.file = b.Packets[:0], b.Events[:0], first, file
}

// hold makes the caller of Next the one holder of b, whose packets and events lie in s.
func (b *Batch) hold(s *slab) {
	s.hold()
	b.slab = s
	b.holders.Store(1)
}

// holdAlso adds a slab to those that packets and events of b lie in.
func (b *Batch) holdAlso(s *slab) {
	if b.slab == nil {
		b.hold(s)
		return
	}
	s.hold()
	b.others = append(b.others, s)
}

func (b *Batch) isEmpty() bool {
	return len(b.Packets) == 0 && len(b.Events) == 0
}

// take makes b, which is empty, the holder of what another batch holds. That one is empty then, and keeps b's index to be used again.
func (b *Batch) take(from *Batch) {
	b.reset(from.first, from.file)
	b.Packets, from.Packets = from.Packets, b.Packets
	b.Events, from.Events = from.Events, b.Events
	b.slab, from.slab = from.slab, nil
	b.others, from.others = from.others, b.others
	b.holders.Store(from.holders.Swap(0))
}

// add makes room for one packet more, gives it its number and returns it for all other fields
// to be set; they hold what is left of earlier use. Setting them in place saves the temporary copy of
// an append, a fifth of the time that a packet takes.
func (b *Batch) add() *Packet {
	n := len(b.Packets)
	if n < cap(b.Packets) {
		b.Packets = b.Packets[:n+1]
	} else {
		b.Packets = append(b.Packets, Packet{})
	}
	p := &b.Packets[n]
	p.Number, p.File = b.first+int64(n), b.file
	return p
}

// makeRoom makes room for packets more.
func (b *Batch) makeRoom() { b.Packets = slices.Grow(b.Packets, 64) }

// isFull says that there is no room for another packet.
func (b *Batch) isFull() bool { return len(b.Packets) == cap(b.Packets) }

// last returns the number of the last packet so far, 0 before the first.
func (b *Batch) last() int64 {
	return b.first + int64(len(b.Packets)) - 1
}

// A Source yields the packets of a capture, or of several. Next does one of these:
//
//   - It fills b and returns nil. The receiver owns b until its Release.
//   - It returns a *DamageError and leaves b empty. Every packet that stands before the damage has been
//     handed over by earlier calls. The error is an item among others, not the end: the next call
//     goes on behind the damage, or returns io.EOF if nothing can be read there. Whether packets
//     follow is what Resumed says, and Skipped how many bytes are lost.
//   - It returns io.EOF at the end, and leaves b empty. So does every later call.
//   - It returns any other error, such as that of a disk, and leaves b empty. Nothing comes after it: every
//     later call returns the same error.
//
// So a loop reports a *DamageError and calls Next again. It ends, since damage is reported once for
// each part of the file. A loop that stops at the first error has what stands before it. Use errors.As to
// tell a *DamageError.
//
// Next hands over what has arrived rather than wait for a full slab, so packets of a pipe are seen as they
// come. Two things wait for more: a search for the next record behind damage, and a packet of classic pcap whose header is
// unusual, which is taken for one when the next header stands behind it.
//
// A Source is for one goroutine at a time; the Batches it filled may be held by any.
// Close does not touch batches that are still held.
type Source interface {
	Next(b *Batch) error
	// Files returns the names of the files that are read, for Packet.File to choose from.
	// The receiver must not change it.
	Files() []string
	// Position returns how many bytes of the files have been read, as they are stored: compressed, where they are.
	Position() int64
	Close() error
}
