package pcaps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followInterval is how often a file that is followed is looked at.
const followInterval = 100 * time.Millisecond

// Follow opens a capture file that is still being written. At the end of the file the Source waits for
// more; a record that is written in part is no damage. It reads up to where the file ends when ctx
// is done, then returns io.EOF, whether or not the last record is whole by then. Follow itself waits
// until the file's header is there.
//
// A file that becomes shorter, is removed or is replaced by another of its name is an error once
// all that was written to it has been read. Standard input, "-", is read to its end as Open does.
func Follow(ctx context.Context, path string) (Source, error) {
	if path == "-" {
		return Open(path)
	}
	s, err := openFile(path, func(f *os.File) io.Reader { return &follower{ctx: ctx, file: f, path: path, end: -1} })
	if err != nil {
		return nil, err
	}
	s.growing = true
	return s, nil
}

// A follower reads a file that grows, as far as it has come when ctx is done.
type follower struct {
	ctx  context.Context
	file *os.File
	path string
	read int64
	end  int64 // where to stop, -1 before ctx is done
}

// Read waits until there is something to read.
func (f *follower) Read(p []byte) (int, error) {
	for {
		// What was written before a file is given up, or before ctx is done, is read still.
		given := f.givenUp()
		if f.end < 0 && f.ctx.Err() != nil {
			f.end = f.size()
		}
		room := p
		if f.end >= 0 {
			room = p[:max(0, min(int64(len(p)), f.end-f.read))]
			if len(room) == 0 {
				return 0, io.EOF
			}
		}
		n, err := f.file.Read(room)
		f.read += int64(n)
		switch {
		case n > 0:
			return n, nil
		case err != nil && err != io.EOF:
			return 0, err
		case given != nil:
			return 0, given
		case f.end >= 0:
			return 0, io.EOF
		}
		f.wait()
	}
}

func (f *follower) wait() {
	timer := time.NewTimer(followInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ctx.Done():
	}
}

// size returns the length of the file. Where that means nothing, as of a named pipe, it is what was read.
func (f *follower) size() int64 {
	if info, err := f.file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return f.read
}

// givenUp says why nothing more can come, nil if more can.
func (f *follower) givenUp() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() < f.read {
		return fmt.Errorf("became shorter while it was read: %d bytes, %d of which were read", info.Size(), f.read)
	}
	switch named, err := os.Stat(f.path); {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("was removed while it was read")
	case err == nil && !os.SameFile(info, named):
		return errors.New("was replaced by another file while it was read")
	}
	return nil
}
