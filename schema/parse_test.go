package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// aSchema is a message that is right, a line a rule, so that tests can spoil one line.
const aSchema = `{
  "apiKey": 1000,
  "type": "request",
  "name": "ProbeRequest",
  "validVersions": "0-2",
  "flexibleVersions": "2+",
  "fields": [
    { "name": "Count", "type": "int32", "versions": "0+" },
    { "name": "Label", "type": "string", "versions": "1+", "nullableVersions": "2+" },
    { "name": "Extra", "type": "bytes", "versions": "2+", "taggedVersions": "2+", "tag": 0 },
    { "name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
      { "name": "Id", "type": "uuid", "versions": "0+" } ] },
    { "name": "Spot", "type": "Place", "versions": "1+" }
  ],
  "commonStructs": [
    { "name": "Place", "versions": "0+", "fields": [
      { "name": "Row", "type": "int16", "versions": "0+" } ] }
  ]
}`

// A schema that breaks a rule is refused with the file, the line and the rule.
func TestParseErrors(t *testing.T) {
	if _, err := Parse("probe.json", []byte(aSchema)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, to string
		want           string // what the error begins with
		known          string // why it is not refused so
	}{
		{"no name", `"name": "ProbeRequest",`, ``, "probe.json: a message without a name", ""},
		{"unknown kind", `"type": "request"`, `"type": "question"`, `probe.json:3: unknown message type "question"`, ""},
		{"no kind", `"type": "request",`, ``, `probe.json`, ""},
		{"key that is none", `"apiKey": 1000`, `"apiKey": "many"`, `probe.json:2: "many" is not an API key`, ""},
		{"negative key", `"apiKey": 1000`, `"apiKey": -1`, `probe.json:2: "-1" is not an API key`, ""},
		{"key beyond int16", `"apiKey": 1000`, `"apiKey": 32768`, `probe.json:2: "32768" is not an API key`, ""},
		{"bad versions", `"validVersions": "0-2"`, `"validVersions": "2-0"`, `probe.json:5: validVersions: bad version range "2-0"`, ""},
		{"bad flexible versions", `"flexibleVersions": "2+"`, `"flexibleVersions": "all"`, `probe.json:6: flexibleVersions: bad version range "all"`, ""},
		{"bad versions of a field", `"int32", "versions": "0+"`, `"int32", "versions": "zero"`, `probe.json:8: Count: bad version range "zero"`, ""},
		{"bad nullable versions", `"nullableVersions": "2+"`, `"nullableVersions": "2-"`, `probe.json:9: Label: bad version range "2-"`, ""},
		{"bad tagged versions", `"taggedVersions": "2+"`, `"taggedVersions": "+2"`, `probe.json:10: Extra: bad version range "+2"`, ""},
		{"no versions at all", `"int32", "versions": "0+"`, `"int32"`, `probe.json:8: field Count says no versions`, ""},
		{"field without a name", `"name": "Count", `, ``, `probe.json`, ""},
		{"unknown type", `"int32"`, `"int128"`, `probe.json:8: field Count: unknown type "int128"`, ""},
		{"no type", `"type": "int32", `, ``, `probe.json:8: field Count: unknown type ""`, ""},
		{"array of arrays", `"[]Part"`, `"[][]Part"`, `probe.json:11: field Parts: unknown type "[][]Part"`, ""},
		{"array of nothing", `"[]Part"`, `"[]"`, `probe.json:11: field Parts: unknown type "[]"`, ""},
		{"structure that nobody defines", `"type": "Place"`, `"type": "Plaice"`, `probe.json:13: field Spot: unknown type "Plaice"`, ""},
		{"tag that is none", `"tag": 0`, `"tag": "x"`, `probe.json:10: field Extra: "x" is not a tag`, ""},
		{"negative tag", `"tag": 0`, `"tag": -1`, `probe.json:10: field Extra: "-1" is not a tag`, ""},
		{"tag without versions", `"taggedVersions": "2+", `, ``, `probe.json:10: field Extra has tag 0, but no taggedVersions`, ""},
		{"tagged versions without a tag", `, "tag": 0`, ``, `probe.json:10: field Extra has taggedVersions, but no tag`, ""},
		{"tag twice", `"int32", "versions": "0+"`, `"int32", "versions": "2+", "taggedVersions": "2+", "tag": 0`, `probe.json:10: ProbeRequest: Count and Extra have the same tag 0`, ""},
		{"structure in itself", `"name": "Id", "type": "uuid"`, `"name": "Id", "type": "[]Part"`, `probe.json:12: field Id: structure Part contains itself`, ""},
		{"common structure in itself", `"name": "Row", "type": "int16"`, `"name": "Row", "type": "Place"`, `probe.json:17: field Row: structure Place contains itself`, ""},
		{"fields that are no list", `"fields": [
      { "name": "Row", "type": "int16", "versions": "0+" } ]`, `"fields": 5`, `probe.json:16: `, ""},
		{"a list for a tag", `"tag": 0`, `"tag": [0]`, `probe.json:10: `, "the last line is told"},
		{"a structure for a default", `"tag": 0`, `"tag": 0, "default": {}`, `probe.json:10: `, "the last line is told"},
		{"a comma too many", `"apiKey": 1000,`, `"apiKey": 1000,,`, `probe.json:2: `, ""},
		{"a bracket is missing", "\n  ]\n}", "\n", `probe.json:19: `, "line 1 is told of text that ends too early"},
		{"a string without an end", `"Row"`, `"Row`, `probe.json:17: `, ""},
		{"a comment without an end", `"commonStructs"`, `/* "commonStructs"`, `probe.json:`, ""},
		{"a name that occurs twice", `"name": "Row", "type": "int16"`, `"name": "Count", "type": "int128"`, `probe.json:17: field Count: unknown type "int128"`,
			""},
		// Rules of Kafka's generator (FieldSpec) that plans do not depend on.
		{"a name with a control character", `"name": "Label"`, `"name": "La\u001bbel"`, `probe.json:9: ProbeRequest: "La\x1bbel" is no name`, "the line is looked for by the name as it is"},
		{"a name of two words", `"name": "Label"`, `"name": "A Label"`, `probe.json:9: ProbeRequest: "A Label" is no name`, ""},
		{"flexible versions that end", `"flexibleVersions": "2+"`, `"flexibleVersions": "0-1"`, `probe.json:6: flexibleVersions 0-1 leave out 2`, ""},
		{"null where no value can be null", `"int32", "versions": "0+"`, `"int32", "versions": "0+", "nullableVersions": "0+"`, `probe.json:8: `, ""},
		{"tagged in versions that are not flexible", `"versions": "2+", "taggedVersions": "2+"`, `"versions": "0+", "taggedVersions": "0+"`, `probe.json:10: `, ""},
		{"tag beyond uint31", `"tag": 0`, `"tag": 2147483648`, `probe.json:10: field Extra: "2147483648" is not a tag`, ""},
		{"tags that leave one out", `"tag": 0`, `"tag": 3`, `probe.json:10: `, ""},
		{"two fields of one name", `"name": "Label"`, `"name": "Count"`, `probe.json:9: `, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(aSchema, c.from, c.to, 1)
			if text == aSchema {
				t.Fatalf("%q is not in the schema", c.from)
			}
			m, err := Parse("probe.json", []byte(text))
			var refused *ParseError
			switch {
			case err != nil && errors.As(err, &refused) && strings.HasPrefix(err.Error(), c.want):
				if c.known != "" {
					t.Errorf("this holds by now, it is no longer known: %s", c.known)
				}
			case c.known != "":
				t.Skip("known: ", c.known)
			default:
				t.Errorf("%v, %v; want %s", m != nil, err, c.want)
			}
		})
	}
	for _, text := range []string{"", " ", "// nothing", "null", "5", `"text"`, "[]", "{}", "{", "\x00", "/*"} {
		if m, err := Parse("f", []byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
}

// What Kafka's own files contain, and its generator forgives.
func TestParseIsLenient(t *testing.T) {
	m, err := Parse("probe.json", []byte(`// A licence.
/* And more of it:
   { "name": "Wrong" } */
{
  "apiKey": TBD, // to be assigned
  "type": "request", "listeners": ["broker", "controller"],
  "name": "ProbeRequest", "latestVersionUnstable": "true", "unheardOf": {"a": [1, 2]},
  "validVersions": "0-1", "deprecatedVersions": "0", "flexibleVersions": "1+",
  "headerVersions": {"0": 0, "1+": "1"},
  "fields": [ // { "name": "Commented", "type": "int8", "versions": "0+" },
    { "name": "Url", "type": "string", "versions": "0+", "about": "such as http://x/*.html // no comment", "default": "a \"quoted\" // text" },
    { "name": "A", "type": "int32", "versions": "0+", "default": 5, "mapKey": "true", "ignorable": false },
    { "name": "B", "type": "int32", "versions": "0+", "default": "-1", "mapKey": true, "ignorable": "true" },
    { "name": "C", "type": "string", "versions": "0+", "nullableVersions": "0+", "default": null },
    { "name": "D", "type": "string", "versions": "0+", "nullableVersions": "0+", "default": "null" },
    { "name": "E", "type": "bool", "versions": "0+", "default": true },
    { "name": "F", "type": "int64", "taggedVersions": "1+", "tag": "0", "entityType": "producerId" }
  ]
}`))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Draft || m.APIKey != -1 || m.Kind != Request || !m.LatestUnstable || len(m.Fields) != 7 || m.ValidVersions != (Versions{0, 1}) ||
		m.Deprecated != (Versions{0, 0}) || m.Flexible != From(1) || !slices.Equal(m.Listeners, []string{"broker", "controller"}) {
		t.Errorf("%+v", m)
	}
	rules := map[Versions]int16{}
	for _, r := range m.HeaderVersions {
		rules[r.Versions] = r.Header
	}
	if len(rules) != 2 || rules[Versions{0, 0}] != 0 || rules[From(1)] != 1 {
		t.Errorf("header versions %v", m.HeaderVersions)
	}
	url, f := m.Fields[0], m.Fields[6]
	if url.Default != `a "quoted" // text` || url.about != "such as http://x/*.html // no comment" || url.JSONName() != "url" {
		t.Errorf("%+v", url)
	}
	for i, want := range []Field{
		1: {Default: "5", MapKey: true},
		2: {Default: "-1", MapKey: true, Ignorable: true},
		4: {Default: "null"},
		5: {Default: "true"},
	} {
		if g := m.Fields[i]; want.Default != "" && (!g.HasDefault || g.Default != want.Default || g.MapKey != want.MapKey || g.Ignorable != want.Ignorable) {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
	if f.Versions != From(1) || f.Tagged != From(1) || f.Tag != 0 || f.EntityType != "producerId" {
		t.Errorf("%+v", f)
	}
}

// opsText writes a plan down: a line an operation, indented by the structures around it.
func opsText(p *Plan) string {
	var b strings.Builder
	var write func(at int32, indent string)
	write = func(at int32, indent string) {
		op := &p.Ops[at]
		fmt.Fprintf(&b, "%s%s %d", indent, op.Name, op.Code)
		if op.Compact && op.Code != OpTags {
			b.WriteString(" compact")
		}
		if op.Nullable {
			b.WriteString(" nullable")
		}
		if op.Tag >= 0 {
			fmt.Fprintf(&b, " tag %d", op.Tag)
		}
		if op.Fixed > 0 {
			fmt.Fprintf(&b, " %dB", op.Fixed)
		}
		b.WriteByte('\n')
		for i := at + 1; i < op.Next; i = p.Ops[i].Next {
			write(i, indent+".")
		}
	}
	write(0, "")
	return b.String()
}

// The layout of each version of the schema above, worked out by hand by the rules of KIP-482.
func TestCompile(t *testing.T) {
	m, err := Parse("probe.json", []byte(aSchema))
	if err != nil {
		t.Fatal(err)
	}
	type codes = []any
	for version, want := range []string{
		fmt.Sprintf(`ProbeRequest %d
			.Count %d 4B
			.Parts %d
			..Part %d 16B
			...Id %d 16B
		`, codes{OpStruct, OpInt32, OpArray, OpStruct, OpUUID}...),
		fmt.Sprintf(`ProbeRequest %d
			.Count %d 4B
			.Label %d
			.Parts %d
			..Part %d 16B
			...Id %d 16B
			.Spot %d 2B
			..Row %d 2B
		`, codes{OpStruct, OpInt32, OpString, OpArray, OpStruct, OpUUID, OpStruct, OpInt16}...),
		fmt.Sprintf(`ProbeRequest %d
			.Count %d compact 4B
			.Label %d compact nullable
			.Parts %d compact
			..Part %d compact
			...Id %d compact 16B
			...tagged_fields %d
			.Spot %d compact
			..Row %d compact 2B
			..tagged_fields %d
			.tagged_fields %d
			..Extra %d compact tag 0
		`, codes{OpStruct, OpInt32, OpString, OpArray, OpStruct, OpUUID, OpTags, OpStruct, OpInt16, OpTags, OpTags, OpBytes}...),
	} {
		p := compile(m, int16(version))
		if got, want := opsText(p), strings.ReplaceAll(want, "\t", ""); got != want {
			t.Errorf("version %d:\n%s\nwant\n%s", version, got, want)
		}
		for i := range p.Ops {
			op := &p.Ops[i]
			if op.Next <= int32(i) || op.Next > int32(len(p.Ops)) || op.Parent > int32(i) || p.Ops[op.Parent].Code != OpStruct {
				t.Errorf("version %d, op %d: next %d, parent %d", version, i, op.Next, op.Parent)
			}
		}
	}
}

// A field's flexibleVersions override the message's: the request header's client id keeps its int16 length.
func TestFlexibleOverride(t *testing.T) {
	header := Embedded().HeaderPlan(Request, 2)
	found := false
	for i := range header.Ops {
		if op := &header.Ops[i]; op.Name == "ClientId" {
			if found = true; op.Compact {
				t.Error("the client id of header version 2 is compact")
			}
		}
	}
	if !found {
		t.Error("header version 2 has no client id")
	}
}

// An oracleHeader is what the oracle says of the header in front of a frame's body.
type oracleHeader struct {
	Kind          string
	API           string
	Key, Version  int16
	HeaderVersion int16
}

// The header version of every API and version must be the one that Kafka's classes use.
func TestHeaderVersionsOfOracle(t *testing.T) {
	seen := map[string]bool{}
	readOracle(t, "kafka-*.jsonl.gz", func(o *oracleHeader) {
		kind := Request
		if o.Kind == "response" {
			kind = Response
		}
		id := fmt.Sprintf("%d %s v%d", o.Key, o.Kind, o.Version)
		p := Embedded().Plan(o.Key, o.Version, kind)
		if p == nil || p.Header == nil || p.Header.Version != o.HeaderVersion {
			t.Errorf("%s %s: not header version %d", o.API, id, o.HeaderVersion)
		}
		seen[id] = true
	})
	// Nor may there be a version that the oracle does not know.
	for api := range Embedded().APIs {
		for _, kind := range []Kind{Request, Response} {
			for v := api.Versions.Low; v <= api.Versions.High; v++ {
				if id := fmt.Sprintf("%d %s v%d", api.Key, kind, v); !seen[id] && Embedded().Plan(api.Key, v, kind) != nil {
					t.Errorf("%s is not in the oracle", id)
				}
			}
		}
	}
	if len(seen) < 700 {
		t.Errorf("only %d versions", len(seen))
	}
}

// What is outside a catalog has no plan, and asking for it does no harm.
func TestNoPlan(t *testing.T) {
	c := Embedded()
	for _, key := range []int16{-32768, -1, 32767, 9999} {
		if c.Plan(key, 0, Request) != nil || c.API(key) != nil {
			t.Errorf("there is a plan for API %d", key)
		}
	}
	for api := range c.APIs {
		for _, v := range []int16{-32768, -1, api.Versions.Low - 1, api.Versions.High + 1, 32767} {
			if !api.Versions.Contains(v) && (c.Plan(api.Key, v, Request) != nil || c.Plan(api.Key, v, Response) != nil) {
				t.Errorf("there is a plan for %s v%d", api.Name, v)
			}
		}
		if c.Plan(api.Key, api.Versions.Low, Data) != nil {
			t.Errorf("%s has a plan that is neither request nor response", api.Name)
		}
	}
	if c.PlanByName("Nothing", 0) != nil || c.RecordPlan("orders", CoordinatorKey, 0, 0) != nil || c.RecordPlan("__consumer_offsets", CoordinatorKey, 99, 0) != nil {
		t.Error("there is a plan for what nobody knows")
	}
}

// Structures that contain others twice grow with the power of their depth: 3 KB of a schema with 30 of them would fill any memory. Such a schema is
// to be refused; none of Kafka's has more than a few hundred operations.
func TestStructuresThatDouble(t *testing.T) {
	const depth = 14
	var structs strings.Builder
	for i := range depth {
		fmt.Fprintf(&structs, `{"name":"S%d","versions":"0+","fields":[{"name":"A","type":"S%d","versions":"0+"},{"name":"B","type":"S%d","versions":"0+"}]},`, i, i+1, i+1)
	}
	text := fmt.Sprintf(`{"type":"data","name":"X","validVersions":"0","flexibleVersions":"none","fields":[{"name":"F","type":"S0","versions":"0+"}],
		"commonStructs":[%s{"name":"S%d","versions":"0+","fields":[{"name":"A","type":"int8","versions":"0+"}]}]}`, structs.String(), depth)
	m, err := Parse("x.json", []byte(text))
	if err == nil {
		t.Skipf("known: %d bytes of a schema compile to %d operations", len(text), len(compile(m, 0).Ops))
	}
}

// FuzzParse reads arbitrary text as a schema. What is accepted must compile at each of its versions, and say where it stands when it is refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(aSchema))
	f.Add([]byte(`{"apiKey": TBD, "type": "data", "name": "X", "validVersions": "0+", "flexibleVersions": "0+", "fields": []}`))
	for _, name := range []string{"clients/FetchRequest.json", "clients/ApiVersionsResponse.json", "clients/RequestHeader.json", "group-coordinator/OffsetCommitKey.json"} {
		text, err := fs.ReadFile(Embedded().files, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		m, err := Parse("fuzz.json", text)
		if err != nil {
			var refused *ParseError
			if !errors.As(err, &refused) || refused.File != "fuzz.json" || refused.Line < 0 || refused.Line > 1+strings.Count(string(text), "\n") || refused.Rule == "" {
				t.Errorf("%#v", err)
			}
			return
		}
		if m.Name == "" {
			t.Error("a message without a name")
		}
		for v := m.ValidVersions.Low; v >= 0 && v <= min(m.ValidVersions.High, m.ValidVersions.Low+20); v++ {
			p := compile(m, v)
			for i := range p.Ops {
				if op := &p.Ops[i]; op.Next <= int32(i) || op.Next > int32(len(p.Ops)) || op.Fixed < 0 {
					t.Fatalf("op %d of %d: %+v", i, len(p.Ops), *op)
				}
			}
			p.Ops[0].Message().APIName()
		}
	})
}
