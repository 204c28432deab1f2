package render

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/dissect"
)

// Messages of magic 0 and 1 can be compressed inside a compressed message. The records come flat, each with its place in the bytes that it was
// unpacked to; the messages around it are found by their headers.

// wrapped is where among compressed messages inside a compressed one the printer is.
type wrapped struct {
	inside  bool
	message int // how many messages were met in the outer one
	end     int // of the record before, in the inner address space
	outer   int // length of the name of the outer address space
}

// findWrapper finds out whether a record stands in what the batch was unpacked to, or in a message that is compressed inside that. It appends
// the line of such a message, and what in front of the record is none.
func (t *Tree) findWrapper(b []byte, r *dissect.Record, shown bool) []byte {
	p := &t.records
	if r.Message == nil {
		return b
	}
	switch {
	case p.standsOutside(r):
		t.leaveWrapper()
		p.deep.message++
		return t.undecodedRecords(b, r.At)
	case p.deep.inside && r.At >= p.deep.end:
	default:
		t.leaveWrapper()
		b = t.enterWrapper(b, shown)
	}
	p.deep.end = r.At + r.Size
	return b
}

// standsOutside tells whether the header of a record's message stands in what the batch was unpacked to.
func (p *recordPrinter) standsOutside(r *dissect.Record) bool {
	if r.At < p.at || r.At+r.Size > len(p.set.Unpacked) || r.Size < 18 {
		return false
	}
	header := p.set.Unpacked[r.At:]
	return binary.BigEndian.Uint32(header[12:]) == r.Message.CRC && header[17] == byte(r.Message.Attributes)
}

// enterWrapper appends the line of the compressed message that is expected next.
func (t *Tree) enterWrapper(b []byte, shown bool) []byte {
	p := &t.records
	size := p.end - p.at
	if header := p.set.Unpacked[p.at:]; len(header) >= lengthEnd {
		size = min(size, int(binary.BigEndian.Uint32(header[lengthEnd-4:]))+lengthEnd)
	}
	if shown {
		b = append(append(t.branch(b), t.colors.name.on...), "message "...)
		b = appendInt(b, int64(p.deep.message))
		b = append(append(b, t.colors.name.off...), ": compressed"...)
		b = t.spanLine(b, "", uint32(p.at), uint32(size), "")
	}
	p.at += size
	t.enter(p.at == p.end)
	p.deep.inside, p.deep.outer = true, len(t.unpacked)
	t.unpacked = appendInt(append(t.unpacked, '.'), int64(p.deep.message))
	p.deep.message++
	return b
}

// leaveWrapper goes back to what the batch was unpacked to.
func (t *Tree) leaveWrapper() {
	if p := &t.records; p.deep.inside {
		p.deep.inside = false
		t.unpacked = t.unpacked[:p.deep.outer]
		t.leave()
	}
}
