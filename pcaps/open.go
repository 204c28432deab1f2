package pcaps

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// Open opens a capture file, or standard input where path is "-". What the file is, pcap or
// pcapng, and whether it is compressed with gzip or zstd, is told from its first bytes; its name
// does not matter. An error is one line that begins with the name of the file.
func Open(path string) (Source, error) {
	if path == "-" {
		return NewSource(os.Stdin, "standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	s, err := newFileSource(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.input.file = f
	return s, nil
}

// NewSource reads a capture from r as Open does from a file. Errors call it name. It reads
// as much as it needs to tell the format before it returns. Close leaves r open.
func NewSource(r io.Reader, name string) (Source, error) {
	s, err := newFileSource(r, name)
	if err != nil {
		return nil, err // not s: a nil *fileSource would be a Source that is not nil
	}
	return s, nil
}

func newFileSource(r io.Reader, name string) (*fileSource, error) {
	in, err := newInput(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &fileSource{name: name, input: in}
	if err := s.recognise(); err != nil {
		in.close()
		return nil, err
	}
	return s, nil
}

// recognise picks the decoder by the first bytes of the input and takes the file header off it.
func (s *fileSource) recognise() error {
	head, err := s.input.Peek(4)
	if err != nil && len(head) == 0 {
		return s.headError(err)
	}
	switch order, ok := isClassic(padded(head)); {
	case ok:
		header, err := s.header(classicHeaderLen)
		if err != nil {
			return err
		}
		s.decoder = newClassic(order, header)
		s.input.Discard(classicHeaderLen)
		s.window = newWindow(s.input, classicHeaderLen)
	case isPcapng(padded(head)):
		if _, err := s.header(sectionMinLen); err != nil {
			return err
		}
		s.decoder = &pcapng{}
		s.window = newWindow(s.input, 0)
	default:
		return s.notACapture()
	}
	return nil
}
