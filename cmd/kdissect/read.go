package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
	"github.com/kdissect/kdissect/state"
)

// readFlags are the flags of read.
type readFlags struct {
	output  choice
	records choice
	color   choice
	follow  bool
	account bool
	state   bool
	silent  bool // account or state are all that is asked for
	onePass bool
	memory  size
	options render.Options
	filter  filterFlags
	schemas schemaFlags
	catalog *schema.Catalog

	times      choice
	int64s     choice
	fields     string // of tsv and csv
	columns    []render.Column
	every      time.Duration
	pace       *pace // nil unless every is given
	sort       string
	top        int
	cutValues  bool // --max-bytes was given
	everyGiven bool // --every was

	topicIDs string // name of a file with ids and names of topics
	topics   []namedTopic

	out, log io.Writer
	progress *progress
	parallel *render.Parallel // writes the output, if several workers do
}

// newReadFlags returns the flags with what they are unless they are given.
func newReadFlags() readFlags {
	return readFlags{
		output:  choice{"tree", []string{"tree", "summary", "json", "requestlog", "records", "tsv", "csv"}},
		records: choice{"", []string{"size", "batches", "full", "none"}},
		color:   newColor(),
		memory:  reassembly.DefaultMemory,
		times:   choice{"utc", []string{"utc", "local", "relative", "delta"}},
		int64s:  choice{"number", []string{"number", "string"}},
	}
}

func newRead() *cobra.Command {
	f := newReadFlags()
	cmd := &cobra.Command{
		Use:     "read [flags] FILE...",
		Short:   "Read captures: every message as a tree, a line, or JSON",
		Long:    readHelp,
		Example: readExamples,
		Args:    someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given(cmd.Flags())
			return f.read(args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.register(flags)
	flags.BoolVar(&f.follow, "follow", false, "read on as the file grows, until interrupted")
	flags.BoolVar(&f.onePass, "one-pass", false, "look for the names of topic ids in what comes before them only")
	return cmd
}

// given notes what follows from flags being given at all.
func (f *readFlags) given(flags *pflag.FlagSet) {
	f.silent = (f.account || f.state) && !flags.Changed("output")
	f.cutValues = flags.Changed("max-bytes")
	f.everyGiven = flags.Changed("every")
	if f.every != 0 && !flags.Changed("output") {
		f.output.value = intervals
	}
}

// register adds the flags of all sources.
func (f *readFlags) register(flags *pflag.FlagSet) {
	flags.VarP(&f.output, "output", "o", "format")
	flags.BoolVar(&f.options.Full, "full", false, "tree: every node, nothing folded or cut")
	flags.BoolVarP(&f.options.Hex, "hex", "x", false, "tree: the bytes of each message as well")
	flags.Var(&f.records, "records", "how far to open record data (tree: full, json: batches, requestlog: size)")
	flags.IntVar(&f.options.MaxRecords, "max-records", 10, "tree: records shown of a batch")
	flags.IntVar(&f.options.MaxBytes, "max-bytes", 64, "tree, records: bytes shown of a value; records: 0 for all, as in a pipe")
	flags.BoolVar(&f.options.Layout, "layout", false, "json: offset and size of every field")
	flags.BoolVar(&f.options.Packets, "packets", false, "json: the numbers of all packets of a message")
	flags.Var(&f.int64s, "int64", "json: 64-bit numbers as strings, for tools that lose digits")
	flags.StringVar(&f.fields, "fields", "", "tsv, csv: the columns, a `list` of facts, payload.PATH, request.PATH, response.PATH")
	flags.StringVar(&f.sort, "sort", "", "summary, tsv, csv: by `fact`, the highest first: "+strings.Join(render.RankKeys(), ", "))
	flags.IntVar(&f.top, "top", 0, "summary, tsv, csv: the first `N` lines of --sort only; --every: rows of each table")
	flags.DurationVar(&f.every, "every", 0, "tables of what was busy, slow, failing or hanging in each `interval`: 5s")
	flags.Var(&f.times, "time", "times in all but json, which has UTC; relative is to the first packet, delta to the line before")
	flags.BoolVar(&f.options.ShowSecrets, "show-secrets", false, "print bodies that carry passwords, tokens or keys")
	flags.BoolVar(&f.account, "account", false, "where each byte went, and what is missing; behind the messages with -o")
	flags.BoolVar(&f.state, "state", false, "brokers, partitions, groups and transactions as last seen; behind the messages with -o")
	flags.StringVar(&f.topicIDs, "topic-ids", "", "`file` with names of topics that the capture may lack: a line each, id and name")
	flags.Var(&f.memory, "max-memory", "what may be kept of connections; those silent for longest are forgotten first")
	flags.Var(&f.color, "color", "colours on a terminal")
	f.filter.register(flags)
	f.schemas.register(flags)
}

// someFiles wants at least one file, and each once: all of what came twice would be taken for retransmissions.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which capture? Name a file, or - for standard input; %s --help has examples", cmd.CommandPath())
	}
	named := make(map[string]string, len(args))
	for _, file := range args {
		place := placeOf(file)
		switch other, twice := named[place]; {
		case twice && file == "-":
			return errors.New("standard input (-) is named twice; it can be read once")
		case twice && other == file:
			return fmt.Errorf("%s is named twice; name each capture once", file)
		case twice:
			return fmt.Errorf("%s and %s are the same file; name each capture once", other, file)
		}
		named[place] = file
	}
	return nil
}

