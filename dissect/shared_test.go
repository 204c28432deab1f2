package dissect

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// shared holds frames and captures that are too many to be part of the project.
const shared = "../../shared"

// needShared returns the files below shared that match a pattern, and skips the test where there are none; where KDISSECT_REQUIRE_SHARED
// is set, that is a failure.
func needShared(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared, pattern))
	switch {
	case err != nil:
		t.Fatal(err)
	case len(files) > 0:
	case os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		t.Fatalf("%s is absent", pattern)
	default:
		t.Skipf("%s is absent", pattern)
	}
	return files
}

// readLines calls yield with each JSON object of some compressed files.
func readLines[T any](t testing.TB, files []string, yield func(*T)) {
	t.Helper()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unzipped, err := gzip.NewReader(bufio.NewReader(f))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		decoder := json.NewDecoder(unzipped)
		decoder.UseNumber() // integers go beyond what a float64 holds
		for {
			var line T
			if err := decoder.Decode(&line); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			yield(&line)
		}
	}
}

// hexBytes is a JSON string of hex digits, or null.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(text []byte) error {
	var digits *string
	if err := json.Unmarshal(text, &digits); err != nil || digits == nil {
		return err
	}
	*h = append(hexBytes{}, unhex(*digits)...)
	return nil
}

// onMessage is an Output that wants messages only.
type onMessage func(*Message)

func (f onMessage) Message(m *Message) { f(m) }
func (onMessage) Exchange(*Exchange)   {}
func (onMessage) Report(*Report)       {}

// listen begins a connection whose messages are handed to a function.
func listen(needs Needs, f func(*Message)) *talk {
	k := &talk{dissector: New(schema.Embedded(), needs, onMessage(f))}
	k.open(true)
	k.knowBroker()
	return k
}

