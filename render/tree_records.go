package render

import (
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// isRecords tells whether a leaf is a records field.
func isRecords(n *dissect.Node) bool {
	return n.Kind == dissect.ValueNode && n.Op.Code == schema.OpRecords && !n.Null
}

// verify checks the CRCs of all batches of the message, so that what is wrong is among its findings.
func verify(m *dissect.Message, tape []dissect.Node) {
	for i := range tape {
		if n := &tape[i]; isRecords(n) {
			for batch := range m.Batches(n) {
				m.Verify(batch)
			}
		}
	}
}

// A digest is what the headers of the batches in a records field say.
type digest struct {
	batches, records       int
	first, last            int64 // offsets in the log
	codecs                 uint8 // a bit a codec
	oldest, newest         int8  // magic
	transactional, control bool
}

func digestOf(m *dissect.Message, n *dissect.Node) (d digest) {
	for batch := range m.Batches(n) {
		if batch.Partial {
			break // a finding says so
		}
		if d.batches == 0 {
			d.first, d.oldest = batch.BaseOffset, batch.Magic
		}
		d.batches++
		d.records += int(batch.Count)
		d.last = batch.LastOffset()
		d.codecs |= 1 << batch.Codec()
		d.oldest, d.newest = min(d.oldest, batch.Magic), max(d.newest, batch.Magic)
		d.transactional = d.transactional || batch.Transactional()
		d.control = d.control || batch.Control()
	}
	return d
}

// appendRecords appends the size of a records field and a digest of its batches.
func appendRecords(b []byte, m *dissect.Message, n *dissect.Node) []byte {
	b = appendQuantity(b, int(n.Length)-int(n.Prefix), "byte")
	if d := digestOf(m, n); d.batches > 0 {
		b = d.append(b)
	}
	return b
}

// append appends the digest: `, 2 batches: 22 records at offset 0..21, zstd`.
func (d *digest) append(b []byte) []byte {
	b = appendInt(append(b, ", "...), int64(d.batches))
	switch {
	case d.newest < 2:
		b = appendPlural(append(b, ' '), d.batches, "message")
		b = appendInt(append(b, " of magic "...), int64(d.oldest))
	case d.batches == 1:
		b = append(b, " batch: "...)
		b = appendQuantity(b, d.records, "record")
	default:
		b = append(b, " batches: "...)
		b = appendQuantity(b, d.records, "record")
	}
	b = strconv.AppendInt(append(b, " at offset "...), d.first, 10)
	if d.last > d.first {
		b = strconv.AppendInt(append(b, ".."...), d.last, 10)
	}
	for codec := dissect.Codec(0); d.codecs>>codec > 0; codec++ {
		if d.codecs>>codec&1 == 0 {
			continue
		}
		b = append(b, ", "...)
		if codec == 0 {
			b = append(b, "uncompressed"...)
		} else {
			b = append(b, codec.String()...)
		}
	}
	if d.transactional {
		b = append(b, ", transactional"...)
	}
	if d.control {
		b = append(b, ", control"...)
	}
	return b
}
