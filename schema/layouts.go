package schema

import (
	"encoding/binary"
	"sync"
)

// A Layout is a run of versions of an API whose responses are laid out the same, so that nothing on the wire tells them apart.
type Layout struct {
	API      *API
	Versions Versions
	Plan     *Plan // of the newest of them

	exact   string // what is equal for versions of one layout
	outline string // the same without tagged fields and without what may be null
}

// Resembles tells whether two layouts of an API differ in nothing but tagged fields and what may be null: a response that has
// none of these fits both.
func (l *Layout) Resembles(other *Layout) bool {
	return l.API == other.API && l.outline == other.outline
}

// layouts keeps what ResponseLayouts has found.
type layouts struct {
	once sync.Once
	list []Layout
}

// ResponseLayouts returns the layouts of the responses of all APIs, by key and version. The first call reads and compiles all of them, which
// takes some 20 ms. The slice must not be changed.
func (c *Catalog) ResponseLayouts() []Layout {
	c.layouts.once.Do(func() {
		for api := range c.APIs {
			if e := api.messages[Response]; e != nil {
				c.layouts.list = c.appendLayouts(c.layouts.list, api, e.versions)
			}
		}
	})
	return c.layouts.list
}

func (c *Catalog) appendLayouts(list []Layout, api *API, versions Versions) []Layout {
	first := len(list)
	for v := versions.Low; v <= versions.High; v++ {
		plan := c.Plan(api.Key, v, Response)
		exact := plan.signature(true)
		if n := len(list); n > first && list[n-1].exact == exact {
			list[n-1].Versions.High, list[n-1].Plan = v, plan
			continue
		}
		list = append(list, Layout{API: api, Versions: Versions{v, v}, Plan: plan, exact: exact, outline: plan.signature(false)})
	}
	return list
}

// signature writes down what decides where the fields of a message stand, and their names. Without exact, tagged fields and what may be null are
// left out.
func (p *Plan) signature(exact bool) string {
	header := int16(-1)
	if p.Header != nil {
		header = p.Header.Version
	}
	b := binary.BigEndian.AppendUint16(nil, uint16(header))
	end := int32(len(p.Ops))
	for i := int32(0); i < end; i++ {
		op := &p.Ops[i]
		if op.Tag >= 0 && !exact {
			i = op.Next - 1
			continue
		}
		compact, nullable := byte(0), byte(0)
		if op.Compact {
			compact = 1
		}
		if op.Nullable && (exact || op.Code == OpStruct) {
			nullable = 1 // a nullable structure has a byte in front
		}
		b = append(b, byte(op.Code), compact, nullable)
		if exact {
			b = binary.BigEndian.AppendUint32(b, uint32(op.Tag))
			b = binary.BigEndian.AppendUint32(b, uint32(op.Next))
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(p.depth(op)))
		}
		b = append(append(b, op.Name...), 0)
	}
	return string(b)
}

// depth is how many structures an Op stands in.
func (p *Plan) depth(op *Op) int {
	n := 0
	for at := op.Parent; at > 0; at = p.Ops[at].Parent {
		n++
	}
	return n
}
