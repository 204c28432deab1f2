package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A ParseError says where a schema is not what it should be.
type ParseError struct {
	File string
	Line int // from 1; 0 when the fault has no place of its own
	Rule string
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Rule
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Rule
}

// Parse reads a schema in Kafka's message grammar, as lenient as Kafka's generator: // and
// /* */ comments, numbers and booleans that may be strings, an API key that is still TBD, a field that has
// only taggedVersions. The file name is for errors, which are *ParseError.
func Parse(file string, text []byte) (*Message, error) {
	clean := bareTBD.ReplaceAll(stripComments(text), []byte(`$1"TBD"`))
	var raw rawMessage
	decoder := json.NewDecoder(bytes.NewReader(clean))
	if err := decoder.Decode(&raw); err != nil {
		at := decoder.InputOffset()
		var syntax *json.SyntaxError
		var mismatch *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			at = syntax.Offset
		case errors.As(err, &mismatch):
			at = mismatch.Offset
		case errors.Is(err, io.ErrUnexpectedEOF):
			at = int64(len(bytes.TrimSpace(clean)))
		}
		return nil, &ParseError{file, 1 + bytes.Count(clean[:min(int(at), len(clean))], []byte("\n")), err.Error()}
	}
	p := parser{file: file, text: clean, seen: map[string]int{}}
	m := p.message(&raw)
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

// bareTBD is the API key of a draft as it is written, without quotes.
var bareTBD = regexp.MustCompile(`("apiKey"\s*:\s*)TBD\b`)

// stripComments puts spaces where comments and no-break spaces are, so that lines and offsets stay.
func stripComments(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i < len(out); {
		switch {
		case out[i] == '"':
			i = endOfString(out, i)
		case bytes.HasPrefix(out[i:], []byte("//")):
			i = blank(out, i, i+indexOr(out[i:], "\n", len(out)-i))
		case bytes.HasPrefix(out[i:], []byte("\u00a0")): // out of a web page
			i = blank(out, i, i+2)
		case bytes.HasPrefix(out[i:], []byte("/*")):
			i = blank(out, i, min(len(out), i+indexOr(out[i:], "*/", len(out)-i)+2))
		default:
			i++
		}
	}
	return out
}

func indexOr(text []byte, sep string, otherwise int) int {
	if i := bytes.Index(text, []byte(sep)); i >= 0 {
		return i
	}
	return otherwise
}

func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func blank(text []byte, from, to int) int {
	for i := from; i < to; i++ {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return to
}

type rawMessage struct {
	APIKey         *loose           `json:"apiKey"`
	Type           string           `json:"type"`
	Name           string           `json:"name"`
	Valid          string           `json:"validVersions"`
	Deprecated     string           `json:"deprecatedVersions"`
	Flexible       string           `json:"flexibleVersions"`
	LatestUnstable *loose           `json:"latestVersionUnstable"`
	Listeners      []string         `json:"listeners"`
	HeaderVersions map[string]loose `json:"headerVersions"`
	Fields         []rawField       `json:"fields"`
	CommonStructs  []rawStruct      `json:"commonStructs"`
}

type rawStruct struct {
	Name     string     `json:"name"`
	Versions string     `json:"versions"`
	Fields   []rawField `json:"fields"`
}

type rawField struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Versions   *string    `json:"versions"`
	Nullable   string     `json:"nullableVersions"`
	Tagged     string     `json:"taggedVersions"`
	Tag        *loose     `json:"tag"`
	Flexible   *string    `json:"flexibleVersions"`
	Default    *loose     `json:"default"`
	MapKey     *loose     `json:"mapKey"`
	Ignorable  *loose     `json:"ignorable"`
	EntityType string     `json:"entityType"`
	About      string     `json:"about"`
	Fields     []rawField `json:"fields"`
}

// loose is a string, number, boolean or null, kept as text.
type loose string

func (l *loose) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*l = loose(strings.TrimSpace(s))
		return nil
	}
	if bytes.ContainsAny(b, "[{") {
		return fmt.Errorf("%s where a plain value belongs", b)
	}
	*l = loose(b)
	return nil
}

func (l *loose) isTrue() bool { return l != nil && *l == "true" }

