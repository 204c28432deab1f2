package encode

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// Parse reads a document that holds one message: a line of render's JSON, or the same written by hand. Of a request or response it has
//
//	{"type":"REQUEST", "apiName":"Metadata", "apiVersion":1, "correlationId":7, "clientId":"me", "payload":{...}, "unknownTags":[...]}
//
// where the fields of the header may also stand in an object "header", "apiKey" may take the place of the name, and correlation id and client id may be left
// out. Any other structure of the catalog has
//
//	{"name":"OffsetCommitKey", "version":0, "value":{...}, "unknownTags":[...]}
//
// Other fields of the document are not looked at, but for those that say that not all of the message is there. An error of the document is an [Error].
func Parse(catalog *schema.Catalog, text []byte) (*Message, error) {
	document, err := decode(text)
	if err != nil {
		return nil, err
	}
	d := documentReader{fields: document, catalog: catalog}
	m := d.message()
	if d.err != nil {
		return nil, d.err
	}
	return m, nil
}

// decode reads one JSON object.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // integers go beyond what a float64 holds
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, syntax(err, decoder.InputOffset())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, &Error{"", fmt.Sprintf("there is more behind the JSON object, from byte %d on", decoder.InputOffset())}
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{"", "a JSON object is wanted, not " + describe(v)}
	}
	return fields, nil
}

func syntax(err error, at int64) error {
	var s *json.SyntaxError
	switch {
	case errors.As(err, &s):
		return &Error{"", fmt.Sprintf("this is not JSON: %v, at byte %d", s, s.Offset)}
	case errors.Is(err, io.EOF):
		return &Error{"", "a JSON object is wanted, and there is nothing"}
	}
	return &Error{"", fmt.Sprintf("this is not JSON: %v, at byte %d", err, at)}
}

// A documentReader reads the parts of a document. Its first error sticks.
type documentReader struct {
	fields  map[string]any
	catalog *schema.Catalog
	err     error
}

func (d *documentReader) fail(path, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{path, fmt.Sprintf(format, args...)}
	}
}

func (d *documentReader) message() *Message {
	d.checkWhole()
	if _, named := d.fields["name"]; named {
		return d.structure()
	}
	header, prefix := d.fields, ""
	if inner, there := d.fields["header"]; there {
		fields, ok := inner.(map[string]any)
		if !ok {
			d.fail("header", "an object is wanted here, not %s", describe(inner))
		}
		header, prefix = fields, "header."
	}
	h := documentReader{fields: header, catalog: d.catalog, err: d.err}
	m := h.header(prefix)
	d.err = h.err
	m.Body = d.body("payload")
	m.UnknownTags = d.unknownTags()
	if d.err == nil {
		m.Plan = h.plan(prefix, m.Body)
		d.err = h.err
	}
	return m
}

// checkWhole refuses a document that says itself that it lacks something.
func (d *documentReader) checkWhole() {
	if kind, there := d.fields["kind"]; there && kind != "message" {
		d.fail("kind", "a message is wanted, not %s", describe(kind))
	}
	if why, withheld := d.fields["payloadWithheld"]; withheld {
		d.fail("payload", "it is withheld (%s); --show-secrets shows it", describe(why))
	}
	if why, withheld := d.fields["valueWithheld"]; withheld {
		d.fail("value", "it is withheld (%s); --show-secrets shows it", describe(why))
	}
	if _, cut := d.fields["undecoded"]; cut {
		d.fail("undecoded", "part of the message could not be decoded, so its bytes are not all here")
	}
}

// structure reads a message that is neither request nor response.
func (d *documentReader) structure() *Message {
	m := &Message{Body: d.body("value"), UnknownTags: d.unknownTags()}
	name, _ := d.fields["name"].(string)
	versions, known := d.catalog.Versions(name)
	if !known {
		d.fail("name", "the catalog has no structure %s", describe(d.fields["name"]))
		return m
	}
	version := d.int16("", "version")
	if m.Plan = d.catalog.PlanByName(name, version); m.Plan == nil {
		d.fail("version", "%s has no version %d; it has %s", name, version, versions)
		return m
	}
	if m.Plan.Header != nil {
		d.fail("name", "%s has a header: give it as {\"apiName\", \"apiVersion\", \"type\", \"payload\"}", name)
	}
	return m
}

// header reads what a header says, but for API and version.
func (d *documentReader) header(prefix string) *Message {
	m := &Message{}
	if v, there := d.fields["correlationId"]; there && v != nil {
		m.CorrelationID = int32(d.integer(prefix, "correlationId", math.MinInt32, math.MaxInt32))
	}
	switch v := d.fields["clientId"].(type) {
	case nil:
		_, m.ClientIDNull = d.fields["clientId"]
	case string:
		m.ClientID = v
	default:
		d.fail(prefix+"clientId", "a string or null is wanted here, not %s", describe(v))
	}
	return m
}

