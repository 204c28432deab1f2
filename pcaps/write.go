package pcaps

import (
	"encoding/binary"
	"io"
	"slices"
)

// A Writer writes packets as pcapng, in the byte order of most machines of today and with times in nanoseconds. Each Write is one write call of whole blocks, so a reader
// that follows sees the packets as they come.
type Writer struct {
	w       io.Writer
	buf     []byte
	links   []LinkType // of the interfaces that were described
	dropped uint64     // packets that are known to be missing
	size    int64
}

// Lengths of pcapng blocks without what varies in them, draft-ietf-opsawg-pcapng sections 4.1 to 4.3 and 4.6.
const (
	writtenSectionLen   = 28
	writtenInterfaceLen = 32 // with the option that says nanoseconds
	writtenPacketLen    = 32
	writtenDropLen      = 40
)

// NewWriter returns a Writer to w, and begins the file: with an interface of this link type, as many programs refuse a file without one. Packets of other types may follow.
func NewWriter(w io.Writer, link LinkType) (*Writer, error) {
	n := &Writer{w: w}
	n.section()
	n.interfaceOf(link)
	return n, n.flush()
}

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.size }

// Write writes the packets of b, and how many were dropped.
func (w *Writer) Write(b *Batch) error {
	w.buf = w.buf[:0]
	for i := range b.Packets {
		w.packet(&b.Packets[i])
	}
	dropped := w.dropped
	for i := range b.Events {
		if b.Events[i].Kind == Dropped {
			w.dropped += b.Events[i].Count
		}
	}
	if w.dropped > dropped {
		w.drops(lastTime(b))
	}
	if len(w.buf) == 0 {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	n, err := w.w.Write(w.buf)
	w.size += int64(n)
	return err
}

func (w *Writer) section() {
	order := binary.LittleEndian
	const byteOrderMagic, unknownLength = 0x1a2b3c4d, ^uint64(0)
	w.begin(blockSection, writtenSectionLen)
	w.buf = order.AppendUint32(w.buf, byteOrderMagic)
	w.buf = order.AppendUint32(w.buf, supportedMajor) // and minor version 0
	w.buf = order.AppendUint64(w.buf, unknownLength)
	w.end(writtenSectionLen)
}

// interfaceOf returns the number of the interface for a link type, and describes it if it is new.
func (w *Writer) interfaceOf(link LinkType) uint32 {
	if i := slices.Index(w.links, link); i >= 0 {
		return uint32(i)
	}
	order := binary.LittleEndian
	const nanoseconds = 9
	w.begin(blockInterface, writtenInterfaceLen)
	w.buf = order.AppendUint32(w.buf, uint32(link))
	w.buf = order.AppendUint32(w.buf, 0) // no snap length
	w.buf = order.AppendUint32(w.buf, 1<<16|optionInterfaceTSResol)
	w.buf = order.AppendUint32(w.buf, nanoseconds)
	w.buf = order.AppendUint32(w.buf, optionEnd)
	w.end(writtenInterfaceLen)
	w.links = append(w.links, link)
	return uint32(len(w.links) - 1)
}

func (w *Writer) packet(p *Packet) {
	order := binary.LittleEndian
	number := w.interfaceOf(p.Link)
	padding := -len(p.Data) & 3
	size := writtenPacketLen + len(p.Data) + padding
	w.begin(blockEnhancedPacket, size)
	w.buf = order.AppendUint32(w.buf, number)
	w.time(p.Time)
	w.buf = order.AppendUint32(w.buf, uint32(len(p.Data)))
	w.buf = order.AppendUint32(w.buf, p.WireLen)
	w.buf = append(w.buf, p.Data...)
	w.buf = append(w.buf, "\x00\x00\x00"[:padding]...)
	w.end(size)
}

// drops says how many packets the system has dropped so far.
func (w *Writer) drops(time int64) {
	order := binary.LittleEndian
	w.begin(blockStatistics, writtenDropLen)
	w.buf = order.AppendUint32(w.buf, 0) // the first interface stands for all
	w.time(time)
	w.buf = order.AppendUint32(w.buf, 8<<16|optionStatisticsOSDrop)
	w.buf = order.AppendUint64(w.buf, w.dropped)
	w.buf = order.AppendUint32(w.buf, optionEnd)
	w.end(writtenDropLen)
}

func (w *Writer) begin(block uint32, size int) {
	w.buf = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(w.buf, block), uint32(size))
}

func (w *Writer) end(size int) { w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(size)) }

// time writes a time stamp, its upper half first.
func (w *Writer) time(nanos int64) {
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(uint64(nanos)>>32))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(nanos))
}

// lastTime returns the time of the last packet of b, 0 if there is none.
func lastTime(b *Batch) int64 {
	if len(b.Packets) == 0 {
		return 0
	}
	return b.Packets[len(b.Packets)-1].Time
}
