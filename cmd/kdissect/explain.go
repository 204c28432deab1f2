package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdissect/kdissect/explain"
	"github.com/kdissect/kdissect/schema"
)

const explainHelp = `Show what an API is for and how its bytes are laid out, at any version.

The page has the facts, the errors to expect, and of request and response the bytes of the smallest legal message, each of its nodes with offset
and size, a diagram, the schema with an explanation of every field, and an example that "kdissect encode" takes.

What travels inside messages and internal topics is explained by its name, such as OffsetCommitValue.`

const explainExamples = `  kdissect explain Fetch                          the newest version
  kdissect explain describelogdirs --version 5 --response
  kdissect explain 34 --version 2 -o json | jq .request.layout
  kdissect explain ConsumerProtocolSubscription
  kdissect explain --html Produce > produce.html
  kdissect explain --error 35                     an error, by number or name
  kdissect explain --list                         every API and its versions`

// explainFlags are the flags of explain.
type explainFlags struct {
	output            choice
	color             choice
	version           int16
	request, response bool
	list, html        bool
	failure           string
	schemas           schemaFlags
}

func newExplain() *cobra.Command {
	f := explainFlags{
		output: choice{"text", []string{"text", "json"}},
		color:  newColor(),
	}
	cmd := &cobra.Command{
		Use:               "explain [flags] API|KEY|NAME",
		Short:             "What an API is for, and the layout of its bytes",
		Long:              explainHelp,
		Example:           explainExamples,
		ValidArgsFunction: completeNames,
		RunE:              func(_ *cobra.Command, args []string) error { return f.explain(args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Int16Var(&f.version, "version", explain.Newest, "version; the newest unless it is given")
	flags.BoolVar(&f.request, "request", false, "the request only")
	flags.BoolVar(&f.response, "response", false, "the response only")
	flags.StringVar(&f.failure, "error", "", "an error `code` instead, by number or name")
	flags.BoolVar(&f.list, "list", false, "a table of all APIs and their versions")
	flags.BoolVar(&f.html, "html", false, "one page of HTML, for a browser")
	flags.VarP(&f.output, "output", "o", "format")
	flags.Var(&f.color, "color", "colours on a terminal")
	f.schemas.register(flags)
	cmd.MarkFlagsMutuallyExclusive("request", "response", "error", "list")
	for _, other := range []string{"output", "error", "list"} {
		cmd.MarkFlagsMutuallyExclusive("html", other)
	}
	return cmd
}

func (f *explainFlags) explain(args []string) error {
	catalog, err := f.schemas.catalog()
	if err != nil {
		return err
	}
	switch {
	case (f.list || f.failure != "") && len(args) > 0:
		return fmt.Errorf("--list and --error take no name of an API; leave %q out", args[0])
	case f.list && f.output.value == "json":
		return errors.New("--list is a table; -o json is for one API, or an error")
	case f.list:
		return write([]byte(explain.List(catalog)))
	case f.failure != "":
		page, err := explain.NewErrorPage(catalog, f.failure)
		if err != nil {
			return err
		}
		return f.print(page, page.AppendText(nil))
	case len(args) != 1:
		return errors.New("which API? Name one, or give its key; kdissect explain --list has them all")
	}
	page, err := explain.NewPage(catalog, args[0], f.version, f.kinds()...)
	if err != nil {
		return err
	}
	if f.html {
		return page.WriteHTML(os.Stdout)
	}
	return f.print(page, page.AppendText(nil, isColorful(f.color)))
}

// print prints a page in the format that is asked for.
func (f *explainFlags) print(page json.Marshaler, text []byte) error {
	if f.output.value == "json" {
		return json.NewEncoder(os.Stdout).Encode(page)
	}
	return write(text)
}

func write(text []byte) error {
	return paged(func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}

func (f *explainFlags) kinds() []schema.Kind {
	switch {
	case f.request:
		return []schema.Kind{schema.Request}
	case f.response:
		return []schema.Kind{schema.Response}
	}
	return []schema.Kind{schema.Request, schema.Response}
}

// completeNames completes names of APIs and, where no API begins that way, of other structures.
func completeNames(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	catalog := schema.Embedded()
	var names []string
	for api := range catalog.AllAPIs {
		if hasPrefixFold(api.Name, begun) {
			names = append(names, fmt.Sprintf("%s\tv%s", api.Name, api.Versions))
		}
	}
	if len(names) == 0 {
		for _, name := range catalog.Names() {
			if hasPrefixFold(name, begun) {
				names = append(names, name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
