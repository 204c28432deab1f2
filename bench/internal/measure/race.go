// Package measure runs programs and benchmarks, and says what they took.
package measure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// A Contender is a program with its arguments, the capture apart.
type Contender struct {
	Name string
	Args []string // the program first; the capture goes last
	Env  []string // beside this program's own
	Runs []Cost

	Times          int  // how often it runs in a round, if more than once
	NothingMatches bool // it ends with the status of a filter that nothing matches
}

// A Cost is what one run took.
type Cost struct {
	Wall, CPU time.Duration
	Memory    int64 // peak in bytes, 0 where the system does not tell
}

// An Input is a capture: a file, or what write writes to standard input.
type Input struct {
	path  string
	write func(io.Writer) error
}

// File is the capture in a file.
func File(path string) Input { return Input{path: path} }

// Stream is a capture that is written while it is read.
func Stream(write func(io.Writer) error) Input { return Input{"-", write} }

// Race runs all contenders on a capture in turns. The first round brings the file into the system's cache and does not count.
func Race(in Input, rounds int, contenders []*Contender) error {
	for round := range rounds + 1 {
		for _, c := range contenders {
			for range max(1, c.Times) {
				took, err := c.Run(in)
				if err != nil {
					return err
				}
				if round > 0 {
					c.Runs = append(c.Runs, took)
				}
			}
		}
	}
	return nil
}

// Run runs the program once. Its output goes to the null device.
func (c *Contender) Run(in Input) (Cost, error) {
	cmd := exec.Command(c.Args[0], append(slices.Clone(c.Args[1:]), in.path)...)
	cmd.Env = append(os.Environ(), c.Env...)
	var feed func() error
	if in.write != nil {
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return Cost{}, err
		}
		feed = func() error { return errors.Join(in.write(pipe), pipe.Close()) }
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, err
	}
	memory := watchMemory(cmd.Process.Pid)
	var unfed error
	if feed != nil {
		unfed = feed()
	}
	err := cmd.Wait()
	wall := time.Since(start)
	state := cmd.ProcessState
	took := Cost{wall, state.UserTime() + state.SystemTime(), memory.peak(state)}
	if failed := (*exec.ExitError)(nil); c.NothingMatches && errors.As(err, &failed) && failed.ExitCode() == 1 {
		err = nil
	}
	if err = errors.Join(err, unfed); err != nil {
		return Cost{}, fmt.Errorf("%s: %w", cmd, err)
	}
	return took, nil
}

// Median returns the median of each part by itself.
func (c *Contender) Median() Cost {
	return c.each(func(sorted []int64) int64 { return sorted[len(sorted)/2] })
}

// Least returns the least of each part by itself: what other programs on the machine have disturbed least.
func (c *Contender) Least() Cost {
	return c.each(func(sorted []int64) int64 { return sorted[0] })
}

func (c *Contender) each(choose func(sorted []int64) int64) Cost {
	of := func(part func(Cost) int64) int64 {
		var values []int64
		for _, r := range c.Runs {
			values = append(values, part(r))
		}
		slices.Sort(values)
		return choose(values)
	}
	return Cost{
		Wall:   time.Duration(of(func(r Cost) int64 { return int64(r.Wall) })),
		CPU:    time.Duration(of(func(r Cost) int64 { return int64(r.CPU) })),
		Memory: of(func(r Cost) int64 { return r.Memory }),
	}
}
