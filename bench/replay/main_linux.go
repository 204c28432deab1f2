// Command replay finds the highest rate at which kdissect live loses nothing, and what it takes of a processor, beside tcpdump and tshark:
//
//	go run ./bench/replay
//
// The packets of a capture are sent over a wire, again and again, in a network of its own; a tool captures at the other end. The rate is doubled until
// something is lost, and then bisected; the tools take turns. What a tool says that it captured and that it lost has to add up to what came over the wire, in
// every trial: the kernel's count of the other end. It wants the rights of root, and the machine for itself for about half an hour.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/captures"
	"github.com/kdissect/kdissect/bench/internal/measure"
	"github.com/kdissect/kdissect/internal/netlab"
)

// options are the flags.
type options struct {
	store   captures.Store
	size    string
	seconds float64
	times   int
}

func main() {
	var o options
	pflag.StringVar(&o.store.Shared, "shared", "../shared", "where bench/ is")
	pflag.StringVar(&o.store.Dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where captures and programs are kept")
	pflag.StringVar(&o.size, "size", "124M", "size of the captures")
	pflag.Float64Var(&o.seconds, "seconds", 4, "length of a trial")
	pflag.IntVar(&o.times, "times", 3, "trials at the highest rate, at 1 Gbit/s and as fast as it goes")
	pflag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	programs, err := measure.Build(o.store.Shared, o.store.Dir)
	if err != nil {
		return err
	}
	fmt.Printf("Measured on %s.\n", programs.Machine())
	for _, kind := range []*captures.Kind{captures.Small, captures.Large} {
		path, err := o.store.File(kind, o.size)
		if err != nil {
			return err
		}
		err = netlab.Alone(func() error {
			s, err := newSender(path)
			if err != nil {
				return err
			}
			fmt.Printf("\n### %s: %s, packets of %.0f bytes\n\n", kind.Name, kind.About, s.perPacket()/8)
			return o.measure(s, toolsFor(programs.Kdissect))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measure prints the figures of all tools on a capture.
func (o *options) measure(s *sender, tools []*tool) error {
	length := time.Duration(o.seconds * float64(time.Second))
	var searches []*search
	for _, t := range tools {
		searches = append(searches, &search{tool: t})
	}
	if err := s.searchAll(searches, length); err != nil {
		return err
	}
	highest, err := s.repeat(searches, func(one *search) float64 { return one.low }, o.times, length)
	if err != nil {
		return err
	}
	gigabit := 1e9 / s.perPacket()
	usual, err := s.repeat(searches, func(*search) float64 { return gigabit }, o.times, length)
	if err != nil {
		return err
	}
	asFastAsItGoes := func(one *search) float64 { // so that something is lost, and counted
		if one.left == nil {
			return 0 // that is not about others
		}
		return 1e9
	}
	if _, err := s.repeat(searches, asFastAsItGoes, o.times, length); err != nil {
		return err
	}
	return table(searches, highest, usual)
}