// A parser turns what the JSON says into a Message. Its error sticks.
type parser struct {
	file string
	text []byte
	seen map[string]int // how many fields of a name have begun
	err  *ParseError
}

// fail notes a broken rule where the file names the culprit: a field that has just begun, or else a key.
func (p *parser) fail(culprit, format string, args ...any) {
	if p.err != nil {
		return
	}
	line := p.lineOfField(culprit, p.seen[culprit])
	if at := bytes.Index(p.text, []byte(`"`+culprit+`"`)); at >= 0 && line == 0 && culprit != "" {
		line = p.lineAt(at)
	}
	p.err = &ParseError{p.file, line, fmt.Sprintf(format, args...)}
}

// failAt notes a broken rule at the line of a field.
func (p *parser) failAt(f *Field, format string, args ...any) {
	if p.err == nil {
		p.err = &ParseError{p.file, p.lineOfField(f.Name, f.nth), fmt.Sprintf(format, args...)}
	}
}

// lineOfField is the line of the nth field of a name, counted from 1; 0 where there is none.
func (p *parser) lineOfField(name string, nth int) int {
	if nth == 0 {
		return 0
	}
	named, err := regexp.Compile(`"name"\s*:\s*"` + regexp.QuoteMeta(name) + `"`)
	if err != nil {
		return 0 // the name is no UTF-8
	}
	places := named.FindAllIndex(p.text, -1)
	if nth > len(places) {
		return 0
	}
	return p.lineAt(places[nth-1][0])
}

func (p *parser) lineAt(offset int) int { return 1 + bytes.Count(p.text[:offset], []byte("\n")) }

func (p *parser) versions(culprit, s string) Versions {
	v, err := ParseVersions(s)
	if err != nil {
		p.fail(culprit, "%s: %v", culprit, err)
	}
	return v
}

func (p *parser) message(raw *rawMessage) *Message {
	m := &Message{Name: raw.Name, APIKey: -1, LatestUnstable: raw.LatestUnstable.isTrue(), Listeners: raw.Listeners}
	switch {
	case raw.Name == "":
		p.fail("", "a message without a name")
	case !isName(raw.Name):
		p.fail(raw.Name, "%q is no name: it has letters and digits only", raw.Name)
	}
	for _, word := range raw.Listeners {
		if !isName(word) {
			p.fail(word, "%q is no name: it has letters and digits only", word)
		}
	}
	m.Kind = p.kind(raw.Type)
	m.ValidVersions = p.versions("validVersions", raw.Valid)
	m.Flexible = p.versions("flexibleVersions", raw.Flexible)
	m.Deprecated = p.versions("deprecatedVersions", raw.Deprecated)
	p.apiKey(m, raw.APIKey)
	for versions, header := range raw.HeaderVersions {
		n, err := strconv.ParseInt(string(header), 10, 16)
		if err != nil {
			p.fail("headerVersions", "headerVersions: %q is not a header version", header)
		}
		m.HeaderVersions = append(m.HeaderVersions, HeaderRule{p.versions("headerVersions", versions), int16(n)})
	}
	m.Fields = p.fields(raw.Name, raw.Fields)
	for i := range raw.CommonStructs {
		s := &raw.CommonStructs[i]
		m.CommonStructs = append(m.CommonStructs, &Struct{s.Name, p.versions(s.Name, s.Versions), p.fields(s.Name, s.Fields)})
	}
	if p.err == nil {
		p.checkMessage(m)
		m.hasConfigs = findConfigs(m, m.Fields)
		for _, s := range m.CommonStructs {
			m.hasConfigs = m.hasConfigs || findConfigs(m, s.Fields)
		}
	}
	return m
}

