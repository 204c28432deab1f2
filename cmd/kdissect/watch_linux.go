package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
)

// A watch is a capture that says on standard error what is missing from the output: while it goes on, and at the end.
type watch struct {
	*pcaps.Live
	shedding *render.Shedding // nil where nothing is dissected
	quiet    bool             // it is shown elsewhere while it goes on
	told     string
	when     time.Time
	reader   *os.File // what is printed to, nil where that is nothing that a reader can leave
	looked   time.Time
	left     bool // the reader has left
	begun    time.Time
	hint     string // what may be wrong if no packet comes; empty once that is said
}

// watchInterval is how often it is told that more is missing.
const watchInterval = 5 * time.Second

// readerInterval is how often it is looked whether the reader is still there.
const readerInterval = 500 * time.Millisecond

// silenceInterval is how long no packet may come before it is said what may be wrong.
const silenceInterval = 10 * time.Second

// silent says once what may be wrong where no packet has come for long since the start.
func (w *watch) silent(now time.Time, received int64) string {
	if w.hint == "" || now.Sub(w.begun) < silenceInterval {
		return ""
	}
	said := w.hint
	w.hint = ""
	if received > 0 {
		return ""
	}
	return fmt.Sprintf("kdissect: no packet came in %v: %s\n", silenceInterval, said)
}

// Next implements pcaps.Source. It ends when the reader has left: what prints nothing would not notice.
func (w *watch) Next(b *pcaps.Batch) error {
	now := time.Now()
	if now.Sub(w.when) >= watchInterval {
		if missing := w.missing(); !w.quiet && missing != w.told && w.Stats().Dropped+w.leftOut() > 0 {
			w.told = missing
			fmt.Fprintf(os.Stderr, "kdissect: so far %s\n", missing)
		}
		w.when = now
	}
	if said := w.silent(now, w.Stats().Received); said != "" {
		fmt.Fprint(os.Stderr, said)
	}
	if w.reader != nil && now.Sub(w.looked) >= readerInterval {
		w.looked, w.left = now, hasLeft(w.reader)
	}
	if w.left {
		return io.EOF
	}
	return w.Live.Next(b)
}

// readerOf returns a file that is a pipe or a socket, nil for any other.
func readerOf(out *os.File) *os.File {
	if info, err := out.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return nil
	}
	return out
}

// hasLeft tells whether nobody is there any more to read what is written to a pipe or socket.
func hasLeft(out *os.File) bool {
	events := []unix.PollFd{{Fd: int32(out.Fd())}}
	_, err := unix.Poll(events, 0)
	return err == nil && events[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

// leftOut returns how many exchanges the output was too slow for.
func (w *watch) leftOut() int64 {
	if w.shedding == nil {
		return 0
	}
	return w.shedding.Left()
}

func (w *watch) missing() string {
	return fmt.Sprintf("%d packets lost because the buffer was full, %d exchanges left out because the output was too slow", w.Stats().Dropped, w.leftOut())
}

// sum says at the end what was captured, and what not.
func (w *watch) sum() {
	fmt.Fprintf(os.Stderr, "kdissect: %d packets captured, %s\n", w.Stats().Received, w.missing())
}
