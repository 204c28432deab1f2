package render

import (
	"strings"

	"github.com/fatih/color"
)

// A style is what stands in front of and behind a text in some colour. The zero style is no colour.
type style struct{ on, off string }

func (s style) paint(text string) string {
	if text == "" {
		return ""
	}
	return s.on + text + s.off
}

// A palette is the colours of the tree and of hex dumps. The zero palette is no colour at all.
type palette struct {
	title, name, dim                   style
	number, text, flag, bytes, failure style
	info, warn, error                  style
	frame, header, body, tags          style
	batch, record                      style
}

// newPalette returns the palette with or without colours.
func newPalette(colors bool) palette {
	if !colors {
		return palette{}
	}
	return palette{
		title:   newStyle(color.Bold),
		name:    newStyle(color.FgCyan),
		dim:     newStyle(color.Faint),
		number:  newStyle(color.FgHiYellow),
		text:    newStyle(color.FgGreen),
		flag:    newStyle(color.FgMagenta),
		bytes:   newStyle(color.FgBlue),
		failure: newStyle(color.FgRed, color.Bold),
		info:    newStyle(color.FgHiBlue),
		warn:    newStyle(color.FgYellow, color.Bold),
		error:   newStyle(color.FgRed, color.Bold),
		frame:   newStyle(color.FgBlue),
		header:  newStyle(color.FgCyan),
		body:    newStyle(color.FgGreen),
		tags:    newStyle(color.FgHiBlack),
		batch:   newStyle(color.FgMagenta),
		record:  newStyle(color.FgYellow),
	}
}

// newStyle finds the escape sequences of a colour, so that they can be appended without formatting.
func newStyle(attributes ...color.Attribute) style {
	c := color.New(attributes...)
	c.EnableColor() // whether colours are wanted has been decided
	on, off, _ := strings.Cut(c.Sprint("|"), "|")
	return style{on, off}
}
