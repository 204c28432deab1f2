package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// readFlags are the flags of read.
type readFlags struct {
	output  string
	color   string
	records string
	options render.Options
}

var (
	outputs      = []string{"tree", "summary", "json", "requestlog"}
	recordsModes = []string{"size", "batches", "full", "none"}
	colorModes   = []string{"auto", "always", "never"}
)

func newRead() *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:     "read [flags] FILE",
		Short:   "Read a capture file, or - for standard input",
		Example: rootExamples,
		Args:    oneFile,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.read(args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.output, "output", "o", "tree", "format: "+strings.Join(outputs, ", "))
	flags.BoolVar(&f.options.Full, "full", false, "tree: every node, nothing folded or cut")
	flags.BoolVarP(&f.options.Hex, "hex", "x", false, "tree: the bytes of each message as well")
	flags.StringVar(&f.records, "records", "size", "json: what to show of records fields: "+strings.Join(recordsModes, ", "))
	flags.BoolVar(&f.options.Layout, "layout", false, "json: offset and size of every field")
	flags.BoolVar(&f.options.Packets, "packets", false, "json: the numbers of all packets of a message")
	flags.BoolVar(&f.options.ShowSecrets, "show-secrets", false, "print bodies that carry passwords, tokens or keys")
	flags.StringVar(&f.color, "color", "auto", "colours: "+strings.Join(colorModes, ", "))
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("which capture? Name a file, or - for standard input; %s --help has examples", cmd.CommandPath())
	}
	return fmt.Errorf("one capture at a time, not %d (%s)", len(args), strings.Join(args, ", "))
}

// read dissects one capture and prints it.
func (f *readFlags) read(file string) error {
	if err := f.check(); err != nil {
		return err
	}
	source, err := pcaps.Open(file)
	if err != nil {
		return err
	}
	defer source.Close()
	f.options.File = file
	format := f.format()
	return f.dissect(source, format)
}

func (f *readFlags) check() error {
	for _, choice := range []struct {
		flag, value string
		known       []string
	}{{"output", f.output, outputs}, {"records", f.records, recordsModes}, {"color", f.color, colorModes}} {
		if !slices.Contains(choice.known, choice.value) {
			return fmt.Errorf("--%s %s: choose one of %s", choice.flag, choice.value, strings.Join(choice.known, ", "))
		}
	}
	terminal := isatty.IsTerminal(os.Stdout.Fd())
	f.options.Color = f.color == "always" || f.color == "auto" && terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	f.options.Aligned = terminal
	if f.records == "none" {
		f.options.Records = render.RecordsNone
	}
	return nil
}

func (f *readFlags) format() render.Format {
	switch f.output {
	case "json":
		return render.NewJSON(os.Stdout, f.options)
	case "summary":
		return render.NewSummary(os.Stdout, os.Stderr, f.options)
	case "requestlog":
		return render.NewRequestLog(os.Stdout, os.Stderr, f.options)
	}
	return render.NewJSON(os.Stdout, f.options)
}

// dissect moves packets from the source through the layers to the format.
func (f *readFlags) dissect(source pcaps.Source, format render.Format) error {
	dissector := dissect.New(schema.Embedded(), format.Needs(), format)
	assembler := reassembly.New(dissector)
	status := statusOK
	var batch pcaps.Batch
	for {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			status = f.damage(dissector, err)
			break
		}
		for i := range batch.Packets {
			if err := assembler.Packet(&batch.Packets[i]); err != nil {
				status = f.damage(dissector, err)
			}
		}
		batch.Release()
		if err := format.Flush(); err != nil {
			return err
		}
	}
	assembler.Close()
	if err := format.Flush(); err != nil {
		return err
	}
	if status != statusOK {
		return statusError{status: status}
	}
	return nil
}

// damage reports what is wrong with the input, on standard error and in the output.
func (f *readFlags) damage(d *dissect.Dissector, err error) int {
	fmt.Fprintln(os.Stderr, "kdissect:", err)
	finding := dissect.Finding{Code: dissect.UnsupportedLinkType, Severity: dissect.Error, Offset: -1, Text: err.Error()}
	var damage *pcaps.DamageError
	if errors.As(err, &damage) {
		finding.Code = dissect.Code(damage.Code)
	}
	d.Report(finding)
	return statusDamaged
}
