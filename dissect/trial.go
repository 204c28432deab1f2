package dissect

import (
	"slices"
	"unicode/utf8"

	"github.com/kdissect/kdissect/schema"
)

// A trial decodes bytes to see whether they are what they seem. Its decoder is used again and again.
type trial struct {
	decoder decoder
	body    int // where the body of the frame begins that was decoded last, 0 if its header is not whole
}

// maxSurplus is how many bytes behind the end of a request are forgiven: a well-known client sends four zero bytes behind ApiVersions v0.
const maxSurplus = 4

// An impression is what a trial says of bytes that may be a request.
type impression struct {
	begun   bool // at least a field of the body decodes
	decodes bool // all that is there does, and the frame ends with its last field
	empty   bool // it would, but stores nothing
	names   bool // what decodes holds text, all of it as people write names
}

// request tells what the bytes of a request that are there look like along a plan.
func (t *trial) request(plan *schema.Plan, data []byte, total int, forgiving bool) (look impression) {
	s := t.run(plan, data, total)
	left := total - t.decoder.pos
	look.begun = t.body > 0 && (s != broken || t.decoder.failed.offset > t.body)
	look.decodes = s == needMore || s == done && (left == 0 || forgiving && left <= maxSurplus)
	if s == done && api(data) == keyProduce && !t.hasElements() {
		look.decodes, look.empty = false, left == 0 // nobody stores nothing, and small integers behind a length often read so
	}
	look.names = t.names()
	return look
}

// names tells whether there is text on the tape, all of it printable, or a record batch.
func (t *trial) names() bool {
	some := false
	for i := range t.decoder.tape {
		n := &t.decoder.tape[i]
		if n.Kind != ValueNode || n.Null || n.Length == uint32(n.Prefix) {
			continue
		}
		value := t.decoder.data[n.Offset+uint32(n.Prefix) : n.Offset+n.Length]
		switch n.Op.Code {
		case schema.OpString:
			if !plainText(value) || !utf8.Valid(value) {
				return false
			}
			some = true
		case schema.OpRecords:
			some = some || len(value) > batchHeaderLen && value[magicOffset] <= 2 && batchSize(value, len(value)) > 0
		}
	}
	return some
}

// hasElements tells whether an array on the tape has elements.
func (t *trial) hasElements() bool {
	return slices.ContainsFunc(t.decoder.tape, func(n Node) bool { return n.Kind == ArrayNode && n.Count > 0 })
}

// answers tells whether the bytes of a response that are there decode along a plan, to its end if all are; or along another one where there
// is one.
func (t *trial) answers(plan, other *schema.Plan, data []byte, total int) verdict {
	switch s := t.run(plan, data, total); {
	case s == needMore && !t.hasFindings():
		return undecided
	case s == done && t.decoder.pos == total:
		return yes
	case other != nil && len(data) == total && t.fits(other, data):
		return yes
	}
	return no
}

// hasFindings tells whether something is odd about the bytes that were decoded last.
func (t *trial) hasFindings() bool { return len(t.decoder.findings) > 0 }

// run decodes header and body of a frame as far as its bytes are there.
func (t *trial) run(plan *schema.Plan, data []byte, total int) status {
	d := &t.decoder
	d.reset(data, nil, total)
	d.complete = len(data) == total
	d.leaf(SizeNode, nil, 4)
	t.body = 0
	if s := d.structureOf(plan.Header); s != done {
		return s
	}
	t.body = d.pos
	return d.structureOf(plan)
}

// fits tells whether a whole frame decodes along a plan without a fault and without a byte left over.
func (t *trial) fits(plan *schema.Plan, frame []byte) bool {
	return t.run(plan, frame, len(frame)) == done && t.decoder.pos == len(frame)
}

// answersAny tells whether a whole frame is an answer of some API and version.
func (t *trial) answersAny(catalog *schema.Catalog, frame []byte) bool {
	for api := range catalog.APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			plan := catalog.Plan(api.Key, v, schema.Response)
			if plan != nil && t.fits(plan, frame) && len(t.decoder.findings) == 0 {
				return true
			}
		}
	}
	return false
}
