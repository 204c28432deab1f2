package pcaps

// Codes of options, a set for each type of block; comments have one code in all.
const (
	optionEnd                = 0
	optionComment            = 1
	optionInterfaceTSResol   = 9
	optionInterfaceTSOffset  = 14
	optionPacketDropCount    = 4
	optionStatisticsIfDrop   = 5
	optionStatisticsOSDrop   = 7
	obsoletePacketDropsUnset = 0xffff
)

// options walks the options at the end of a block: code and length (uint16 each), value
// padded to four bytes. The end of the block ends them as well as opt_endofopt does, and so does
// an option that is longer than the block: the block is whole, and what an option says is not vital.
type options struct {
	order byteOrder
	rest  []byte

	code  uint16
	value []byte
}

func (p *pcapng) options(data []byte) options {
	return options{order: p.order, rest: data}
}

// next steps to the next option and reports whether there is one.
func (o *options) next() bool {
	if len(o.rest) < 4 {
		return false
	}
	o.code = o.order.uint16(o.rest)
	length, rest := int(o.order.uint16(o.rest[2:])), o.rest[4:]
	if o.code == optionEnd || length > len(rest) {
		return false
	}
	o.value = rest[:length:length]
	o.rest = rest[min((length+3)&^3, len(rest)):]
	return true
}

// comments passes on the comments among the options of a block.
func (p *pcapng) comments(b *Batch, options []byte) {
	for o := p.options(options); o.next(); {
		if o.code == optionComment {
			b.Events = append(b.Events, Event{Kind: Comment, Packet: b.last(), Data: o.value, File: b.file})
		}
	}
}
