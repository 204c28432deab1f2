package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/kdissect/kdissect/pcaps"
)

// recordFlags are the flags that say where the packets are kept.
type recordFlags struct {
	path  string
	files int
	size  size
}

// minRingFile is the least size of a file of a ring: what is written at a time fits.
var minRingFile size = 2 << 20

func (f *recordFlags) check() error {
	switch {
	case f.path == "" && (f.files != 0 || f.size != 0):
		return errors.New("--files and --size say how much -w keeps; name a file with -w")
	case (f.files == 0) != (f.size == 0):
		return errors.New("a ring wants both --files and --size; without them -w writes one file")
	case f.files < 0 || f.size != 0 && f.size < minRingFile:
		return fmt.Errorf("--files wants at least 1, --size at least %v", &minRingFile)
	case f.files > 0 && f.path == "-":
		return errors.New("standard output cannot be a ring of files")
	}
	return nil
}

// A recorder is a source that writes down what it hands over, where that is wanted.
type recorder struct {
	pcaps.Source
	write  func(*pcaps.Batch) error
	close  func() error
	failed error // of writing; it ends the source
}

// record returns a source that writes down what another one hands over, most of it of a link type. Files are made by the user that the process is now.
func (f *recordFlags) record(source pcaps.Source, link pcaps.LinkType) (*recorder, error) {
	r := &recorder{Source: source, write: func(*pcaps.Batch) error { return nil }, close: func() error { return nil }}
	switch {
	case f.path == "":
		return r, nil
	case f.files > 0:
		ring, err := pcaps.NewRing(f.path, f.files, int64(f.size), link)
		if err != nil {
			return nil, err
		}
		r.write, r.close = ring.Write, ring.Close
		return r, nil
	}
	file := os.Stdout
	if f.path != "-" {
		var err error
		if file, err = pcaps.Create(f.path); err != nil {
			return nil, err
		}
		r.close = file.Close
	}
	writer, err := pcaps.NewWriter(file, link)
	if err != nil {
		return nil, err
	}
	r.write = writer.Write
	return r, nil
}

// Next implements pcaps.Source.
func (r *recorder) Next(b *pcaps.Batch) error {
	if r.failed != nil {
		return io.EOF
	}
	if err := r.Source.Next(b); err != nil {
		return err
	}
	r.failed = r.write(b)
	return nil
}

// all writes down all there is, for those who want nothing else.
func (r *recorder) all() error {
	var b pcaps.Batch
	for {
		if err := r.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return statusError{status: statusDamaged, err: err}
		}
		b.Release()
	}
}

// finish closes what is written. It returns what went wrong with it.
func (r *recorder) finish() error {
	err := cmp.Or(r.failed, r.close())
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return err
	}
	return statusError{status: statusDamaged, err: err}
}
