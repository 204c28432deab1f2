package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// writeCatalog writes one file a message and the index, and removes the files of messages that are gone.
func writeCatalog(dir string, messages release) error {
	index := bytes.NewBufferString(schema.IndexHeader)
	keep := map[string]bool{}
	for _, name := range slices.SortedFunc(maps.Keys(messages), compareNames(messages)) {
		module, _, _ := strings.Cut(name, "/")
		m := messages[name]
		file := module + "/" + m.Name + ".json"
		keep[filepath.Join(dir, file)] = true
		if err := os.MkdirAll(filepath.Join(dir, module), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), formatMessage(m), 0o644); err != nil {
			return err
		}
		index.WriteString(schema.IndexLine(file, m))
	}
	old, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if !keep[file] {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "index.tsv"), index.Bytes(), 0o644)
}

// compareNames orders by module, then API key, then name, so that the index reads like a table of the protocol.
func compareNames(messages release) func(a, b string) int {
	key := func(name string) string {
		module, rest, _ := strings.Cut(name, "/")
		return fmt.Sprintf("%s/%05d/%s", module, uint16(messages[name].APIKey), rest)
	}
	return func(a, b string) int { return strings.Compare(key(a), key(b)) }
}

// A writer lays a schema out as Kafka's files are: a line a field.
type writer struct {
	bytes.Buffer
	first bool
}

func formatMessage(m *schema.Message) []byte {
	w := &writer{}
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

func (w *writer) structs(structs []*schema.Struct) {
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
func (w *writer) fields(indent string, fields []*schema.Field) {
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

func (w *writer) field(indent string, f *schema.Field) {
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
	if len(f.Fields) > 0 {
		w.WriteString(",")
		w.first = true
		w.fields(indent, f.Fields)
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
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
