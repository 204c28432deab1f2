package pcaps

import (
	"errors"
	"fmt"
)

// Types of blocks.
const (
	blockInterface      = 1
	blockObsoletePacket = 2
	blockSimplePacket   = 3
	blockStatistics     = 5
	blockEnhancedPacket = 6
	blockSecrets        = 10
	blockSection        = 0x0a0d0d0a // reads the same in both byte orders
)

const (
	blockFrameLen    = 12                 // of every block: type and length in front, length behind
	sectionMinLen    = blockFrameLen + 16 // of a Section Header Block without options
	packetHeaderLen  = 20                 // in the body of an Enhanced Packet Block, in front of the data
	sectionByteOrder = 0x1a2b3c4d         // first word in the body of a Section Header Block
	supportedMajor   = 1                  // version
)

// maxInterfaces is how many interfaces of a section are taken. Packet blocks of old could
// not number more.
const maxInterfaces = 1 << 16

var errShortBlock = errors.New("a block that is too short for its type")

// pcapng decodes the blocks of a pcapng file, draft-ietf-opsawg-pcapng. Its state is that of the section.
type pcapng struct {
	order      byteOrder
	interfaces []captureInterface
}

// A captureInterface is what an Interface Description Block says, and the count of dropped
// packets that was passed on.
type captureInterface struct {
	link    LinkType
	snapLen uint32 // 0 for no limit
	clock   clock
	dropped uint64
}

// isPcapng reports whether a file that begins with magic, at least 4 bytes, is pcapng.
func isPcapng(magic []byte) bool {
	return littleEndian.uint32(magic) == blockSection
}

// decode implements decoder.
func (p *pcapng) decode(b *Batch, data []byte) (used int, err error) {
	for {
		length, err := p.block(b, data[used:])
		if length == 0 || err != nil {
			return used, err
		}
		used += length
	}
}

// block decodes the block at the head of data and returns its length, 0 when it is not all
// there. Lengths ought to be multiples of four; one that is not is taken as it is when
// its copy behind the block stands where it then should.
func (p *pcapng) block(b *Batch, data []byte) (length int, err error) {
	if len(data) < blockFrameLen {
		return 0, nil
	}
	order, kind := p.order, p.order.uint32(data)
	if kind == blockSection {
		if order, err = sectionOrder(data); err != nil {
			return 0, err
		}
	}
	total := order.uint32(data[4:])
	if total < blockFrameLen || total > maxRecord {
		return 0, fmt.Errorf("a block of %d bytes (the smallest has %d, the largest taken for one %d)", total, blockFrameLen, maxRecord)
	}
	length = int(total)
	if length > len(data) {
		return 0, nil
	}
	end := length - 4
	if again := order.uint32(data[end:]); again != total {
		return 0, fmt.Errorf("a block of %d bytes that says %d at its end", total, again)
	}
	if kind == blockSection {
		p.order, p.interfaces = order, p.interfaces[:0]
	}
	return length, p.body(b, kind, data[8:end:end])
}

// sectionOrder returns the byte order of the section that the Section Header Block at the head of data begins.
func sectionOrder(data []byte) (byteOrder, error) {
	for _, order := range []byteOrder{littleEndian, bigEndian} {
		if order.uint32(data[8:]) == sectionByteOrder {
			return order, nil
		}
	}
	return littleEndian, fmt.Errorf("a section header with byte-order magic % x", data[8:12])
}

// body decodes what stands between the lengths of a block.
func (p *pcapng) body(b *Batch, kind uint32, body []byte) error {
	switch kind {
	case blockEnhancedPacket:
		return p.enhancedPacket(b, body)
	case blockSimplePacket:
		return p.simplePacket(b, body)
	case blockObsoletePacket:
		return p.obsoletePacket(b, body)
	case blockSection:
		return p.section(b, body)
	case blockInterface:
		return p.describeInterface(b, body)
	case blockStatistics:
		p.statistics(b, body)
	case blockSecrets:
		p.secrets(b, body)
	}
	return nil
}
