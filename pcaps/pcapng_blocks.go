package pcaps

import "fmt"

// section takes the body of a Section Header Block: byte-order magic, version (two uint16),
// length of the section, options. The length is of no use to a reader that passes all blocks.
func (p *pcapng) section(b *Batch, body []byte) error {
	if len(body) < 16 {
		return errShortBlock
	}
	if major := p.order.uint16(body[4:]); major != supportedMajor {
		return fmt.Errorf("a section of pcapng version %d.%d", major, p.order.uint16(body[6:]))
	}
	p.comments(b, body[16:])
	return nil
}

// describeInterface takes the body of an Interface Description Block: link type (uint16), two reserved
// bytes, snap length, options.
func (p *pcapng) describeInterface(b *Batch, body []byte) error {
	if len(p.interfaces) == maxInterfaces {
		return fmt.Errorf("a section of more than %d interfaces", maxInterfaces)
	}
	if len(body) < 8 {
		p.interfaces = append(p.interfaces, captureInterface{damaged: true})
		return errShortBlock
	}
	p.interfaces = append(p.interfaces, p.interfaceIn(body))
	p.comments(b, body[8:])
	return nil
}

// interfaceIn returns the interface that a body describes.
func (p *pcapng) interfaceIn(body []byte) captureInterface {
	described := captureInterface{
		link:    LinkType(p.order.uint16(body)),
		snapLen: p.order.uint32(body[4:]),
		clock:   microseconds,
	}
	for o := p.options(body[8:]); o.next(); {
		switch {
		case o.code == optionInterfaceTSResol && len(o.value) >= 1:
			described.clock.setResolution(o.value[0])
		case o.code == optionInterfaceTSOffset && len(o.value) >= 8:
			described.clock.setOffset(int64(p.order.uint64(o.value)))
		}
	}
	return described
}

// enhancedPacket takes the body of an Enhanced Packet Block: interface, time stamp (upper and
// lower half), captured length, length on the wire, a uint32 each; data padded to four bytes, options.
func (p *pcapng) enhancedPacket(b *Batch, body []byte) error {
	if len(body) < packetHeaderLen {
		return errShortBlock
	}
	number := p.order.uint32(body)
	seen := p.interfaceOf(number)
	if seen == nil {
		return p.notDescribed(number)
	}
	options, err := p.packet(b, seen, body)
	if err != nil || len(options) == 0 {
		return err
	}
	for o := p.options(options); o.next(); {
		if o.code == optionPacketDropCount && len(o.value) >= 8 {
			seen.addDropped(b, p.order.uint64(o.value))
		}
	}
	p.comments(b, options)
	return nil
}

// obsoletePacket takes the body of a Packet Block, which differs from an Enhanced Packet
// Block in its first word: interface and number of packets dropped before it, a uint16 each.
func (p *pcapng) obsoletePacket(b *Batch, body []byte) error {
	if len(body) < packetHeaderLen {
		return errShortBlock
	}
	number := uint32(p.order.uint16(body))
	seen := p.interfaceOf(number)
	if seen == nil {
		return p.notDescribed(number)
	}
	options, err := p.packet(b, seen, body)
	if err != nil {
		return err
	}
	if drops := p.order.uint16(body[2:]); drops != obsoletePacketDropsUnset {
		seen.addDropped(b, uint64(drops))
	}
	p.comments(b, options)
	return nil
}

// packet appends the packet that an enhanced or obsolete block holds to b and returns the
// options behind it.
func (p *pcapng) packet(b *Batch, seen *captureInterface, body []byte) (options []byte, err error) {
	stamp := uint64(p.order.uint32(body[4:]))<<32 | uint64(p.order.uint32(body[8:]))
	captured := p.order.uint32(body[12:])
	data := body[packetHeaderLen:]
	if uint64(captured) > uint64(len(data)) {
		return nil, fmt.Errorf("a packet of %d bytes in a block with room for %d", captured, len(data))
	}
	packet := b.add()
	packet.Time = seen.clock.nanoseconds(stamp)
	packet.Data = data[:captured:captured]
	packet.WireLen = max(captured, p.order.uint32(body[16:]))
	packet.Link = seen.link
	padded := (int(captured) + 3) &^ 3
	return data[min(padded, len(data)):], nil
}

// simplePacket takes the body of a Simple Packet Block: length on the wire, data. It belongs
// to the first interface; the captured length is that interface's snap length at most.
func (p *pcapng) simplePacket(b *Batch, body []byte) error {
	if len(body) < 4 {
		return errShortBlock
	}
	seen := p.interfaceOf(0)
	if seen == nil {
		return p.notDescribed(0)
	}
	wire, data := p.order.uint32(body), body[4:]
	captured := wire
	if seen.snapLen > 0 {
		captured = min(captured, seen.snapLen)
	}
	captured = min(captured, uint32(len(data)))
	packet := b.add()
	packet.Time = 0
	packet.Data = data[:captured:captured]
	packet.WireLen = wire
	packet.Link = seen.link
	return nil
}

// interfaceOf returns the interface with a number that counts from 0 within the section, nil
// where there is none that can be read.
func (p *pcapng) interfaceOf(number uint32) *captureInterface {
	if uint64(number) >= uint64(len(p.interfaces)) || p.interfaces[number].damaged {
		return nil
	}
	return &p.interfaces[number]
}

func (p *pcapng) notDescribed(number uint32) error {
	if uint64(number) < uint64(len(p.interfaces)) {
		return fmt.Errorf("a packet of interface %d, the description of which is damaged", number)
	}
	return fmt.Errorf("a packet of interface %d in a section that has described %d", number, len(p.interfaces))
}

// statistics takes the body of an Interface Statistics Block: interface, time stamp (two
// words), options. Its counts are those since the interface was opened.
func (p *pcapng) statistics(b *Batch, body []byte) {
	if len(body) < 12 {
		return
	}
	seen := p.interfaceOf(p.order.uint32(body))
	if seen == nil {
		return
	}
	var dropped uint64
	for o := p.options(body[12:]); o.next(); {
		if (o.code == optionStatisticsIfDrop || o.code == optionStatisticsOSDrop) && len(o.value) >= 8 {
			dropped += p.order.uint64(o.value)
		}
	}
	if dropped > seen.dropped {
		seen.addDropped(b, dropped-seen.dropped)
	}
	p.comments(b, body[12:])
}

// addDropped counts n more packets as missing.
func (i *captureInterface) addDropped(b *Batch, n uint64) {
	if n > 0 {
		i.dropped += n
		b.Events = append(b.Events, Event{Kind: Dropped, Packet: b.last(), Count: n, File: b.file})
	}
}

// secrets takes the body of a Decryption Secrets Block: type, length, data padded to four
// bytes, options.
func (p *pcapng) secrets(b *Batch, body []byte) {
	if len(body) < 8 {
		return
	}
	length, data := p.order.uint32(body[4:]), body[8:]
	if uint64(length) > uint64(len(data)) {
		return
	}
	b.Events = append(b.Events, Event{
		Kind:   Secrets,
		Packet: b.last(),
		Data:   data[:length:length],
		Type:   p.order.uint32(body),
		File:   b.file,
	})
	padded := (int(length) + 3) &^ 3
	p.comments(b, data[min(padded, len(data)):])
}