// isName tells whether a name is one that Kafka's generator takes.
func isName(s string) bool {
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (p *parser) kind(name string) Kind {
	for k, known := range kindNames {
		if known == name {
			return Kind(k)
		}
	}
	p.fail("type", "unknown message type %q", name)
	return Data
}

func (p *parser) apiKey(m *Message, raw *loose) {
	switch {
	case raw == nil:
		return
	case *raw == "TBD":
		m.Draft = true
		return
	}
	key, err := strconv.ParseInt(string(*raw), 10, 16)
	if err != nil || key < 0 {
		p.fail("apiKey", "%q is not an API key", *raw)
	}
	m.APIKey = int16(key)
}

func (p *parser) fields(owner string, raw []rawField) []*Field {
	fields := make([]*Field, 0, len(raw))
	for i := range raw {
		fields = append(fields, p.field(owner, &raw[i]))
	}
	return fields
}

func (p *parser) field(owner string, raw *rawField) *Field {
	p.seen[raw.Name]++
	f := &Field{Name: raw.Name, Tag: -1, nth: p.seen[raw.Name], EntityType: raw.EntityType, MapKey: raw.MapKey.isTrue(),
		Ignorable: raw.Ignorable.isTrue(), about: raw.About, owner: owner}
	switch {
	case raw.Name == "":
		p.fail(owner, "%s: a field without a name", owner)
	case !isName(raw.Name):
		p.fail(raw.Name, "%s: %q is no name: it has letters and digits only", owner, raw.Name)
	}
	f.Type = p.fieldType(raw)
	f.Tagged = p.versions(raw.Name, raw.Tagged)
	switch {
	case raw.Versions != nil:
		f.Versions = p.versions(raw.Name, *raw.Versions)
	case raw.Tagged != "":
		f.Versions = f.Tagged
	default:
		p.fail(raw.Name, "field %s says no versions", raw.Name)
	}
	f.Nullable = p.versions(raw.Name, raw.Nullable)
	if raw.Flexible != nil {
		v := p.versions(raw.Name, *raw.Flexible)
		f.Flexible = &v
	}
	if raw.Tag != nil {
		tag, err := strconv.ParseUint(string(*raw.Tag), 10, 31)
		if err != nil {
			p.fail(raw.Name, "field %s: %q is not a tag", raw.Name, *raw.Tag)
		}
		f.Tag = int(tag)
	}
	if raw.Default != nil {
		f.Default, f.HasDefault = string(*raw.Default), true
	}
	f.Fields = p.fields(f.Type.Struct, raw.Fields)
	return f
}

func (p *parser) fieldType(raw *rawField) Type {
	name := strings.TrimSpace(raw.Type)
	t := Type{Base: StructType}
	if rest, ok := strings.CutPrefix(name, "[]"); ok {
		t.Array, name = true, rest
	}
	for b, known := range baseNames {
		if known == name && Base(b) != StructType {
			t.Base = Base(b)
			return t
		}
	}
	if name == "" || name[0] < 'A' || name[0] > 'Z' || !isName(name) {
		p.fail(raw.Name, "field %s: unknown type %q", raw.Name, raw.Type)
	}
	t.Struct = name
	return t
}

func findConfigs(m *Message, fields []*Field) bool {
	for _, f := range fields {
		if isConfig(m, f) || findConfigs(m, f.Fields) {
			return true
		}
	}
	return false
}

// checkStruct refuses a structure that nobody defines, and one that contains itself: plans are flat.
func (p *parser) checkStruct(m *Message, f *Field, within []string) {
	name := f.Type.Struct
	inner := m.StructFields(f)
	if inner == nil {
		p.failAt(f, "field %s: unknown type %q", f.Name, name)
		return
	}
	if slices.Contains(within, name) {
		p.failAt(f, "field %s: structure %s contains itself", f.Name, name)
		return
	}
	p.checkFields(m, name, inner, append(within, name))
}

// StructFields returns the fields of the structure that f holds: defined in place, under commonStructs, or in place
// at another field of the message. It returns nil when there is none.
func (m *Message) StructFields(f *Field) []*Field {
	if len(f.Fields) > 0 {
		return f.Fields
	}
	for _, s := range m.CommonStructs {
		if s.Name == f.Type.Struct {
			return s.Fields
		}
	}
	return findStruct(m.Fields, f.Type.Struct)
}

func findStruct(fields []*Field, name string) []*Field {
	for _, f := range fields {
		if f.Type.Struct == name && len(f.Fields) > 0 {
			return f.Fields
		}
		if found := findStruct(f.Fields, name); found != nil {
			return found
		}
	}
	return nil
}
