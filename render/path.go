package render

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// A path is the way to values in a body: topics[0].partitions[].errorCode.
type path []pathStep

// A pathStep is the name of a field, as Kafka's JSON has it, and which elements of the array that it holds are meant.
type pathStep struct {
	name    string
	records string // name of a records field whose size is meant, "" if none is
	element int    // allElements, wholeArray
}

const (
	allElements = -1 - iota // [], or [*], or nothing where more steps follow
	wholeArray              // nothing, and no step follows: an array is shown as JSON
)

// recordsSize is what stands behind the name of a records field when its size is meant, as in Kafka's JSON.
const recordsSize = "SizeInBytes"

// parsePath parses a path.
func parsePath(text string) (path, error) {
	var p path
	for part := range strings.SplitSeq(text, ".") {
		s := pathStep{name: part, element: wholeArray}
		if open := strings.IndexByte(part, '['); open >= 0 {
			index, closed := strings.CutSuffix(part[open+1:], "]")
			n, err := strconv.ParseUint(index, 10, 31)
			switch {
			case closed && (index == "" || index == "*"):
				s.element = allElements
			case closed && err == nil:
				s.element = int(n)
			default:
				return nil, fmt.Errorf("%s: behind a name an element stands as [0], all elements as []", part)
			}
			s.name = part[:open]
		}
		if s.name == "" {
			return nil, fmt.Errorf("%q lacks the name of a field", text)
		}
		s.records, _ = strings.CutSuffix(s.name, recordsSize)
		if s.records == s.name {
			s.records = ""
		}
		p = append(p, s)
	}
	for i := range p[:len(p)-1] {
		if p[i].element == wholeArray {
			p[i].element = allElements
		}
	}
	return p, nil
}

// several tells whether the path may lead to several values.
func (p path) several() bool {
	return slices.ContainsFunc(p, func(s pathStep) bool { return s.element == allElements })
}

// check wants some message among requests, responses or both to have the path. The error names what is nearest to it.
func (p path) check(catalog *schema.Catalog, kinds []schema.Kind) error {
	deepest, names := -1, []string(nil)
	for _, name := range catalog.Names() {
		if !strings.HasSuffix(name, "Request") && !strings.HasSuffix(name, "Response") {
			continue
		}
		m, err := catalog.Message(name)
		if err != nil {
			return err
		}
		if !slices.Contains(kinds, m.Kind) {
			continue
		}
		depth, fields := p.follow(m)
		if depth == len(p) {
			return nil
		}
		if depth > deepest {
			deepest, names = depth, nil
		}
		if depth == deepest {
			names = append(names, namesOf(fields)...)
		}
	}
	return p.missing(deepest, names, kinds)
}

// missing says that a step leads nowhere, and what might have been meant. names are the fields that there are.
func (p path) missing(at int, names []string, kinds []schema.Kind) error {
	s, where := &p[at], "the body of any "+kinds[0].String()
	if len(kinds) > 1 {
		where = "the body of any message"
	}
	if at > 0 {
		where = p[at-1].name
	}
	if slices.Contains(names, s.name) {
		return fmt.Errorf("%s in %s is a single value: no element and no field can be chosen of it", s.name, where)
	}
	guess := schema.DidYouMean(s.name, names)
	if slices.Sort(names); guess == "" && at > 0 {
		guess = "; it has " + strings.Join(slices.Compact(names), ", ")
	}
	return fmt.Errorf("there is no field %s in %s%s", s.name, where, guess)
}

// follow returns how many steps of the path a message has, and the fields among which it lacks the next one.
func (p path) follow(m *schema.Message) (depth int, fields []*schema.Field) {
	fields = m.Fields
	for i := range p {
		at := slices.IndexFunc(fields, func(f *schema.Field) bool { return p.fits(i, f) })
		if at < 0 {
			return i, fields
		}
		fields = m.StructFields(fields[at])
	}
	return len(p), nil
}

// fits tells whether a field can be what a step of the path is.
func (p path) fits(i int, f *schema.Field) bool {
	s := &p[i]
	if f.Type.Base == schema.Records {
		return i == len(p)-1 && s.records == f.JSONName()
	}
	if s.name != f.JSONName() || i < len(p)-1 && f.Type.Base != schema.StructType {
		return false
	}
	return f.Type.Array || s.element == wholeArray || s.element == allElements && i < len(p)-1
}

// namesOf lists the names of fields as paths have them.
func namesOf(fields []*schema.Field) []string {
	var names []string
	for _, f := range fields {
		name := f.JSONName()
		if f.Type.Base == schema.Records {
			name += recordsSize
		}
		names = append(names, name)
	}
	return names
}