// plan finds the layout. An ApiVersions answer with error 35 and no more than version 0 has is of that version, whatever was asked (KIP-511).
func (d *documentReader) plan(prefix string, body any) *schema.Plan {
	kind, api := d.kind(prefix), d.api(prefix)
	version := d.int16(prefix, "apiVersion")
	if d.err != nil {
		return nil
	}
	plan := d.catalog.Plan(api.Key, version, kind)
	if plan == nil {
		d.fail(prefix+"apiVersion", "%s %s has no version %d; it has %s", api.Name, kind, version, api.Versions)
		return nil
	}
	if api.Name == "ApiVersions" && kind == schema.Response && isFallback(body) {
		return d.catalog.Plan(api.Key, 0, kind)
	}
	return plan
}

func isFallback(body any) bool {
	fields, _ := body.(map[string]any)
	_, newer := fields["throttleTimeMs"]
	return fields["errorCode"] == json.Number("35") && !newer
}

func (d *documentReader) kind(prefix string) schema.Kind {
	name, _ := d.fields["type"].(string)
	switch strings.ToUpper(name) {
	case "REQUEST":
		return schema.Request
	case "RESPONSE":
		return schema.Response
	}
	v, there := d.fields["type"]
	if !there {
		d.fail(prefix+"type", `it is missing; "REQUEST" or "RESPONSE" is wanted`)
	}
	d.fail(prefix+"type", `"REQUEST" or "RESPONSE" is wanted here, not %s`, describe(v))
	return 0
}

// api finds the API by its name or key.
func (d *documentReader) api(prefix string) *schema.API {
	var byName, byKey *schema.API
	if v := d.fields["apiName"]; v != nil {
		name, ok := v.(string)
		if !ok {
			d.fail(prefix+"apiName", "the name of an API is wanted here, not %s", describe(v))
		}
		if byName = d.catalog.APIByName(name); byName == nil {
			d.fail(prefix+"apiName", "there is no API %.40q", name)
		}
	}
	if d.fields["apiKey"] != nil {
		key := d.int16(prefix, "apiKey")
		if byKey = d.catalog.API(key); byKey == nil {
			d.fail(prefix+"apiKey", "there is no API with key %d", key)
		}
	}
	switch {
	case d.err != nil:
		return nil
	case byName == nil && byKey == nil:
		d.fail(prefix+"apiName", "which API? A name such as Fetch is wanted here, or an apiKey")
	case byName != nil && byKey != nil && byName != byKey:
		d.fail(prefix+"apiKey", "%d is %s, not %s", byKey.Key, byKey.Name, byName.Name)
	case byName == nil:
		return byKey
	}
	return byName
}

func (d *documentReader) int16(prefix, name string) int16 {
	return int16(d.integer(prefix, name, 0, math.MaxInt16))
}

func (d *documentReader) integer(prefix, name string, low, high int64) int64 {
	v, there := d.fields[name]
	if !there {
		d.fail(prefix+name, "it is missing; a whole number is wanted")
		return 0
	}
	e := encoder{path: []byte(prefix + name)}
	n, err := e.integer(v, low, high)
	if d.err == nil && err != nil {
		d.err = err
	}
	return n
}

func (d *documentReader) body(name string) any {
	v, there := d.fields[name]
	if !there {
		d.fail(name, "it is missing; an object with the fields of the message is wanted")
	}
	return v
}

// unknownTags reads the tagged fields that no schema knows.
func (d *documentReader) unknownTags() (tags []UnknownTag) {
	v, there := d.fields["unknownTags"]
	if !there {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		d.fail("unknownTags", "an array is wanted here, not %s", describe(v))
	}
	for i, v := range list {
		at := fmt.Sprintf("unknownTags[%d]", i)
		fields, ok := v.(map[string]any)
		if !ok {
			d.fail(at, "an object with path, tag and hex is wanted here, not %s", describe(v))
			return nil
		}
		t := documentReader{fields: fields, err: d.err}
		path, isPath := fields["path"].(string)
		tag := t.integer(at+".", "tag", 0, math.MaxUint32)
		d.err = t.err
		digits, isHex := fields["hex"].(string)
		value, err := hex.DecodeString(digits)
		switch {
		case !isPath:
			d.fail(at+".path", "a string is wanted here, not %s", describe(fields["path"]))
		case !isHex || err != nil:
			d.fail(at+".hex", "hex digits are wanted here, not %s", describe(fields["hex"]))
		}
		tags = append(tags, UnknownTag{Path: path, Tag: uint32(tag), Value: value})
	}
	return tags
}
