package main

import (
	"fmt"
	"strings"
	"time"
)

// A goal is what the program is to reach. measured says what it did reach, or nothing where that was not measured.
type goal struct {
	about, wanted string
	measured      func(o *options) string
}

// What titles of tables have in common, and a contender in them.
const (
	throughFilters = " through filters that nothing matches"
	besideTshark   = " beside tshark"
	ofGigabyte     = " of a gigabyte"
	lookingInto    = "summary --grep nothing"
)

var allGoals = []goal{
	{"an empty capture", "15 ms", func(o *options) string {
		return within(o.medians[place{"empty", "summary"}].Wall.Seconds()*1000, 15, "%.1f ms")
	}},
	{"summary, small", "half the wall time of floor", wallToFloor("small", 0.5)},
	{"summary, small", "the CPU time of floor", func(o *options) string {
		return within(times(o.medians[place{"small", "summary"}].CPU, o.medians[place{"small", "floor"}].CPU), 1, "%.2f times")
	}},
	{"summary, large of a gigabyte", "half the wall time of floor", wallToFloor("large"+ofGigabyte, 0.5)},
	{"summary beside tshark with three fields, small", "100 x", faster("summary", "tshark, three fields", 100)},
	{"tree --full beside tshark -V, small", "50 x", faster("tree --full", "tshark -V", 50)},
	{"json --records full beside tshark -T json, small", "80 x", faster("json --records full", "tshark -T json", 80)},
	{"requestlog and filters that nothing matches", "1.5 times the CPU time of summary", (*options).besideSummary},
	{"summary, real", "as many bytes a second as small", (*options).realToSmall},
	{"looking into records of zstd and lz4", "80 % of the CPU time in the decompressor", (*options).unpacking},
	{"memory", "below 100 MiB", (*options).mostMemory},
}

// goals writes where the goals stand.
func (o *options) goals() error {
	fmt.Fprint(o.out, "\n### Where the goals stand\n\n| | goal | measured |\n|---|---|---|\n")
	for _, g := range allGoals {
		fmt.Fprintf(o.out, "| %s | %s | %s |\n", g.about, g.wanted, g.measured(o))
	}
	return nil
}

// times is 0 where something was not measured.
func times(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// within writes a value that is to be so much at most, atLeast one that is to be so much at least.
func within(value, most float64, format string) string {
	return reached(value, format, value <= most)
}

func atLeast(value, least float64, format string) string {
	return reached(value, format, value >= least)
}

func reached(value float64, format string, ok bool) string {
	switch text := fmt.Sprintf(format, value); {
	case value == 0:
		return ""
	case ok:
		return text
	default:
		return "not reached: " + text
	}
}

func wallToFloor(capture string, most float64) func(*options) string {
	return func(o *options) string {
		return within(times(o.medians[place{capture, "summary"}].Wall, o.medians[place{capture, "floor"}].Wall), most, "%.2f times")
	}
}

func faster(ours, theirs string, least float64) func(*options) string {
	return func(o *options) string {
		return atLeast(times(o.medians[place{"small" + besideTshark, theirs}].Wall, o.medians[place{"small" + besideTshark, ours}].Wall), least, "%.0f x")
	}
}

// besideSummary takes the worst of those that do not look into records, which a summary does not do either.
func (o *options) besideSummary() string {
	worst := 0.0
	for where, f := range o.medians {
		if strings.HasSuffix(where.capture, throughFilters) && !strings.Contains(where.contender, "--grep") {
			worst = max(worst, times(f.CPU, o.medians[place{where.capture, "summary"}].CPU))
		}
	}
	return within(worst, 1.5, "%.2f times at most")
}

func (o *options) realToSmall() string {
	real, small := o.medians[place{"real", "summary"}], o.medians[place{"small", "summary"}]
	if real.bytes == 0 || small.bytes == 0 {
		return ""
	}
	return atLeast(times(small.Wall, real.Wall)*float64(real.bytes)/float64(small.bytes), 1, "%.2f times")
}

// unpacking takes the worse of both codecs. Starting the program is no part of it.
func (o *options) unpacking() string {
	started, worst := o.medians[place{"empty", "summary"}].CPU, 1.0
	for _, codec := range []string{"batches-zstd", "batches-lz4"} {
		worst = min(worst, times(o.medians[place{codec, "unpacking alone"}].CPU, o.medians[place{codec, lookingInto}].CPU-started))
	}
	return atLeast(100*worst, 80, "%.0f %%")
}

// mostMemory is the most that any run of ours took.
func (o *options) mostMemory() string {
	most := int64(0)
	for where, f := range o.medians {
		if foreign := where.contender == "floor" || strings.Contains(where.contender, "tshark") || strings.Contains(where.contender, "alone"); !foreign {
			most = max(most, f.Memory)
		}
	}
	return within(float64(most)/(1<<20), 100, "%.0f MiB at most")
}
