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

// A pipeline moves packets from a source through the layers to a format.
type pipeline struct {
	file      string
	source    pcaps.Source
	dissector *dissect.Dissector
	assembler *reassembly.Assembler
	format    render.Format
	damages   int // of the input
}

// maxDamages is how many damages of the input are told one by one.
const maxDamages = 20

// dissectAll moves all packets of a source, up to its end or the first error of the writer.
func dissectAll(file string, source pcaps.Source, format render.Format) error {
	p := pipeline{file: file, source: source, format: format, dissector: dissect.New(schema.Embedded(), format.Needs(), format)}
	p.assembler = reassembly.New(p.dissector)
	if err := p.run(); err != nil {
		return err
	}
	p.assembler.Close()
	format.Close(&p.dissector.Counts)
	if err := format.Flush(); err != nil {
		return err
	}
	if p.damages > maxDamages {
		fmt.Fprintf(os.Stderr, "kdissect: %s: %d damages in all\n", file, p.damages)
	}
	if p.damages > 0 {
		return statusError{status: statusDamaged}
	}
	return nil
}

// run takes batches until the source ends. Behind damage it goes on where the source can. It returns an error of the writer.
func (p *pipeline) run() error {
	var batch pcaps.Batch
	for {
		err := p.source.Next(&batch)
		var damage *pcaps.DamageError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &damage):
			p.complain(err, dissect.Code(damage.Code))
			continue
		case err != nil:
			p.complain(err, dissect.DamagedBlock)
			return nil
		}
		for i := range batch.Packets {
			if err := p.assembler.Packet(&batch.Packets[i]); err != nil {
				p.complain(fmt.Errorf("%s: %w", p.file, err), dissect.UnsupportedLinkType)
			}
		}
		batch.Release()
		if err := p.format.Flush(); err != nil {
			return err
		}
	}
}

// complain says what is wrong with the input, on standard error and in the output.
func (p *pipeline) complain(err error, code dissect.Code) {
	if p.damages++; p.damages > maxDamages {
		return
	}
	fmt.Fprintln(os.Stderr, "kdissect:", err)
	p.dissector.Report(dissect.Finding{Code: code, Severity: dissect.Error, Offset: -1, Text: err.Error()}, true)
}