// placeOf returns the path of a file without symbolic links. What cannot be followed stays as it is.
func placeOf(file string) string {
	if file == "-" {
		return file
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return file
	}
	if place, err := filepath.Abs(target); err == nil {
		return place
	}
	return target
}

// read dissects captures, several as one, and prints what is in them.
func (f *readFlags) read(files []string) error {
	if f.follow && len(files) > 1 {
		return fmt.Errorf("--follow reads one capture as it grows, not %d: name the one that is being written, or leave --follow out to read what is there", len(files))
	}
	if err := f.prepare(files); err != nil {
		return err
	}
	source, err := f.open(files)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if slices.ContainsFunc(files, readOnce) {
		ctx = interrupted()
	}
	source = pcaps.ReadAhead(ctx, source)
	defer source.Close()
	done := f.direct(files)
	f.paced(f.follow || slices.ContainsFunc(files, readOnce), false)
	p := f.pipeline(files, source, f.watched(f.format()))
	if f.looksAhead(files) {
		defer lookAheadFor(p.dissector, int(f.memory/4), func() (pcaps.Source, error) { return f.open(files) }).Close()
	}
	return f.dissect(p, done)
}

// prepare checks what the flags say, and settles what follows from it, before anything is opened.
func (f *readFlags) prepare(files []string) (err error) {
	if f.catalog, err = f.schemas.catalog(); err != nil {
		return err
	}
	if err := f.check(f.catalog); err != nil {
		return err
	}
	if err := f.filter.settle(f.catalog); err != nil {
		return err
	}
	if f.topicIDs != "" {
		if f.topics, err = readTopicIDs(f.topicIDs); err != nil {
			return err
		}
	}
	if f.memory < minMemory {
		return fmt.Errorf("--max-memory wants at least %v", &minMemory)
	}
	limit := f.memory + otherMemory
	if f.state {
		limit += state.Room
	}
	debug.SetMemoryLimit(int64(limit))
	debug.SetGCPercent(gcPercent)
	f.settle(files)
	return nil
}

// gcPercent has garbage collected at three times of what is in use, and for the first time at 8 MiB rather than 4, which the buffers alone fill up: a
// summary of 8 MB takes an eighth less, one of many short connections 4 % less, for some 10 MiB. The memory limit still holds.
const gcPercent = 200

// pipeline returns one for a source of packets, as the flags want it.
func (f *readFlags) pipeline(files []string, source pcaps.Source, format render.Format) *pipeline {
	p := newPipeline(f.catalog, files, source, format, f.accountant())
	p.log, p.progress, p.pace = f.log, f.progress, f.pace
	p.assembler.Limits = reassembly.LimitsWithin(int(f.memory / 4 * 3)) // the rest is for looking ahead, for garbage, and for what is not counted exactly
	p.start = f.options.Start
	for _, topic := range f.topics {
		p.dissector.NameTopic(topic.id, topic.name)
	}
	p.enough = f.filter.enough
	if f.parallel != nil {
		p.written = f.parallel.Wait
	}
	return p
}

// dissect runs a pipeline to its end. done takes the error that the output ended with, and gives up what it was written through.
func (f *readFlags) dissect(p *pipeline, done func(error) error) error {
	err := p.dissectAll()
	if f.pace != nil {
		err = cmp.Or(err, f.pace.screen.close())
	}
	if err := done(err); err != nil {
		return err
	}
	if !f.silent && f.filter.nothing() {
		return statusError{status: statusDamaged, err: f.filter.whyNothing()}
	}
	return nil
}

// accountant returns what keeps the account, nil where none is asked for.
func (f *readFlags) accountant() *accountant {
	if !f.account {
		return nil
	}
	return &accountant{out: f.aside(), json: f.output.value == "json", behind: f.output.value == "tree" && (!f.silent || f.state)}
}

