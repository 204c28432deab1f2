package filter

import (
	"encoding/base64"
	"reflect"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// envNames are the names that an expression can use.
var envNames = func() (names []string) {
	for field := range reflect.TypeFor[exchangeEnv]().Fields() {
		names = append(names, field.Tag.Get("expr"))
	}
	return append(names, "field")
}()

// payloadOf returns the body of a message as an expression sees it, in the names and forms of Kafka's JSON; records are left out, and so is what is
// withheld. It is nil where there is none.
func payloadOf(m *dissect.Message) map[string]any {
	if m == nil || m.Secret() || m.Body() == 0 {
		return nil
	}
	fields := map[string]any{}
	addFields(fields, m, m.Body())
	return fields
}

func addFields(to map[string]any, m *dissect.Message, at int) {
	for i := range m.Fields(at) {
		if op := m.Nodes[i].Op; op.Code != schema.OpRecords {
			to[op.JSON] = valueOf(m, i)
		}
	}
}

func valueOf(m *dissect.Message, at int) any {
	n := &m.Nodes[at]
	if n.Null || n.Secret {
		return nil
	}
	switch n.Kind {
	case dissect.StructNode:
		fields := map[string]any{}
		addFields(fields, m, at)
		return fields
	case dissect.ArrayNode:
		return elementsOf(m, at)
	}
	return primitive(n.Op.Code, m.Bytes(n))
}

func elementsOf(m *dissect.Message, at int) []any {
	list := []any{}
	for i := at + 1; i < int(m.Nodes[at].Next); i = int(m.Nodes[i].Next) {
		n := &m.Nodes[i]
		switch n.Kind {
		case dissect.ElementsNode:
			all, width := m.Raw(n), int(n.Op.Fixed)
			for ; len(all) >= width; all = all[width:] {
				list = append(list, primitive(n.Op.Code, all[:width]))
			}
		case dissect.StructNode, dissect.ArrayNode, dissect.ValueNode:
			list = append(list, valueOf(m, i))
		}
	}
	return list
}

// primitive returns a value that is not null: an int, a float64, a bool or a string.
func primitive(code schema.OpCode, b []byte) any {
	if len(b) < schema.Base(code).Width() {
		return nil // not captured
	}
	switch code {
	case schema.OpBool:
		return b[0] != 0
	case schema.OpString:
		return strings.ToValidUTF8(string(b), "\ufffd")
	case schema.OpBytes, schema.OpRecords:
		return base64.StdEncoding.EncodeToString(b)
	case schema.OpUUID:
		return uuid(b)
	case schema.OpFloat64:
		return dissect.Float(b)
	}
	return int(dissect.Int(code, b))
}

func uuid(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// appendField appends the values of the fields of a name, wherever they stand in the body.
func appendField(values []any, m *dissect.Message, name string) []any {
	if m.Secret() || m.Body() == 0 {
		return values
	}
	tape := m.Nodes
	for i := m.Body() + 1; i < int(tape[m.Body()].Next); i++ {
		n := &tape[i]
		if n.Op == nil || n.Op.JSON != name || n.Op.Element || n.Op.Code == schema.OpRecords {
			continue
		}
		switch n.Kind {
		case dissect.StructNode, dissect.ArrayNode, dissect.ValueNode:
			values = append(values, valueOf(m, i))
		}
	}
	return values
}
