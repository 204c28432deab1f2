package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// A pipeline moves packets from a source through the layers to a format.
type pipeline struct {
	files     []string // the names of the captures that source reads
	source    pcaps.Source
	dissector *dissect.Dissector
	assembler *reassembly.Assembler
	format    render.Format
	account   *accountant
	progress  *progress
	pace      *pace
	log       io.Writer     // standard error
	written   func()        // waits until all that was handed over is written
	damages   int           // of the input
	enough    func() bool   // whether nothing more is wanted
	start     *atomic.Int64 // takes the time of the first packet, for relative times
	begun     bool          // there was one
	live      bool          // packets come as they are sent, and hangs are told of
	looked    time.Time     // when it was looked for hangs
}

// maxDamages is how many damages of the input are told one by one.
const maxDamages = 20

func newPipeline(catalog *schema.Catalog, files []string, source pcaps.Source, format render.Format, account *accountant) *pipeline {
	d := dissect.New(catalog, format.Needs(), format)
	d.Files = files
	a := reassembly.New(d)
	a.CompareDelivered = true // a conflict is proof of a middlebox or of an attack; it takes 1 to 3 % of a summary's CPU time
	return &pipeline{files: files, source: source, format: format, account: account, log: os.Stderr, dissector: d, assembler: a,
		written: func() {}, enough: func() bool { return false }, start: &atomic.Int64{}}
}

// dissectAll moves all packets of the source, up to its end or the first error of the writer.
func (p *pipeline) dissectAll() error {
	if err := p.run(); err != nil {
		return err
	}
	p.pace.last(p)
	p.assembler.Close()
	p.dissector.Close()
	p.pace.finish(p)
	p.format.Close(&p.dissector.Counts)
	if err := p.format.Flush(); err != nil {
		return err
	}
	if err := p.account.write(p); err != nil {
		return err
	}
	p.explainNothing()
	if p.damages > maxDamages {
		fmt.Fprintf(p.log, "kdissect: %s: %d damages in all\n", p.input(), p.damages)
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
		var file uint16
		if failed := (*pcaps.FileError)(nil); errors.As(err, &failed) {
			file = failed.File
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &damage):
			p.account.damage(damage)
			p.complain(file, err, dissect.Code(damage.Code))
			continue
		case err != nil:
			p.complain(file, err, dissect.DamagedBlock)
			return nil
		}
		if !p.begun && len(batch.Packets) > 0 {
			p.begun = true
			p.start.Store(batch.Packets[0].Time)
		}
		packets := batch.Packets // a copy that need not be loaded for each packet
		for i := range packets {
			packet := &packets[i]
			p.pace.packet(p, packet)
			if err := p.assembler.Packet(packet); err != nil {
				p.complain(packet.File, fmt.Errorf("%s: %w", p.files[packet.File], err), dissect.UnsupportedLinkType)
			}
		}
		p.account.packets(&batch)
		p.pace.batch(p, &batch)
		p.tellHangs(&batch)
		batch.Release()
		p.progress.show(p.source)
		if err := p.format.Flush(); err != nil {
			return err
		}
		if p.enough() {
			return nil
		}
	}
}

// patienceForHangs is how long an answer may take beyond what was asked for before a line tells so.
const patienceForHangs = 5 * time.Second

// tellHangs looks once a second for requests that are not answered, where packets come as they are sent. What waits in the kernel may be the answer: so it
// is the time of the packets that counts, and the clock's only where none came.
func (p *pipeline) tellHangs(batch *pcaps.Batch) {
	if !p.live || time.Since(p.looked) < time.Second {
		return
	}
	now := time.Now()
	p.looked = now
	at := now.UnixNano()
	if n := len(batch.Packets); n > 0 {
		at = batch.Packets[n-1].Time
	}
	p.dissector.TellWaiting(p.assembler.Live(), at, int64(patienceForHangs))
}

// input names what is read.
func (p *pipeline) input() string {
	if len(p.files) == 1 {
		return p.files[0]
	}
	return fmt.Sprintf("%d captures", len(p.files))
}

// complain says what is wrong with a file, on standard error and in the output.
func (p *pipeline) complain(file uint16, err error, code dissect.Code) {
	if p.damages++; p.damages > maxDamages {
		return
	}
	p.format.Flush() // an error is met again
	p.written()      // what was found in front of it stands in front of it
	fmt.Fprintln(p.log, "kdissect:", err)
	p.dissector.Report(file, dissect.Finding{Code: code, Severity: dissect.Error, Offset: -1, Text: err.Error()}, true)
}

// explainNothing says what is in the capture instead, when there is no Kafka in it.
func (p *pipeline) explainNothing() {
	counts, stats := &p.dissector.Counts, p.assembler.Stats()
	switch {
	case counts.Messages > 0 || stats.Packets == stats.Unsupported:
	case stats.TCPPackets == 0:
		fmt.Fprintf(p.log, "kdissect: no Kafka messages: none of the %d packets is TCP\n", stats.Packets)
	default:
		for _, protocol := range slices.Sorted(maps.Keys(counts.Bytes.Other)) {
			if protocol != "" {
				fmt.Fprintf(p.log, "kdissect: no Kafka messages: the connections carry %s (%d bytes)\n", protocol, counts.Bytes.Other[protocol])
			}
		}
	}
}
