package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// headings sort the flags of commands that have many, in the order in which help and manual show them. Flags that none names come last.
var headings = []struct {
	title string
	flags []string
}{
	{"Output", []string{"output", "records", "full", "hex", "max-records", "max-bytes", "layout", "packets", "int64", "fields", "time", "sort", "top", "every",
		"account", "state", "show-secrets", "color"}},
	{"Filters", filterNames},
	{"Capturing", []string{"interface", "netns", "user", "snaplen", "buffer", "promiscuous", "write", "files", "size"}},
	{"Reading", []string{"follow", "topic-ids", "one-pass", "max-memory", "schemas", "api-key", "coordinator-topic"}},
}

// sortedUnderHeadings is how many flags a command has at least when they are sorted under headings.
const sortedUnderHeadings = 30

// A section is some flags of a command.
type section struct {
	title string
	flags []*pflag.Flag
}

// sections returns the flags of a command as help shows them. The root command has those of read, which are told there.
func sections(cmd *cobra.Command) []section {
	var all []*pflag.Flag
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if cmd.HasParent() || f.Name == "help" || f.Name == "version" {
			all = append(all, f)
		}
	})
	rest := section{title: "Flags"}
	if len(all) < sortedUnderHeadings {
		rest.flags = all
		return []section{rest}
	}
	var list []section
	named := map[string]bool{}
	for _, heading := range headings {
		s := section{title: heading.title}
		for _, name := range heading.flags {
			named[name] = true
			if f := cmd.Flags().Lookup(name); f != nil {
				s.flags = append(s.flags, f)
			}
		}
		if len(s.flags) > 0 {
			list = append(list, s)
		}
	}
	rest.title = "Other flags"
	rest.flags = slices.DeleteFunc(all, func(f *pflag.Flag) bool { return named[f.Name] })
	return append(list, rest)
}

// describe returns the name of a flag's value, empty where it takes none, and what help says of the flag.
func describe(f *pflag.Flag) (value, text string) {
	value, text = pflag.UnquoteUsage(f)
	switch f.Value.Type() {
	case "bool":
		value = ""
	case "int", "int16", "int64":
		value = "n"
	}
	if c, ok := f.Value.(*choice); ok {
		text += ": " + strings.Join(c.known, ", ")
	}
	switch f.DefValue {
	case "", "false", "0", "-1", "0s", "[]":
	default:
		text += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return value, text
}

// printHelp prints what the program says to --help.
func printHelp(cmd *cobra.Command, _ []string) {
	h := helpWriter{out: cmd.OutOrStdout(), width: helpWidth()}
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	h.text(long)
	h.title("Usage")
	h.verbatim("  " + cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		h.verbatim("  " + cmd.CommandPath() + " COMMAND [flags] ...")
	}
	if cmd.HasExample() {
		if cmd.Example[0] == ' ' {
			h.title("Examples")
		} else { // by task, with headings of their own
			h.verbatim("")
		}
		h.verbatim(cmd.Example)
	}
	h.commands(cmd)
	for _, s := range sections(cmd) {
		h.title(s.title)
		for _, f := range s.flags {
			h.flag(f)
		}
	}
	if !cmd.HasParent() {
		h.environment()
		h.verbatim("")
		h.text(`"kdissect read --help" has the flags of reading, "kdissect COMMAND --help" those of a command.`)
	}
}

// helpWidth is the width of help in columns: that of the terminal where it is one, within what reads well.
func helpWidth() int {
	const least, usual, most = 60, 80, 100
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return usual
	}
	return min(max(width, least), most)
}

// A helpWriter writes help, wrapped.
type helpWriter struct {
	out   io.Writer
	width int
}

func (h *helpWriter) title(s string) { fmt.Fprintf(h.out, "\n%s:\n", s) }

func (h *helpWriter) verbatim(s string) { fmt.Fprintln(h.out, s) }

// text writes paragraphs, which empty lines part. Indented ones stay as they are.
func (h *helpWriter) text(s string) {
	for i, paragraph := range strings.Split(s, "\n\n") {
		if i > 0 {
			fmt.Fprintln(h.out)
		}
		if strings.HasPrefix(paragraph, " ") {
			h.verbatim(paragraph)
			continue
		}
		h.verbatim(strings.Join(wrap(paragraph, h.width), "\n"))
	}
}

func (h *helpWriter) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	h.title("Commands")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			h.entry("  "+c.Name(), c.Short, 14)
		}
	}
}

func (h *helpWriter) flag(f *pflag.Flag) {
	value, text := describe(f)
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	if value != "" {
		left += " " + value
	}
	h.entry(left, text, 29)
}

func (h *helpWriter) environment() {
	h.title("Environment")
	for _, e := range environmentHelp {
		h.entry("  "+e.name, e.text, 29)
	}
}

// entry writes a line of a list: what it is about, and from a column on, wrapped, what is to be said of it.
func (h *helpWriter) entry(left, text string, column int) {
	lines := wrap(text, h.width-column)
	if len(left) > column-2 {
		fmt.Fprintln(h.out, left)
		left = ""
	}
	for _, line := range lines {
		fmt.Fprintf(h.out, "%-*s%s\n", column, left, line)
		left = ""
	}
}

// wrap breaks text into lines of at most width characters, longer words apart.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
