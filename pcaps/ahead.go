package pcaps

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// aheadBatches is how many batches a reader may be ahead, and so how many slabs there are more. Where there is little to do for a packet, two of them
// have reader and receiver wait for each other half of the time: what wakes them takes as long as reading a slab.
const aheadBatches = 8

// ReadAhead returns a Source that yields what another one does, which it reads in a goroutine of its own: reading and unpacking go on while
// packets are dissected. Once ctx is done it hands over what has been read by then, and io.EOF, even where the source waits for more. It takes over
// source, which is closed some time after Close, when a read that waits for bytes has come back.
func ReadAhead(ctx context.Context, source Source) Source {
	a := &ahead{ctx: ctx, files: source.Files(), ready: make(chan *item, aheadBatches), free: make(chan *item, aheadBatches), stop: make(chan struct{})}
	for range aheadBatches {
		a.free <- &item{}
	}
	go a.read(source)
	return a
}

// An ahead is the receiving side of a reader.
type ahead struct {
	ctx      context.Context
	files    []string
	ready    chan *item
	free     chan *item
	stop     chan struct{} // closed by Close
	position int64
	err      error // what Next returns from now on
	leaving  bool  // ctx is done
	left     int   // batches that are handed over still
}

// An item is what a call of Next gave.
type item struct {
	batch    Batch
	err      error
	position int64
}

// read reads until the source ends or nobody wants more.
func (a *ahead) read(source Source) {
	defer source.Close()
	defer close(a.ready)
	for {
		select {
		case <-a.stop:
			return
		case it := <-a.free:
			err := source.Next(&it.batch)
			it.err, it.position = err, source.Position()
			a.ready <- it // has room for all there are
			if err != nil && !isDamage(err) {
				return
			}
		}
	}
}

// Next implements Source.
func (a *ahead) Next(b *Batch) error {
	if a.err != nil {
		return a.err
	}
	it := a.next()
	if it == nil {
		b.reset(0, 0)
		a.err = io.EOF
		return io.EOF
	}
	a.position = it.position
	err := it.err
	if err == nil {
		b.take(&it.batch)
	} else {
		b.reset(0, 0)
	}
	if err != nil && !isDamage(err) {
		a.err = err
		return err
	}
	a.free <- it
	return err
}

// next returns what was read next, nil where nothing is to come any more: the reader may go on for as long as something is sent.
func (a *ahead) next() *item {
	if a.ctx.Err() == nil {
		select {
		case it := <-a.ready:
			return it
		case <-a.ctx.Done():
		}
	}
	if !a.leaving {
		a.leaving, a.left = true, len(a.ready)
	}
	if a.left == 0 {
		return nil
	}
	a.left--
	return <-a.ready
}

// Position implements Source: it is that of the batch which Next has handed over.
func (a *ahead) Position() int64 { return a.position }

// Files implements Source.
func (a *ahead) Files() []string { return a.files }

// Close implements Source. Batches that were read ahead are dropped.
func (a *ahead) Close() error {
	if a.err == fs.ErrClosed {
		return fs.ErrClosed
	}
	a.err = fs.ErrClosed
	close(a.stop)
	return nil
}

// isDamage tells whether a source goes on behind an error.
func isDamage(err error) bool {
	damage := (*DamageError)(nil)
	return errors.As(err, &damage)
}