// aside is where goes what is told behind the messages, such that it does not disturb those who read them.
func (f *readFlags) aside() io.Writer {
	if f.output.value == "tree" || f.output.value == "json" {
		return f.out
	}
	return f.log
}

// watched puts in front of a format what keeps what the capture tells of the cluster, where that is asked for.
func (f *readFlags) watched(format render.Format) render.Format {
	if !f.state {
		return format
	}
	w := newWitness(format, f.aside())
	w.json, w.behind = f.output.value == "json", f.output.value == "tree" && !f.silent
	return w
}

// looksAhead tells whether names of topics may be looked for further on in the capture. The broker's request log and the account have no place for them.
func (f *readFlags) looksAhead(files []string) bool {
	named := f.state || !f.silent && f.output.value != "requestlog"
	return named && !f.onePass && !f.follow && !slices.ContainsFunc(files, readOnce)
}

// otherMemory is what the program takes besides what is kept of connections: input, output, schemas, what is remembered of the capture, and
// garbage. Several files that are read at the same time take more.
const otherMemory size = 20 << 20

// minMemory is the least that may be kept of connections.
var minMemory size = 8 << 20

// open opens the captures as one; one that is followed is read until the user interrupts.
func (f *readFlags) open(files []string) (pcaps.Source, error) {
	if !f.follow {
		return pcaps.OpenAll(files...)
	}
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt) // up to the end of the program
	return pcaps.Follow(ctx, files[0])
}

// settle derives the options that flags, terminal and environment give together.
func (f *readFlags) settle(files []string) {
	f.options.Color = isColorful(f.color)
	f.options.Aligned = isTerminal()
	f.options.Files = files
	f.options.Errors = &atomic.Int64{}
	f.options.Selected = f.filter.matched
	f.options.Records = f.recordsMode()
	f.options.Start = &atomic.Int64{}
	f.options.Rows = f.top
	f.options.Explained = render.NewExplained()
	f.options.Int64Text = f.int64s.value == "string"
	f.options.Time = map[string]render.TimeMode{"local": render.TimeLocal, "relative": render.TimeRelative, "delta": render.TimeDelta}[f.times.value]
	if f.output.value == "records" && !f.cutValues && !f.options.Aligned {
		f.options.MaxBytes = 0
	}
}

func isTerminal() bool { return isatty.IsTerminal(os.Stdout.Fd()) }

// isColorful tells whether the output has colours, by what the flag says.
func isColorful(color choice) bool {
	may := isTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return color.value == "always" || color.value == "auto" && may
}

func (f *readFlags) recordsMode() render.RecordsMode {
	mode := f.records.value
	if mode == "" {
		mode = map[string]string{"tree": "full", "json": "batches"}[f.output.value]
	}
	switch mode {
	case "full":
		return render.RecordsFull
	case "batches":
		return render.RecordsBatches
	case "none":
		return render.RecordsNone
	}
	return render.RecordsSize
}

// maxWorkers bounds the memory that workers take. One goroutine reads and pairs; more workers than this it cannot keep busy.
const maxWorkers = 8

// format returns the output, run by as many workers as there are processors. Times since the line before are written by one worker.
func (f *readFlags) format() render.Format {
	switch {
	case f.silent:
		return silence{}
	case f.pace != nil:
		return introduction{f.filter.heads(f.filter.exchanges(f.pace.table)), f.pace.table}
	}
	if runtime.GOMAXPROCS(0) == 1 || f.filter.count > 0 { // when there is enough has to be known while reading
		return f.filter.heads(f.create(f.out, f.log, true))
	}
	f.parallel = render.NewParallel(f.out, f.log, f.workers(), f.create)
	return f.filter.heads(f.parallel)
}

// workers returns by how many workers the output may be written.
func (f *readFlags) workers() int {
	if f.options.Time == render.TimeDelta || f.filter.count > 0 {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), maxWorkers)
}

// create returns one instance of the output. first is false for those that only go on.
func (f *readFlags) create(out, log io.Writer, first bool) render.Format {
	return f.filter.exchanges(f.write(out, log, first))
}

func (f *readFlags) write(out, log io.Writer, first bool) render.Format {
	o := f.options
	o.Continued = !first
	switch f.output.value {
	case "json":
		return render.NewJSON(out, o)
	case "summary":
		return render.NewSummary(out, log, o)
	case "requestlog":
		return render.NewRequestLog(out, log, o)
	case "records":
		return render.NewRecords(out, log, o)
	case "tsv":
		return render.NewTSV(out, log, f.columns, o)
	case "csv":
		return render.NewCSV(out, log, f.columns, o)
	}
	return render.NewTree(out, o)
}
