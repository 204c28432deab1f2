// Command compare measures the whole program beside others on the same captures: kdissect's formats, the yardstick
// of ../shared/bench/floor (gopacket reading, decoding and reassembling, nothing of Kafka), and tshark.
//
//	go run ./bench/compare [flags]
//
// All programs take turns, several rounds, so that a change of the machine's speed meets all of them; what is printed are
// medians. Output goes to the null device. The inputs are made once by ../shared/bench and kept in a directory. tshark is slow, so it and
// the formats it is compared with have a smaller input of the same making, and what is compared is the time a byte takes.
// What is not there, the yardstick or tshark, is left out.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/pflag"
)

// options are the flags.
type options struct {
	shared, dir  string
	runs         int
	slowRuns     int
	large, small string
}

func main() {
	var o options
	pflag.StringVar(&o.shared, "shared", "../shared", "where bench/ and captures/ are")
	pflag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where inputs and programs are kept")
	pflag.IntVar(&o.runs, "runs", 5, "rounds")
	pflag.IntVar(&o.slowRuns, "slow-runs", 3, "rounds with tshark")
	pflag.StringVar(&o.large, "size", "124M", "size of the inputs")
	pflag.StringVar(&o.small, "slow-size", "8M", "size of the inputs for tshark")
	pflag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	dir, err := filepath.Abs(o.dir) // programs are built from other folders
	if err != nil {
		return err
	}
	o.dir = dir
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	tools, err := o.build()
	if err != nil {
		return err
	}
	if err := printMachine(os.Stdout, tools.tshark); err != nil {
		return err
	}
	if err := o.compareEmpty(tools); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.shared, "bench", "produce.py")); err != nil {
		fmt.Println("\nNo inputs to compare on:", err)
		return nil
	}
	for _, in := range inputs {
		if err := o.compareFast(tools, in); err != nil {
			return err
		}
	}
	if tools.tshark == "" {
		fmt.Println("\ntshark is not installed.")
		return nil
	}
	for _, in := range inputs {
		if err := o.compareSlow(tools, in); err != nil {
			return err
		}
	}
	return nil
}

// tools are the programs to compare; those that are not there are empty.
type tools struct{ kdissect, floor, tshark string }

func (o *options) build() (t tools, err error) {
	t.kdissect = filepath.Join(o.dir, "kdissect")
	if err := command("", "go", "build", "-o", t.kdissect, "./cmd/kdissect"); err != nil {
		return t, err
	}
	floor := filepath.Join(o.shared, "bench", "floor")
	if _, err := os.Stat(floor); err == nil {
		t.floor = filepath.Join(o.dir, "floor")
		if err := command(floor, "go", "build", "-o", t.floor, "."); err != nil {
			return t, err
		}
	}
	t.tshark, _ = exec.LookPath("tshark")
	return t, nil
}

// command runs a program that is not measured, in a directory.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}
