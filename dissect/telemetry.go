package dissect

import (
	"bytes"
	"encoding/json"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kdissect/kdissect/schema"
)

// maxMetrics is how large metrics may be, unpacked, to be opened. Protobuf becomes objects that are up to a hundred times as large.
const maxMetrics = 512 << 10

// openMetrics opens what a client pushes (KIP-714): metrics of OpenTelemetry in protobuf, compressed as the field before it says.
func (m *Message) openMetrics(field int) *Nested {
	packed := m.Bytes(&m.Nodes[field])
	if codec := m.compressionBefore(field); codec != 0 {
		unpacked, err := m.tools.inflater.inflate(codec, packed, 0)
		if err != nil {
			return nil
		}
		packed = unpacked
	}
	if len(packed) > maxMetrics {
		return nil
	}
	text := m.tools.metricsText(packed)
	if text == nil {
		return nil
	}
	n := &m.tools.nester.nested
	*n = Nested{Name: "MetricsData", Version: 1, Header: -1, Field: field, JSON: text}
	return n
}

// metricsText makes JSON of metrics, in a buffer that is used again. It returns nil when they are not what they should be.
func (t *tools) metricsText(packed []byte) []byte {
	text, ok := metricsMessage().appendJSON(t.metrics[:0], packed, maxProtoDepth)
	t.metrics = text[:0]
	if ok && len(text) > len("{}") {
		return text
	}
	return metricsJSON(packed)
}

// metricsJSON makes JSON of any metrics.
func metricsJSON(packed []byte) []byte {
	var data metrics.MetricsData
	if proto.Unmarshal(packed, &data) != nil || len(data.ResourceMetrics) == 0 {
		return nil
	}
	text, err := protojson.Marshal(&data)
	if err != nil {
		return nil
	}
	var compact bytes.Buffer // protojson varies its white space on purpose
	if json.Compact(&compact, text) != nil {
		return nil
	}
	return compact.Bytes()
}

// compressionBefore reads the field that says how the metrics are compressed.
func (m *Message) compressionBefore(field int) Codec {
	for i := m.body; i < field; i++ {
		n := &m.Nodes[i]
		if n.Kind == ValueNode && n.Op.Name == "CompressionType" && n.Op.Code == schema.OpInt8 {
			return Codec(m.Int(n))
		}
	}
	return 0
}
