package render

import (
	"encoding/json"
	"strings"
)

// What a client pushes about itself: OpenTelemetry's metrics, as JSON. Its classes write 64-bit integers as strings.
type metricsData struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []metric
		}
	}
}

type metric struct {
	Name, Unit           string
	Gauge, Sum           *metricPoints
	Histogram, Summary   *metricPoints
	ExponentialHistogram *metricPoints
}

type metricPoints struct{ DataPoints []metricPoint }

type metricPoint struct {
	AsInt, AsDouble, Count, Sum json.RawMessage
	Attributes                  []struct {
		Key   string
		Value map[string]json.RawMessage
	}
}

// metrics appends the name and the values of each metric, in the compact tree of the first ones.
func (t *Tree) metrics(b, text []byte) []byte {
	var data metricsData
	if json.Unmarshal(text, &data) != nil {
		return b
	}
	var all []metric
	for _, resource := range data.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			all = append(all, scope.Metrics...)
		}
	}
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
	kind, points := m.points()
	b = append(t.branch(b), t.colors.name.on...)
	b = appendEscaped(b, m.Name, false)
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
	if m.Unit != "" {
		b = appendEscaped(t.piece(b, ""), m.Unit, false)
	}
	return append(t.wrap(b, t.mark), '\n')
}

// points returns what kind of metric it is, and its values.
func (m *metric) points() (kind string, points []metricPoint) {
	for _, of := range [...]struct {
		kind   string
		points *metricPoints
	}{{"gauge", m.Gauge}, {"sum", m.Sum}, {"histogram", m.Histogram}, {"histogram", m.ExponentialHistogram}, {"summary", m.Summary}} {
		if of.points != nil {
			return of.kind, of.points.DataPoints
		}
	}
	return "metric", nil
}

// appendPoint appends a value with its attributes: `12.5 {topic="orders"}`.
func (t *Tree) appendPoint(b []byte, p *metricPoint) []byte {
	b = append(b, t.colors.number.on...)
	switch {
	case p.AsInt != nil:
		b = appendScalar(b, p.AsInt)
	case p.AsDouble != nil:
		b = appendScalar(b, p.AsDouble)
	case p.Count != nil:
		b = appendScalar(append(b, "count "...), p.Count)
		if p.Sum != nil {
			b = appendScalar(append(b, " sum "...), p.Sum)
		}
	default:
		b = append(b, "no value"...)
	}
	b = append(b, t.colors.number.off...)
	for i := range p.Attributes {
		if i == 0 {
			b = append(b, " {"...)
		} else {
			b = append(b, ", "...)
		}
		b = append(appendEscaped(b, p.Attributes[i].Key, false), '=')
		for _, value := range p.Attributes[i].Value {
			b = appendEscaped(b, string(value), false)
		}
	}
	if len(p.Attributes) > 0 {
		b = append(b, '}')
	}
	return b
}

// appendScalar appends a number, which may stand in quotes.
func appendScalar(b []byte, v json.RawMessage) []byte {
	return appendEscaped(b, strings.Trim(string(v), `"`), false)
}
