package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// newManual returns the command that writes the pages of the manual, for those who package the program.
func newManual() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the pages of the manual into a directory",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := []*cobra.Command{cmd.Root()}
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() && c.RunE != nil {
					pages = append(pages, c)
				}
			}
			for _, c := range pages {
				name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
				if err := os.WriteFile(filepath.Join(args[0], name), manualPage(c), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// exitStatuses is what the manual says of them.
var exitStatuses = []struct{ status, text string }{
	{"0", "All was read, whatever it contained; also when the reader of a pipe has had enough."},
	{"1", "The input is damaged, or has packets of a link type that is not supported; what could be read was shown. Or a filter matched nothing."},
	{"2", "Wrong use, or nothing could be opened."},
}

// manualPage returns the manual's page of a command, in roff with the macros of man(7). It says what help says.
func manualPage(cmd *cobra.Command) []byte {
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(strings.ToUpper(name)), roff(name), roff(cmd.Short), roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s COMMAND [flags] ...\n", roff(cmd.CommandPath()))
	}
	if cmd.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, paragraph := range strings.Split(cmd.Long, "\n\n") {
			switch {
			case strings.HasPrefix(paragraph, " "):
				manualExample(&b, paragraph)
				continue
			case i > 0:
				b.WriteString(".PP\n")
			}
			b.WriteString(roff(paragraph) + "\n")
		}
	}
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		manualExample(&b, cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				manualEntry(&b, c.Name(), c.Short)
			}
		}
	}
	for _, s := range sections(cmd) {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(s.title))
		for _, f := range s.flags {
			value, text := describe(f)
			left := "--" + f.Name
			if f.Shorthand != "" {
				left = "-" + f.Shorthand + ", " + left
			}
			if value != "" {
				left += " " + value
			}
			manualEntry(&b, left, text)
		}
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, e := range environmentHelp {
		manualEntry(&b, e.name, e.text)
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitStatuses {
		manualEntry(&b, e.status, e.text)
	}
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, c := range append([]*cobra.Command{cmd.Root()}, cmd.Root().Commands()...) {
		if c != cmd && c.RunE != nil && (c.IsAvailableCommand() || c == cmd.Root()) {
			others = append(others, ".BR "+roff(strings.ReplaceAll(c.CommandPath(), " ", "-"))+" (1)")
		}
	}
	b.WriteString(strings.Join(others, ",\n") + "\n")
	return []byte(b.String())
}

// manualEntry writes a paragraph with a hanging tag.
func manualEntry(b *strings.Builder, tag, text string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(tag), roff(text))
}

// manualExample writes lines as they are.
func manualExample(b *strings.Builder, text string) {
	fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(text))
}

// roff escapes text: backslashes, hyphens that are to be copied as such, and what would be a request at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
