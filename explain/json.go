package explain

import (
	"encoding/hex"
	"encoding/json"

	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// jsonPage is the page as JSON.
type jsonPage struct {
	Name      string      `json:"name"`
	APIKey    *int16      `json:"apiKey"` // null where there is none yet
	Version   int16       `json:"version"`
	Purpose   string      `json:"purpose"`
	Flexible  string      `json:"flexibleVersions"`
	Listeners []string    `json:"listeners,omitempty"`
	Errors    []jsonError `json:"relatedErrors"`
	Request   *jsonPart   `json:"request,omitempty"`
	Response  *jsonPart   `json:"response,omitempty"`
	Structure *jsonPart   `json:"structure,omitempty"`
}

type jsonError struct {
	Code      int16  `json:"code"`
	Name      string `json:"name"`
	Retriable bool   `json:"retriable"`
	Text      string `json:"text"`
}

type jsonPart struct {
	Name          string          `json:"name"`
	HeaderVersion *int16          `json:"headerVersion,omitempty"`
	ValidVersions string          `json:"validVersions"`
	Releases      []jsonRelease   `json:"releases,omitempty"`
	Size          int             `json:"size"`
	Hex           string          `json:"hex"`
	Layout        []render.Leaf   `json:"layout"`
	Schema        json.RawMessage `json:"schema"`
	Example       json.RawMessage `json:"example"`
}

type jsonRelease struct {
	Kafka    string `json:"kafka"`
	Versions string `json:"versions"`
	Unstable bool   `json:"unstable,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (p *Page) MarshalJSON() ([]byte, error) {
	first := p.Parts[0].Message
	page := jsonPage{Name: p.Name, Version: p.Version, Purpose: p.Purpose.Text, Flexible: first.Flexible.String(), Listeners: p.Listeners, Errors: []jsonError{}}
	if first.APIKey >= 0 {
		page.APIKey = &first.APIKey
	}
	for _, e := range p.Errors {
		page.Errors = append(page.Errors, jsonErrorOf(e))
	}
	for _, part := range p.Parts {
		switch part.Message.Kind {
		case schema.Request:
			page.Request = jsonPartOf(part)
		case schema.Response:
			page.Response = jsonPartOf(part)
		default:
			page.Structure = jsonPartOf(part)
		}
	}
	return json.Marshal(page)
}

func jsonErrorOf(e *schema.Error) jsonError { return jsonError{e.Code, e.Name, e.Retriable, e.Text} }

func jsonPartOf(part *Part) *jsonPart {
	m := part.Message
	j := &jsonPart{Name: m.Name, ValidVersions: m.ValidVersions.String(), Size: len(part.Bytes), Hex: hex.EncodeToString(part.Bytes),
		Layout: render.Leaves(part.dissected), Schema: m.Format(true), Example: part.Example()}
	if part.Plan.Header != nil {
		j.HeaderVersion = &part.Plan.Header.Version
	}
	for _, r := range m.Releases {
		j.Releases = append(j.Releases, jsonRelease{r.Kafka, r.Versions.String(), r.Unstable})
	}
	return j
}
