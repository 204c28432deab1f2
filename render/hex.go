package render

import "github.com/kdissect/kdissect/dissect"

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
		b = d.leaf(b, m, n, d.style(n, tagged, inBody), v.hides(n, tagged, inBody))
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

// leaf appends the bytes of a leaf, and how many of them are missing.
func (d *dump) leaf(b []byte, m *dissect.Message, n *dissect.Node, s *style, masked bool) []byte {
	raw := m.Raw(n)
	if isRecords(n) && !masked {
		b = d.records(b, m, n)
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

// batchHeader is the size of the header of a batch of magic 2.
const batchHeader = 61

// records appends a records field, the headers of its batches in a colour of their own.
func (d *dump) records(b []byte, m *dissect.Message, n *dissect.Node) []byte {
	raw := m.Raw(n)
	b = d.bytes(b, raw[:n.Prefix], &d.colors.body, false)
	raw = raw[n.Prefix:]
	for batch := range m.Batches(n) {
		all := raw[:min(batch.Size, len(raw))]
		header := min(batchHeader, len(all))
		b = d.bytes(b, all[:header], &d.colors.batch, false)
		b = d.bytes(b, all[header:], &d.colors.record, false)
		raw = raw[len(all):]
	}
	return d.bytes(b, raw, &d.colors.record, false)
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
