package encode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// structure encodes the fields of a structure in the order of the plan. Those that the JSON has too many are looked for at the end.
func (e *encoder) structure(at int32, fields map[string]any) error {
	op := &e.ops[at]
	if op.Nullable {
		e.out = append(e.out, 1)
	}
	known := 0
	for i := at + 1; i < op.Next; i = e.ops[i].Next {
		if e.ops[i].Code == schema.OpTags {
			n, err := e.tagged(i, fields)
			if err != nil {
				return err
			}
			known += n
			continue
		}
		v, present := fields[e.ops[i].JSON]
		if !present {
			if err := e.missing(i, fields); err != nil {
				return err
			}
			continue
		}
		known++
		if err := e.field(i, v); err != nil {
			return err
		}
	}
	if known < len(fields) {
		return e.surplus(op, at, fields)
	}
	return nil
}

// field encodes a field that is there.
func (e *encoder) field(at int32, v any) error {
	mark := len(e.path)
	e.path = append(append(e.path, '.'), e.ops[at].JSON...)
	err := e.value(at, v)
	if err == nil {
		e.path = e.path[:mark]
	}
	return err
}

// missing writes the default of a field that is not there, if that is asked for.
func (e *encoder) missing(at int32, fields map[string]any) error {
	op := &e.ops[at]
	if op.Code == schema.OpRecords {
		if _, sized := fields[op.JSON+sizeSuffix]; sized {
			return e.fail("there is only the size of %s; give %s as batches with their records, or as base64", op.JSON, op.JSON)
		}
	}
	if !e.fill {
		return e.fail("%s is missing, a field of type %s that %s v%d has", op.JSON, op.TypeName(), op.Message().Name, op.Version())
	}
	e.fallback(at)
	return nil
}

// sizeSuffix is what Kafka's JSON appends to the name of a records field, whose size it gives in place of the records.
const sizeSuffix = "SizeInBytes"

// fallback writes the default of a field.
func (e *encoder) fallback(at int32) {
	op := &e.ops[at]
	def := ""
	if op.Field != nil {
		def = op.Field.Default
	}
	if op.Nullable && (def == "null" || op.Code == schema.OpRecords) {
		e.writeNull(op)
		return
	}
	switch op.Code {
	case schema.OpStruct:
		e.emptyStructure(at)
	case schema.OpArray, schema.OpBytes, schema.OpRecords:
		e.length(op, 0)
	case schema.OpString:
		e.length(op, len(def))
		e.out = append(e.out, def...)
	case schema.OpFloat64:
		f, _ := strconv.ParseFloat(def, 64)
		e.out = binary.BigEndian.AppendUint64(e.out, math.Float64bits(f))
	case schema.OpBool:
		e.out = appendInt(e.out, 1, boolean(def == "true"))
	case schema.OpUUID:
		e.out = append(e.out, make([]byte, op.Fixed)...)
	default:
		n, _ := strconv.ParseInt(def, 0, 64) // a schema writes some in hexadecimal
		e.out = appendInt(e.out, int(op.Fixed), n)
	}
}

// emptyStructure writes a structure all of whose fields have their defaults.
func (e *encoder) emptyStructure(at int32) {
	op := &e.ops[at]
	if op.Nullable {
		e.out = append(e.out, 1)
	}
	for i := at + 1; i < op.Next; i = e.ops[i].Next {
		if e.ops[i].Code == schema.OpTags {
			e.out = append(e.out, 0)
			continue
		}
		e.fallback(i)
	}
}

