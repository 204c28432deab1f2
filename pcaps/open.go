package pcaps

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// standardInput is what errors call it.
const standardInput = "standard input"

// Open opens a capture file, or standard input where path is "-". What the file is, pcap or
// pcapng, and whether it is compressed with gzip or zstd, is told from its first bytes; its name
// does not matter. An error is one line that begins with the name of the file; it is a
// *DamageError where the file is cut inside its header.
func Open(path string) (Source, error) {
	if path == "-" {
		return NewSource(os.Stdin, standardInput)
	}
	s, err := openFile(path, func(f *os.File) io.Reader { return f })
	if err != nil {
		return nil, err // a nil *fileSource would be a Source that is not nil
	}
	return s, nil
}

// errEmpty is what is wrong with a file of no bytes.
var errEmpty = errors.New("empty, not even a file header")

// openFile opens a file to be read through what reader makes of it.
func openFile(path string, reader func(*os.File) io.Reader) (*fileSource, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	s, err := newFileSource(reader(f), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.file = f
	return s, nil
}

// NewSource reads a capture from r as Open does from a file. Errors call it name. It reads
// as much as it needs to tell the format before it returns. Close leaves r open.
func NewSource(r io.Reader, name string) (Source, error) {
	s, err := newFileSource(r, name)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newFileSource(r io.Reader, name string) (*fileSource, error) {
	in, err := newInput(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	s := &fileSource{name: name, input: in, window: newWindow(in)}
	if err := s.recognise(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// recognise picks the decoder by what the input begins with.
func (s *fileSource) recognise() error {
	magic, err := s.window.peek(4)
	switch {
	case err == io.EOF && len(magic) == 0:
		return fmt.Errorf("%s: %w", s.name, errEmpty)
	case err == io.EOF:
		return s.notACapture()
	case err != nil:
		return s.failed(err)
	}
	if order, ok := isClassic(magic); ok {
		header, err := s.fileHeader(classicHeaderLen)
		if err != nil {
			return err
		}
		s.decoder = newClassic(order, header)
		s.window.advance(classicHeaderLen)
		return nil
	}
	if isPcapng(magic) {
		_, err := s.fileHeader(sectionMinLen)
		s.decoder = &pcapng{}
		return err
	}
	return s.notACapture()
}

// fileHeader returns the first n bytes of the input.
func (s *fileSource) fileHeader(n int) ([]byte, error) {
	header, err := s.window.peek(n)
	if err == io.EOF {
		damage := s.newDamage()
		damage.Code, damage.Skipped = TruncatedFile, int64(len(header))
		damage.Detail = fmt.Sprintf("the file ends inside its header, which takes %d bytes, after %d", n, len(header))
		return nil, damage
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return header, nil
}

// failed translates an error, not io.EOF, that ended reading inside the header.
func (s *fileSource) failed(err error) error {
	s.ended = err
	return s.end(s.newDamage())
}

func (s *fileSource) notACapture() error {
	head, _ := s.window.peek(16) // fewer are worth showing too
	if s.input.compression != "" {
		return fmt.Errorf("%s: not a capture file: its %s data begin with %q", s.name, s.input.compression, head)
	}
	return fmt.Errorf("%s: not a capture file: begins with %q", s.name, head)
}

// cause takes the operation and the path off an error of package os, since messages here
// begin with the name of the file already.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
