package render

import (
	"bytes"
	"encoding/json"
)

// What a client pushes about itself: OpenTelemetry's metrics, as JSON. Its classes write 64-bit integers as strings.
type metric struct {
	name, unit []byte
	kind       string
	points     []metricPoint
}

type metricPoint struct {
	asInt, asDouble, count, sum []byte // as they stand in the JSON, nil for none
	attributes                  []metricAttribute
}

type metricAttribute struct{ key, value []byte }

// metrics appends the name and the values of each metric, in the compact tree of the first ones.
func (t *Tree) metrics(b, text []byte) []byte {
	all := readMetrics(text)
	shown := len(all)
	if !t.options.Full {
		shown = min(shown, maxElements)
	}
	for i := range all[:shown] {
		b = t.metric(t.beginLine(b, i == len(all)-1, false), &all[i])
	}
	if left := len(all) - shown; left > 0 {
		b = append(appendMore(t.branch(b), left, "metric"), '\n')
	}
	return b
}

// metric appends one metric: `name sum = 1, 2 unit`.
func (t *Tree) metric(b []byte, m *metric) []byte {
	kind, points := m.kind, m.points
	b = append(t.branch(b), t.colors.name.on...)
	b = appendEscaped(b, m.name, false)
	b = append(append(b, t.colors.name.off...), ' ')
	b = append(append(b, t.colors.dim.on...), kind...)
	b = append(append(b, t.colors.dim.off...), " ="...)
	shown := len(points)
	if !t.options.Full {
		shown = min(shown, maxElements)
	}
	for i := range points[:shown] {
		if i == 0 {
			b = t.piece(b, "")
		} else {
			b = t.piece(b, ",")
		}
		b = t.appendPoint(b, &points[i])
	}
	b = appendLeftOut(b, len(points)-shown)
	if len(m.unit) > 0 {
		b = appendEscaped(t.piece(b, ""), m.unit, false)
	}
	return append(t.wrap(b, t.mark), '\n')
}

// appendPoint appends a value with its attributes: `12.5 {topic="orders"}`.
func (t *Tree) appendPoint(b []byte, p *metricPoint) []byte {
	b = append(b, t.colors.number.on...)
	switch {
	case p.asInt != nil:
		b = appendScalar(b, p.asInt)
	case p.asDouble != nil:
		b = appendScalar(b, p.asDouble)
	case p.count != nil:
		b = appendScalar(append(b, "count "...), p.count)
		if p.sum != nil {
			b = appendScalar(append(b, " sum "...), p.sum)
		}
	default:
		b = append(b, "no value"...)
	}
	b = append(b, t.colors.number.off...)
	for i, a := range p.attributes {
		if i == 0 {
			b = append(b, " {"...)
		} else {
			b = append(b, ", "...)
		}
		b = append(appendEscaped(b, a.key, false), '=')
		b = appendEscaped(b, a.value, false)
	}
	if len(p.attributes) > 0 {
		b = append(b, '}')
	}
	return b
}

// appendScalar appends a number, which may stand in quotes.
func appendScalar(b, v []byte) []byte { return appendEscaped(b, bytes.Trim(v, `"`), false) }

// readMetrics reads metrics out of their JSON. It returns none where that cannot be read.
func readMetrics(text []byte) (all []metric) {
	r := metricsReader{text: text}
	r.members("resourceMetrics", func() {
		r.members("scopeMetrics", func() {
			r.members("metrics", func() { all = append(all, r.metric()) })
		})
	})
	if r.failed {
		return nil
	}
	return all
}

// A metricsReader reads the JSON of metrics from front to end. The dissector has made it, so it only has to be found out what is where in it: in captures
// with clients that push metrics, to decode it as any JSON took a quarter of all instructions.
type metricsReader struct {
	text   []byte
	at     int
	failed bool
}

// members calls read for each element of the lists of that name in an object.
func (r *metricsReader) members(name string, read func()) {
	for key := range r.object {
		if string(key) == name {
			r.list(read)
		} else {
			r.value()
		}
	}
}

func (r *metricsReader) metric() (m metric) {
	m.kind = "metric"
	for key := range r.object {
		switch string(key) {
		case "name":
			m.name = r.string()
		case "unit":
			m.unit = r.string()
		case "gauge", "sum", "histogram", "summary": // one of them
			m.kind = string(key)
			r.members("dataPoints", func() { m.points = append(m.points, r.point()) })
		case "exponentialHistogram":
			m.kind = "histogram"
			r.members("dataPoints", func() { m.points = append(m.points, r.point()) })
		default:
			r.value()
		}
	}
	return m
}

func (r *metricsReader) point() (p metricPoint) {
	for key := range r.object {
		switch string(key) {
		case "asInt":
			p.asInt = r.value()
		case "asDouble":
			p.asDouble = r.value()
		case "count":
			p.count = r.value()
		case "sum":
			p.sum = r.value()
		case "attributes":
			r.list(func() { p.attributes = append(p.attributes, r.attribute()) })
		default:
			r.value()
		}
	}
	return p
}

// attribute reads a key and its value, which stands in an object under the name of its type.
func (r *metricsReader) attribute() (a metricAttribute) {
	for key := range r.object {
		switch string(key) {
		case "key":
			a.key = r.string()
		case "value":
			for range r.object {
				a.value = r.value()
			}
		default:
			r.value()
		}
	}
	return a
}

// object yields the keys of an object. What it yields to has to read the value.
func (r *metricsReader) object(yield func(key []byte) bool) {
	r.want('{')
	for !r.is('}') && !r.failed {
		key := r.string()
		r.want(':')
		if !yield(key) {
			return
		}
		r.is(',')
	}
}

// list calls read for each element of a list.
func (r *metricsReader) list(read func()) {
	r.want('[')
	for !r.is(']') && !r.failed {
		read()
		r.is(',')
	}
}

// is passes over a character, if it comes next.
func (r *metricsReader) is(c byte) bool {
	for r.at < len(r.text) && r.text[r.at] <= ' ' {
		r.at++
	}
	if r.at == len(r.text) || r.text[r.at] != c {
		r.failed = r.failed || r.at == len(r.text)
		return false
	}
	r.at++
	return true
}

func (r *metricsReader) want(c byte) { r.failed = !r.is(c) || r.failed }

// string reads a string.
func (r *metricsReader) string() []byte {
	quoted := r.value()
	if len(quoted) < 2 || quoted[0] != '"' {
		r.failed = true
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	r.failed = json.Unmarshal(quoted, &text) != nil || r.failed
	return []byte(text)
}

// value reads any value and returns it as it stands there.
func (r *metricsReader) value() []byte {
	if r.is('"') {
		from := r.at - 1
		r.passString()
		return r.text[from:r.at]
	}
	from, depth := r.at, 0
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '"':
			r.at++
			r.passString()
			r.at--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return r.text[from:r.at]
			}
			if depth == 0 {
				r.at++
				return r.text[from:r.at]
			}
		case ',', ' ':
			if depth == 0 {
				return r.text[from:r.at]
			}
		}
	}
	return r.text[from:]
}

// passString passes over the rest of a string, behind its quote.
func (r *metricsReader) passString() {
	for r.at < len(r.text) && r.text[r.at] != '"' {
		if r.text[r.at] == '\\' {
			r.at++
		}
		r.at++
	}
	if r.at++; r.at > len(r.text) {
		r.at, r.failed = len(r.text), true
	}
}
