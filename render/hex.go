package render

import (
	"encoding/binary"
	"strings"

	"github.com/kdissect/kdissect/dissect"
)

// rowSize is how many bytes a row of a dump shows.
const rowSize = 16

// A dump writes the bytes of a message, 16 a row: offset, hex in two groups, text.
//
//	0000  00 00 00 17 00 22 00 02  00 00 00 00 00 00 00 0f  |....."..........|
type dump struct {
	tree   *Tree
	prefix string // what stands in front of each row
	offset uint32 // of the first byte of the row
	row    [rowSize]cell
	filled int
	hidden []byteRange // of the records that are being dumped, what must not be shown
}

// A cell is a byte of the row.
type cell struct {
	value  byte
	masked bool // it must not be shown
	style  *style
}

// AppendDump appends the bytes of a message, 16 a row.
func AppendDump(b []byte, m *dissect.Message, o Options) []byte {
	t := NewTree(nil, o)
	t.begin(m)
	return t.hex.message(b, m, t.veil())
}

// Legend names the categories of bytes in their colours.
func Legend(o Options) string {
	p := newPalette(o.Color)
	return strings.Join([]string{p.frame.paint("frame"), p.header.paint("header"), p.body.paint("body"), p.batch.paint("record batch"),
		p.record.paint("record"), p.tags.paint("tagged fields")}, "  ")
}

// message appends the bytes of a message. What the veil hides is masked.
func (d *dump) message(b []byte, m *dissect.Message, v veil) []byte {
	d.offset, d.filled = 0, 0
	tape, body := m.Tape(), uint32(m.Body())
	tags := uint32(0) // end of the tagged fields that the leaf is in
	for i := range uint32(len(tape)) {
		n := &tape[i]
		if n.Kind == dissect.TagsNode {
			tags = max(tags, n.Next)
		}
		if !n.Kind.Leaf() {
			continue
		}
		tagged, inBody := i < tags, body > 0 && i > body
		b = d.leaf(b, i, n, d.style(n, tagged, inBody), v.hides(n, tagged, inBody))
	}
	return d.flush(b)
}

// style is the colour of a leaf.
func (d *dump) style(n *dissect.Node, tagged, inBody bool) *style {
	switch {
	case n.Kind == dissect.SizeNode:
		return &d.tree.colors.frame
	case n.Kind == dissect.TrailingNode, n.Kind == dissect.UndecodedNode:
		return &d.tree.colors.failure
	case tagged:
		return &d.tree.colors.tags
	case inBody, n.Kind == dissect.TokenNode:
		return &d.tree.colors.body
	}
	return &d.tree.colors.header
}

// leaf appends the bytes of the leaf at an index, and how many of them are missing.
func (d *dump) leaf(b []byte, i uint32, n *dissect.Node, s *style, masked bool) []byte {
	raw := d.tree.m.Raw(n)
	if isRecords(n) && !masked {
		b = d.records(b, i, n)
	} else {
		b = d.bytes(b, raw, s, masked)
	}
	if missing := n.Length - uint32(len(raw)); missing > 0 {
		b = d.flush(b)
		b = appendOffset(b, d.offset)
		b = appendQuantity(append(b, ' ', ' '), int(missing), "byte")
		b = append(b, " not captured\n"...)
		d.offset += missing
	}
	return b
}

// records appends a records field, the headers of its batches in a colour of their own.
func (d *dump) records(b []byte, field uint32, n *dissect.Node) []byte {
	t := d.tree
	raw := t.m.Raw(n)
	b = d.bytes(b, raw[:n.Prefix], &t.colors.body, false)
	raw = raw[n.Prefix:]
	topic := t.internalTopic(field)
	for batch := range t.m.Batches(n) {
		p := &t.records
		p.batch, p.topic = *batch, topic
		d.hidden = t.hiddenInFrame(d.hidden[:0], p)
		all := raw[:min(batch.Size, len(raw))]
		b = d.parts(b, all, batch.At, min(headerLen(batch), len(all)))
		raw = raw[len(all):]
	}
	return d.bytes(b, raw, &t.colors.record, false)
}

