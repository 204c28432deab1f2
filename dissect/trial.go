package dissect

import "github.com/kdissect/kdissect/schema"

// A trial decodes bytes to see whether they are what they seem. Its decoder is used again and again.
type trial struct{ decoder decoder }

// maxSurplus is how many bytes behind the end of a request are forgiven: a well-known client sends four zero bytes behind ApiVersions v0.
const maxSurplus = 4

// decodes tells whether the bytes of a request that are there decode along a plan.
func (t *trial) decodes(plan *schema.Plan, data []byte, total int, forgiving bool) bool {
	switch t.run(plan, data, total) {
	case done:
		left := total - t.decoder.pos
		return left == 0 || forgiving && left <= maxSurplus
	case needMore:
		return true
	}
	return false
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
	if s := d.structureOf(plan.Header); s != done {
		return s
	}
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
