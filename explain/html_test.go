package explain

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// A page needs nothing from elsewhere, and texts of a vendor's schema stay text.
func TestHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hostile.json")
	hostile := `{ "apiKey": TBD, "type": "request", "name": "HostileRequest", "validVersions": "0", "flexibleVersions": "0+", 
		"fields": [ { "name": "A", "default": "</pre><script>alert(1)</script>", "type": "string", "versions": "0+", "about": "\u001b[31m</span><script src=\"http://x/y\">\u202e" } ] }`
	if err := os.WriteFile(path, []byte(hostile), 0o644); err != nil {
		t.Fatal(err)
	}
	catalog, err := schema.Extend(&schema.Extension{Sources: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	external := regexp.MustCompile(`<(script|img|iframe|link|object)|src=|url\(|@import|https?:|<a href="[^#]`)
	for _, name := range []string{"Hostile", "Produce", "ConsumerProtocolSubscription", "DescribeLogDirs"} {
		p, err := NewPage(catalog, name, Newest, schema.Request, schema.Response)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := p.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, tag := range []string{"span", "pre", "div", "section", "table"} {
			opened, closed := strings.Count(text, "<"+tag+">")+strings.Count(text, "<"+tag+" "), strings.Count(text, "</"+tag+">")
			if opened != closed {
				t.Errorf("%s: %d <%s>, %d </%s>", name, opened, tag, closed, tag)
			}
		}
		tags := strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1), "\n")
		if found := external.FindString(tags); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: a control character passes", name)
		}
		for _, want := range []string{`<span class="`, "Byte layout", "Object tree", "Wire diagram", "Schema", "Example"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
	}
}
