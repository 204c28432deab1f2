package encode

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kdissect/kdissect/schema"
)

// An encoder walks a plan and a JSON value side by side and writes bytes.
type encoder struct {
	out  []byte
	ops  []schema.Op
	path []byte // of the value that is being encoded
	root int    // length of the path's first name, which the paths of unknown tagged fields do not have
	fill bool   // missing fields get their defaults
	tags map[string][]UnknownTag
}

// maxString is the longest string that Kafka's classes write, in bytes, whatever the encoding of its length could hold.
const maxString = math.MaxInt16

// fail makes an error at the current path.
func (e *encoder) fail(format string, args ...any) error {
	return &Error{string(e.path), fmt.Sprintf(format, args...)}
}

// wrong says that a value is of another type than what is wanted.
func (e *encoder) wrong(want string, v any) error {
	return e.fail("%s is wanted here, not %s", want, describe(v))
}

// describe names a JSON value for an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > 40 {
			return fmt.Sprintf("the string %q...", v[:40])
		}
		return fmt.Sprintf("the string %q", v)
	case json.Number:
		if len(v) > 40 {
			return "the number " + string(v[:40]) + "..."
		}
		return "the number " + string(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "an array"
	}
	return "an object"
}

// message encodes a header or body along its plan. root is the first name of its path.
func (e *encoder) message(plan *schema.Plan, root string, v any) error {
	e.ops, e.path, e.root = plan.Ops, append(e.path[:0], root...), len(root)
	if root == "header" {
		e.root = 0
	}
	return e.value(0, v)
}

// value encodes what one Op stands for.
func (e *encoder) value(at int32, v any) error {
	op := &e.ops[at]
	if v == nil {
		return e.null(op)
	}
	switch op.Code {
	case schema.OpStruct:
		fields, ok := v.(map[string]any)
		if !ok {
			return e.wrong("an object", v)
		}
		return e.structure(at, fields)
	case schema.OpArray:
		elements, ok := v.([]any)
		if !ok {
			return e.wrong("an array", v)
		}
		return e.array(at, elements)
	case schema.OpString:
		text, ok := v.(string)
		if !ok {
			return e.wrong("a string", v)
		}
		if len(text) > maxString {
			return e.fail("a string of %d bytes: it may have %d at most", len(text), maxString)
		}
		e.length(op, len(text))
		e.out = append(e.out, text...)
		return nil
	case schema.OpBytes:
		return e.bytes(op, v)
	case schema.OpRecords:
		return e.records(op, v)
	}
	return e.fixed(op, v)
}

// kinds is what errors call the values of the codes that are not numbers.
var kinds = map[schema.OpCode]string{
	schema.OpBool: "true or false", schema.OpString: "a string", schema.OpBytes: "base64", schema.OpUUID: "a uuid",
	schema.OpRecords: "base64 or an array of batches", schema.OpStruct: "an object", schema.OpArray: "an array", schema.OpFloat64: "a number",
}

func (e *encoder) null(op *schema.Op) error {
	if !op.Nullable || op.Element {
		want := kinds[op.Code]
		if want == "" {
			want = "a whole number"
		}
		if op.Field == nil {
			return e.wrong(want, nil)
		}
		return e.fail("%s v%d has no null here; %s is wanted", op.Message().Name, op.Version(), want)
	}
	e.writeNull(op)
	return nil
}

func (e *encoder) writeNull(op *schema.Op) {
	switch {
	case op.Code != schema.OpStruct:
		e.length(op, -1)
	case op.Tag >= 0:
		e.out = append(e.out, 0)
	default:
		e.out = append(e.out, 0xff)
	}
}

// length writes the length or count n in front of a value; -1 is null.
func (e *encoder) length(op *schema.Op, n int) {
	switch {
	case op.Compact:
		e.out = binary.AppendUvarint(e.out, uint64(n+1))
	case op.Code == schema.OpString:
		e.out = binary.BigEndian.AppendUint16(e.out, uint16(n))
	default:
		e.out = binary.BigEndian.AppendUint32(e.out, uint32(n))
	}
}

