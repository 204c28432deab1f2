package pcaps

import "fmt"

const (
	// maxMended is the largest description of an interface or a section that is mended, in bytes.
	maxMended = 4 << 10
	// largeChecked is how far the beginning of a block larger than maxRecord is searched for
	// blocks, which show that its length is damaged.
	largeChecked = 256 << 10
	trailerLen   = 4 // of the length at the end of a block
)

// shortestBlock returns the least length of a block of a type, 0 for types that a search does not take for one. Such
// blocks of a damaged file are passed over with the damage in front of them.
func shortestBlock(kind uint32) uint32 {
	switch kind {
	case blockEnhancedPacket, blockObsoletePacket:
		return 32
	case blockSection:
		return sectionMinLen
	case blockStatistics:
		return 24
	case blockInterface, blockSecrets:
		return 20
	case blockSimplePacket, blockNames, blockJournal, blockCustom, blockCustomPrivate:
		return 16
	}
	return 0
}

// mayBeLarge reports whether a block of a type may be larger than maxRecord: none that packets depend on, and
// none that nobody would choose the number of.
func mayBeLarge(kind uint32) bool {
	const local = 1 << 31 // marks the types that anybody may use
	switch kind {
	case blockInterface, blockObsoletePacket, blockSimplePacket, blockStatistics, blockEnhancedPacket, blockSection:
		return false
	case blockCustom, blockCustomPrivate:
		return true
	}
	return kind&^local < 1<<16
}

// passLarge begins to pass over the block at the head of data, which is larger than maxRecord. That
// may be key material, a core dump or whatever else tools put into a capture; or a damaged length, which
// shows in blocks that stand where its contents should be.
func (p *pcapng) passLarge(data []byte, whole bool) error {
	if len(data) < largeChecked {
		return nil // too short for it, if whole
	}
	total := p.order.uint32(data[4:])
	if skip, found := search(data[8:largeChecked], true, p.begins); found {
		return fmt.Errorf("a block of %d bytes with another inside it, %d bytes after its beginning", total, 8+skip)
	}
	p.large, p.toPass = total, int64(total)
	return nil
}

// mayPass reports whether data have something of a large block to pass over.
func (p *pcapng) mayPass(data []byte) bool {
	return p.toPass > trailerLen && len(data) > 0 || p.toPass > 0 && len(data) >= trailerLen
}

// pass passes over what data have of a large block and returns how much that is.
func (p *pcapng) pass(data []byte) (used int, err error) {
	used = int(max(0, min(int64(len(data)), p.toPass-trailerLen)))
	p.toPass -= int64(used)
	if p.toPass > trailerLen || len(data)-used < trailerLen {
		return used, nil
	}
	p.toPass = 0
	if again := p.order.uint32(data[used:]); again != p.large {
		return used, fmt.Errorf("a block of %d bytes that says %d at its end", p.large, again)
	}
	return used + trailerLen, nil
}

// mend takes the description of an interface, without which no packet of it can be understood,
// out of a block that gives a length which is wrong once, in front or behind. What it returns is what
// block returns; the error stays, for the block is damaged.
func (p *pcapng) mend(b *Batch, data []byte, whole bool, damage error) (length int, err error) {
	number := len(p.interfaces)
	if number == maxInterfaces {
		return 0, damage
	}
	p.interfaces = append(p.interfaces, captureInterface{}) // what stands behind may be a packet of it
	length, v := p.lengthOfDamaged(data, whole)
	switch v {
	case later:
		p.interfaces = p.interfaces[:number]
		return 0, nil
	case no:
		p.interfaces[number].damaged = true
		return 0, damage
	}
	if damage == errCut {
		damage = fmt.Errorf("a block of %d bytes that says %d at its beginning", length, p.order.uint32(data[4:]))
	}
	body := data[8 : length-trailerLen]
	p.interfaces[number] = p.interfaceIn(body)
	p.comments(b, body[8:])
	return length, damage
}

// lengthOfDamaged returns the length of the description of an interface at the head of data that gives its
// length in one of the two places and behind which a block begins or the file ends.
func (p *pcapng) lengthOfDamaged(data []byte, whole bool) (int, verdict) {
	said := p.order.uint32(data[4:])
	for length := int(shortestBlock(blockInterface)); length <= maxMended; length++ {
		if length > len(data) {
			if whole {
				return 0, no
			}
			return 0, later
		}
		if said != uint32(length) && p.order.uint32(data[length-trailerLen:]) != uint32(length) {
			continue
		}
		if whole && length == len(data) {
			return length, yes
		}
		if v := p.begins(data[length:], whole); v != no {
			return length, v
		}
	}
	return 0, no
}

// search implements decoder.
func (p *pcapng) search(data []byte, whole bool) (skip int, found bool) {
	p.toPass = 0
	return search(data, whole, p.begins)
}

// orderless begins a section the header of which has no byte order: it takes the one that gives it the smaller
// length. It returns what block returns.
func (p *pcapng) orderless(data []byte, whole bool, damage error) (length int, err error) {
	order := littleEndian
	if bigEndian.uint32(data[4:]) < order.uint32(data[4:]) {
		order = bigEndian
	}
	length = int(order.uint32(data[4:]))
	if length > len(data) && length <= maxMended && !whole {
		return 0, nil
	}
	p.order, p.interfaces = order, p.interfaces[:0]
	if length < sectionMinLen || length > min(maxMended, len(data)) || order.uint32(data[length-trailerLen:]) != uint32(length) {
		return 0, damage
	}
	return length, damage
}

// begins judges whether data begin with a block whose length stands at its end too, and behind which another
// begins or the file ends.
func (p *pcapng) begins(data []byte, whole bool) verdict {
	order := p.order
	total, v := frame(order, data, whole)
	if v != yes {
		return v
	}
	if total > len(data) {
		if whole {
			return no
		}
		return later
	}
	// A section header may change the order.
	kind := order.uint32(data)
	if kind == blockSection {
		order, _ = sectionOrder(data)
	}
	end := total - trailerLen
	if order.uint32(data[end:]) != uint32(total) {
		return no
	}
	body := data[8:end]
	switch kind {
	case blockEnhancedPacket, blockObsoletePacket:
		number := order.uint32(body)
		if kind == blockObsoletePacket {
			number = uint32(order.uint16(body))
		}
		if p.interfaceOf(number) == nil || uint64(order.uint32(body[12:])) > uint64(len(body)-packetHeaderLen) {
			return no
		}
	case blockSimplePacket:
		if p.interfaceOf(0) == nil {
			return no
		}
	}
	next := data[total:]
	if len(next) < blockFrameLen && whole {
		return yes
	}
	_, v = frame(order, next, whole)
	return v
}

// frame judges whether data begin as a block of a known type does, and returns its length.
func frame(order byteOrder, data []byte, whole bool) (total int, v verdict) {
	if len(data) < blockFrameLen {
		if whole {
			return 0, no
		}
		return 0, later
	}
	kind := order.uint32(data)
	shortest := shortestBlock(kind)
	if shortest == 0 {
		return 0, no
	}
	if kind == blockSection {
		var err error
		if order, err = sectionOrder(data); err != nil {
			return 0, no
		}
	}
	length := order.uint32(data[4:])
	if length < shortest || length > maxSearched {
		return 0, no
	}
	return int(length), yes
}
