package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// check refuses flags of outputs that make no sense, or none together, and reads those that have a grammar.
func (f *readFlags) check(catalog *schema.Catalog) (err error) {
	output := f.output.value
	table := output == "tsv" || output == "csv"
	switch {
	case f.options.MaxRecords < 1 || f.options.MaxBytes < 1 && (output != "records" || f.options.MaxBytes < 0):
		return errors.New("--max-records and --max-bytes want at least 1; --full cuts nothing")
	case (f.every != 0 || f.everyGiven) && f.every < shortestInterval:
		return fmt.Errorf("--every wants at least %v", shortestInterval)
	case f.every > 0 && output != intervals:
		return errors.New("--every shows tables of its own, in place of an output: leave -o out")
	case f.every > 0 && (f.sort != "" || f.times.value == "delta" || f.account || f.state):
		return errors.New("--every goes together with filters, --top and --time utc, local or relative, not with --sort, --account or --state")
	case f.fields != "" && !table:
		return errors.New("--fields chooses the columns of -o tsv and -o csv")
	case f.top < 0 || f.top > 0 && f.sort == "" && f.every == 0:
		return errors.New("--top N wants a number of lines, and --sort to say which come first, or --every")
	case f.sort != "" && !table && output != "summary":
		return errors.New("--sort orders the lines of -o summary, -o tsv and -o csv")
	case f.sort != "" && f.times.value == "delta":
		return errors.New("--time delta is the time since the line before, which --sort moves; use --time relative")
	case f.times.value != "utc" && (output == "json" || output == "requestlog"):
		return fmt.Errorf("--time is for people: -o %s has times in UTC or none", output)
	}
	if table {
		if f.columns, err = render.Columns(cmp.Or(f.fields, render.DefaultFields), catalog); err != nil {
			return fmt.Errorf("--fields: %w", err)
		}
	}
	if f.sort != "" {
		if f.options.Ranking, err = render.NewRanking(f.sort, f.top); err != nil {
			return fmt.Errorf("--sort: %w", err)
		}
	}
	return nil
}
