package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kdissect/kdissect/schema"
)

// Schemas is a table of the schemas that are known: where they come from, and those that are not built in one by one.
func Schemas(catalog *schema.Catalog) string {
	var b strings.Builder
	kinds := map[schema.Kind]int{}
	var loaded []string
	for _, name := range catalog.Names() {
		m, err := catalog.Message(name)
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%v\n", err) // cannot be: a catalog's files are checked
		case catalog.Origin(name) != "":
			loaded = append(loaded, name)
		default:
			kinds[m.Kind]++
		}
	}
	fmt.Fprintf(&b, "built in, from Kafka %s:\n", strings.Join(catalog.Releases(), " and "))
	for kind := schema.Request; kind <= schema.CoordinatorValue; kind++ {
		fmt.Fprintf(&b, "%6d %s\n", kinds[kind], kind)
	}
	writeTopics(&b, catalog)
	if len(loaded) > 0 {
		writeLoaded(&b, catalog, loaded)
	}
	return b.String()
}

func writeTopics(b *strings.Builder, catalog *schema.Catalog) {
	b.WriteString("\ntopics whose records are described:\n")
	for topic, names := range catalog.Topics {
		if len(names) == 1 {
			fmt.Fprintf(b, "  %s: %s\n", topic, names[0])
		} else {
			fmt.Fprintf(b, "  %s: %d kinds of records\n", topic, len(names))
		}
	}
}

func writeLoaded(b *strings.Builder, catalog *schema.Catalog, names []string) {
	b.WriteString("\nloaded:\n")
	table := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, name := range names {
		m, _ := catalog.Message(name) // read above
		fmt.Fprintf(table, "  %s\t%s\tkey %s\tversions %s\t%s\n", name, m.Kind, keyOf(m, "-"), m.ValidVersions, catalog.Origin(name))
	}
	table.Flush() // a strings.Builder takes everything
}

// keyOf is the API key or record type of a message as it is written, none where it has none.
func keyOf(m *schema.Message, none string) string {
	switch {
	case m.Draft:
		return "TBD"
	case m.APIKey < 0:
		return none
	}
	return fmt.Sprint(m.APIKey)
}

// Diff says what changed between two sets of messages: a line for each change.
func Diff(older, newer []*schema.Message) string {
	d := differ{}
	left := make(map[string]*schema.Message, len(newer))
	for _, m := range newer {
		left[identity(m)] = m
	}
	for _, m := range sorted(older) {
		id := identity(m)
		if other := left[id]; other != nil {
			d.messages(m, other)
		} else if !m.ValidVersions.Empty() {
			d.line("- %s: gone, with versions %s", m.Name, m.ValidVersions)
		}
		delete(left, id)
	}
	added := make([]*schema.Message, 0, len(left))
	for _, m := range left {
		added = append(added, m)
	}
	for _, m := range sorted(added) {
		if !m.ValidVersions.Empty() {
			d.line("+ %s: new, versions %s%s", m.Name, m.ValidVersions, stability(m))
		}
	}
	if d.Len() == 0 {
		return "nothing changed\n"
	}
	return d.String()
}

// identity is what makes messages of two sets the same: requests and responses keep their key when they are given another name.
func identity(m *schema.Message) string {
	if m.Kind <= schema.Response && m.APIKey >= 0 {
		return fmt.Sprintf("%s %d", m.Kind, m.APIKey)
	}
	return m.Name
}

func sorted(messages []*schema.Message) []*schema.Message {
	return slices.SortedStableFunc(slices.Values(messages), func(a, b *schema.Message) int {
		return cmp.Or(cmp.Compare(uint16(apiKeyOf(a)), uint16(apiKeyOf(b))), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// apiKeyOf is the key of an API, -1 for everything else.
func apiKeyOf(m *schema.Message) int16 {
	if m.Kind <= schema.Response {
		return m.APIKey
	}
	return -1
}

func stability(m *schema.Message) string {
	if m.LatestUnstable {
		return " (the newest not released yet)"
	}
	return ""
}

// A differ collects changes.
type differ struct{ strings.Builder }

func (d *differ) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *differ) messages(a, b *schema.Message) {
	if b.ValidVersions.Empty() && !a.ValidVersions.Empty() {
		d.line("- %s: gone, with versions %s", a.Name, a.ValidVersions)
		return
	}
	if a.Name != b.Name {
		d.line("~ %s: is called %s", a.Name, b.Name)
	}
	if a.ValidVersions != b.ValidVersions {
		d.line("~ %s: versions %s -> %s%s", b.Name, a.ValidVersions, b.ValidVersions, stability(b))
	} else if a.LatestUnstable != b.LatestUnstable {
		d.line("~ %s: version %d is %s", b.Name, b.ValidVersions.High, map[bool]string{true: "no longer released", false: "released"}[b.LatestUnstable])
	}
	if fa, fb := a.Flexible.Intersect(a.ValidVersions), b.Flexible.Intersect(b.ValidVersions); fa.Empty() != fb.Empty() || !fa.Empty() && a.Flexible.Low != b.Flexible.Low {
		d.line("~ %s: flexible versions %s -> %s", b.Name, a.Flexible, b.Flexible)
	}
	d.fields(b.Name, pathsOf(a), pathsOf(b))
}

// A placed field is a field and where it stands: Topics.Partitions.PartitionIndex.
type placed struct {
	path  string
	field *schema.Field
	in    schema.Versions // versions of the message that have it
}

// pathsOf returns all fields that some version of a message has.
func pathsOf(m *schema.Message) []placed {
	var all []placed
	var add func(prefix string, fields []*schema.Field, versions schema.Versions)
	add = func(prefix string, fields []*schema.Field, versions schema.Versions) {
		for _, f := range fields {
			in := f.Versions.Intersect(versions)
			if in.Empty() {
				continue
			}
			all = append(all, placed{prefix + f.Name, f, in})
			if f.Type.Base == schema.StructType {
				add(prefix+f.Name+".", m.StructFields(f), in)
			}
		}
	}
	add("", m.Fields, m.ValidVersions)
	return all
}

func (d *differ) fields(message string, older, newer []placed) {
	was := make(map[string]placed, len(older))
	for _, p := range older {
		was[p.path] = p
	}
	for _, p := range newer {
		old, known := was[p.path]
		delete(was, p.path)
		switch {
		case !known:
			d.line("+ %s.%s: %s, versions %s%s", message, p.path, p.field.Type, p.in, tagOf(p.field))
		case old.field.Type != p.field.Type && (old.field.Type.Base != schema.StructType || p.field.Type.Base != schema.StructType):
			d.line("~ %s.%s: %s -> %s", message, p.path, old.field.Type, p.field.Type)
		}
	}
	for _, p := range older {
		if _, gone := was[p.path]; gone {
			d.line("- %s.%s: %s, versions %s", message, p.path, p.field.Type, p.in)
		}
	}
}

func tagOf(f *schema.Field) string {
	if f.Tag < 0 {
		return ""
	}
	return fmt.Sprintf(", tag %d", f.Tag)
}
