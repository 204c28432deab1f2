package schema

import "math"

// checkMessage holds a message against the rules of Kafka's own generator.
func (p *parser) checkMessage(m *Message) {
	if !m.Flexible.Empty() && m.Flexible.High < math.MaxInt16 && m.Flexible.High < m.ValidVersions.High {
		p.fail("flexibleVersions", "flexibleVersions %s leave out %d: once flexible, a message stays so", m.Flexible, m.Flexible.High+1)
	}
	p.checkFields(m, m.Name, m.Fields, nil)
}

// checkFields holds fields against the rules that plans rely on, and against those that keep a schema from being misread.
func (p *parser) checkFields(m *Message, owner string, fields []*Field, within []string) {
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		if names[f.Name] {
			p.failAt(f, "%s: two fields are called %s", owner, f.Name)
		}
		names[f.Name] = true
		p.checkNullable(f)
		p.checkTagged(m, f)
		if f.Type.Base == StructType {
			p.checkStruct(m, f, within)
		}
	}
	p.checkTags(owner, fields)
}

func (p *parser) checkNullable(f *Field) {
	if f.Nullable.Empty() || f.Type.Array || f.Type.Base >= String {
		return
	}
	p.failAt(f, "field %s is %s, which cannot be null, but has nullableVersions", f.Name, f.Type)
}

func (p *parser) checkTagged(m *Message, f *Field) {
	switch {
	case f.Tag >= 0 && f.Tagged.Empty():
		p.failAt(f, "field %s has tag %d, but no taggedVersions", f.Name, f.Tag)
	case f.Tag < 0 && !f.Tagged.Empty():
		p.failAt(f, "field %s has taggedVersions, but no tag", f.Name)
	case f.Tag >= 0:
		tagged := f.Tagged.Intersect(m.ValidVersions)
		if tagged.Intersect(m.Flexible) != tagged {
			p.failAt(f, "field %s is tagged in versions %s, of which flexible are %s", f.Name, tagged, tagged.Intersect(m.Flexible))
		}
	}
}

// checkTags wants tags to count from 0 on without a gap.
func (p *parser) checkTags(owner string, fields []*Field) {
	tags := map[int]*Field{}
	for _, f := range fields {
		if f.Tag < 0 {
			continue
		}
		if other := tags[f.Tag]; other != nil {
			p.failAt(f, "%s: %s and %s have the same tag %d", owner, other.Name, f.Name, f.Tag)
		}
		tags[f.Tag] = f
	}
	for tag, f := range tags {
		if tag > 0 && tags[tag-1] == nil {
			p.failAt(f, "%s: %s has tag %d, but there is no tag %d; tags count from 0 without a gap", owner, f.Name, tag, tag-1)
			return
		}
	}
}
