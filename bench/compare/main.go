// Command compare measures the whole program beside others on the same captures: kdissect's formats, the yardstick
// of ../shared/bench/floor (gopacket reading, decoding and reassembling, nothing of Kafka), the bare loops of bench/plain, and tshark; and
// then each layer by its benchmarks.
//
//	go run ./bench/compare [flags]
//
// All programs take turns, several rounds, so that a change of the machine's speed meets all of them; what is printed are
// medians. Output goes to the null device. Captures are made when they are needed and kept in a directory. tshark is slow, so but for
// three fields it and the formats it is compared with have a smaller input of the same making.
// What is not there, the yardstick or tshark, is left out.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/captures"
	"github.com/kdissect/kdissect/bench/internal/measure"
)

// options are the flags.
type options struct {
	store               captures.Store
	document            string
	quick               bool
	runs, slowRuns      int
	size, slowSize      string
	largeSize, realSize string
	connections, layers string
	crowds              bool
	programs            measure.Programs
	out                 io.Writer
	medians             map[place]figures
}

func main() {
	var o options
	pflag.StringVar(&o.store.Shared, "shared", "../shared", "where bench/ and captures/ are")
	pflag.StringVar(&o.store.Dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where captures and programs are kept")
	pflag.StringVar(&o.document, "out", "", "a document to write the figures to, between its two marks, unless --quick is given")
	pflag.BoolVar(&o.quick, "quick", false, "small captures and few rounds: about a minute")
	pflag.IntVar(&o.runs, "runs", 7, "rounds")
	pflag.IntVar(&o.slowRuns, "slow-runs", 3, "rounds with tshark and with captures of a gigabyte")
	pflag.StringVar(&o.size, "size", "124M", "size of the captures")
	pflag.StringVar(&o.slowSize, "slow-size", "40M", "size of those for tshark")
	pflag.StringVar(&o.largeSize, "large-size", "1G", "size of the largest of large")
	pflag.StringVar(&o.realSize, "real-size", "1G", "size of the largest of real")
	pflag.StringVar(&o.connections, "connections", "100000", "how many there are in the capture of many")
	pflag.StringVar(&o.layers, "layers", "0.3s", "time for each benchmark of a layer")
	pflag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func (o *options) run() (err error) {
	o.crowds, o.medians = !o.quick, map[place]figures{}
	if o.quick {
		o.runs, o.slowRuns, o.layers = 2, 1, "5ms"
		o.size, o.slowSize, o.largeSize, o.realSize, o.connections = "16M", "1M", "64M", "64M", "5000"
	}
	if o.programs, err = measure.Build(o.store.Shared, o.store.Dir); err != nil {
		return err
	}
	var figures bytes.Buffer
	o.out = io.MultiWriter(os.Stdout, &figures)
	fmt.Fprintf(o.out, "Measured on %s.\n", o.programs.Machine())
	for _, s := range sections {
		start := time.Now()
		if err := s.write(o); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", s.name, time.Since(start).Seconds())
	}
	if o.document == "" || o.quick {
		return nil
	}
	return writeDocument(o.document, figures.String())
}
