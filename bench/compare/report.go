package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// printMachine writes what the figures depend on.
func printMachine(w io.Writer, tshark string) error {
	fmt.Fprintf(w, "%s, %d CPUs (%s), %s %s", runtime.Version(), runtime.NumCPU(), cpuModel(), runtime.GOOS, runtime.GOARCH)
	if tshark != "" {
		out, err := exec.Command(tshark, "--version").Output()
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(string(out), "\n")
		name, _, _ := strings.Cut(line, " (Git")
		fmt.Fprintf(w, ", %s", strings.TrimSuffix(name, "."))
	}
	fmt.Fprintln(w)
	return nil
}

// cpuModel returns the name of the processor where the system tells it.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "model unknown"
}

// compareEmpty measures what the program takes to start and stop.
func (o *options) compareEmpty(t tools) error {
	path, err := o.emptyFile()
	if err != nil {
		return err
	}
	c := []*contender{t.ours("summary", "-o", "summary"), t.ours("tree"), t.ours("json", "-o", "json")}
	if t.tshark != "" {
		c = append(c, t.fields())
	}
	if err := race(path, 4*o.runs, c); err != nil {
		return err
	}
	fmt.Printf("\n### An empty capture\n\n")
	return table(path, c, nil)
}

// compareFast measures beside the yardstick.
func (o *options) compareFast(t tools, in input) error {
	path, err := in.file(o, o.large)
	if err != nil {
		return err
	}
	c := []*contender{
		t.ours("summary", "-o", "summary"),
		t.ours("requestlog", "-o", "requestlog"),
		t.ours("tree"),
		t.ours("tree --full", "--full"),
		t.ours("json", "-o", "json"),
	}
	reference := (*contender)(nil)
	if t.floor != "" {
		reference = &contender{name: "floor", args: []string{t.floor}}
		c = append([]*contender{reference}, c...)
	}
	if err := race(path, o.runs, c); err != nil {
		return err
	}
	fmt.Printf("\n### %s: %s, %s\n\n", in.name, in.about, o.large)
	return table(path, c, []*contender{reference})
}

// compareSlow measures beside tshark.
func (o *options) compareSlow(t tools, in input) error {
	path, err := in.file(o, o.small)
	if err != nil {
		return err
	}
	fields := t.fields()
	verbose := &contender{name: "tshark -V", args: []string{t.tshark, "-d", "tcp.port==9092,kafka", "-V", "-r"}}
	asJSON := &contender{name: "tshark -T json", args: []string{t.tshark, "-d", "tcp.port==9092,kafka", "-T", "json", "-r"}}
	c := []*contender{fields, verbose, asJSON, t.ours("summary", "-o", "summary"), t.ours("tree --full", "--full"), t.ours("json", "-o", "json")}
	if err := race(path, o.slowRuns, c); err != nil {
		return err
	}
	fmt.Printf("\n### %s beside tshark, %s\n\n", in.name, o.small)
	return table(path, c, []*contender{nil, nil, nil, fields, verbose, asJSON})
}

// fields is tshark with what people most often ask it for.
func (t tools) fields() *contender {
	return &contender{name: "tshark, three fields", args: []string{t.tshark, "-d", "tcp.port==9092,kafka", "-T", "fields",
		"-e", "kafka.api_key", "-e", "kafka.correlation_id", "-e", "kafka.topic_name", "-r"}}
}

func (t tools) ours(name string, flags ...string) *contender {
	return &contender{name: name, args: append([]string{t.kdissect}, flags...)}
}

// table writes a Markdown table. Each contender is compared with the reference at its place, or with the last one given.
func table(capture string, contenders, references []*contender) error {
	file, err := os.Stat(capture)
	if err != nil {
		return err
	}
	fmt.Println("| | wall | CPU | peak memory | MB/s | beside | wall, times | CPU, times |")
	fmt.Println("|---|--:|--:|--:|--:|---|--:|--:|")
	for i, c := range contenders {
		m := c.median()
		fmt.Printf("| %s | %s | %s | %.0f MiB | %.0f |", c.name, millis(m.wall), millis(m.cpu), float64(m.memory)/(1<<20), float64(file.Size())/1e6/m.wall.Seconds())
		var reference *contender
		if len(references) > 0 {
			reference = references[min(i, len(references)-1)]
		}
		if reference == nil || reference == c {
			fmt.Println(" | | |")
			continue
		}
		r := reference.median()
		fmt.Printf(" %s | %s | %s |\n", reference.name, ratio(m.wall, r.wall), ratio(m.cpu, r.cpu))
	}
	return nil
}

func millis(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(d)/1e6)
}

// ratio says how the time of a contender compares: a fraction of the reference's, or how many times it is faster where that
// is more telling.
func ratio(d, reference time.Duration) string {
	if reference > 4*d {
		return fmt.Sprintf("%.0f x faster", float64(reference)/float64(d))
	}
	return fmt.Sprintf("%.2f", float64(d)/float64(reference))
}
