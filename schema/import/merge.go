package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// mergeReleases puts the versions that only the older release has into the newer one.
func mergeReleases(older, newer release) (release, error) {
	merged := maps.Clone(newer)
	for _, name := range slices.Sorted(maps.Keys(older)) {
		old := older[name]
		if isOldCoordinatorKey(name, old) {
			addOldCoordinatorKey(merged, older, name, old)
			continue
		}
		match := findMatch(newer, name, old)
		if match == "" {
			if !hasOldKey(older, name) {
				merged[name] = old
			}
			continue
		}
		m, err := mergeMessages(old, newer[match])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		merged[match] = withReleases(m, old.Releases)
	}
	return merged, nil
}

// withReleases puts older releases in front of those of a message.
func withReleases(m *schema.Message, older []schema.Release) *schema.Message {
	all := *m
	all.Releases = nil
	for _, r := range older {
		if !slices.ContainsFunc(m.Releases, func(other schema.Release) bool { return other.Kafka == r.Kafka }) {
			all.Releases = append(all.Releases, r)
		}
	}
	all.Releases = append(all.Releases, m.Releases...)
	return &all
}

// findMatch finds the newer form of a message: requests and responses by their API key, since names
// change, everything else by name.
func findMatch(newer release, name string, old *schema.Message) string {
	if newer[name] != nil {
		return name
	}
	if old.Kind <= schema.Response {
		for other, m := range newer {
			if m.Kind == old.Kind && m.APIKey == old.APIKey && m.APIKey >= 0 {
				return other
			}
		}
	}
	return ""
}

// isOldCoordinatorKey tells the keys of coordinator records as Kafka 3.9 describes them: plain data whose versions are the
// record types. Kafka 4 gives a record type as apiKey and a key's version is 0, so these must not be merged by name.
func isOldCoordinatorKey(name string, m *schema.Message) bool {
	return m.Kind == schema.Data && strings.Contains(name, "-coordinator/") && strings.HasSuffix(name, "Key")
}

func hasOldKey(older release, value string) bool {
	key := strings.TrimSuffix(value, "Value") + "Key"
	m := older[key]
	return strings.HasSuffix(value, "Value") && m != nil && isOldCoordinatorKey(key, m)
}

// addOldCoordinatorKey turns an old key and its value into the newer form if the newer release has no key of its record type.
func addOldCoordinatorKey(merged, older release, name string, key *schema.Message) {
	recordType := key.ValidVersions.High
	module, _, _ := strings.Cut(name, "/")
	releases := slices.Clone(key.Releases)
	for i := range releases {
		releases[i].Versions = schema.Versions{}
	}
	known := false
	for other, m := range merged {
		if m.Kind == schema.CoordinatorKey && key.ValidVersions.Contains(m.APIKey) && strings.HasPrefix(other, module+"/") {
			merged[other] = withReleases(m, releases)
			known = known || m.APIKey == recordType
		}
	}
	if known {
		return
	}
	k := *key
	k.Kind, k.APIKey, k.ValidVersions, k.Releases = schema.CoordinatorKey, recordType, schema.Versions{}, releases
	k.Fields = nil
	for _, f := range key.Fields {
		field := *f
		field.Versions = schema.From(0)
		k.Fields = append(k.Fields, &field)
	}
	merged[name] = &k
	valueName := strings.TrimSuffix(name, "Key") + "Value"
	if value := older[valueName]; value != nil && merged[valueName] == nil {
		v := *value
		v.Kind, v.APIKey = schema.CoordinatorValue, recordType
		merged[valueName] = &v
	}
}

// mergeMessages adds to the newer form of a message the versions that only the older one has.
func mergeMessages(old, newest *schema.Message) (*schema.Message, error) {
	dropped, err := old.ValidVersions.Subtract(newest.ValidVersions)
	if err != nil || dropped.Empty() {
		return newest, err
	}
	m := *newest
	merge := merger{dropped: dropped}
	m.ValidVersions = merge.ranges("validVersions", old.ValidVersions, newest.ValidVersions)
	m.Flexible = merge.ranges("flexibleVersions", old.Flexible, newest.Flexible)
	if newest.ValidVersions.Empty() {
		m.Flexible, m.Listeners = old.Flexible, old.Listeners
	}
	m.Fields = merge.fields(old.Fields, newest.Fields)
	m.CommonStructs = merge.structs(old.CommonStructs, newest.CommonStructs)
	return &m, merge.err
}

// A merger unites two forms of a message. Its error sticks.
type merger struct {
	dropped schema.Versions // versions that only the older form has
	err     error
}

func (m *merger) ranges(what string, old, newest schema.Versions) schema.Versions {
	v, err := newest.Union(old.Intersect(m.dropped))
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("%s: %w", what, err)
	}
	return v
}

// fields unites two lists of fields: the newer one's order, and behind the field that precedes it in
// the older one each field that only the dropped versions have.
func (m *merger) fields(old, newest []*schema.Field) []*schema.Field {
	var merged []*schema.Field
	for _, f := range newest {
		merged = append(merged, m.field(fieldNamed(old, f.Name), f))
	}
	behind := 0
	for _, f := range old {
		if at := slices.IndexFunc(merged, func(g *schema.Field) bool { return g.Name == f.Name }); at >= 0 {
			behind = at + 1
			continue
		}
		only := *f
		if only.Versions = f.Versions.Intersect(m.dropped); only.Versions.Empty() {
			continue
		}
		only.Tagged, only.Nullable = f.Tagged.Intersect(m.dropped), f.Nullable.Intersect(m.dropped)
		merged = slices.Insert(merged, behind, &only)
		behind++
	}
	return merged
}

func fieldNamed(fields []*schema.Field, name string) *schema.Field {
	for _, f := range fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func (m *merger) field(old, newest *schema.Field) *schema.Field {
	if old == nil {
		return newest
	}
	if old.Type != newest.Type && old.Type.Base != schema.StructType && m.err == nil {
		m.err = fmt.Errorf("field %s is %s and %s", newest.Name, old.Type, newest.Type)
	}
	f := *newest
	f.Versions = m.ranges(f.Name+".versions", old.Versions, newest.Versions)
	f.Nullable = m.ranges(f.Name+".nullableVersions", old.Nullable, newest.Nullable)
	f.Tagged = m.ranges(f.Name+".taggedVersions", old.Tagged, newest.Tagged)
	f.Fields = m.fields(old.Fields, newest.Fields)
	return &f
}

func (m *merger) structs(old, newest []*schema.Struct) []*schema.Struct {
	merged := slices.Clone(newest)
	for _, s := range old {
		at := slices.IndexFunc(merged, func(t *schema.Struct) bool { return t.Name == s.Name })
		if at < 0 {
			merged = append(merged, s)
			continue
		}
		merged[at] = &schema.Struct{Name: s.Name, Versions: m.ranges(s.Name, s.Versions, merged[at].Versions), Fields: m.fields(s.Fields, merged[at].Fields)}
	}
	return merged
}
