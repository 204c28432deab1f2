package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// dissectAll moves packets from a source through the layers to a format, up to the end of the input or the first error of the writer.
func dissectAll(file string, source pcaps.Source, format render.Format) error {
	dissector := dissect.New(schema.Embedded(), format.Needs(), format)
	assembler := reassembly.New(dissector)
	damaged := false
	var batch pcaps.Batch
	for {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			complain(dissector, err)
			damaged = true
			break
		}
		for i := range batch.Packets {
			if err := assembler.Packet(&batch.Packets[i]); err != nil {
				complain(dissector, fmt.Errorf("%s: %w", file, err))
				damaged = true
			}
		}
		batch.Release()
		if err := format.Flush(); err != nil {
			return err
		}
	}
	assembler.Close()
	format.Close(&dissector.Counts)
	if err := format.Flush(); err != nil {
		return err
	}
	if damaged {
		return statusError{status: statusDamaged}
	}
	return nil
}

// complain says what is wrong with the input, on standard error and in the output.
func complain(d *dissect.Dissector, err error) {
	fmt.Fprintln(os.Stderr, "kdissect:", err)
	finding := dissect.Finding{Code: dissect.UnsupportedLinkType, Severity: dissect.Error, Offset: -1, Text: err.Error()}
	var damage *pcaps.DamageError
	if errors.As(err, &damage) {
		finding.Code = dissect.Code(damage.Code)
	}
	d.Report(finding, true)
}
