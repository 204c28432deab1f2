package main

import (
	"errors"
	"os"
	"sync"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
)

// A lookAhead reads the input a second time, for the names of topics that are told later than they are wanted. Damage has been told of by the
// time that the input is read for the output, or will be.
type lookAhead struct {
	mu        sync.Mutex // workers that still look for names when the output has failed, and Close
	closed    bool
	open      func() (pcaps.Source, error)
	source    pcaps.Source // nil before the first packets are wanted
	assembler *reassembly.Assembler
	batch     pcaps.Batch
}

// lookAheadFor lets a dissector look ahead in its input, with some memory for the connections on the way.
func lookAheadFor(d *dissect.Dissector, memory int, open func() (pcaps.Source, error)) *lookAhead {
	l := &lookAhead{open: open}
	l.assembler = reassembly.New(d.LookAhead(l.more))
	l.assembler.Limits = reassembly.LimitsWithin(memory)
	return l
}

// more reads some packets. It returns false when there are no more.
func (l *lookAhead) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.source == nil {
		source, err := l.open()
		if err != nil {
			return false // the file has gone meanwhile
		}
		l.source = source
	}
	err := l.source.Next(&l.batch)
	if damage := (*pcaps.DamageError)(nil); errors.As(err, &damage) {
		return true
	} else if err != nil {
		l.assembler.Close()
		return false
	}
	for i := range l.batch.Packets {
		l.assembler.Packet(&l.batch.Packets[i])
	}
	l.batch.Release()
	return true
}

// Close closes the input if it was opened.
func (l *lookAhead) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.source != nil {
		l.source.Close()
	}
}

// readOnce tells whether an input can be read but once: standard input, a pipe.
func readOnce(file string) bool {
	info, err := os.Stat(file)
	return file == "-" || err != nil || !info.Mode().IsRegular()
}
