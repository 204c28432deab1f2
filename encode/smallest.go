package encode

import (
	"encoding/binary"

	"github.com/kdissect/kdissect/schema"
)

// Smallest returns the smallest legal message of a plan that still shows all of its layout: numbers are zero, strings and bytes empty, arrays have one element,
// structures that may be null are there, records are one batch without records, and there are no tagged fields. A request or response has its frame
// and header, another structure what stands in front of it.
func Smallest(plan *schema.Plan) []byte {
	if plan.Header == nil {
		e := encoder{out: appendLead(nil, plan), ops: plan.Ops}
		e.smallest(0)
		return e.out
	}
	e := encoder{out: make([]byte, 4, 64), ops: plan.Header.Ops}
	e.smallest(0)
	if plan.Message.Kind == schema.Request {
		binary.BigEndian.PutUint16(e.out[4:], uint16(plan.Message.APIKey))
		binary.BigEndian.PutUint16(e.out[6:], uint16(plan.Version))
	}
	e.ops = plan.Ops
	e.smallest(0)
	binary.BigEndian.PutUint32(e.out, uint32(len(e.out)-4))
	return e.out
}

// LeadSize is how many bytes stand in front of a structure that is neither request nor response.
func LeadSize(plan *schema.Plan) int { return len(appendLead(nil, plan)) }

// smallest writes the smallest value of an Op.
func (e *encoder) smallest(at int32) {
	op := &e.ops[at]
	switch op.Code {
	case schema.OpStruct:
		if op.Nullable {
			e.out = append(e.out, 1)
		}
		for i := at + 1; i < op.Next; i = e.ops[i].Next {
			e.smallest(i)
		}
	case schema.OpTags:
		e.out = append(e.out, 0)
	case schema.OpArray:
		e.length(op, 1)
		e.smallest(at + 1)
	case schema.OpString, schema.OpBytes:
		e.length(op, 0)
	case schema.OpRecords:
		start := len(e.out)
		e.out = appendBatch(e.out, &batchHeader{}, nil)
		e.prefix(start, op)
	default:
		e.out = append(e.out, make([]byte, op.Fixed)...)
	}
}