// unpacked appends what a batch was unpacked to, below the line that is being printed.
func (d *dump) unpacked(b []byte, p *recordPrinter) []byte {
	t := d.tree
	d.prefix, d.offset, d.filled = t.indent.text, 0, 0
	d.hidden = t.hiddenInUnpacked(d.hidden[:0], p)
	at, data := 0, p.set.Unpacked
	for p.batch.Magic < 2 && at < len(data) {
		header, size := messageSize(data[at:])
		b = d.parts(b, data[at:at+size], at, header)
		at += size
	}
	b = d.flush(d.parts(b, data[at:], at, 0))
	d.prefix = ""
	return b
}

// messageSize is the size of the message of older magic at the beginning of some bytes, and of its header.
func messageSize(data []byte) (header, size int) {
	const magic = 16
	if len(data) <= magic {
		return len(data), len(data)
	}
	size = min(len(data), int(binary.BigEndian.Uint32(data[lengthEnd-4:]))+lengthEnd)
	for _, f := range fieldsOf(&dissect.Batch{Magic: int8(data[magic])}) {
		header = f.at + f.size
	}
	return min(header, size), size
}

// parts adds a header and what is behind it. at is the offset of its first byte.
func (d *dump) parts(b, data []byte, at, header int) []byte {
	from := 0
	for _, hidden := range d.hidden {
		start, end := min(max(hidden.from-at, from), len(data)), min(max(hidden.to-at, from), len(data))
		b = d.twoColors(b, data[from:start], header-from, false)
		b = d.twoColors(b, data[start:end], header-start, true)
		from = end
	}
	return d.twoColors(b, data[from:], header-from, false)
}

// twoColors adds bytes, the first of them in the colour of a header.
func (d *dump) twoColors(b, data []byte, header int, masked bool) []byte {
	header = min(max(header, 0), len(data))
	b = d.bytes(b, data[:header], &d.tree.colors.batch, masked)
	return d.bytes(b, data[header:], &d.tree.colors.record, masked)
}

// bytes adds bytes to the rows.
func (d *dump) bytes(b, value []byte, s *style, masked bool) []byte {
	for _, c := range value {
		d.row[d.filled] = cell{c, masked, s}
		if d.filled++; d.filled == rowSize {
			b = d.flush(b)
		}
	}
	return b
}

// flush appends the row, whole or not.
func (d *dump) flush(b []byte) []byte {
	if d.filled == 0 {
		return b
	}
	b = appendOffset(append(b, d.prefix...), d.offset)
	b = d.hexColumns(append(b, ' '))
	b = d.textColumn(append(b, "  |"...))
	d.offset += uint32(d.filled)
	d.filled = 0
	return append(b, '|', '\n')
}

func (d *dump) hexColumns(b []byte) []byte {
	var s *style
	for i := range rowSize {
		if i == rowSize/2 {
			b = append(b, ' ')
		}
		if i >= d.filled {
			b = append(endStyle(b, s), "   "...)
			s = nil
			continue
		}
		c := &d.row[i]
		b = append(b, ' ')
		b, s = switchStyle(b, s, c.style)
		if c.masked {
			b = append(b, '.', '.')
		} else {
			b = append(b, hexDigits[c.value>>4], hexDigits[c.value&15])
		}
	}
	return endStyle(b, s)
}

func (d *dump) textColumn(b []byte) []byte {
	var s *style
	for i := range d.filled {
		c := &d.row[i]
		b, s = switchStyle(b, s, c.style)
		if c.masked || c.value < ' ' || c.value > '~' {
			b = append(b, '.')
		} else {
			b = append(b, c.value)
		}
	}
	return endStyle(b, s)
}

// switchStyle changes the colour of what follows from one style to another.
func switchStyle(b []byte, from, to *style) ([]byte, *style) {
	if from != to {
		b = append(endStyle(b, from), to.on...)
	}
	return b, to
}

func endStyle(b []byte, s *style) []byte {
	if s != nil {
		b = append(b, s.off...)
	}
	return b
}
