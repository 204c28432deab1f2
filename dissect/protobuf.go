package dissect

import (
	"encoding/base64"
	"math"
	"strconv"
	"sync"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Metrics as clients push them are written straight from their protobuf to JSON, the same as protojson makes of them, in a twentieth of the time: no objects
// are made. What is out of the ordinary (unknown fields, fields that come twice, text that wants escapes) is left to protojson.

// Bounds of what is ordinary: fields of a message, and messages inside each other.
const (
	maxProtoFields = 16
	maxProtoDepth  = 16
)

// A protoMessage is a message of protobuf: its fields in the order of their declaration, which is that of the JSON.
type protoMessage struct {
	fields []protoField
	index  []int8 // by field number, -1 for numbers that are not used
}

type protoField struct {
	name     string // with quotes and colon
	kind     protoreflect.Kind
	wire     protowire.Type
	element  protowire.Type // of packed elements
	list     bool
	packed   bool
	presence bool   // written even when it is zero
	oneof    uint32 // a bit for the oneof that it is one of
	message  *protoMessage
	enum     protoreflect.EnumValueDescriptors
}

// metricsMessage is the layout of MetricsData.
var metricsMessage = sync.OnceValue(func() *protoMessage {
	return newProtoMessage((*metrics.MetricsData)(nil).ProtoReflect().Descriptor(), map[protoreflect.FullName]*protoMessage{})
})

func newProtoMessage(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*protoMessage) *protoMessage {
	if m := known[d.FullName()]; m != nil {
		return m
	}
	m := &protoMessage{}
	known[d.FullName()] = m
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		for len(m.index) <= int(f.Number()) {
			m.index = append(m.index, -1)
		}
		m.index[f.Number()] = int8(i)
		m.fields = append(m.fields, newProtoField(f, known))
	}
	return m
}

func newProtoField(d protoreflect.FieldDescriptor, known map[protoreflect.FullName]*protoMessage) protoField {
	f := protoField{name: `"` + d.JSONName() + `":`, kind: d.Kind(), list: d.IsList(), packed: d.IsPacked(), presence: d.HasPresence()}
	f.element = wireTypeOf(f.kind)
	f.wire = f.element
	if f.packed {
		f.wire = protowire.BytesType
	}
	if one := d.ContainingOneof(); one != nil {
		f.oneof = 1 << one.Index()
	}
	switch f.kind {
	case protoreflect.MessageKind:
		f.message = newProtoMessage(d.Message(), known)
	case protoreflect.EnumKind:
		f.enum = d.Enum().Values()
	}
	return f
}

func wireTypeOf(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	}
	return protowire.VarintType
}

// A span is where a field stands: from the tag of its first element to the end of the last.
type span struct{ from, to int }

// appendJSON appends a message. It returns false where it is out of the ordinary; what it has appended is void then.
func (m *protoMessage) appendJSON(b, data []byte, depth int) ([]byte, bool) {
	var spans [maxProtoFields]span
	if depth == 0 || !m.locate(data, &spans) {
		return b, false
	}
	b = append(b, '{')
	for i := range m.fields {
		s, f := spans[i], &m.fields[i]
		if s.to == 0 {
			continue
		}
		before := len(b)
		if b[before-1] != '{' {
			b = append(b, ',')
		}
		var written, ok bool
		if b, written, ok = f.appendJSON(append(b, f.name...), data[s.from:s.to], depth-1); !ok {
			return b, false
		}
		if !written {
			b = b[:before]
		}
	}
	return append(b, '}'), true
}

// locate finds the fields of a message. Each has its place once, a list with its elements in a row.
func (m *protoMessage) locate(data []byte, spans *[maxProtoFields]span) bool {
	if len(m.fields) > maxProtoFields {
		return false
	}
	var chosen uint32 // oneofs
	for at := 0; at < len(data); {
		number, wire, n := protowire.ConsumeTag(data[at:])
		if n < 0 || int(number) >= len(m.index) || m.index[number] < 0 {
			return false
		}
		i := m.index[number]
		f, s := &m.fields[i], &spans[i]
		size := protowire.ConsumeFieldValue(number, wire, data[at+n:])
		if size < 0 || wire != f.wire || chosen&f.oneof != 0 {
			return false
		}
		chosen |= f.oneof
		if s.to == 0 {
			s.from = at
		} else if s.to != at || !f.list || f.packed {
			return false
		}
		at += n + size
		s.to = at
	}
	return true
}

