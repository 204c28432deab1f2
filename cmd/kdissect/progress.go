package main

import (
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"

	"github.com/kdissect/kdissect/pcaps"
)

// patience is how long reading takes before its progress is shown.
const patience = time.Second

// A progress is a bar on standard error that says how much of the files has been read. It gives way to what is written there. A nil one
// shows nothing.
type progress struct {
	log   io.Writer
	bar   *progressbar.ProgressBar
	begun time.Time

	mu      sync.Mutex // what is written to log may come from several goroutines
	visible bool
}

// newProgress returns the progress of reading files, nil where it is not shown.
func newProgress(files []string) *progress {
	out, err := os.Stdout.Stat()
	if err != nil || !showsProgress(isatty.IsTerminal(os.Stderr.Fd()), isTerminal(), out.Mode()) {
		return nil
	}
	var size int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	return newProgressOn(os.Stderr, size)
}

func newProgressOn(log io.Writer, size int64) *progress {
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(log),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
	)
	return &progress{log: log, bar: bar, begun: time.Now()}
}

// showsProgress tells whether a bar is of use: its terminal is not that of the output. What reads a pipe may write to the terminal
// itself, so behind one there is no bar.
func showsProgress(logIsTerminal, outIsTerminal bool, out fs.FileMode) bool {
	return logIsTerminal && !outIsTerminal && out&(fs.ModeNamedPipe|fs.ModeSocket) == 0
}

// show moves the bar to where a source is.
func (p *progress) show(source pcaps.Source) {
	if p == nil || time.Since(p.begun) < patience {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visible = true
	p.bar.Set64(min(source.Position(), p.bar.GetMax64()-1)) // a bar that is full would stay
}

// Write writes to the log, in place of the bar.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.log.Write(b)
}

func (p *progress) clear() {
	if p.visible {
		p.visible = false
		p.bar.Clear()
	}
}

// close takes the bar away.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
