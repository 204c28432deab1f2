package pcaps

import "fmt"

// The file header of classic pcap, draft-ietf-opsawg-pcap section 4: magic number, version
// (two uint16), two reserved words, snap length, link type.
const (
	classicHeaderLen   = 24
	classicLinkTypeOff = 20
)

// The magic numbers of classic pcap, in the file's byte order.
const (
	magicMicroseconds = 0xa1b2c3d4
	magicNanoseconds  = 0xa1b23c4d
	// magicModified is that of libpcap patched by A. Kuznetsov, found in old captures of
	// Linux: a packet header has 8 bytes more (interface index, protocol, packet type).
	magicModified = 0xa1b2cd34
)

// Lengths of the header in front of each packet.
const (
	classicPacketHeaderLen  = 16
	modifiedPacketHeaderLen = 24
)

// maxRecord is the largest packet or block that is taken for one, in bytes. IP packets end at
// 64 KiB and what Linux aggregates at 512 KiB; libpcap has the same bound for pcapng blocks. The
// snap length is no bound: there are writers that set it too low, or to 0.
const maxRecord = 16 << 20

// classic decodes the packets of a classic pcap file.
type classic struct {
	order     byteOrder
	fraction  int64 // nanoseconds in a unit of the time stamp's second half
	headerLen int   // of the header in front of each packet
	link      LinkType
}

// isClassic reports whether a file that begins with magic, at least 4 bytes, is classic
// pcap; its byte order too.
func isClassic(magic []byte) (byteOrder, bool) {
	for _, order := range []byteOrder{littleEndian, bigEndian} {
		switch order.uint32(magic) {
		case magicMicroseconds, magicNanoseconds, magicModified:
			return order, true
		}
	}
	return littleEndian, false
}

// newClassic returns the decoder for what follows a file header.
func newClassic(order byteOrder, header []byte) *classic {
	c := &classic{
		order:     order,
		fraction:  1000,
		headerLen: classicPacketHeaderLen,
		// The upper 16 bits tell about frame check sequences.
		link: LinkType(order.uint32(header[classicLinkTypeOff:])),
	}
	switch order.uint32(header) {
	case magicNanoseconds:
		c.fraction = 1
	case magicModified:
		c.headerLen = modifiedPacketHeaderLen
	}
	return c
}

// decode implements decoder. A packet's header is seconds, fraction, captured length
// and length on the wire, a uint32 each.
func (c *classic) decode(b *Batch, data []byte) (used int, err error) {
	for len(data)-used >= c.headerLen {
		header := data[used : used+classicPacketHeaderLen]
		captured := c.order.uint32(header[8:])
		if captured > maxRecord {
			return used, fmt.Errorf("a packet of %d bytes (the largest taken for one has %d)", captured, maxRecord)
		}
		start := used + c.headerLen
		end := start + int(captured)
		if end > len(data) {
			break
		}
		packet := b.add()
		packet.Time = int64(c.order.uint32(header))*1e9 + int64(c.order.uint32(header[4:]))*c.fraction
		packet.Data = data[start:end:end]
		packet.WireLen = max(captured, c.order.uint32(header[12:]))
		packet.Link = c.link
		used = end
	}
	return used, nil
}
