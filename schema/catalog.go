package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

//go:embed catalog
var embedded embed.FS

// A Catalog holds the messages of one or more Kafka releases. It knows of each message what its
// index says; the message itself is read when it is first asked for. A Catalog may be used by several goroutines.
type Catalog struct {
	files  fs.FS
	apis   []*API            // by API key, nil where there is none
	drafts []*API            // those whose key is still to be assigned
	topics map[string]string // topics whose records are described here, and the module that describes them
	byName map[string]*entry
	names  []string // in the order of the index
	record map[recordID]*entry

	loading sync.Mutex
	layouts layouts
}

// A recordID finds a record's key or value of an internal topic.
type recordID struct {
	module     string // of Kafka's sources: group-coordinator, metadata ...
	kind       Kind
	recordType int16
}

// internalTopics are the topics whose records Kafka writes for itself, and the module whose schemas describe them.
var internalTopics = map[string]string{
	"__consumer_offsets":    "group-coordinator",
	"__transaction_state":   "transaction-coordinator",
	"__share_group_state":   "share-coordinator",
	"__cluster_metadata":    "metadata",
	"__remote_log_metadata": "storage",
}

// An API is what requests and responses with one API key have in common.
type API struct {
	Key  int16  // -1 of a draft that has none yet
	Name string // Fetch
	// Versions, Flexible and Unstable describe the request; the response where there is none.
	Versions Versions
	Flexible Versions // versions with compact lengths, tagged fields and a flexible header
	Unstable bool     // the newest version is not released yet

	messages [2]*entry
}

// entry is a line of the index and what it stands for once that is read.
type entry struct {
	path               string // in the catalog, or of the file that it was loaded from
	module             string // of Kafka's sources
	name               string
	kind               Kind
	apiKey             int16
	versions, flexible Versions
	unstable           bool
	releases           string // as the index has them
	file               string // that it was loaded from, "" of the catalog's own

	message *Message // read under Catalog.loading
	plans   []atomic.Pointer[Plan]
}

// Embedded returns the catalog that is built in.
var Embedded = sync.OnceValue(func() *Catalog {
	files, err := fs.Sub(embedded, "catalog")
	if err == nil {
		var c *Catalog
		if c, err = newCatalog(files); err == nil {
			return c
		}
	}
	panic("the built-in catalog is broken: " + err.Error())
})

// newCatalog reads the index of a catalog's files.
func newCatalog(files fs.FS) (*Catalog, error) {
	index, err := fs.ReadFile(files, "index.tsv")
	if err != nil {
		return nil, err
	}
	c := &Catalog{files: files, topics: maps.Clone(internalTopics), byName: make(map[string]*entry, 320), record: map[recordID]*entry{}}
	for line := range strings.Lines(string(index)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		c.add(e)
	}
	return c, nil
}

// IndexHeader is the first line of a catalog's index.
const IndexHeader = "# file\tkind\tkey\tversions\tflexible\tunstable\treleases\n"

// IndexLine is the line of a catalog's index for a message in the file at path.
func IndexLine(path string, m *Message) string {
	return fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%t\t%s\n", path, m.Kind, m.APIKey, m.ValidVersions, m.Flexible, m.LatestUnstable, formatReleases(m.Releases))
}

