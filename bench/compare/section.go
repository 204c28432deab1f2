package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kdissect/kdissect/bench/internal/captures"
	"github.com/kdissect/kdissect/bench/internal/measure"
	"github.com/kdissect/kdissect/bench/internal/traffic"
)

// sections are what is measured, in the order of the document.
var sections = []struct {
	name  string
	write func(o *options) error
}{
	{"an empty capture", (*options).empty},
	{"formats", withCaptures((*options).formats)},
	{"gigabytes", withCaptures((*options).gigabytes)},
	{"processors", withCaptures((*options).processors)},
	{"filters", withCaptures((*options).filters)},
	{"compressed file", withCaptures((*options).compressedFile)},
	{"compressed records", (*options).compressedRecords},
	{"tshark", withCaptures((*options).tshark)},
	{"memory", (*options).memory},
	{"goals", (*options).goals},
	{"layers", (*options).layerSpeeds},
}

// withCaptures leaves out a section where there is nothing to make its captures of.
func withCaptures(write func(*options) error) func(*options) error {
	return func(o *options) error {
		if !o.store.Complete() {
			fmt.Fprintln(os.Stderr, "left out, for there are no captures in", o.store.Shared)
			return nil
		}
		return write(o)
	}
}

func (o *options) summary() *measure.Contender { return o.programs.Ours("summary", "-o", "summary") }
func (o *options) json() *measure.Contender    { return o.programs.Ours("json", "-o", "json") }
func (o *options) full() *measure.Contender    { return o.programs.Ours("tree --full", "--full") }
func (o *options) jsonRecords() *measure.Contender {
	return o.programs.Ours("json --records full", "-o", "json", "--records", "full")
}
func (o *options) requestLog() *measure.Contender {
	return o.programs.Ours("requestlog", "-o", "requestlog")
}

// fields is tshark with what people most often ask it for.
func (o *options) fields() *measure.Contender {
	return o.programs.TsharkAs("tshark, three fields", "-T", "fields", "-e", "kafka.api_key", "-e", "kafka.correlation_id", "-e", "kafka.topic_name")
}

// emptyCapture is a pcap file of nothing but its header.
const emptyCapture = "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00"

// empty measures what programs take to start and stop.
func (o *options) empty() error {
	path := filepath.Join(o.store.Dir, "empty.pcap")
	if err := os.WriteFile(path, []byte(emptyCapture), 0o644); err != nil {
		return err
	}
	rows := against(nil, o.summary(), o.programs.Ours("tree"), o.json())
	if o.programs.Tshark != "" {
		rows = append(rows, row{o.fields(), nil})
	}
	return o.race(path, 0, "empty: a capture without packets", 3*o.runs, rows)
}

// formats measures beside the yardstick.
func (o *options) formats() error {
	for _, kind := range []*captures.Kind{captures.Small, captures.Large, captures.Real, captures.Lossy, captures.Many} {
		size := o.size
		if kind == captures.Many {
			size = o.connections
		}
		rows := against(o.programs.Yardstick(), o.summary(), o.requestLog(), o.programs.Ours("tree"), o.full(), o.json(), o.jsonRecords())
		if err := o.compare(kind, size, fmt.Sprintf("%s: %s, %s", kind.Name, kind.About, size), o.runs, rows); err != nil {
			return err
		}
	}
	return nil
}

// gigabytes measures what takes long enough to be told in bytes a second, beside a loop that reads and does nothing else.
func (o *options) gigabytes() error {
	for _, c := range []struct {
		kind *captures.Kind
		size string
	}{{captures.Large, o.largeSize}, {captures.Real, o.realSize}} {
		rows := append(against(nil, o.programs.Bare("read, 1 MiB a call", "read")), against(o.programs.Yardstick(), o.summary())...)
		if err := o.compare(c.kind, c.size, c.kind.Name+ofGigabyte+": "+c.size, o.slowRuns, rows); err != nil {
			return err
		}
	}
	return nil
}

// processors measures with one and with two.
func (o *options) processors() error {
	var rows []row
	for n := 1; n <= 2; n++ {
		named := func(c *measure.Contender) *measure.Contender {
			if c == nil {
				return nil
			}
			c.Name = fmt.Sprintf("%s on %d", c.Name, n)
			return o.programs.On(n, c)
		}
		rows = append(rows, against(named(o.programs.Yardstick()), named(o.summary()), named(o.json()))...)
	}
	return o.compare(captures.Small, o.size, "small on one processor and on two: "+o.size, o.runs, rows)
}

