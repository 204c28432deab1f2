package main

import (
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// A contender is a program with its arguments, the capture apart.
type contender struct {
	name string
	args []string // the program first; the capture goes last
	runs []cost
}

// A cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // peak resident memory in bytes, 0 where the system does not tell
}

// race runs all contenders on a capture in turns. The first round brings the file into the system's cache and does not count.
func race(capture string, rounds int, contenders []*contender) error {
	for round := range rounds + 1 {
		for _, c := range contenders {
			took, err := c.run(capture)
			if err != nil {
				return err
			}
			if round > 0 {
				c.runs = append(c.runs, took)
			}
		}
	}
	return nil
}

func (c *contender) run(capture string) (cost, error) {
	cmd := exec.Command(c.args[0], append(slices.Clone(c.args[1:]), capture)...)
	start := time.Now()
	err := cmd.Run() // its output goes to the null device
	wall := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w", cmd, err)
	}
	state := cmd.ProcessState
	return cost{wall, state.UserTime() + state.SystemTime(), peakMemory(state)}, nil
}

// median returns the median of each part by itself.
func (c *contender) median() cost {
	return cost{
		wall:   medianOf(c.runs, func(r cost) time.Duration { return r.wall }),
		cpu:    medianOf(c.runs, func(r cost) time.Duration { return r.cpu }),
		memory: medianOf(c.runs, func(r cost) int64 { return r.memory }),
	}
}

func medianOf[T time.Duration | int64](runs []cost, part func(cost) T) T {
	values := make([]T, 0, len(runs))
	for _, r := range runs {
		values = append(values, part(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
