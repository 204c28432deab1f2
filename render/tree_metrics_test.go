package render

import (
	"encoding/json"
	"fmt"
	"testing"
)

const someMetrics = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"}]"}}]},"scopeMetrics":[{"scope":{"name":"s"},"metrics":[
	{"name":"connections","description":"x","unit":"1","sum":{"dataPoints":[{"attributes":[{"key":"topic","value":{"stringValue":"a\"b\\"}},
	{"key":"n","value":{"intValue":"3"}},{"key":"l","value":{"arrayValue":{"values":[{"boolValue":true}]}}},{"key":"none","value":{}}],
	"startTimeUnixNano":"5","asInt":"-12","exemplars":[]},{"asDouble":1.5,"flags":1}],"isMonotonic":true}},
	{"name":"of \u00e9 \"q\"","gauge":{"dataPoints":[{}]}},{"name":"empty","histogram":{}}, {"name":"plain"},
	{"name":"h","histogram":{"dataPoints":[{"count":"4","sum":2e3,"bucketCounts":["1","3"],"explicitBounds":[0.5]}]}},
	{"name":"x","exponentialHistogram":{"dataPoints":[{"count":"4","positive":{"offset":1,"bucketCounts":["2"]}}]}},
	{"name":"s","unit":"","summary":{"dataPoints":[{"count":"1","sum":"NaN"}]}}]}]},{"scopeMetrics":[{"metrics":[{"name":"last"}]}]}]}`

// decodedMetrics is readMetrics by encoding/json.
func decodedMetrics(text []byte) (all []metric) {
	type points struct {
		DataPoints []struct {
			AsInt, AsDouble, Count, Sum json.RawMessage
			Attributes                  []struct {
				Key   string
				Value map[string]json.RawMessage
			}
		}
	}
	var data struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit                                           string
					Gauge, Sum, Histogram, Summary, ExponentialHistogram *points
				}
			}
		}
	}
	if json.Unmarshal(text, &data) != nil {
		return nil
	}
	for _, resource := range data.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				read := metric{name: []byte(m.Name), unit: []byte(m.Unit), kind: "metric"}
				for _, of := range []struct {
					kind string
					*points
				}{{"gauge", m.Gauge}, {"sum", m.Sum}, {"histogram", m.Histogram}, {"summary", m.Summary}, {"histogram", m.ExponentialHistogram}} {
					if of.points == nil {
						continue
					}
					read.kind = of.kind
					for _, point := range of.DataPoints {
						one := metricPoint{asInt: point.AsInt, asDouble: point.AsDouble, count: point.Count, sum: point.Sum}
						for _, a := range point.Attributes {
							attribute := metricAttribute{key: []byte(a.Key)}
							for _, v := range a.Value {
								attribute.value = v
							}
							one.attributes = append(one.attributes, attribute)
						}
						read.points = append(read.points, one)
					}
				}
				all = append(all, read)
			}
		}
	}
	return all
}

func TestReadMetrics(t *testing.T) {
	got, want := readMetrics([]byte(someMetrics)), decodedMetrics([]byte(someMetrics))
	if len(want) != 8 || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := readMetrics([]byte(`{"resourceMetrics":[]}`)); got != nil {
		t.Errorf("none: got %q", got)
	}
}

// What is cut or no JSON has no metrics, and what is read takes an end.
func TestReadBrokenMetrics(t *testing.T) {
	for at := range len(someMetrics) {
		if got := readMetrics([]byte(someMetrics[:at])); got != nil {
			t.Errorf("cut at %d: %q", at, got)
		}
	}
}

func FuzzReadMetrics(f *testing.F) {
	f.Add([]byte(someMetrics))
	f.Add([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","sum":{"dataPoints":[{"asInt":"1"}]}}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) { readMetrics(text) })
}
