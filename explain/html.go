package explain

import (
	_ "embed"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/kdissect/kdissect/render"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"colored": colored, "legend": legend}).Parse(pageHTML))

// WriteHTML writes the page as one file of HTML that needs no other. It can be read in the light and in the dark.
func (p *Page) WriteHTML(w io.Writer) error { return pageTemplate.Execute(w, p) }

// legend names the categories of bytes.
func legend() string { return render.Legend(options(true)) }

// escapeSequence switches a colour of the terminal on or off.
var escapeSequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// colored turns text with the colours of a terminal into HTML with a span for each. What stands between escape sequences is escaped; the text itself has
// none, since they do not pass render.
func colored(text string) template.HTML {
	var b strings.Builder
	at, open := 0, false
	for _, m := range escapeSequence.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[at:m[0]]))
		at = m[1]
		if open {
			b.WriteString("</span>")
		}
		class := colorClasses[text[m[2]:m[3]]]
		if open = class != ""; open {
			b.WriteString(`<span class="` + class + `">`)
		}
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	if open {
		b.WriteString("</span>")
	}
	return template.HTML(b.String())
}

// colorClasses are the classes that stand for the colours of the terminal.
var colorClasses = map[string]string{
	"2": "dim", "32": "green", "33": "yellow", "34": "blue", "35": "magenta", "36": "cyan", "90": "gray", "93": "number", "31;1": "red", "33;1": "yellow", "94": "blue",
}
