package main

import (
	"io"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
)

// An accountant keeps the account of a capture for --account. A nil one keeps none.
type accountant struct {
	account render.Account
	out     io.Writer
	json    bool
	behind  bool // there is other output in front of it
}

// packets takes note of a batch.
func (a *accountant) packets(b *pcaps.Batch) {
	if a == nil {
		return
	}
	for i := range b.Packets {
		a.at(b.Packets[i].Time)
	}
	for i := range b.Events {
		if b.Events[i].Kind == pcaps.Dropped {
			a.account.Dropped += b.Events[i].Count
		}
	}
}

// at takes note of a capture time. 0 stands where the file has none.
func (a *accountant) at(time int64) {
	c := &a.account
	switch {
	case time == 0:
	case !c.Timed:
		c.First, c.Last, c.Timed = time, time, true
	default:
		c.First, c.Last = min(c.First, time), max(c.Last, time)
	}
}

// damage takes note of a place where the file cannot be read.
func (a *accountant) damage(d *pcaps.DamageError) {
	if a != nil {
		a.account.Damages++
		a.account.DamagedBytes += d.Skipped
	}
}

// write prints the account of what a pipeline has read.
func (a *accountant) write(p *pipeline) error {
	if a == nil {
		return nil
	}
	a.account.Files, a.account.Stats, a.account.Counts = p.files, p.assembler.Stats(), p.dissector.Counts
	var b []byte
	switch {
	case a.json:
		b = a.account.AppendJSON(nil)
	case a.behind:
		b = a.account.AppendText([]byte{'\n'})
	default:
		b = a.account.AppendText(nil)
	}
	_, err := a.out.Write(b)
	return err
}

// silence is the format of messages that nobody wants to see.
type silence struct{}

func (silence) Needs() dissect.Needs       { return 0 }
func (silence) Message(*dissect.Message)   {}
func (silence) Exchange(*dissect.Exchange) {}
func (silence) Report(*dissect.Report)     {}
func (silence) Close(*dissect.Counts)      {}
func (silence) Flush() error               { return nil }
