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
	// is left for a later call or, where whole says that no more will come, is errCut. An error
	// says why what follows the used bytes cannot be a record, and bad how many bytes, at least one, hold
	// none for sure.
	decode(b *Batch, data []byte, whole bool) (used, bad int, err error)

	// search looks for a record behind damage. It returns how many bytes to pass over, and
	// whether a record begins behind them; if not, more bytes are needed.
	search(data []byte, whole bool) (skip int, found bool)
}

// fileSource is the Source of a file or stream in any of the formats. What it does must not depend
// on how the bytes arrive.
type fileSource struct {
	name    string
	index   uint16    // of the file, among several
	file    io.Closer // nil where somebody else closes
	input   *input
	window  window
	decoder decoder
	growing bool // the end of the input is not meant to be the end of a record

	packets int64        // handed over so far
	damage  *DamageError // to be returned when it is known how far it reaches
	cut     bool         // damage is an errCut
	ended   error        // what ended reading: the window holds all there will be
	err     error        // what Next returns from now on
}

// Next implements Source.
func (s *fileSource) Next(b *Batch) error {
	b.reset(s.packets+1, s.index)
	for s.err == nil {
		if s.damage != nil {
			return s.passOver()
		}
		used, bad, err := s.decoder.decode(b, s.window.unread(), s.ended != nil)
		s.window.advance(used)
		s.packets = b.last()
		if err != nil {
			s.begin(bad, err)
		}
		switch {
		case !b.isEmpty():
			b.hold(s.window.slab)
			return nil
		case err != nil:
		case s.ended != nil:
			return s.end(s.newDamage())
		default:
			s.ended = s.window.fill()
		}
	}
	return s.err
}

// begin notes damage where the window stands, and passes over the first bytes of it.
func (s *fileSource) begin(bad int, err error) {
	s.damage, s.cut = s.newDamage(), err == errCut
	s.damage.Code, s.damage.Detail = DamagedBlock, err.Error()
	s.damage.Skipped = int64(bad)
	s.window.advance(bad)
}

// passOver moves on to a record behind the damage, or to the end, and returns what Next does.
func (s *fileSource) passOver() error {
	damage := s.damage
	for !damage.Resumed {
		skip, found := s.decoder.search(s.window.unread(), s.ended != nil)
		s.window.advance(skip)
		damage.Skipped += int64(skip)
		switch {
		case found:
			damage.Resumed, s.cut = true, false
		case s.ended == nil:
			s.ended = s.window.fill()
		default:
			left := len(s.window.unread())
			s.window.advance(left)
			damage.Skipped += int64(left)
			s.damage = nil
			if s.cut {
				return s.end(damage)
			}
			return damage // and then the end
		}
	}
	s.damage = nil
	return damage
}

// end translates the error that ended reading. Damage is where the rest begins that holds no record.
func (s *fileSource) end(damage *DamageError) error {
	s.err = io.EOF
	switch {
	case s.ended == io.EOF && (s.growing || !s.cut):
		return io.EOF
	case s.ended == io.EOF:
		damage.Code = TruncatedFile
		damage.Detail = "the file ends inside a record"
		if damage.Skipped > 0 { // else it is one that is passed over
			damage.Detail += fmt.Sprintf(", %d bytes after its beginning", damage.Skipped)
		}
	case s.input.failed():
		s.err = fmt.Errorf("%s: %w", s.name, cause(s.ended))
		return s.err
	case errors.Is(s.ended, io.ErrUnexpectedEOF):
		damage.Code, damage.Detail = TruncatedFile, "the compressed data end early"
	default:
		damage.Code, damage.Detail = DamagedBlock, "the compressed data are damaged: "+s.ended.Error()
	}
	return damage
}

// newDamage returns an error for a record that begins where the window stands.
func (s *fileSource) newDamage() *DamageError {
	return &DamageError{
		File:        s.name,
		Offset:      s.window.offset,
		Compression: s.input.compression,
		Packet:      s.packets,
	}
}

// Position implements Source.
func (s *fileSource) Position() int64 { return s.input.raw.bytes }

// Files implements Source.
func (s *fileSource) Files() []string { return []string{s.name} }

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