// appendJSON appends the value of a field. written is false for one that protobuf does not tell from one that is not there.
func (f *protoField) appendJSON(b, data []byte, depth int) (out []byte, written, ok bool) {
	if f.list && !f.packed {
		b, ok = f.appendList(b, data, depth)
		return b, true, ok
	}
	_, _, n := protowire.ConsumeTag(data)
	data = data[n:]
	if f.wire != protowire.BytesType {
		v, _ := consumeNumber(f.wire, data)
		b, ok = f.appendNumber(b, v)
		return b, f.presence || v != 0, ok
	}
	value, _ := protowire.ConsumeBytes(data)
	if f.packed {
		b, ok = f.appendPacked(b, value)
		return b, len(value) > 0, ok
	}
	b, ok = f.appendBytes(b, value, depth)
	return b, f.presence || len(value) > 0, ok
}

// appendList appends a list whose elements have a tag each.
func (f *protoField) appendList(b, data []byte, depth int) (out []byte, ok bool) {
	b = append(b, '[')
	for len(data) > 0 {
		_, _, n := protowire.ConsumeTag(data)
		data = data[n:]
		if f.wire == protowire.BytesType {
			var value []byte
			value, n = protowire.ConsumeBytes(data)
			b, ok = f.appendBytes(b, value, depth)
		} else {
			var v uint64
			v, n = consumeNumber(f.wire, data)
			b, ok = f.appendNumber(b, v)
		}
		if !ok {
			return b, false
		}
		b = append(b, ',')
		data = data[n:]
	}
	b[len(b)-1] = ']'
	return b, true
}

// appendPacked appends a list of numbers that stand one behind the other.
func (f *protoField) appendPacked(b, data []byte) (out []byte, ok bool) {
	b = append(b, '[')
	for at := 0; at < len(data); {
		v, n := consumeNumber(f.element, data[at:])
		if n < 0 {
			return b, false
		}
		if at > 0 {
			b = append(b, ',')
		}
		if b, ok = f.appendNumber(b, v); !ok {
			return b, false
		}
		at += n
	}
	return append(b, ']'), true
}

// consumeNumber reads a number of any width and returns how many bytes it takes, or less than 0.
func consumeNumber(wire protowire.Type, data []byte) (uint64, int) {
	switch wire {
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(data)
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(data)
		return uint64(v), n
	}
	return protowire.ConsumeVarint(data)
}

// appendNumber appends a number. Those of 64 bits are text in the JSON of protobuf.
func (f *protoField) appendNumber(b []byte, v uint64) ([]byte, bool) {
	switch f.kind {
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v != 0), true
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return append(strconv.AppendUint(append(b, '"'), v, 10), '"'), true
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return append(strconv.AppendInt(append(b, '"'), int64(v), 10), '"'), true
	case protoreflect.DoubleKind:
		return appendProtoFloat(b, math.Float64frombits(v))
	}
	if v > math.MaxUint32 {
		return b, false // negative, or too large
	}
	switch f.kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(b, v, 10), true
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind:
		return strconv.AppendInt(b, int64(int32(v)), 10), true
	case protoreflect.Sint32Kind:
		return strconv.AppendInt(b, int64(int32(protowire.DecodeZigZag(v))), 10), true
	case protoreflect.EnumKind:
		if value := f.enum.ByNumber(protoreflect.EnumNumber(int32(v))); value != nil {
			return append(append(append(b, '"'), value.Name()...), '"'), true
		}
	}
	return b, false
}

// appendProtoFloat appends a number that is written without an exponent.
func appendProtoFloat(b []byte, f float64) ([]byte, bool) {
	if abs := math.Abs(f); abs != 0 && !(abs >= 1e-6 && abs < 1e21) {
		return b, false
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), true
}

// appendBytes appends text, bytes, or a message.
func (f *protoField) appendBytes(b, value []byte, depth int) ([]byte, bool) {
	switch f.kind {
	case protoreflect.MessageKind:
		return f.message.appendJSON(b, value, depth)
	case protoreflect.StringKind:
		for _, c := range value {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				return b, false
			}
		}
		return append(append(append(b, '"'), value...), '"'), true
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"'), true
}
