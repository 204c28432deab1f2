// Command guard tells where the program has become slower or allocates more than a baseline says. It knows no absolute times, for machines differ: what
// an operation of a benchmark allocates, and CPU times of the program as ratios, mostly to the yardstick of ../shared/bench/floor.
//
//	go run ./bench/guard [--update]
//
// All programs take turns, and the least time of each counts, so that what else goes on the machine matters little. The exit status is 1 where something has become worse.
// --update writes the baseline anew.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/captures"
	"github.com/kdissect/kdissect/bench/internal/measure"
)

type options struct {
	store    captures.Store
	baseline string
	update   bool
	rounds   int
	size     string
}

func main() {
	var o options
	pflag.StringVar(&o.store.Shared, "shared", "../shared", "where bench/ and captures/ are")
	pflag.StringVar(&o.store.Dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where captures and programs are kept")
	pflag.StringVar(&o.baseline, "baseline", filepath.Join("bench", "baseline.json"), "what to compare with")
	pflag.BoolVar(&o.update, "update", false, "write the baseline anew")
	pflag.IntVar(&o.rounds, "rounds", 15, "rounds of each program")
	pflag.StringVar(&o.size, "size", "16M", "size of the captures")
	pflag.Parse()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}

func (o *options) run(out io.Writer) error {
	now := newFigures()
	if err := now.allocate(); err != nil {
		return err
	}
	switch {
	case o.store.Complete():
		if err := o.ratios(now); err != nil {
			return err
		}
	case o.update || os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		return fmt.Errorf("there are no captures in %s", o.store.Shared)
	default:
		fmt.Fprintln(out, "ratios are left out, for there are no captures in", o.store.Shared)
	}
	if o.update {
		return now.write(o.baseline)
	}
	before, err := readFigures(o.baseline)
	if err != nil {
		return err
	}
	if worse := before.compare(now, out); worse > 0 {
		return fmt.Errorf("%d figures are worse than the baseline says; where that is meant to be: make guard GUARD=--update", worse)
	}
	fmt.Fprintln(out, "no figure is worse than the baseline says")
	return nil
}

// operations is how many of each benchmark are run: enough for what is allocated once to be spread thin, and the same each time.
const operations = "200x"

// allocate measures what operations of each layer allocate.
func (f *figures) allocate() error {
	for i := range measure.Layers {
		results, err := measure.Layers[i].Benchmarks(operations)
		if err != nil {
			return err
		}
		for _, b := range results {
			f.Allocations[b.Name] = allocations{b.Allocs, b.Bytes}
		}
	}
	return nil
}

// ratios measures CPU times of the program on captures of small and of today's clients.
func (o *options) ratios(f *figures) error {
	programs, err := measure.Build(o.store.Shared, o.store.Dir)
	if err != nil {
		return err
	}
	if programs.Floor == "" {
		return errors.New("the yardstick is not there")
	}
	for _, kind := range []*captures.Kind{captures.Small, captures.Real, captures.Large} {
		path, err := o.store.File(kind, o.size)
		if err != nil {
			return err
		}
		nothing := programs.Ours("filter", "-o", "summary", "--topic", "nothing")
		nothing.NothingMatches = true
		floor, summary := programs.Yardstick(), programs.Ours("summary", "-o", "summary")
		log, tree, full := programs.Ours("requestlog", "-o", "requestlog"), programs.Ours("tree"), programs.Ours("tree --full", "--full")
		asJSON := programs.Ours("json --records full", "-o", "json", "--records", "full")
		if err := measure.Race(measure.File(path), o.rounds, []*measure.Contender{floor, summary, log, nothing, tree, full, asJSON}); err != nil {
			return err
		}
		ratio := func(c, to *measure.Contender) {
			f.Ratios[fmt.Sprintf("%s: %s to %s", kind.Name, c.Name, to.Name)] = round(float64(c.Least().CPU) / float64(to.Least().CPU))
		}
		for _, c := range []*measure.Contender{summary, tree, full, asJSON} {
			ratio(c, floor)
		}
		ratio(log, summary)
		ratio(nothing, summary)
	}
	return nil
}
