package render

import (
	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// maxRecords is how many records of a batch the compact tree shows unless it is told otherwise.
const maxRecords = 10

// isRecords tells whether a leaf is a records field.
func isRecords(n *dissect.Node) bool {
	return n.Kind == dissect.ValueNode && n.Op.Code == schema.OpRecords && !n.Null
}

// showsBatches tells whether records fields are opened.
func (t *Tree) showsBatches() bool { return t.options.Records >= RecordsBatches }

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

// appendBatchCount appends the size of a records field, and how many batches and records are in it.
func (t *Tree) appendBatchCount(b []byte, n *dissect.Node) []byte {
	if t.options.Records == RecordsNone {
		return append(b, "not shown"...)
	}
	b = appendQuantity(b, int(n.Length)-int(n.Prefix), "byte")
	if !t.showsBatches() {
		return b
	}
	batches, messages, records := 0, 0, 0
	for batch := range t.v.Batches(n) {
		switch {
		case batch.Partial: // a finding says so
		case batch.Magic < 2:
			messages++
		default:
			batches++
			records += int(batch.Count)
		}
	}
	if batches > 0 {
		b = appendBatches(append(b, ", "...), batches)
		b = appendQuantity(append(b, " of "...), records, "record")
	}
	if messages > 0 {
		b = appendQuantity(append(b, ", "...), messages, "message")
	}
	return b
}

func appendBatches(b []byte, n int) []byte {
	b = appendInt(b, int64(n))
	if n == 1 {
		return append(b, " batch"...)
	}
	return append(b, " batches"...)
}

// opens tells whether lines follow below the one of a value: the batches in it, or a structure.
func (t *Tree) opens(at uint32) bool {
	n := &t.tape[at]
	switch {
	case n.Length == uint32(n.Prefix):
		return false
	case isRecords(n):
		return t.showsBatches() && !t.nested
	}
	return t.inside.has(at)
}

// below appends what a value holds, batches or a structure, and its findings.
func (t *Tree) below(b []byte, at uint32, last bool) []byte {
	switch code := t.tape[at].Op.Code; {
	case code < schema.OpBytes || !t.opens(at):
		return t.notes(b, at+1, last)
	case code == schema.OpRecords:
		return t.batches(b, at, last)
	}
	return t.nestedStructures(t.notes(b, at+1, last), at, last)
}

// batches appends the batches of a records field: in the compact tree the first ones, and those that a finding is in.
func (t *Tree) batches(b []byte, at uint32, last bool) []byte {
	n := &t.tape[at]
	p := &t.records
	p.topic, p.number = t.internalTopic(at), -1
	end := int(n.Offset + n.Length)
	left, from := 0, 0
	t.enter(last)
	for batch := range t.m.Batches(n) {
		p.batch = *batch
		p.number++
		if t.cutsBatch(at) {
			if left++; left == 1 {
				from = batch.At
			}
			continue
		}
		b = t.batchesLeftOut(b, left, from, batch.At)
		left = 0
		b = t.notesBefore(b, at, batch.At, "")
		b = t.batch(b, at, batch.At+batch.Size == end)
	}
	b = t.batchesLeftOut(b, left, from, end)
	t.leave()
	return t.notes(b, at+1, last)
}

// cutsBatch tells whether a batch is left out: enough were shown, and nothing is wrong with it.
func (t *Tree) cutsBatch(at uint32) bool {
	p := &t.records
	shown := maxElements
	if p.batch.Magic < 2 && p.batch.Codec() == 0 {
		shown = t.recordLimit() // each is a record
	}
	return !t.options.Full && p.number >= shown && !t.findings.before(at, p.batch.At+p.batch.Size) && !t.spoilt(&p.batch)
}

// batchesLeftOut appends how many batches are not shown, if any.
func (t *Tree) batchesLeftOut(b []byte, n, from, to int) []byte {
	if n == 0 {
		return b
	}
	b = appendInt(append(t.branch(b), "... "...), int64(n))
	b = append(b, " more in the field"...)
	return t.spanLine(b, "", uint32(from), uint32(to-from), "")
}

// recordLimit is how many records of a batch are shown.
func (t *Tree) recordLimit() int {
	switch {
	case t.options.Full:
		return 1<<31 - 1
	case t.options.MaxRecords > 0:
		return t.options.MaxRecords
	}
	return maxRecords
}

// damaged tells whether records in some nodes cannot all be read.
func (t *Tree) damaged(from, to uint32) bool {
	if t.nested || t.options.Records != RecordsFull {
		return false
	}
	for i := from; i < to; i++ {
		if n := &t.tape[i]; isRecords(n) {
			for batch := range t.m.Batches(n) {
				t.records.batch = *batch
				if t.spoilt(&t.records.batch) {
					return true
				}
			}
		}
	}
	return false
}

// spoilt tells whether the records of a batch cannot all be read. The findings are not kept: they come up again when the batch is printed.
func (t *Tree) spoilt(batch *dissect.Batch) bool {
	if batch.Partial || t.options.Records != RecordsFull {
		return false
	}
	mark := len(t.m.Findings)
	if set := t.m.Open(batch); set != nil {
		for range set.Each {
		}
	}
	spoilt := len(t.m.Findings) > mark
	t.m.Findings = t.m.Findings[:mark]
	return spoilt
}

// internalTopic returns the topic that a records field belongs to where Kafka writes its records for itself, otherwise "".
func (t *Tree) internalTopic(field uint32) string {
	for i := int(field) - 1; i > 0; i-- {
		n := &t.tape[i]
		if n.Kind != dissect.ValueNode || n.Null {
			continue
		}
		switch n.Op.Role {
		case schema.TopicName:
			return t.internal(t.v.Bytes(n))
		case schema.TopicID:
			if topic := t.topicWith(t.v.Bytes(n)); topic != nil {
				return t.internal(topic.Name)
			}
			return ""
		}
	}
	return ""
}

// internal returns the name of a topic if it is an internal one.
func (t *Tree) internal(name []byte) string {
	if !t.m.Catalog().IsInternalTopic(string(name)) {
		return ""
	}
	return string(name)
}
