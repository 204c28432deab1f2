package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// environmentHelp is what help and manual say of the environment.
var environmentHelp = []struct{ name, text string }{
	{"KDISSECT_OUTPUT=summary", "A default for a flag of reading, filters included, and for the flags that other commands share with it: its name in capitals, with _ for -. The flag itself goes before. --show-secrets has none."},
	{"KDISSECT_PAGER, PAGER", "What shows trees and explanations on a terminal; less where neither is set, cat for none."},
	{"NO_COLOR", "No colours unless --color asks for them."},
}

const secretsVariable = "KDISSECT_SHOW_SECRETS"

// outputsOf are the formats that some flags of reading are for. With another a default is passed over, while the flag itself would be wrong.
var outputsOf = map[string][]string{
	"fields": {"tsv", "csv"},
	"sort":   {"summary", "tsv", "csv"},
	"top":    {"summary", "tsv", "csv"},
	"time":   {"tree", "summary", "records", "tsv", "csv"},
}

// applyEnvironment gives the flags of a command that were not given the values that the environment has for them. Such a flag counts as
// given; but a default format does not ask for messages where --account or --state alone is asked for. Formats come first: they say which
// other defaults fit.
func applyEnvironment(cmd *cobra.Command, _ []string) error {
	var wrong error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variableOf(f)
		value := os.Getenv(name)
		switch {
		case value == "" || wrong != nil || !hasDefault(cmd, f):
		case name == secretsVariable:
			wrong = errors.New(secretsVariable + ": secrets are shown where --show-secrets asks for them, not by default; unset it")
		case f.Changed || otherChoice(cmd, f, value) || !fitsOutput(cmd, f):
		default:
			if err := f.Value.Set(value); err != nil {
				wrong = fmt.Errorf("%s=%q: %w", name, value, err)
			}
			f.Changed = f.Name != "output"
		}
	})
	return wrong
}

// hasDefault tells whether a flag of a command takes a default from the environment. One that says what an argument is, as --api of
// decode, does not.
func hasDefault(cmd *cobra.Command, f *pflag.Flag) bool {
	switch {
	case f.Name == "help" || f.Name == "version":
		return false
	case cmd.Flags().Lookup("where") != nil: // it reads captures
		return true
	}
	ofRead := cmd.Root().Flags().Lookup(f.Name)
	return ofRead != nil && ofRead.Value.Type() == f.Value.Type() && !slices.Contains(filterNames, f.Name)
}

// fitsOutput tells whether a flag means something for the format that is written.
func fitsOutput(cmd *cobra.Command, f *pflag.Flag) bool {
	outputs := outputsOf[f.Name]
	switch f.Name {
	case "sort":
		if cmd.Flags().Changed("every") {
			return false
		}
	case "every": // its tables stand in place of an output
		return !slices.ContainsFunc([]string{"output", "sort", "account", "state"}, cmd.Flags().Changed)
	}
	return outputs == nil || slices.Contains(outputs, cmd.Flags().Lookup("output").Value.String())
}

// variableOf returns the name of the variable with a flag's default.
func variableOf(f *pflag.Flag) string {
	return "KDISSECT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// otherChoice tells whether a value is none of a flag's choices but one that read has for the flag of this name: KDISSECT_OUTPUT=summary
// is meant for read, and no reason not to decode.
func otherChoice(cmd *cobra.Command, f *pflag.Flag, value string) bool {
	mine, ok := f.Value.(*choice)
	if !ok || mine.has(value) {
		return false
	}
	ofRead := cmd.Root().Flags().Lookup(f.Name)
	if ofRead == nil {
		return false
	}
	other, ok := ofRead.Value.(*choice)
	return ok && other.has(value)
}