// readCapture sends a capture through an assembler to a handler. Damage ends it.
func readCapture(t testing.TB, file string, handler reassembly.Handler) reassembly.Stats {
	t.Helper()
	source, err := pcaps.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	assembler := reassembly.New(handler)
	var batch pcaps.Batch
	for source.Next(&batch) == nil {
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	assembler.Close()
	return assembler.Stats()
}

// realCaptures are the captures of real traffic.
func realCaptures(t testing.TB) []string { return needShared(t, "captures/real/*.pcap*") }

// valueOf turns a node into what Kafka's JsonConverter classes make of it, as package json would read that back. omit is true for nodes
// that have no place in JSON.
func valueOf(v *View, at int) (value any, omit bool) {
	n := &v.Nodes[at]
	switch n.Kind {
	case StructNode:
		return structOf(v, at), false
	case ArrayNode:
		return arrayOf(v, at), false
	case ValueNode:
		return primitiveOf(n, v.Bytes(n)), false
	}
	return nil, true
}

func structOf(v *View, at int) any {
	if v.Nodes[at].Null {
		return nil
	}
	fields := map[string]any{}
	for i := at + 1; i < int(v.Nodes[at].Next); i = int(v.Nodes[i].Next) {
		if v.Nodes[i].Kind != TagsNode {
			addField(v, i, fields)
			continue
		}
		for tag := i + 1; tag < int(v.Nodes[i].Next); tag = int(v.Nodes[tag].Next) {
			if v.Nodes[tag].Kind == TagNode && !v.Nodes[tag].Hidden {
				addField(v, tag+2, fields) // behind the tag's head
			}
		}
	}
	return fields
}

func addField(v *View, at int, fields map[string]any) {
	n := &v.Nodes[at]
	value, omit := valueOf(v, at)
	if omit {
		return
	}
	name := n.Op.JSON
	if n.Op.Code == schema.OpRecords && !n.Null {
		name += "SizeInBytes"
	}
	fields[name] = value
}

func arrayOf(v *View, at int) any {
	if v.Nodes[at].Null {
		return nil
	}
	elements := []any{}
	for i := at + 1; i < int(v.Nodes[at].Next); i = int(v.Nodes[i].Next) {
		n := &v.Nodes[i]
		if n.Kind == ElementsNode {
			for e := range int(n.Count) {
				elements = append(elements, primitiveOf(n, v.Element(n, e)))
			}
		} else if value, omit := valueOf(v, i); !omit {
			elements = append(elements, value)
		}
	}
	return elements
}

func primitiveOf(n *Node, b []byte) any {
	switch code := n.Op.Code; {
	case n.Null:
		return nil
	case code == schema.OpBool:
		return Int(code, b) != 0
	case code == schema.OpFloat64:
		return Float(b)
	case code == schema.OpUUID:
		return base64.RawURLEncoding.EncodeToString(b)
	case code == schema.OpString:
		return string(b)
	case code == schema.OpBytes:
		return base64.StdEncoding.EncodeToString(b)
	case code == schema.OpRecords:
		return json.Number(strconv.Itoa(int(n.Length) - int(n.Prefix)))
	default:
		return json.Number(strconv.FormatInt(Int(code, b), 10))
	}
}

// difference says where two JSON values differ, "" where they do not.
func difference(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return differenceOfStructs(path, w, g)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if g, ok := got.(float64); ok {
			if f, err := w.Float64(); err == nil && f == g {
				return ""
			}
		}
		if w == got {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is %.80q, want %.80q", path, fmt.Sprint(got), fmt.Sprint(want))
}

func differenceOfStructs(path string, want, got map[string]any) string {
	for name := range got {
		if _, ok := want[name]; !ok {
			return path + " has an unexpected " + name
		}
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			return path + " lacks " + name
		}
		if d := difference(path+"."+name, w, g); d != "" {
			return d
		}
	}
	return ""
}

// widths of the primitives that the oracle lists; by4 is a run of 4 bytes, uv2 a varint of 2, rec61 a records field of 61.
var widths = map[string]int{"i8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "f64": 8, "uuid": 16}

// boundaries returns the offsets at which a primitive begins, and those of them at which a leaf must begin: all but the bytes behind a
// length, and the parts of a tagged field's head.
func boundaries(writes string) (starts, needed map[int]bool) {
	starts, needed = map[int]bool{0: true}, map[int]bool{}
	at, before := 0, ""
	for _, w := range strings.Fields(writes) {
		n, fixed := widths[w]
		if !fixed {
			n, _ = strconv.Atoi(strings.TrimLeft(w, "uvbyrec"))
		}
		behindLength := strings.HasPrefix(w, "by") || strings.HasPrefix(w, "rec")
		if n > 0 && !behindLength && !(strings.HasPrefix(w, "uv") && strings.HasPrefix(before, "uv")) {
			needed[at] = true
		}
		at, before = at+n, w
		starts[at] = true
	}
	return starts, needed
}

// layoutFault says where leaves and the primitives that Kafka wrote do not fit together, "" where they do.
func layoutFault(tape []Node, writes string) string {
	starts, needed := boundaries(writes)
	leaf := func(at int, n *Node) string {
		if !starts[at] {
			return fmt.Sprintf("leaf %+v begins in the middle of a primitive", *n)
		}
		delete(needed, at)
		return ""
	}
	for i := range tape {
		n := &tape[i]
		if !n.Kind.Leaf() {
			continue
		}
		step := int(n.Length)
		if n.Kind == ElementsNode {
			step = int(n.Op.Fixed)
		}
		for at := int(n.Offset); at < int(n.Offset+n.Length); at += step {
			if fault := leaf(at, n); fault != "" {
				return fault
			}
		}
	}
	if len(needed) > 0 {
		var left []int
		for at := range needed {
			left = append(left, at)
		}
		return fmt.Sprintf("no leaf begins at %d, where a value does", slices.Min(left))
	}
	return ""
}

// tagSeen is a tagged field that no schema knows.
type tagSeen struct {
	Path string `json:"path"`
	Tag  uint32 `json:"tag"`
	Hex  string `json:"hex"`
}

// unknownTagsOf lists the tagged fields that no schema knows, in an order of their own.
func unknownTagsOf(v *View) []tagSeen {
	var tags []tagSeen
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Kind == UnknownNode {
			tags = append(tags, tagSeen{string(v.AppendPath(nil, i)), n.Count, fmt.Sprintf("%x", v.Bytes(n))})
		}
	}
	sortTags(tags)
	return tags
}

func sortTags(tags []tagSeen) {
	slices.SortFunc(tags, func(a, b tagSeen) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// sameBytes tells whether two values are equal and both null or both not.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