// formatReleases writes releases and their versions as 3.9.1:0-2~,4.4.0:1-3, where ~ is that the newest is not released yet.
func formatReleases(releases []Release) string {
	words := make([]string, 0, len(releases))
	for _, r := range releases {
		word := r.Kafka + ":" + r.Versions.String()
		if r.Unstable {
			word += "~"
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}

func parseReleases(text string) ([]Release, error) {
	var releases []Release
	for word := range strings.SplitSeq(text, ",") {
		kafka, versions, _ := strings.Cut(word, ":")
		if kafka == "" {
			continue
		}
		versions, unstable := strings.CutSuffix(versions, "~")
		v, err := ParseVersions(versions)
		if err != nil {
			return nil, err
		}
		releases = append(releases, Release{kafka, v, unstable})
	}
	return releases, nil
}

func parseEntry(line string) (*entry, error) {
	bad := func() (*entry, error) { return nil, fmt.Errorf("bad line in the catalog's index: %q", line) }
	columns := strings.Split(line, "\t")
	if len(columns) != 7 {
		return bad()
	}
	e := &entry{path: columns[0], unstable: columns[5] == "true", releases: columns[6]}
	e.module, _, _ = strings.Cut(e.path, "/")
	e.name = strings.TrimSuffix(e.path[strings.LastIndexByte(e.path, '/')+1:], ".json")
	key, err := strconv.ParseInt(columns[2], 10, 16)
	if err != nil {
		return bad()
	}
	e.apiKey = int16(key)
	for k, name := range kindNames {
		if name == columns[1] {
			e.kind = Kind(k)
		}
	}
	var errs [2]error
	e.versions, errs[0] = ParseVersions(columns[3])
	e.flexible, errs[1] = ParseVersions(columns[4])
	if errs[0] != nil || errs[1] != nil {
		return bad()
	}
	e.plans = make([]atomic.Pointer[Plan], int(e.versions.High)+1)
	return e, nil
}

func (c *Catalog) add(e *entry) {
	if c.byName[e.name] == nil {
		c.names = append(c.names, e.name)
	}
	c.byName[e.name] = e
	if e.kind >= MetadataRecord {
		c.record[recordID{e.module, e.kind, e.apiKey}] = e
	}
	if e.kind > Response {
		return
	}
	api := c.apiOf(e)
	api.messages[e.kind] = e
	if e.kind == Request || api.messages[Request] == nil {
		api.Name = apiName(e.kind, e.name)
		api.Versions, api.Flexible, api.Unstable = e.versions, e.flexible, e.unstable
	}
}

// apiOf returns the API that a request or response belongs to. Drafts belong together by name.
func (c *Catalog) apiOf(e *entry) *API {
	if e.apiKey < 0 {
		name := apiName(e.kind, e.name)
		for _, api := range c.drafts {
			if api.Name == name {
				return api
			}
		}
		c.drafts = append(c.drafts, &API{Key: -1})
		return c.drafts[len(c.drafts)-1]
	}
	for int(e.apiKey) >= len(c.apis) {
		c.apis = append(c.apis, nil)
	}
	if c.apis[e.apiKey] == nil {
		c.apis[e.apiKey] = &API{Key: e.apiKey}
	}
	return c.apis[e.apiKey]
}

// API returns the API with the given key, or nil.
func (c *Catalog) API(key int16) *API {
	if key < 0 || int(key) >= len(c.apis) {
		return nil
	}
	return c.apis[key]
}

// APIByName returns the API with a name, in whatever case, or nil.
func (c *Catalog) APIByName(name string) *API {
	for api := range c.AllAPIs {
		if strings.EqualFold(api.Name, name) {
			return api
		}
	}
	return nil
}

// AllAPIs calls yield for each API in the order of the keys, and then for drafts without one.
func (c *Catalog) AllAPIs(yield func(*API) bool) {
	for api := range c.APIs {
		if !yield(api) {
			return
		}
	}
	for _, api := range c.drafts {
		if !yield(api) {
			return
		}
	}
}

// APIs calls yield for each API in the order of the keys.
func (c *Catalog) APIs(yield func(*API) bool) {
	for _, api := range c.apis {
		if api != nil && !yield(api) {
			return
		}
	}
}

// Releases returns the Kafka releases that the catalog was made of, oldest first.
func (c *Catalog) Releases() []string {
	var names []string
	for _, name := range c.names {
		releases, _ := parseReleases(c.byName[name].releases)
		for _, r := range releases {
			if !slices.Contains(names, r.Kafka) {
				names = append(names, r.Kafka)
			}
		}
	}
	return names
}

// Names returns the names of all messages, in the order of the index. The slice must not be changed.
func (c *Catalog) Names() []string { return c.names }

// Plan returns the plan of a request or response, or nil where the catalog does not know the key or the version.
func (c *Catalog) Plan(key, version int16, kind Kind) *Plan {
	api := c.API(key)
	if api == nil {
		return nil
	}
	return c.PlanOf(api, version, kind)
}

// PlanOf is Plan for an API that may have no key yet.
func (c *Catalog) PlanOf(api *API, version int16, kind Kind) *Plan {
	if kind > Response || api.messages[kind] == nil {
		return nil
	}
	return c.plan(api.messages[kind], version)
}

// MessageOf returns the request or response of an API, nil where it has none.
func (c *Catalog) MessageOf(api *API, kind Kind) *Message {
	if kind > Response || api.messages[kind] == nil {
		return nil
	}
	return c.mustRead(api.messages[kind])
}

// PlanByName returns the plan of any message, or nil where the catalog does not know the name or the version.
func (c *Catalog) PlanByName(name string, version int16) *Plan {
	e := c.byName[name]
	if e == nil {
		return nil
	}
	return c.plan(e, version)
}

// RecordPlan returns the plan of a record's key or value of an internal topic, by its record type; nil where the catalog knows none.
func (c *Catalog) RecordPlan(topic string, kind Kind, recordType, version int16) *Plan {
	e := c.record[recordID{c.topics[topic], kind, recordType}]
	if e == nil {
		return nil
	}
	return c.plan(e, version)
}

// Newest returns the newest version of a message, -1 where the catalog does not have it.
func (c *Catalog) Newest(name string) int16 {
	if e := c.byName[name]; e != nil {
		return e.versions.High
	}
	return -1
}

// Versions returns the versions of a message. known is false where the catalog does not have it.
func (c *Catalog) Versions(name string) (v Versions, known bool) {
	e := c.byName[name]
	if e == nil {
		return None, false
	}
	return e.versions, true
}

// IsInternalTopic tells whether a topic has records that Kafka writes for itself, in layouts that the catalog knows.
func (c *Catalog) IsInternalTopic(topic string) bool { return c.topics[topic] != "" }

func (c *Catalog) plan(e *entry, version int16) *Plan {
	if !e.versions.Contains(version) {
		return nil
	}
	if p := e.plans[version].Load(); p != nil {
		return p
	}
	m := c.mustRead(e)
	p := compile(m, version)
	if header := m.headerVersion(version); header >= 0 {
		p.Header = c.HeaderPlan(e.kind, header)
	}
	if !e.plans[version].CompareAndSwap(nil, p) {
		p = e.plans[version].Load() // another goroutine was faster
	}
	return p
}

// RecordBatches is the plan of record batches that come without a message around them: one records field.
var RecordBatches = sync.OnceValue(func() *Plan {
	field := &Field{Name: "Records", Type: Type{Base: Records}, Versions: Versions{0, 0}, Nullable: None, Tagged: None, Tag: -1}
	return compile(&Message{Name: "RecordBatches", Kind: Data, APIKey: -1, ValidVersions: Versions{0, 0}, Flexible: None, Fields: []*Field{field}}, 0)
})

// HeaderPlan returns the plan of the request or response header of a version.
func (c *Catalog) HeaderPlan(kind Kind, version int16) *Plan {
	if kind == Request {
		return c.PlanByName("RequestHeader", version)
	}
	return c.PlanByName("ResponseHeader", version)
}

// Message returns a message by its full name, such as "FetchRequest". The error says that there is none.
func (c *Catalog) Message(name string) (*Message, error) {
	e := c.byName[name]
	if e == nil {
		return nil, fmt.Errorf("the catalog has no message %s", name)
	}
	return c.read(e)
}

// mustRead reads a message. A catalog's files are checked before it is used, so there is no error.
func (c *Catalog) mustRead(e *entry) *Message {
	m, err := c.read(e)
	if err != nil {
		panic(err)
	}
	return m
}

func (c *Catalog) read(e *entry) (*Message, error) {
	c.loading.Lock()
	defer c.loading.Unlock()
	if e.message != nil {
		return e.message, nil
	}
	text, err := fs.ReadFile(c.files, e.path)
	if err != nil {
		return nil, err
	}
	m, err := Parse(e.path, text)
	if err != nil {
		return nil, err
	}
	if m.Releases, err = parseReleases(e.releases); err != nil {
		return nil, err
	}
	e.message = m
	return m, nil
}

// MessagesOf returns the messages of a release that the catalog was made of, in its versions; nil where it is none of these. What a version has that both
// a release and a newer one know is as the newer one describes it.
func (c *Catalog) MessagesOf(kafka string) []*Message {
	var messages []*Message
	for _, name := range c.names {
		releases, _ := parseReleases(c.byName[name].releases) // read once already
		for _, r := range releases {
			if r.Kafka == kafka && !r.Versions.Empty() {
				m := *c.mustRead(c.byName[name])
				m.ValidVersions, m.LatestUnstable = r.Versions, r.Unstable
				messages = append(messages, &m)
			}
		}
	}
	return messages
}
