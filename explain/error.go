package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// An ErrorPage is what there is to say about an error code.
type ErrorPage struct {
	Error *schema.Error
	APIs  []string // whose answers often carry it
}

// NewErrorPage makes the page of an error, by its number or name.
func NewErrorPage(catalog *schema.Catalog, name string) (*ErrorPage, error) {
	e, err := schema.FindError(name)
	if err != nil {
		return nil, err
	}
	p := &ErrorPage{Error: e}
	for api := range catalog.AllAPIs {
		if slices.Contains(schema.PurposeOf(api.Name).Related, e.Name) {
			p.APIs = append(p.APIs, api.Name)
		}
	}
	return p, nil
}

// AppendText appends the page as text.
func (p *ErrorPage) AppendText(b []byte) []byte {
	again := "final: the same request would fail again"
	if p.Error.Retriable {
		again = "retriable: the client may try again"
	}
	b = fmt.Appendf(b, "%d %s\n%s\n\n  %s\n", p.Error.Code, p.Error.Name, p.Error.Text, again)
	if len(p.APIs) > 0 {
		b = fmt.Appendf(b, "  often in answers to %s\n", strings.Join(p.APIs, ", "))
	}
	return b
}

// MarshalJSON implements json.Marshaler.
func (p *ErrorPage) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		jsonError
		APIs []string `json:"apis,omitempty"`
	}{jsonErrorOf(p.Error), p.APIs})
}
