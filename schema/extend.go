package schema

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// An Extension is what a user adds to the built-in catalog, or puts in place of what is there.
type Extension struct {
	Sources           []string            // as ReadSources takes them
	APIKeys           map[string]int16    // keys for drafts, by the name of the API
	CoordinatorTopics map[string][]string // by topic the names of the records that it has: NameKey and NameValue
}

// Extend returns the built-in catalog with an extension. A request or response takes the place of the one with its key, everything else of the one with its
// name. What the sources say in their own words of their fields is shown in place of the built-in explanations.
func Extend(x *Extension) (*Catalog, error) {
	if len(x.Sources) == 0 && len(x.APIKeys) == 0 && len(x.CoordinatorTopics) == 0 {
		return Embedded(), nil
	}
	files, err := fs.Sub(embedded, "catalog")
	if err != nil {
		return nil, err
	}
	c, err := newCatalog(files)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(x.APIKeys))
	for _, source := range x.Sources {
		found, err := ReadSources(source)
		if err != nil {
			return nil, err
		}
		for i := range found {
			x.assign(found[i].Message, keys)
			if err := c.load(&found[i]); err != nil {
				return nil, err
			}
		}
	}
	for name := range x.APIKeys {
		if !keys[name] {
			return nil, fmt.Errorf("there is no draft of an API called %s%s", name, DidYouMean(name, c.draftNames()))
		}
	}
	for topic, names := range x.CoordinatorTopics {
		for _, name := range names {
			if err := c.bind(topic, name); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// assign gives a draft its key, if it has one, and notes its name.
func (x *Extension) assign(m *Message, used map[string]bool) {
	key, assigned := x.APIKeys[m.APIName()]
	if assigned && m.Draft && m.Kind <= Response {
		m.APIKey, m.Draft = key, false
		used[m.APIName()] = true
	}
}

func (c *Catalog) draftNames() []string {
	var names []string
	for _, api := range c.drafts {
		names = append(names, api.Name)
	}
	return names
}

// load adds a message, or puts it in place of one that is there.
func (c *Catalog) load(f *Found) error {
	m := f.Message
	if m.ValidVersions.High == math.MaxInt16 {
		return &ParseError{f.File, 0, fmt.Sprintf("%s: validVersions %s have no end", m.Name, m.ValidVersions)}
	}
	e := &entry{path: f.Module + "/" + m.Name + ".json", file: f.File, module: f.Module, name: m.Name, kind: m.Kind, apiKey: m.APIKey,
		versions: m.ValidVersions, flexible: m.Flexible, unstable: m.LatestUnstable, message: m}
	e.plans = make([]atomic.Pointer[Plan], int(e.versions.High)+1)
	old := c.replaced(e)
	if old != nil && old.kind == CoordinatorKey && e.kind == Data {
		return nil // before Kafka 4.0 a key did not say its record type; its layout is the same
	}
	if old != nil {
		if old.kind == CoordinatorValue && e.kind == Data {
			e.kind, e.apiKey = old.kind, old.apiKey
			m.Kind, m.APIKey = old.kind, old.apiKey
		}
		c.remove(old)
		if e.kind >= MetadataRecord && e.kind == old.kind {
			e.module = old.module
		}
	}
	c.add(e)
	return nil
}

// replaced returns what a message takes the place of, nil for nothing.
func (c *Catalog) replaced(e *entry) *entry {
	if api := c.API(e.apiKey); e.kind <= Response && api != nil && api.messages[e.kind] != nil {
		return api.messages[e.kind]
	}
	return c.byName[e.name]
}

// remove takes a message out of the lists of names. Those by key or record type are overwritten by what takes its place.
func (c *Catalog) remove(e *entry) {
	delete(c.byName, e.name)
	c.names = slices.DeleteFunc(c.names, func(name string) bool { return name == e.name })
	if id := (recordID{e.module, e.kind, e.apiKey}); c.record[id] == e {
		delete(c.record, id)
	}
}

// bind makes records of a topic those whose key and value have the schemas NameKey and NameValue.
func (c *Catalog) bind(topic, name string) error {
	key, value := c.byName[name+"Key"], c.byName[name+"Value"]
	if key == nil || value == nil || key.kind != CoordinatorKey || value.kind != CoordinatorValue {
		var names []string
		for _, e := range c.byName {
			if bare, isKey := strings.CutSuffix(e.name, "Key"); isKey && e.kind == CoordinatorKey {
				names = append(names, bare)
			}
		}
		return fmt.Errorf("there are no records %sKey and %sValue of a coordinator%s", name, name, DidYouMean(name, names))
	}
	module := c.topics[topic]
	if module == "" {
		module = "topic " + topic
		c.topics[topic] = module
	}
	c.record[recordID{module, CoordinatorKey, key.apiKey}] = key
	c.record[recordID{module, CoordinatorValue, value.apiKey}] = value
	return nil
}

// Origin is the file that a message was loaded from, "" if it is built in.
func (c *Catalog) Origin(name string) string {
	if e := c.byName[name]; e != nil {
		return e.file
	}
	return ""
}

// Topics calls yield for each topic whose records the catalog describes, with the names of their schemas.
func (c *Catalog) Topics(yield func(topic string, schemas []string) bool) {
	topics := make([]string, 0, len(c.topics))
	for topic := range c.topics {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	for _, topic := range topics {
		var names []string
		for id, e := range c.record {
			if id.module == c.topics[topic] && id.kind != CoordinatorKey {
				names = append(names, e.name)
			}
		}
		slices.Sort(names)
		if !yield(topic, names) {
			return
		}
	}
}
