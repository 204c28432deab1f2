package render

import (
	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// mayHoldSecrets tells whether bytes that no field accounts for may belong to a value that is to be hidden: in a message about
// configs, or in one that carries another.
func mayHoldSecrets(m *dissect.Message) bool {
	if m.API == nil || !m.Header.Known {
		return false
	}
	plan := m.Plan()
	if plan == nil { // of an unknown version: judge by the newest known one
		plan = schema.Embedded().Plan(m.API.Key, m.API.Versions.High, m.Kind)
	}
	return m.API.Name == "Envelope" || plan != nil && plan.Message.HasConfigs()
}

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
