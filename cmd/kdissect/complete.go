package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// takeFiles are the flags whose value is a file's name, which the shell completes.
var takeFiles = []string{"topic-ids", "write", "schemas"}

// completeFlags completes the values of a command's flags in a shell: words to choose from, names of APIs, files.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if c, ok := f.Value.(*choice); ok {
			complete = cobra.FixedCompletions(c.known, cobra.ShellCompDirectiveNoFileComp)
		}
		switch {
		case slices.Contains(takeFiles, f.Name):
			return
		case f.Name == "api":
			complete = completeAPIs
		case f.Name == "sort":
			complete = cobra.FixedCompletions(render.RankKeys(), cobra.ShellCompDirectiveNoFileComp)
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // a name is used twice
		}
	})
}

// completeAPIs completes the last of a list of APIs.
func completeAPIs(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	var names []string
	for api := range schema.Embedded().APIs {
		if hasPrefixFold(api.Name, begun[len(before):]) {
			names = append(names, before+api.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
