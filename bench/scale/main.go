// Command scale measures how time and memory grow with the size of a capture, the number of connections and the size of messages, and draws it.
//
//	go run ./bench/scale [flags]
//
// Captures are written into the program's standard input while it reads, so none is stored, and what is told of time is CPU time: wall time would be that of the writer as
// well. The least of three runs counts, or the only one where it takes long. The figures go to scaling.tsv, of which the module in
// bench/scale/plot draws the pictures; it is a module of its own, so that those who build kdissect need not have what draws.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/measure"
	"github.com/kdissect/kdissect/bench/internal/traffic"
)

type options struct {
	out, dir, shared string
	quick, draw      bool
	programs         measure.Programs
}

func main() {
	var o options
	pflag.StringVar(&o.out, "out", filepath.Join("docs", "images"), "where figures and pictures go")
	pflag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where programs are kept")
	pflag.StringVar(&o.shared, "shared", "../shared", "where bench/ is")
	pflag.BoolVar(&o.quick, "quick", false, "leave out what takes long: about a minute")
	pflag.BoolVar(&o.draw, "draw", false, "draw again what was measured before")
	pflag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	figures := filepath.Join(out, "scaling.tsv")
	if !o.draw {
		if err := o.measure(figures); err != nil {
			return err
		}
	}
	return measure.Command(filepath.Join("bench", "scale", "plot"), "go", "run", ".", figures, out)
}

func (o *options) measure(figures string) (err error) {
	if o.programs, err = measure.Build(o.shared, o.dir); err != nil {
		return err
	}
	file, err := os.Create(figures)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	fmt.Fprintln(file, "chart\tline\tx\twall s\tCPU s\tpeak bytes")
	for _, c := range charts {
		for _, x := range c.points {
			if o.quick && x > c.quick {
				continue
			}
			for _, l := range c.lines {
				cost, err := o.least(l, x)
				if err != nil {
					return err
				}
				fmt.Fprintf(file, "%s\t%s\t%d\t%.9f\t%.9f\t%d\n", c.name, l.name, x, cost.Wall.Seconds(), cost.CPU.Seconds(), cost.Memory)
				fmt.Fprintf(os.Stderr, "%s, %s, %d: %v, CPU %v, %d MiB\n", c.name, l.name, x, cost.Wall.Round(time.Microsecond), cost.CPU.Round(time.Microsecond), cost.Memory>>20)
			}
		}
	}
	return nil
}

// A chart is what depends on one thing, measured at some points. Up to quick they take little time.
type chart struct {
	name   string
	points []int
	quick  int
	lines  []line
}

// A line is one output of one kind of traffic.
type line struct {
	name  string
	flags []string
	write func(out io.Writer, x int) error
	count func(x int) int // of messages to divide the time by, nil for the time of all
}

// formats is a line for each output that costs differently.
func formats(write func(io.Writer, int) error, count func(int) int) []line {
	return []line{
		{"summary", []string{"-o", "summary"}, write, count},
		{"json", []string{"-o", "json"}, write, count},
		{"tree --full", []string{"--full"}, write, count},
	}
}

var charts = []chart{
	{"size", []int{1e7, 3e7, 1e8, 3e8, 1e9, 3e9, 1e10}, 1e8, formats(func(out io.Writer, x int) error { return traffic.Long.Write(out, x/exchangeSize) }, nil)},
	{"connections", []int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}, 10_000, []line{
		{"summary, up to 1000 open", []string{"-o", "summary"}, traffic.Many.Write, nil},
		{"json, up to 1000 open", []string{"-o", "json"}, traffic.Many.Write, nil},
		{"summary, all open", []string{"-o", "summary"}, traffic.Open.Write, nil},
	}},
	{"messages", []int{20, 200, 2000, 20_000, 200_000, 2_000_000, 20_000_000, 50_000_000}, 2_000_000,
		formats(func(out io.Writer, x int) error { return traffic.WriteMessages(out, x, messages(x)) }, messages)},
}

// exchangeSize is what an exchange of traffic.Long takes in a capture.
const exchangeSize = 1114

// messages is how many of a size are written: some 200 MB, within bounds.
func messages(size int) int { return min(max(200_000_000/size, 20), 300_000) }

const (
	runs       = 3
	largePoint = time.Second * 5 // what takes longer is run once
)

// least is the least time and the most memory of some runs.
func (o *options) least(l line, x int) (measure.Cost, error) {
	c := o.programs.Ours(l.name, l.flags...)
	memory := int64(0)
	for range runs {
		cost, err := c.Run(measure.Stream(func(out io.Writer) error { return l.write(out, x) }))
		if err != nil {
			return cost, err
		}
		c.Runs = append(c.Runs, cost)
		memory = max(memory, cost.Memory)
		if cost.Wall > largePoint {
			break
		}
	}
	cost := c.Least()
	cost.Memory = memory
	if l.count != nil {
		cost.Wall /= time.Duration(l.count(x))
		cost.CPU /= time.Duration(l.count(x))
	}
	return cost, nil
}