func (e *encoder) bytes(op *schema.Op, v any) error {
	value, err := e.base64(v)
	if err != nil {
		return err
	}
	e.length(op, len(value))
	e.out = append(e.out, value...)
	return nil
}

func (e *encoder) base64(v any) ([]byte, error) {
	text, ok := v.(string)
	if !ok {
		return nil, e.wrong("base64", v)
	}
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, e.fail("a string of %d bytes, which may be a secret, is not base64 with padding: %v", len(text), err)
	}
	return value, nil
}

func (e *encoder) array(at int32, elements []any) error {
	e.length(&e.ops[at], len(elements))
	mark := len(e.path)
	for i, v := range elements {
		e.path = append(e.path[:mark], '[')
		e.path = strconv.AppendInt(e.path, int64(i), 10)
		e.path = append(e.path, ']')
		if err := e.value(at+1, v); err != nil {
			return err
		}
	}
	e.path = e.path[:mark]
	return nil
}

// fixed encodes a primitive of fixed width.
func (e *encoder) fixed(op *schema.Op, v any) error {
	switch op.Code {
	case schema.OpBool:
		b, ok := v.(bool)
		if !ok {
			return e.wrong("true or false", v)
		}
		e.out = appendInt(e.out, 1, boolean(b))
		return nil
	case schema.OpUUID:
		return e.uuid(v)
	case schema.OpFloat64:
		f, err := e.float(v)
		if err == nil {
			e.out = binary.BigEndian.AppendUint64(e.out, math.Float64bits(f))
		}
		return err
	}
	r := ranges[op.Code]
	n, err := e.integer(v, r.low, r.high)
	if err == nil {
		e.out = appendInt(e.out, int(op.Fixed), n)
	}
	return err
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ranges of the integer types.
var ranges = [...]struct{ low, high int64 }{
	schema.OpInt8:   {math.MinInt8, math.MaxInt8},
	schema.OpInt16:  {math.MinInt16, math.MaxInt16},
	schema.OpUint16: {0, math.MaxUint16},
	schema.OpInt32:  {math.MinInt32, math.MaxInt32},
	schema.OpUint32: {0, math.MaxUint32},
	schema.OpInt64:  {math.MinInt64, math.MaxInt64},
}

// appendInt appends the low width bytes of n.
func appendInt(b []byte, width int, n int64) []byte {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], uint64(n))
	return append(b, all[8-width:]...)
}

func (e *encoder) integer(v any, low, high int64) (int64, error) {
	text, ok := v.(json.Number)
	if !ok {
		return 0, e.wrong("a whole number", v)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil && isWhole(string(text)), err == nil && (n < low || n > high):
		return 0, e.fail("%s is out of range, which is %d to %d", describe(v), low, high)
	case err != nil:
		return 0, e.wrong("a whole number", v)
	}
	return n, nil
}

// isWhole tells whether a JSON number has neither fraction nor exponent.
func isWhole(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// float reads a number, or one of the strings that stand for what JSON has no number for.
func (e *encoder) float(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return 0, e.fail("%s is out of the range of a float64", describe(v))
		}
		return f, nil
	case string:
		switch v {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
	}
	return 0, e.wrong("a number", v)
}

func (e *encoder) uuid(v any) error {
	text, ok := v.(string)
	if !ok {
		return e.wrong("a uuid", v)
	}
	value, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(value) != 16 {
		return e.fail("%s is not a uuid as Kafka writes it: URL-safe base64 of 22 characters", describe(v))
	}
	e.out = append(e.out, value...)
	return nil
}

// prefix puts a length in front of what was written since start.
func (e *encoder) prefix(start int, op *schema.Op) {
	n := len(e.out) - start
	e.length(op, n)
	head := slices.Clone(e.out[start+n:])
	e.out = slices.Insert(e.out[:start+n], start, head...)
}
