package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fatih/color"

	"github.com/kdissect/kdissect/render"
)

// options are those of the trees and dumps. There is nothing secret in a message of zeros.
func options(colors bool) render.Options {
	return render.Options{Color: colors, Full: true, Records: render.RecordsFull, ShowSecrets: true}
}

// Dump is the bytes of the part, 16 a row.
func (part *Part) Dump(colors bool) string {
	return string(render.AppendDump(nil, part.dissected, options(colors)))
}

// Tree is the object tree of the part.
func (part *Part) Tree(colors bool) string {
	return string(render.AppendTree(nil, part.dissected, options(colors)))
}

// Schema is the schema of the part in all versions, with an explanation of each field.
func (part *Part) Schema() string { return string(part.Message.Format(true)) }

// PrettyExample is the example with a line for each field.
func (part *Part) PrettyExample() string {
	var b bytes.Buffer
	if err := json.Indent(&b, part.Example(), "", "  "); err != nil {
		return err.Error() // a test indents every example
	}
	return b.String() + "\n"
}

// AppendText appends the page as text.
func (p *Page) AppendText(b []byte, colors bool) []byte {
	bold := color.New(color.Bold)
	bold.DisableColor()
	if colors {
		bold.EnableColor()
	}
	b = append(b, bold.Sprintf("%s v%d", p.Name, p.Version)...)
	b = append(b, '\n')
	if p.Purpose.Text != "" {
		b = append(append(b, p.Purpose.Text...), '\n')
	}
	b = append(b, '\n')
	for _, f := range p.Facts() {
		b = fmt.Appendf(b, "  %-18s  %s\n", f.Name, f.Value)
	}
	if len(p.Errors) > 0 {
		b = append(append(b, '\n'), bold.Sprint("related errors")...)
		b = append(b, '\n')
	}
	for _, e := range p.Errors {
		b = fmt.Appendf(b, "  %3d %s: %s\n", e.Code, e.Name, e.Text)
	}
	for _, part := range p.Parts {
		b = append(append(b, '\n'), bold.Sprint(part.Title())...)
		b = append(b, '\n')
		b = appendSection(b, bold, "byte layout", "  "+render.Legend(options(colors)), part.Dump(colors))
		b = appendSection(b, bold, "object tree", "", part.Tree(colors))
		b = appendSection(b, bold, "wire diagram", "", part.Diagram())
		b = appendSection(b, bold, "schema", "", part.Schema())
		b = appendSection(b, bold, "example", "", part.PrettyExample())
	}
	return b
}

func appendSection(b []byte, bold *color.Color, title, note, text string) []byte {
	b = append(append(b, '\n'), bold.Sprint(title)...)
	b = append(append(b, note...), '\n')
	return append(append(b, strings.TrimRight(text, "\n")...), '\n')
}
