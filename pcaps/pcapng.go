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
	blockNames          = 4 // of addresses
	blockStatistics     = 5
	blockEnhancedPacket = 6
	blockJournal        = 9 // entry of the systemd journal
	blockSecrets        = 10
	blockCustom         = 0xbad
	blockCustomPrivate  = 0x40000bad // not to be copied
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

	large  uint32 // length of the block that is passed over because it is larger than maxRecord
	toPass int64  // bytes of it that are left
}

// A captureInterface is what an Interface Description Block says, and the count of dropped
// packets that was passed on.
type captureInterface struct {
	link    LinkType
	snapLen uint32 // 0 for no limit
	clock   clock
	dropped uint64
	damaged bool // the description cannot be read; it keeps the numbers of others
}

// isPcapng reports whether a file that begins with magic, at least 4 bytes, is pcapng.
func isPcapng(magic []byte) bool {
	return littleEndian.uint32(magic) == blockSection
}

// decode implements decoder.
func (p *pcapng) decode(b *Batch, data []byte, whole bool) (used, bad int, err error) {
	for {
		if p.toPass > 0 {
			n, err := p.pass(data[used:])
			if used += n; err != nil {
				return used, 1, err
			}
		}
		length := 0
		if p.toPass == 0 {
			b.makeRoom()
			used = p.decodePlain(b, data, used)
			if length, err = p.block(b, data[used:], whole); err != nil {
				return used, max(length, 1), err
			}
			used += length
		}
		if length == 0 && !p.mayPass(data[used:]) {
			break
		}
	}
	if left := len(data) - used; whole && (left > 0 || p.toPass > 0) {
		return used, min(left, 1), errCut
	}
	return used, 0, nil
}

// decodePlain takes packets from data[used:] on, as long as they are in Enhanced Packet Blocks without options in which nothing is wrong, and b has room. It returns where it
// came to. Most blocks are such, and take a third of what they do by way of block.
func (p *pcapng) decodePlain(b *Batch, data []byte, used int) int {
	rest := data[used:len(data):len(data)]
	n := len(b.Packets)
	room := b.Packets[:cap(b.Packets)]
	for ; n < len(room) && len(rest) >= blockFrameLen+packetHeaderLen; n++ {
		kind, total, number, high := p.order.fourWords((*[16]byte)(rest))
		low, captured, wire, _ := p.order.fourWords((*[16]byte)(rest[16:]))
		length := blockFrameLen + packetHeaderLen + (int(captured)+3)&^3
		if kind != blockEnhancedPacket || captured > maxRecord || int(total) != length || length > min(len(rest), maxRecord) || p.order.uint32(rest[length-4:]) != total {
			break
		}
		seen := p.interfaceOf(number)
		if seen == nil {
			break
		}
		const start = 8 + packetHeaderLen
		end := start + int(captured)
		packet := &room[n]
		packet.Number, packet.File = b.first+int64(n), b.file
		packet.Time = seen.clock.nanoseconds(uint64(high)<<32 | uint64(low))
		packet.Data = rest[start:end:end]
		packet.WireLen, packet.Link = max(captured, wire), seen.link
		rest = rest[length:]
	}
	b.Packets = room[:n]
	return len(data) - len(rest)
}

// block decodes the block at the head of data and returns its length, 0 when it is not all
// there. With an error it is the length of a block that is wrong inside, 0 when there is
// no telling where it ends. Lengths ought to be multiples of four; one that is not is taken as it is when
// its copy behind the block stands where it then should.
func (p *pcapng) block(b *Batch, data []byte, whole bool) (length int, err error) {
	if len(data) < blockFrameLen {
		return 0, nil
	}
	order, kind := p.order, p.order.uint32(data)
	if kind == blockSection {
		if order, err = sectionOrder(data); err != nil {
			return p.orderless(data, whole, err)
		}
	}
	total := order.uint32(data[4:])
	length = int(total)
	switch {
	case total < blockFrameLen:
		err = fmt.Errorf("a block of %d bytes (the smallest has %d)", total, blockFrameLen)
	case total > maxRecord:
		if mayBeLarge(kind) {
			return 0, p.passLarge(data, whole)
		}
		err = fmt.Errorf("a block of %d bytes (the largest of its type taken for one has %d)", total, maxRecord)
	case length > len(data):
		if !whole {
			return 0, nil
		}
		err = errCut
	default:
		if again := order.uint32(data[length-4:]); again != total {
			err = fmt.Errorf("a block of %d bytes that says %d at its end", total, again)
		}
	}
	switch {
	case kind == blockSection:
		p.order, p.interfaces = order, p.interfaces[:0]
	case err != nil && kind == blockInterface:
		return p.mend(b, data, whole, err)
	}
	if err != nil {
		return 0, err
	}
	return length, p.body(b, kind, data[8:length-4:length-4])
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
