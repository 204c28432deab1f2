package pcaps

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The file header of classic pcap, draft-ietf-opsawg-pcap section 4: magic number, version
// (two uint16), two reserved words, snap length, link type.
const (
	classicHeaderLen   = 24
	classicSnapLenOff  = 16
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

// usualSnapLen is what the tools of today take for no limit.
const usualSnapLen = 256 << 10

// usualPause is the longest time between two packets, forwards or backwards, that surprises
// nobody, in seconds.
const usualPause = 30 * 24 * 3600

// classic decodes the packets of a classic pcap file.
//
// The format has nothing to tell a packet's header from other bytes: once a length is wrong,
// all that follows is read at the wrong place and looks like packets still. So each header is held against
// what writers do. One that strays (see ways) is taken only if it does so in few ways and another
// header stands behind its packet.
type classic struct {
	order     byteOrder
	fraction  int64  // nanoseconds in a unit of the time stamp's second half
	second    uint32 // such units in a second
	headerLen int    // of the header in front of each packet
	link      LinkType
	snapLen   uint32 // as the file has it
	longest   uint32 // packet that does not stray

	last era
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

// IsCapture tells whether data begin as an uncompressed capture file does.
func IsCapture(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	_, classic := isClassic(data)
	return classic || isPcapng(data)
}

// newClassic returns the decoder for what follows a file header.
func newClassic(order byteOrder, header []byte) *classic {
	c := &classic{
		order:     order,
		fraction:  1000,
		second:    1e6,
		headerLen: classicPacketHeaderLen,
		// The upper 16 bits tell about frame check sequences.
		link:    LinkType(order.uint32(header[classicLinkTypeOff:])),
		snapLen: order.uint32(header[classicSnapLenOff:]),
		last:    anyEra,
	}
	c.longest = c.snapLen
	if c.snapLen == 0 || c.snapLen > usualSnapLen {
		c.longest = usualSnapLen
	}
	switch order.uint32(header) {
	case magicNanoseconds:
		c.fraction, c.second = 1, 1e9
	case magicModified:
		c.headerLen = modifiedPacketHeaderLen
	}
	return c
}

// decode implements decoder.
func (c *classic) decode(b *Batch, data []byte, whole bool) (used, bad int, err error) {
	for strays := true; strays || b.isFull(); {
		b.makeRoom()
		if used, strays = c.decodePlain(b, data, used); !strays {
			continue
		}
		switch v, err := c.examine(data[used:], whole); {
		case err != nil:
			return used, 1, err
		case v == later:
			return used, 0, nil
		}
		used += c.take(b.add(), data[used:])
	}
	if left := len(data) - used; whole && left > 0 {
		return used, left, errCut // nothing casts doubt on the header
	}
	return used, 0, nil
}

// decodePlain takes packets from data[used:] on, as long as they do not stray and b has room: examine would say yes to all of them. It returns where it came to, and whether a
// header stands there that strays. Nearly all packets are taken here, so the loop calls nothing and sets them in place.
func (c *classic) decodePlain(b *Batch, data []byte, used int) (end int, strays bool) {
	rest := data[used:len(data):len(data)]
	n := len(b.Packets)
	room := b.Packets[:cap(b.Packets)]
	for ; n < len(room) && len(rest) >= c.headerLen; n++ {
		seconds, fraction, captured, wire := c.order.fourWords((*[classicPacketHeaderLen]byte)(rest))
		if captured != wire || captured-1 >= c.longest || fraction >= c.second || !c.last.has(seconds) {
			strays = true
			break
		}
		end := c.headerLen + int(captured)
		if end > len(rest) {
			break
		}
		p := &room[n]
		p.Number, p.File = b.first+int64(n), b.file
		p.Time = int64(seconds)*1e9 + int64(fraction)*c.fraction
		p.Data = rest[c.headerLen:end:end]
		p.WireLen, p.Link = wire, c.link
		c.last = eraOf(seconds)
		rest = rest[end:]
	}
	b.Packets = room[:n]
	return len(data) - len(rest), strays
}

// take sets p to the packet at the head of data, which is there, and returns how many bytes it has with its header.
func (c *classic) take(p *Packet, data []byte) int {
	seconds, fraction, captured, wire := c.order.fourWords((*[classicPacketHeaderLen]byte)(data))
	end := c.headerLen + int(captured)
	p.Time = int64(seconds)*1e9 + int64(fraction)*c.fraction
	p.Data = data[c.headerLen:end:end]
	p.WireLen = max(captured, wire)
	p.Link = c.link
	return end
}

// examine judges a header that stands where one must, and strays: yes, later, or an error. What stands behind
// its packet tells: the next header, which may be damaged itself, or one further where a clock was set.
func (c *classic) examine(data []byte, whole bool) (verdict, error) {
	seconds, captured, wire := c.order.uint32(data), c.order.uint32(data[8:]), c.order.uint32(data[12:])
	if captured > maxRecord {
		return no, fmt.Errorf("a packet of %d bytes (the largest taken for one has %d)", captured, maxRecord)
	}
	strays := c.strays(data, c.last)
	if (strays &^ strayTime).count() > 2 {
		return no, fmt.Errorf("no header of a packet (it would have %d bytes of %d and be of second %d)", captured, wire, seconds)
	}
	end := c.headerLen + int(captured)
	if end > len(data) {
		if whole {
			return no, errCut
		}
		return later, nil
	}
	now := eraOf(seconds)
	if strays == 0 {
		c.last = now
		return yes, nil
	}
	switch c.witness(data[end:], whole, now, strays == strayTime) {
	case later:
		return later, nil
	case no:
		return no, fmt.Errorf("a packet of %d bytes, %d on the wire, behind which no other begins", captured, wire)
	}
	if next := data[end:]; len(next) >= classicPacketHeaderLen && now.has(c.order.uint32(next)) {
		c.last = now // two packets agree
	}
	return yes, nil
}

// witness judges whether a packet begins at the head of data, or the file ends, so that the packet in front,
// of the given time, is one. onlyTime says that there is nothing against that packet but its time.
func (c *classic) witness(data []byte, whole bool, now era, onlyTime bool) verdict {
	if len(data) < classicPacketHeaderLen {
		if whole {
			return yes // it would be a coincidence to end just here
		}
		return later
	}
	if c.agrees(data, now, c.last) {
		return yes
	}
	strays, captured := c.strays(data, anyEra), c.order.uint32(data[8:])
	switch {
	case onlyTime && strays == 0:
		return yes
	case strays&strayFraction != 0 || captured > maxSearched:
		return no
	}
	// Its time is that of no packet so far, unless it is damaged. It can vouch for itself only if it carries
	// bytes: one byte too early a chain of empty packets looks like one too.
	third := anyEra
	if seconds := c.order.uint32(data); captured > 0 && modernEra.has(seconds) {
		third = eraOf(seconds)
	}
	end := c.headerLen + int(captured)
	switch {
	case len(data) >= end+classicPacketHeaderLen:
		if c.agrees(data[end:], now, c.last, third) {
			return yes
		}
	case !whole:
		return later
	case len(data) == end:
		return yes
	}
	return no
}

// agrees reports whether a header has a time within one of the eras, which other bytes lack, and something else
// that is right. So it takes no wrong place for a header, and no damaged header for a wrong place.
func (c *classic) agrees(header []byte, eras ...era) bool {
	seconds := c.order.uint32(header)
	if !slices.ContainsFunc(eras, func(e era) bool { return e != anyEra && e.has(seconds) }) {
		return false
	}
	strays := c.strays(header, anyEra)
	return strays&strayEmpty == 0 && strays&(strayFraction|straySnapLen) != strayFraction|straySnapLen
}

// search implements decoder.
func (c *classic) search(data []byte, whole bool) (skip int, found bool) {
	if skip, found = search(data, whole, c.chain); found {
		c.last = eraOf(c.order.uint32(data[skip:]))
	}
	return skip, found
}

// chain judges whether data begin with three packets, or fewer up to the end of the file,
// that stray in one and the same way at most.
func (c *classic) chain(data []byte, whole bool) verdict {
	var strays ways
	last := c.last
	if len(data) >= c.headerLen && !last.has(c.order.uint32(data)) || last == anyEra {
		last = modernEra // the clock was set, or nothing is known
	}
	for packets := 0; ; packets++ {
		if len(data) < c.headerLen {
			switch {
			case !whole:
				return later
			case packets > 1, packets == 1 && (len(data) == 0 || strays == 0):
				return yes
			}
			return no
		}
		captured := c.order.uint32(data[8:])
		if captured > maxSearched {
			return no
		}
		strays |= c.strays(data, last)
		if strays.count() > 1 || packets == 0 && strays&strayEmpty != 0 {
			return no
		}
		if packets == 2 {
			return yes
		}
		end := c.headerLen + int(captured)
		if end > len(data) {
			switch {
			case !whole:
				return later
			case packets > 0:
				return yes
			}
			return no
		}
		last = eraOf(c.order.uint32(data))
		data = data[end:]
	}
}

// ways is a set of ways in which the header of a packet strays from what writers do.
type ways uint8

const (
	strayTime     ways = 1 << iota // more than usualPause from the packet before
	strayFraction                  // more than a second
	straySnapLen                   // longer than the snap length
	strayCut                       // cut, but not at the snap length
	strayWireLen                   // longer than on the wire
	strayEmpty                     // without a byte on the wire, as all packets are in a run of zeros
)

func (w ways) count() int { return bits.OnesCount8(uint8(w)) }

// strays returns the ways in which a header strays, given the time of the packet before.
func (c *classic) strays(header []byte, last era) (w ways) {
	if !last.has(c.order.uint32(header)) {
		w |= strayTime
	}
	if c.order.uint32(header[4:]) >= c.second {
		w |= strayFraction
	}
	captured, wire := c.order.uint32(header[8:]), c.order.uint32(header[12:])
	if captured > c.longest {
		w |= straySnapLen
	}
	switch {
	case captured > wire:
		w |= strayWireLen
	case captured < wire && captured != c.snapLen:
		w |= strayCut
	case wire == 0:
		w |= strayEmpty
	}
	return w
}

// An era is a range of times in seconds, modulo 2^32 as the time stamps are.
type era struct{ from, length uint32 }

// anyEra is for packets that come after none.
var anyEra = era{0, math.MaxUint32}

// modernEra is what a search expects where the times before do not help. It begins at 10^9, in 2001, which no fraction of a
// second reaches: four bytes further, where a fraction stands for the seconds, the packets of a file
// make a chain too.
var modernEra = era{1e9, math.MaxUint32 - 1e9}

// eraOf returns the times in which the packet after one of the given time is expected.
func eraOf(seconds uint32) era { return era{seconds - usualPause, 2 * usualPause} }

func (e era) has(seconds uint32) bool { return seconds-e.from <= e.length }
