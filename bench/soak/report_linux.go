package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// figures are what came of a run.
type figures struct {
	length  time.Duration
	crowd   *crowd
	live    *live
	samples []sample
}

// report prints a table, and returns an error if something has grown, is missing or is left. A short run says which goroutines there are anyway.
func report(short, long figures) error {
	c, l, state := long.crowd, long.live, long.live.cmd.ProcessState
	cpu := state.UserTime() + state.SystemTime()
	others := int64(c.connections) + c.requests.Load() - c.responses.Load()
	var failed []error
	fmt.Println("| | |\n|---|--:|")
	fmt.Printf("| time | %v |\n", long.length.Round(time.Second))
	fmt.Printf("| connections | %d |\n", c.connections)
	fmt.Printf("| requests made, printed | %d, %d |\n", c.requests.Load(), l.requests)
	fmt.Printf("| answers made, printed | %d, %d |\n", c.responses.Load(), l.responses)
	fmt.Printf("| ends of connections and unanswered requests, other lines printed | %d, %d |\n", others, l.other)
	fmt.Printf("| processor | %.1f s, %.1f %% of one |\n", cpu.Seconds(), 100*cpu.Seconds()/long.length.Seconds())
	if c.requests.Load() != l.requests || c.responses.Load() != l.responses || others != l.other {
		failed = append(failed, errors.New("not all is printed"))
	}
	for _, part := range []struct {
		name  string
		unit  int64
		value func(sample) int64
	}{
		{"anonymous memory, KiB", 1 << 10, func(s sample) int64 { return s.memory }},
		{"threads", 1, func(s sample) int64 { return s.threads }},
		{"descriptors", 1, func(s sample) int64 { return s.descriptors }},
	} {
		second, last, most := long.quarters(part.value)
		fmt.Printf("| %s: median of the second quarter, of the last, most | %d, %d, %d |\n", part.name, second/part.unit, last/part.unit, most/part.unit)
		if last > second+second/5 { // a fifth: the table of ended connections fills and empties
			failed = append(failed, fmt.Errorf("%s: has grown", part.name))
		}
	}
	quarter := long.length / 4
	second, last := l.inUse(quarter, 2*quarter), l.inUse(3*quarter, 4*quarter)
	fmt.Printf("| in use after garbage collection, MB: median of the second quarter, of the last | %d, %d |\n", second, last)
	if last > second+second/5+1 { // they are rounded
		failed = append(failed, errors.New("memory in use has grown"))
	}
	before, after := total(short.live.goroutines), total(l.goroutines)
	fmt.Printf("| goroutines after a second, at the end | %d, %d |\n", before, after)
	if before == 0 || before != after {
		failed = append(failed, fmt.Errorf("goroutines: %v, after a second %v", l.goroutines, short.live.goroutines))
	}
	return errors.Join(failed...)
}

// quarters returns the medians of the second and of the last quarter of the samples, and the greatest.
func (f *figures) quarters(value func(sample) int64) (second, last, most int64) {
	var values []int64
	for _, s := range f.samples {
		values = append(values, value(s))
	}
	n := len(values)
	if n == 0 {
		return 0, 0, 0
	}
	return median(values[n/4 : n/2]), median(values[n-n/4:]), slices.Max(values)
}

func median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

func total(counts map[string]int) (n int) {
	for count := range maps.Values(counts) {
		n += count
	}
	return n
}
