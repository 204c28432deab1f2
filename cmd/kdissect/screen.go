package main

import (
	"bytes"
	"os"

	"golang.org/x/term"
)

// A screen shows blocks of text, each in place of the one before on a terminal. It writes beside those who read packets, which a terminal that stands still must not hold
// up. The cursor stays visible, on the line below the block: there is nothing to be restored whatever ends the program.
type screen struct {
	out     *os.File
	inPlace bool
	begun   bool        // a block was shown
	blocks  chan []byte // to be written
	written chan error  // of each block, and one more in the beginning
	failed  error       // of a block before
}

func newScreen(out *os.File, inPlace bool) *screen {
	s := &screen{out: out, inPlace: inPlace, blocks: make(chan []byte), written: make(chan error, 1)}
	s.written <- nil
	go s.run()
	return s
}

func (s *screen) run() {
	for b := range s.blocks {
		_, err := s.out.Write(b)
		s.written <- err
	}
}

// Sequences of ANSI terminals.
const (
	clearScreen = "\x1b[2J"
	toTopLeft   = "\x1b[H"
	clearLine   = "\x1b[K" // from the cursor on
	clearRest   = "\x1b[J" // of the screen
)

// Write shows a block. It waits for the one before, and returns its error.
func (s *screen) Write(block []byte) (int, error) {
	if err := <-s.written; err != nil {
		s.failed = err
	}
	if s.failed != nil {
		s.written <- nil
		return 0, s.failed
	}
	b := bytes.Clone(block)
	if s.inPlace {
		b = bytes.ReplaceAll(bytes.TrimPrefix(b, []byte("\n")), []byte("\n"), []byte(clearLine+"\n"))
		b = append([]byte(toTopLeft), append(b, clearRest...)...)
		if !s.begun {
			b = append([]byte(clearScreen), b...)
		}
	}
	s.begun = true
	s.blocks <- b
	return len(block), nil
}

// idle tells whether a block would be written at once.
func (s *screen) idle() bool { return len(s.written) > 0 }

// close waits until all is written.
func (s *screen) close() error {
	err := <-s.written
	close(s.blocks)
	return err
}

// size returns how wide and high a block may be, read anew since the window may change: 0 where there is no bound. The line below the block is for the cursor.
func (s *screen) size() (width, height int) {
	if !isTerminal() {
		return 0, 0
	}
	const usual = 80
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 {
		return usual, 0
	}
	if !s.inPlace {
		return width, 0
	}
	return width, max(1, height-1)
}
