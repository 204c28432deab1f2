package dissect

import (
	"bytes"
	"math"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// everyMetric has every kind of metric that there is, and every kind of value.
func everyMetric(t testing.TB) []byte {
	text := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	attributes := []*common.KeyValue{
		{Key: "client_rack", Value: text("a")},
		{Key: "bool", Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{}}},
		{Key: "int", Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: -5}}},
		{Key: "double", Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.25}}},
		{Key: "bytes", Value: &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{0, 0xff}}}},
		{Key: "list", Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{text(""), {}}}}}},
		{Key: "map", Value: &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: []*common.KeyValue{{Key: "k"}}}}}},
		{},
	}
	numbers := []*metrics.NumberDataPoint{
		{Attributes: attributes, StartTimeUnixNano: 1, TimeUnixNano: math.MaxUint64, Flags: 1, Value: &metrics.NumberDataPoint_AsInt{AsInt: math.MinInt64}},
		{Value: &metrics.NumberDataPoint_AsDouble{AsDouble: 1e20}},
		{Value: &metrics.NumberDataPoint_AsDouble{AsDouble: math.Copysign(0, -1)}, Exemplars: []*metrics.Exemplar{{SpanId: []byte("12345678"), Value: &metrics.Exemplar_AsInt{}}}},
		{},
	}
	data := &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:  &resource.Resource{Attributes: attributes, DroppedAttributesCount: 3},
		SchemaUrl: "https://opentelemetry.io",
		ScopeMetrics: []*metrics.ScopeMetrics{{Scope: &common.InstrumentationScope{Name: "kafka", Version: "4.4"}, Metrics: []*metrics.Metric{
			{Name: "gauge", Unit: "ms", Description: "about", Metadata: attributes, Data: &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: numbers}}},
			{Name: "sum", Data: &metrics.Metric_Sum{Sum: &metrics.Sum{DataPoints: numbers, AggregationTemporality: 2, IsMonotonic: true}}},
			{Name: "histogram", Data: &metrics.Metric_Histogram{Histogram: &metrics.Histogram{AggregationTemporality: 1, DataPoints: []*metrics.HistogramDataPoint{
				{Count: 3, Sum: proto.Float64(0), BucketCounts: []uint64{1, 0, 2}, ExplicitBounds: []float64{0.5, 10}, Min: proto.Float64(-1.5)}}}}},
			{Name: "exponential", Data: &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{DataPoints: []*metrics.ExponentialHistogramDataPoint{
				{Scale: -3, ZeroCount: 7, ZeroThreshold: 0.125, Positive: &metrics.ExponentialHistogramDataPoint_Buckets{Offset: -2, BucketCounts: []uint64{300, 0}}}}}}},
			{Name: "summary", Data: &metrics.Metric_Summary{Summary: &metrics.Summary{DataPoints: []*metrics.SummaryDataPoint{
				{Count: 1, Sum: 2, QuantileValues: []*metrics.SummaryDataPoint_ValueAtQuantile{{Quantile: 0.99, Value: 12.5}, {}}}}}}},
			{},
		}}},
	}}}
	b, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is ordinary is written without protojson, and reads the same.
func TestMetricsOfEveryKind(t *testing.T) {
	packed := everyMetric(t)
	got, ok := metricsMessage().appendJSON(nil, packed, maxProtoDepth)
	if want := metricsJSON(packed); !ok || !bytes.Equal(got, want) {
		t.Errorf("ordinary: %t\ngot  %s\nwant %s", ok, got, want)
	}
}

// What is out of the ordinary is left to protojson: it merges, drops, refuses.
func TestMetricsOutOfTheOrdinary(t *testing.T) {
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	metric := func(parts ...[]byte) []byte { return field(1, field(2, field(2, bytes.Join(parts, nil)))) }
	for name, packed := range map[string][]byte{
		"unknown field":   metric(field(15, []byte("x"))),
		"another type":    metric(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)),
		"a field twice":   metric(field(1, []byte("a")), field(1, []byte("b"))),
		"two of a oneof":  metric(field(5, nil), field(7, nil)),
		"scattered list":  metric(field(12, nil), field(1, []byte("a")), field(12, nil)),
		"escapes":         metric(field(1, []byte("a\"\\\n\u2028"))),
		"no UTF-8":        metric(field(1, []byte{0xff})),
		"cut":             metric(field(1, []byte("abc")))[:5],
		"an exponent":     metric(field(11, field(1, append(append(protowire.AppendTag(nil, 5, protowire.Fixed64Type), 0, 0, 0, 0, 0, 0), 0xf0, 0x7f)))),
		"messages inside": nested(field, 40),
	} {
		if _, ok := metricsMessage().appendJSON(nil, packed, maxProtoDepth); ok {
			t.Errorf("%s: counts as ordinary", name)
		}
		if got, want := newTools().metricsText(packed), metricsJSON(packed); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// nested is an attribute that is a list in a list in a list.
func nested(field func(protowire.Number, []byte) []byte, depth int) []byte {
	value := []byte{}
	for range depth {
		value = field(5, field(1, value))
	}
	return field(1, field(1, field(1, field(2, value))))
}

// FuzzMetrics reads arbitrary bytes as metrics: what is written without protojson is what protojson writes.
func FuzzMetrics(f *testing.F) {
	f.Add(everyMetric(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		got, ok := metricsMessage().appendJSON(nil, packed, maxProtoDepth)
		if !ok || len(got) <= len("{}") {
			return
		}
		if want := metricsJSON(packed); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