// tagged writes a section of tagged fields (KIP-482): their number, then each with its tag and size, in ascending order. It returns how many of the JSON's fields
// belong to it.
func (e *encoder) tagged(at int32, fields map[string]any) (known int, err error) {
	section := &e.ops[at]
	var list []UnknownTag
	for i := at + 1; i < section.Next; i = e.ops[i].Next {
		v, present := fields[e.ops[i].JSON]
		if !present {
			continue
		}
		known++
		value, err := e.taggedValue(i, v)
		if err != nil {
			return 0, err
		}
		if value != nil {
			list = append(list, UnknownTag{Tag: uint32(e.ops[i].Tag), Value: value})
		}
	}
	unknown, err := e.tagsHere(section, at)
	if err != nil {
		return 0, err
	}
	list = append(list, unknown...)
	slices.SortFunc(list, func(a, b UnknownTag) int { return cmp.Compare(a.Tag, b.Tag) })
	e.out = binary.AppendUvarint(e.out, uint64(len(list)))
	for _, t := range list {
		e.out = binary.AppendUvarint(e.out, uint64(t.Tag))
		e.out = binary.AppendUvarint(e.out, uint64(len(t.Value)))
		e.out = append(e.out, t.Value...)
	}
	return known, nil
}

// taggedValue returns the bytes of a tagged field, nil when it has its default and so is not sent.
func (e *encoder) taggedValue(at int32, v any) ([]byte, error) {
	start := len(e.out)
	if err := e.field(at, v); err != nil {
		return nil, err
	}
	value := slices.Clone(e.out[start:])
	e.out = e.out[:start]
	e.fallback(at)
	isDefault := bytes.Equal(e.out[start:], value)
	e.out = e.out[:start]
	if isDefault {
		return nil, nil
	}
	return value, nil
}

// tagsHere takes the unknown tagged fields of the structure at the current path.
func (e *encoder) tagsHere(section *schema.Op, at int32) ([]UnknownTag, error) {
	if len(e.tags) == 0 {
		return nil, nil
	}
	path := e.path[e.root:]
	if e.root > 0 && len(path) > 0 {
		path = path[1:] // the dot
	}
	list, here := e.tags[string(path)]
	if !here {
		return nil, nil
	}
	delete(e.tags, string(path))
	for i := at + 1; i < section.Next; i = e.ops[i].Next {
		for _, t := range list {
			if t.Tag == uint32(e.ops[i].Tag) {
				return nil, e.fail("tag %d is not unknown: it is the field %s", t.Tag, e.ops[i].JSON)
			}
		}
	}
	return list, nil
}

// surplus looks at the fields that the version of a structure does not have: those of other versions may have their default or be
// ignorable, others are refused.
func (e *encoder) surplus(op *schema.Op, at int32, fields map[string]any) error {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	have := e.fieldNames(at)
	for _, name := range names {
		if slices.Contains(have, name) {
			continue
		}
		f := fieldByName(op.Fields(), name)
		switch {
		case f == nil:
			return e.fail("%s v%d has no field %q here; it has %s", op.Message().Name, op.Version(), name, orNone(have))
		case !f.Ignorable && !isDefault(f, fields[name]):
			return e.fail("%s is in v%s of %s, not in v%d", name, f.Versions, op.Message().Name, op.Version())
		}
	}
	return nil
}

// fieldNames are the names that the fields of a structure have in JSON.
func (e *encoder) fieldNames(at int32) (names []string) {
	for i := at + 1; i < e.ops[at].Next; i = e.ops[i].Next {
		if e.ops[i].Code == schema.OpTags {
			names = append(names, e.fieldNames(i)...)
			continue
		}
		names = append(names, e.ops[i].JSON)
	}
	return names
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func fieldByName(fields []*schema.Field, name string) *schema.Field {
	for _, f := range fields {
		if f.JSONName() == name {
			return f
		}
	}
	return nil
}

// isDefault tells whether a field of another version has its default value. A structure has it when it is null where that is the default, or empty.
func isDefault(f *schema.Field, v any) bool {
	switch v := v.(type) {
	case nil:
		return f.Default == "null" || f.Type.Base == schema.Records
	case []any:
		return f.Type.Array && len(v) == 0
	case map[string]any:
		return f.Default != "null" && len(v) == 0
	case string:
		if f.Type.Base == schema.UUID {
			return v == zeroUUID
		}
		return v == f.Default
	case bool:
		return v == (f.Default == "true")
	case json.Number:
		if f.Default == "" {
			return v == "0"
		}
		n, err := strconv.ParseInt(f.Default, 0, 64)
		return err == nil && v == number(n)
	}
	return false
}

const zeroUUID = "AAAAAAAAAAAAAAAAAAAAAA"
