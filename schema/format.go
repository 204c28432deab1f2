package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// A writer lays a schema out.
type writer struct {
	bytes.Buffer
	message   *Message
	explained bool
	first     bool // nothing of the list has been written yet
}

// Format writes the schema as Kafka's files are laid out, a line a field. Explained, each field has a second line with what [Field.About] says of it.
func (m *Message) Format(explained bool) []byte {
	w := &writer{message: m, explained: explained}
	w.WriteString("{\n")
	w.first = true
	if m.Draft {
		w.pair("  ", "apiKey", "TBD")
	} else if m.APIKey >= 0 {
		w.raw("  ", "apiKey", fmt.Sprint(m.APIKey))
	}
	w.pair("  ", "type", m.Kind.String())
	if len(m.Listeners) > 0 {
		w.raw("  ", "listeners", `["`+strings.Join(m.Listeners, `", "`)+`"]`)
	}
	w.pair("  ", "name", m.Name)
	w.pair("  ", "validVersions", m.ValidVersions.String())
	if !m.Deprecated.Empty() {
		w.pair("  ", "deprecatedVersions", m.Deprecated.String())
	}
	w.pair("  ", "flexibleVersions", m.Flexible.String())
	if m.LatestUnstable {
		w.raw("  ", "latestVersionUnstable", "true")
	}
	w.fields("  ", m.Fields)
	w.structs(m.CommonStructs)
	w.WriteString("\n}\n")
	return w.Bytes()
}

func (w *writer) structs(structs []*Struct) {
	if len(structs) == 0 {
		return
	}
	w.WriteString(",\n  \"commonStructs\": [\n")
	for i, s := range structs {
		if i > 0 {
			w.WriteString(",\n")
		}
		w.WriteString("    {")
		w.first = true
		w.inline("name", s.Name)
		w.inline("versions", s.Versions.String())
		w.WriteString(",")
		w.first = true
		w.fields("    ", s.Fields)
		w.WriteString("}")
	}
	w.WriteString("\n  ]")
}

// fields writes the list under "fields", behind what the line or the message has so far.
func (w *writer) fields(indent string, fields []*Field) {
	if !w.first {
		w.WriteString(",\n" + indent)
	} else {
		w.WriteString(" ")
	}
	w.WriteString("\"fields\": [")
	for i, f := range fields {
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString("\n" + indent + "  {")
		w.field(indent+"  ", f)
		w.WriteString("}")
	}
	w.WriteString("]")
	w.first = false
}

func (w *writer) field(indent string, f *Field) {
	w.first = true
	w.inline("name", f.Name)
	w.inline("type", f.Type.String())
	w.inline("versions", f.Versions.String())
	if !f.Nullable.Empty() {
		w.inline("nullableVersions", f.Nullable.String())
	}
	if f.Tag >= 0 {
		w.inline("taggedVersions", f.Tagged.String())
		w.inlineRaw("tag", fmt.Sprint(f.Tag))
	}
	if f.Flexible != nil {
		w.inline("flexibleVersions", f.Flexible.String())
	}
	if f.HasDefault {
		w.inline("default", f.Default)
	}
	if f.MapKey {
		w.inlineRaw("mapKey", "true")
	}
	if f.EntityType != "" {
		w.inline("entityType", f.EntityType)
	}
	if f.Ignorable {
		w.inlineRaw("ignorable", "true")
	}
	if about := f.About(w.message); w.explained && about != "" {
		w.WriteString(",\n" + indent + " ")
		w.first = true
		w.inline("about", about)
	}
	if len(f.Fields) > 0 {
		w.WriteString(",")
		w.first = true
		w.fields(indent, f.Fields)
	}
}

// quote writes a string of JSON. What is not printable is escaped: a loaded schema may hold anything.
func quote(s string) string {
	text, _ := json.Marshal(s) // a string cannot fail
	var b strings.Builder
	for _, r := range string(text) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

func (w *writer) pair(indent, key, value string) { w.raw(indent, key, quote(value)) }

func (w *writer) raw(indent, key, value string) {
	if !w.first {
		w.WriteString(",\n")
	}
	w.first = false
	w.WriteString(indent + quote(key) + ": " + value)
}

func (w *writer) inline(key, value string) { w.inlineRaw(key, quote(value)) }

func (w *writer) inlineRaw(key, value string) {
	if !w.first {
		w.WriteString(",")
	}
	w.first = false
	w.WriteString(" " + quote(key) + ": " + value)
}
