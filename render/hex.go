package render

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/dissect"
)

// rowSize is how many bytes a row of a dump shows.
const rowSize = 16

// A dump writes the bytes of a message, 16 a row: offset, hex in two groups, text.
//
//	0000  00 00 00 17 00 22 00 02  00 00 00 00 00 00 00 0f  |....."..........|
type dump struct {
	colors *palette
	offset uint32 // of the first byte of the row
	row    [rowSize]cell
	filled int
}

// A cell is a byte of the row.
type cell struct {
	value  byte
	masked bool // it must not be shown
	style  *style
}

// message appends the bytes of a message. Those of a body that is withheld are masked.
func (d *dump) message(b []byte, m *dissect.Message, withheld bool) []byte {
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
		style := d.style(n, i < tags, body > 0 && i > body)
		masked := withheld && !d.open(n, i < tags, body > 0 && i > body)
		b = d.leaf(b, m, n, style, masked)
	}
	return d.flush(b)
}

// style is the colour of a leaf.
func (d *dump) style(n *dissect.Node, tagged, inBody bool) *style {
	switch {
	case n.Kind == dissect.SizeNode:
		return &d.colors.frame
	case n.Kind == dissect.TrailingNode, n.Kind == dissect.UndecodedNode:
		return &d.colors.failure
	case tagged:
		return &d.colors.tags
	case inBody, n.Kind == dissect.TokenNode:
		return &d.colors.body
	}
	return &d.colors.header
}

// open tells whether a leaf of a message with credentials may be shown: the size and the header's own fields.
func (d *dump) open(n *dissect.Node, tagged, inBody bool) bool {
	switch n.Kind {
	case dissect.SizeNode, dissect.TagCountNode:
		return !inBody
	case dissect.ValueNode:
		return !inBody && !tagged
	}
	return false
}

// leaf appends the bytes of a leaf, and how many of them are missing.
func (d *dump) leaf(b []byte, m *dissect.Message, n *dissect.Node, s *style, masked bool) []byte {
	raw := m.Raw(n)
	if isRecords(n) && !masked {
		b = d.records(b, raw, int(n.Prefix))
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
func (d *dump) records(b, raw []byte, prefix int) []byte {
	b = d.bytes(b, raw[:prefix], &d.colors.body, false)
	rest := raw[prefix:]
	for len(rest) >= batchHeader && rest[batchMagic] == magicBatch {
		length := batchOverhead + int(int32(binary.BigEndian.Uint32(rest[8:])))
		if length < batchHeader || length > len(rest) {
			break
		}
		b = d.bytes(b, rest[:batchHeader], &d.colors.batch, false)
		b = d.bytes(b, rest[batchHeader:length], &d.colors.record, false)
		rest = rest[length:]
	}
	return d.bytes(b, rest, &d.colors.record, false)
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
	b = appendOffset(b, d.offset)
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