// A finder appends the values that a path leads to in a body.
type finder struct {
	json    *JSON // writes what is no single value
	scratch []byte
	several bool // values are separated by commas, so these are escaped inside
	found   int
}

// append appends the values of a message. has is false where it lacks the first field of the path that is missing from it.
func (f *finder) append(b []byte, m *dissect.Message, p path) (line []byte, has bool) {
	f.several, f.found = p.several(), 0
	f.json.topics = f.json.topics[:0]
	return f.below(b, m, m.Body(), p)
}

// below appends what a path leads to from a structure on.
func (f *finder) below(b []byte, m *dissect.Message, at int, p path) ([]byte, bool) {
	value := member(&m.View, at, &p[0])
	if value < 0 {
		return b, false
	}
	n := &m.Nodes[value]
	many := n.Kind == dissect.ArrayNode && p[0].element != wholeArray
	switch {
	case n.Null && (many || len(p) > 1):
		return b, true
	case many:
		return f.elements(b, m, value, p)
	case len(p) > 1:
		return f.below(b, m, value, p[1:])
	}
	return f.value(b, m, value), true
}

// member returns the index of a field's value in a structure, or in its tagged fields; -1 where there is none.
func member(v *dissect.View, at int, s *pathStep) int {
	for i := range v.Fields(at) {
		if op := v.Nodes[i].Op; op.JSON == s.name && op.Code != schema.OpRecords || op.JSON == s.records && op.Code == schema.OpRecords {
			return i
		}
	}
	return -1
}

// elements appends what a path leads to in the elements of an array.
func (f *finder) elements(b []byte, m *dissect.Message, at int, p path) ([]byte, bool) {
	wanted, has, some := p[0].element, false, false
	for i := at + 1; i < int(m.Nodes[at].Next); i = int(m.Nodes[i].Next) {
		n := &m.Nodes[i]
		switch {
		case n.Kind == dissect.LengthNode || n.Kind == dissect.UndecodedNode:
			continue
		case n.Kind == dissect.ElementsNode && len(p) > 1:
			return b, false
		case n.Kind == dissect.ElementsNode:
			return f.numbers(b, m, n, wanted), true
		case wanted >= 0 && int(n.Count) != wanted:
			continue
		}
		some = true
		if len(p) == 1 {
			b, has = f.value(b, m, i), true
			continue
		}
		in := false
		b, in = f.below(b, m, i, p[1:])
		has = has || in
	}
	return b, has || !some
}

// numbers appends elements that stand side by side.
func (f *finder) numbers(b []byte, m *dissect.Message, n *dissect.Node, wanted int) []byte {
	for i := range int(n.Count) {
		if wanted >= 0 && i != wanted {
			continue
		}
		if raw := m.Element(n, i); len(raw) == int(n.Op.Fixed) {
			b = appendBare(f.next(b), n.Op.Code, raw)
		}
	}
	return b
}

// next separates a value from the one before.
func (f *finder) next(b []byte) []byte {
	if f.found++; f.found > 1 {
		b = append(b, ',')
	}
	return b
}

// value appends a value; nothing for null.
func (f *finder) value(b []byte, m *dissect.Message, at int) []byte {
	n := &m.Nodes[at]
	b = f.next(b)
	start := len(b)
	switch {
	case n.Null:
		return b
	case n.Secret && !f.json.options.ShowSecrets:
		return append(b, "[hidden]"...)
	case n.Op.Code == schema.OpRecords:
		return strconv.AppendInt(b, int64(n.Length)-int64(n.Prefix), 10)
	case n.Kind == dissect.ValueNode:
		b = appendBare(b, n.Op.Code, m.Bytes(n))
	default:
		f.scratch = f.json.appendValue(f.scratch[:0], &m.View, m, at)
		b = appendEscaped(b, f.scratch, false)
	}
	if f.several {
		b = escapeAlso(b, start, ",")
	}
	return b
}

// appendBare appends a value as it stands in JSON, but without quotes and escaped as text in a line is.
func appendBare(b []byte, code schema.OpCode, value []byte) []byte {
	switch code {
	case schema.OpString:
		return appendEscaped(b, value, false)
	case schema.OpBytes:
		return base64.StdEncoding.AppendEncode(b, value)
	case schema.OpUUID:
		return base64.RawURLEncoding.AppendEncode(b, value)
	case schema.OpFloat64:
		return strconv.AppendFloat(b, dissect.Float(value), 'g', -1, 64)
	case schema.OpBool:
		return strconv.AppendBool(b, value[0] != 0)
	}
	return strconv.AppendInt(b, dissect.Int(code, value), 10)
}
