package pcaps

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// A decoder turns the bytes of one file format into packets and events.
type decoder interface {
	// decode appends to b what the whole records at the head of data hold, as aliases
	// of data, and returns how many bytes these records have. A record that is not all there
	// is left for a later call. An error says why what follows the used bytes cannot be a record.
	decode(b *Batch, data []byte) (used int, err error)
}

// fileSource is the Source of a file or stream in any of the formats.
type fileSource struct {
	name    string
	file    io.Closer // nil where somebody else closes
	input   *input
	window  window
	decoder decoder
	packets int64 // handed over so far
	err     error // what Next returns from now on
}

// Next implements Source.
func (s *fileSource) Next(b *Batch) error {
	b.reset(s.packets + 1)
	for s.err == nil {
		used, err := s.decoder.decode(b, s.window.unread())
		s.window.advance(used)
		s.packets = b.last()
		if err != nil {
			s.err = s.damage(DamagedBlock, err.Error())
		}
		if !b.isEmpty() {
			b.hold(s.window.slab)
			return nil
		}
		if s.err != nil {
			break
		}
		if err := s.window.fill(); err != nil {
			s.err = s.end(err)
		}
	}
	return s.err
}

// end translates the error that ended reading.
func (s *fileSource) end(err error) error {
	left := len(s.window.unread())
	switch {
	case err == io.EOF && left == 0:
		return io.EOF
	case err == io.EOF:
		return s.damage(TruncatedFile, fmt.Sprintf("the file ends inside a record, %d bytes after its beginning", left))
	case s.input.failed():
		return fmt.Errorf("%s: %w", s.name, cause(err))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s.damage(TruncatedFile, "the compressed data end early")
	default:
		return s.damage(DamagedBlock, "the compressed data are damaged: "+err.Error())
	}
}

// damage returns the error for a record that begins where the window stands.
func (s *fileSource) damage(code, detail string) *DamageError {
	return &DamageError{
		File:        s.name,
		Offset:      s.window.offset,
		Compression: s.input.compression,
		Packet:      s.packets,
		Code:        code,
		Detail:      detail,
	}
}

// Close implements Source.
func (s *fileSource) Close() error {
	if s.err == fs.ErrClosed {
		return fs.ErrClosed
	}
	s.err = fs.ErrClosed
	s.window.close()
	s.input.release()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