// filters measures what filters cost that match nothing, beside a summary of everything.
func (o *options) filters() error {
	for _, kind := range []*captures.Kind{captures.Small, captures.Real} {
		nothing := func(format, flag, value string) *measure.Contender {
			c := o.programs.Ours(fmt.Sprintf("%s %s %s", format, flag, value), "-o", format, flag, value)
			c.NothingMatches = true
			return c
		}
		rows := against(o.summary(), o.requestLog(), nothing("summary", "--topic", "nothing"), nothing("tree", "--topic", "nothing"), nothing("json", "--topic", "nothing"),
			nothing("summary", "--client", "nothing"), nothing("summary", "--group", "nothing"), nothing("summary", "--slow", "1h"),
			nothing("summary", "--where", "size > 1e9"), nothing("summary", "--grep", "nothing here"))
		if err := o.compare(kind, o.size, kind.Name+throughFilters+": "+o.size, o.runs, rows); err != nil {
			return err
		}
	}
	return nil
}

// compressedFile measures a file that has to be expanded.
func (o *options) compressedFile() error {
	path, err := o.store.File(captures.Small, o.size)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if path, err = o.store.File(captures.Zipped, o.size); err != nil {
		return err
	}
	return o.race(path, info.Size(), "small.pcap.zst: MB/s of the file as it is expanded", o.runs, against(o.programs.Bare("expanding alone", "expand"), o.summary()))
}

// compressedRecords measures batches of each codec, beside a program that unpacks the same blocks with the same libraries and does nothing else.
func (o *options) compressedRecords() error {
	size, err := captures.Bytes(o.size)
	if err != nil {
		return err
	}
	for codec, name := range traffic.Codecs {
		kind := captures.Batches[codec]
		path, err := o.store.File(kind, o.size)
		if err != nil {
			return err
		}
		unpacking := o.programs.Bare("unpacking alone", "unpack", name)
		if err := measure.Race(measure.File(captures.Blocks(path)), o.runs, []*measure.Contender{unpacking}); err != nil {
			return err
		}
		opening := o.programs.Ours(lookingInto, "-o", "summary", "--grep", "nothing here")
		opening.NothingMatches = true
		ours := []*measure.Contender{o.summary(), o.json(), opening, o.full(), o.jsonRecords()}
		if err := measure.Race(measure.File(path), o.runs, ours); err != nil {
			return err
		}
		o.table(fmt.Sprintf("%s: MB/s of %s of records", kind.Name, o.size), size, against(unpacking, ours...))
	}
	return nil
}

// tshark measures beside tshark.
func (o *options) tshark() error {
	if o.programs.Tshark == "" {
		fmt.Fprintln(os.Stderr, "left out, for tshark is not installed")
		return nil
	}
	for _, kind := range []*captures.Kind{captures.Small, captures.Large, captures.Real} {
		fields, verbose, asJSON := o.fields(), o.programs.TsharkAs("tshark -V", "-V"), o.programs.TsharkAs("tshark -T json", "-T", "json")
		rows := []row{{fields, nil}, {often(o.summary()), fields}}
		if err := o.compare(kind, o.size, kind.Name+besideTshark+": three fields, "+o.size, o.slowRuns, rows); err != nil {
			return err
		}
		rows = []row{{verbose, nil}, {asJSON, nil}, {often(o.full()), verbose}, {often(o.json()), asJSON}, {often(o.jsonRecords()), asJSON}}
		if err := o.compare(kind, o.slowSize, kind.Name+besideTshark+": "+o.slowSize, o.slowRuns, rows); err != nil {
			return err
		}
	}
	return nil
}

// often is for a contender that takes a hundredth of what the others take: it runs five times in each of few rounds.
func often(c *measure.Contender) *measure.Contender {
	c.Times = 5
	return c
}

// memory measures a summary of captures that ask much of memory. They are written while they are read, so their wall time would tell little.
func (o *options) memory() error {
	if !o.crowds {
		return nil
	}
	fmt.Fprint(o.out, "\n### Memory: summary of what `bench/crowd` writes into standard input\n\n| | | peak memory | CPU |\n|---|---|--:|--:|\n")
	for _, s := range traffic.Scenarios {
		cost, err := o.summary().Run(measure.Stream(s.Stream(s.Count)))
		if err != nil {
			return err
		}
		o.medians[place{"memory", s.Name}] = figures{cost, 0}
		fmt.Fprintf(o.out, "| %s | %d %s | %s | %s |\n", s.Name, s.Count, s.About, mebibytes(cost.Memory), millis(cost.CPU))
	}
	return nil
}

// layerSpeeds runs the benchmarks of each layer.
func (o *options) layerSpeeds() error {
	fmt.Fprint(o.out, "\n### Layers\n\nFrom `go test -bench`; ns, B and allocations are those of one operation.\n\n| | | MB/s | ns | B | allocations |\n|---|---|--:|--:|--:|--:|\n")
	for i := range measure.Layers {
		layer := &measure.Layers[i]
		results, err := layer.Benchmarks(o.layers)
		if err != nil {
			return err
		}
		for _, b := range results {
			fmt.Fprintf(o.out, "| %s | %s | %.0f | %.0f | %d | %d |\n", layer.Name, b.Name, b.Speed, b.Nanos, b.Bytes, b.Allocs)
		}
	}
	return nil
}
