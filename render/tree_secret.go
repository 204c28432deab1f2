package render

import (
	"github.com/kdissect/kdissect/dissect"
)

// withholds tells whether a node of the top carries credentials that must not be shown.
func (t *Tree) withholds(at int) bool {
	return t.withheld && (at == t.m.Body() || t.tape[at].Kind.Leaf())
}

// withholdRest stands for a body that carries credentials, and for all that is behind it.
func (t *Tree) withholdRest(b []byte, n *dissect.Node) []byte {
	b = append(b, "+-- body withheld (credential-bearing API; --show-secrets prints it)"...)
	b = append(b, t.placeOn...)
	b = appendSpan(b, n.Offset, uint32(t.m.Size)-n.Offset)
	b = append(b, t.placeOff...)
	b = append(b, '\n')
	return t.notes(b, uint32(len(t.tape)), true)
}

// A veil says what a dump of the bytes must not show.
type veil uint8

const (
	noVeil      veil = iota
	valuesVeil       // values that are marked as secret
	surplusVeil      // those, and what no field accounts for
	bodyVeil         // all but size and header
)

func (t *Tree) veil() veil {
	switch {
	case t.options.ShowSecrets:
		return noVeil
	case t.withheld:
		return bodyVeil
	case t.guarded:
		return surplusVeil
	}
	return valuesVeil
}

// hides tells whether the bytes of a leaf must not be shown.
func (v veil) hides(n *dissect.Node, tagged, inBody bool) bool {
	switch v {
	case noVeil:
		return false
	case bodyVeil:
		known := n.Kind == dissect.SizeNode || n.Kind == dissect.TagCountNode || n.Kind == dissect.ValueNode && !tagged
		return inBody || !known
	case surplusVeil:
		switch n.Kind {
		case dissect.UnknownNode, dissect.TrailingNode, dissect.UndecodedNode, dissect.TokenNode:
			return true
		}
	}
	return n.Secret
}

// metadataTopic is the topic whose records may carry credentials.
const metadataTopic = "__cluster_metadata"

// A byteRange is bytes of an address space.
type byteRange struct{ from, to int }

// hiddenInFrame adds what of the frame must not be shown because of the records of a batch: of compressed ones all of them, where any must not,
// and all of those that cannot be read.
func (t *Tree) hiddenInFrame(hidden []byteRange, p *recordPrinter) []byteRange {
	if p.topic != metadataTopic || t.options.ShowSecrets {
		return hidden
	}
	all := byteRange{p.batch.At + headerLen(&p.batch), p.batch.At + p.batch.Size}
	if p.batch.Partial {
		return append(hidden, all)
	}
	findings := len(t.m.Findings)
	set := t.m.Open(&p.batch)
	t.m.Findings = t.m.Findings[:findings]
	if set == nil {
		return append(hidden, all)
	}
	hidden, whole := t.secretValues(hidden, p, set)
	if !whole || set.Unpacked != nil && len(hidden) > 0 {
		return append(hidden[:0], all)
	}
	return hidden
}

// hiddenInUnpacked adds what of the bytes that the batch was unpacked to must not be shown.
func (t *Tree) hiddenInUnpacked(hidden []byteRange, p *recordPrinter) []byteRange {
	if p.topic != metadataTopic || t.options.ShowSecrets {
		return hidden
	}
	hidden, whole := t.secretValues(hidden, p, p.set)
	if !whole {
		return append(hidden[:0], byteRange{0, len(p.set.Unpacked)})
	}
	return hidden
}

// secretValues adds where among some records the values are that carry credentials. whole is false when the records cannot be read to the end.
func (t *Tree) secretValues(hidden []byteRange, p *recordPrinter, set *dissect.RecordSet) (_ []byteRange, whole bool) {
	findings := len(t.m.Findings)
	for r := range set.Each {
		end := r.HeadersAt
		if r.Message != nil {
			end = r.At + r.Size
		}
		if t.m.WithholdsValue(p.topic, r, t.m.DecodeValue(p.topic, &p.batch, r)) {
			hidden = append(hidden, byteRange{r.ValueAt, end})
		}
	}
	whole = len(t.m.Findings) == findings
	t.m.Findings = t.m.Findings[:findings]
	return hidden, whole
}
