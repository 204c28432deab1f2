package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kdissect/kdissect/bench/internal/captures"
	"github.com/kdissect/kdissect/bench/internal/measure"
)

// A row is a contender, with the one that it is compared with; nil for none.
type row struct{ contender, beside *measure.Contender }

// against compares contenders with one, which comes first where it is there.
func against(reference *measure.Contender, contenders ...*measure.Contender) (rows []row) {
	if reference != nil {
		rows = append(rows, row{reference, nil})
	}
	for _, c := range contenders {
		rows = append(rows, row{c, reference})
	}
	return rows
}

// A place names figures by the capture that they were measured on and the contender.
type place struct{ capture, contender string }

// figures are medians on a capture of so many bytes.
type figures struct {
	measure.Cost
	bytes int64
}

// compare makes a capture, races contenders on it, and writes a table under a title.
func (o *options) compare(kind *captures.Kind, size, title string, rounds int, rows []row) error {
	path, err := o.store.File(kind, size)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return o.race(path, info.Size(), title, rounds, rows)
}

// race races contenders on a file, and writes a table under a title. bytes is what speeds are told of.
func (o *options) race(path string, bytes int64, title string, rounds int, rows []row) error {
	var all []*measure.Contender
	for _, r := range rows {
		all = append(all, r.contender)
	}
	if err := measure.Race(measure.File(path), rounds, all); err != nil {
		return err
	}
	o.table(title, bytes, rows)
	return nil
}

// table writes a Markdown table. Its title begins with a name of the capture and a colon.
func (o *options) table(title string, bytes int64, rows []row) {
	fmt.Fprintf(o.out, "\n### %s\n\n", title)
	fmt.Fprintln(o.out, "| | wall | CPU | peak memory | MB/s | beside | wall, times | CPU, times |")
	fmt.Fprintln(o.out, "|---|--:|--:|--:|--:|---|--:|--:|")
	capture, _, _ := strings.Cut(title, ":")
	for _, r := range rows {
		m := r.contender.Median()
		o.medians[place{capture, r.contender.Name}] = figures{m, bytes}
		fmt.Fprintf(o.out, "| %s | %s | %s | %s | %s |", r.contender.Name, millis(m.Wall), millis(m.CPU), mebibytes(m.Memory), speed(bytes, m.Wall))
		if r.beside == nil {
			fmt.Fprintln(o.out, " | | |")
			continue
		}
		b := r.beside.Median()
		fmt.Fprintf(o.out, " %s | %s | %s |\n", r.beside.Name, ratio(m.Wall, b.Wall), ratio(m.CPU, b.CPU))
	}
}

// mebibytes says how much memory; a program that has ended before anybody looked has none that is known.
func mebibytes(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}

// speed says how many megabytes a second; of nothing it tells nothing.
func speed(bytes int64, took time.Duration) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", float64(bytes)/1e6/took.Seconds())
}

func millis(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < 10*time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// ratio says how the time of a contender compares: a fraction of the reference's, or how many times it is faster where that
// is more telling.
func ratio(d, reference time.Duration) string {
	if reference > 4*d {
		return fmt.Sprintf("%.0f x faster", float64(reference)/float64(d))
	}
	return fmt.Sprintf("%.2f", float64(d)/float64(reference))
}
