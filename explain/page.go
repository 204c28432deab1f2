package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// A Page is all that there is to say about an API at one version, or about another structure of the catalog.
type Page struct {
	Name      string
	API       *schema.API // nil of a structure
	Version   int16
	Purpose   schema.Purpose
	Errors    []*schema.Error // that its answers often carry
	Listeners []string        // where its requests are served
	Parts     []*Part         // request and response, as far as they are wanted and known, or the structure

	releases []string // that the catalog was made of
}

// A Part is a request, a response or another structure.
type Part struct {
	Message *schema.Message
	Plan    *schema.Plan
	Bytes   []byte // the smallest legal message

	dissected *dissect.Message
}

// Newest as a version stands for the newest.
const Newest int16 = -1

// NewPage makes the page of what a name stands for: an API by its name or key, or another message by its name, in any case. kinds says what of an API
// is wanted.
func NewPage(catalog *schema.Catalog, name string, version int16, kinds ...schema.Kind) (*Page, error) {
	api, err := catalog.FindAPI(name)
	if err == nil {
		return newAPIPage(catalog, api, version, kinds)
	}
	full := catalog.FindName(name)
	if full == "" {
		if _, number := strconv.Atoi(name); number == nil {
			return nil, err
		}
		return nil, unknown(catalog, name)
	}
	m, err := catalog.Message(full)
	if err != nil {
		return nil, err
	}
	if m.Kind <= schema.Response {
		api, err := catalog.FindAPI(m.APIName())
		if err != nil {
			return nil, err
		}
		return newAPIPage(catalog, api, version, []schema.Kind{m.Kind})
	}
	return newStructurePage(catalog, m, version)
}

// unknown says that a name stands for nothing, and proposes one that is near: of an API, or of a structure.
func unknown(catalog *schema.Catalog, name string) error {
	var names []string
	for api := range catalog.AllAPIs {
		names = append(names, api.Name)
	}
	return fmt.Errorf("unknown API %q%s", name, schema.DidYouMean(name, append(names, catalog.Names()...)))
}

func newAPIPage(catalog *schema.Catalog, api *schema.API, version int16, kinds []schema.Kind) (*Page, error) {
	if version == Newest {
		version = api.Versions.High
	}
	p := &Page{Name: api.Name, API: api, Version: version, releases: catalog.Releases()}
	p.setPurpose()
	if m := catalog.MessageOf(api, schema.Request); m != nil {
		p.Listeners = m.Listeners
	}
	for _, kind := range kinds {
		if plan := catalog.PlanOf(api, version, kind); plan != nil {
			p.Parts = append(p.Parts, newPart(catalog, plan))
		}
	}
	if len(p.Parts) > 0 {
		return p, nil
	}
	if !api.Versions.Contains(version) {
		return nil, fmt.Errorf("%s has no version %d; it has %s", api.Name, version, api.Versions)
	}
	return nil, fmt.Errorf("of %s there is no %s", api.Name, kinds[0])
}

func newStructurePage(catalog *schema.Catalog, m *schema.Message, version int16) (*Page, error) {
	if version == Newest {
		version = m.ValidVersions.High
	}
	plan := catalog.PlanByName(m.Name, version)
	if plan == nil {
		return nil, fmt.Errorf("%s has no version %d; it has %s", m.Name, version, m.ValidVersions)
	}
	p := &Page{Name: m.Name, Version: version, releases: catalog.Releases(), Parts: []*Part{newPart(catalog, plan)}}
	p.setPurpose()
	return p, nil
}

func (p *Page) setPurpose() {
	p.Purpose = schema.PurposeOf(p.Name)
	for _, name := range p.Purpose.Related {
		if e, err := schema.FindError(name); err == nil {
			p.Errors = append(p.Errors, e)
		}
	}
}

func newPart(catalog *schema.Catalog, plan *schema.Plan) *Part {
	part := &Part{Message: plan.Message, Plan: plan, Bytes: encode.Smallest(plan)}
	given := dissect.NewGiven(catalog) // of its own: what it returns is valid until the next
	if plan.Header != nil {
		part.dissected = given.Whole(part.Bytes, plan)
	} else {
		part.dissected = given.Structure(part.Bytes, encode.LeadSize(plan), plan)
	}
	return part
}

// Key is the page's API key or record type as it is written; "" where there is none.
func (p *Page) Key() string {
	return keyOf(p.Parts[0].Message, "")
}

// Title says what the part is in one line.
func (part *Part) Title() string {
	title := fmt.Sprintf("%s v%d", part.Message.Name, part.Plan.Version)
	if part.Plan.Header != nil {
		title += fmt.Sprintf(", %s header v%d", part.Message.Kind, part.Plan.Header.Version)
	}
	title += fmt.Sprintf(", %d byte", len(part.Bytes))
	if len(part.Bytes) != 1 {
		title += "s"
	}
	if part.Plan.Header != nil {
		title += " on the wire"
	}
	return title
}

// A Fact is a line of the table on top of a page.
type Fact struct{ Name, Value string }

// Facts are the lines of that table.
func (p *Page) Facts() []Fact {
	facts := make([]Fact, 0, 12)
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	first := p.Parts[0]
	if p.API != nil {
		add("API key", p.Key())
	} else {
		add("Kind", first.Message.Kind.String())
		add("Record type", p.Key())
	}
	add("Encoded at", fmt.Sprintf("v%d", p.Version))
	add("Flexible versions", first.Message.Flexible.String())
	add("Headers", p.headers())
	for _, part := range p.Parts {
		add(part.label()+" versions", part.versions())
	}
	add("In Kafka", p.availability())
	add("Listeners", strings.Join(p.Listeners, ", "))
	for _, part := range p.Parts {
		add(part.label()+" size", fmt.Sprintf("%d bytes", len(part.Bytes)))
	}
	return facts
}

func (p *Page) headers() string {
	var words []string
	for _, part := range p.Parts {
		if part.Plan.Header != nil {
			words = append(words, fmt.Sprintf("%s v%d", part.Message.Kind, part.Plan.Header.Version))
		}
	}
	return strings.Join(words, ", ")
}

// label is what a part is called in front of its facts.
func (part *Part) label() string {
	switch part.Message.Kind {
	case schema.Request:
		return "Request"
	case schema.Response:
		return "Response"
	}
	return "Structure"
}

// versions are the versions of a part, and which of them each release has.
func (part *Part) versions() string {
	text := part.Message.ValidVersions.String()
	var words []string
	for _, r := range part.Message.Releases {
		word := r.Kafka + ": " + r.Versions.String()
		if r.Unstable {
			word += " (the newest not released yet)"
		}
		words = append(words, word)
	}
	if len(words) > 0 {
		text += "  (" + strings.Join(words, "; ") + ")"
	}
	return text
}

// availability says which of the releases that the catalog was made of have the version.
func (p *Page) availability() string {
	releases := p.Parts[0].Message.Releases
	if len(releases) == 0 {
		return ""
	}
	var with, without []string
	for _, kafka := range p.releases {
		if name, has := hasVersion(releases, kafka, p.Version); has {
			with = append(with, name)
		} else {
			without = append(without, kafka)
		}
	}
	text := strings.Join(with, " and ")
	if len(without) > 0 {
		text += ", not in " + strings.Join(without, " and ")
	}
	return text
}

func hasVersion(releases []schema.Release, kafka string, version int16) (name string, has bool) {
	for _, r := range releases {
		if r.Kafka == kafka && r.Versions.Contains(version) {
			if r.Unstable && version == r.Versions.High {
				kafka += " (not released yet)"
			}
			return kafka, true
		}
	}
	return "", false
}
