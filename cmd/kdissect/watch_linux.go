package main

import (
	"fmt"
	"os"
	"time"

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
}

// watchInterval is how often it is told that more is missing.
const watchInterval = 5 * time.Second

// Next implements pcaps.Source.
func (w *watch) Next(b *pcaps.Batch) error {
	if now := time.Now(); now.Sub(w.when) >= watchInterval {
		if missing := w.missing(); !w.quiet && missing != w.told && w.Stats().Dropped+w.left() > 0 {
			w.told = missing
			fmt.Fprintf(os.Stderr, "kdissect: so far %s\n", missing)
		}
		w.when = now
	}
	return w.Live.Next(b)
}

// left returns how many exchanges the output was too slow for.
func (w *watch) left() int64 {
	if w.shedding == nil {
		return 0
	}
	return w.shedding.Left()
}

func (w *watch) missing() string {
	return fmt.Sprintf("%d packets lost because the buffer was full, %d exchanges left out because the output was too slow", w.Stats().Dropped, w.left())
}

// sum says at the end what was captured, and what not.
func (w *watch) sum() {
	fmt.Fprintf(os.Stderr, "kdissect: %d packets captured, %s\n", w.Stats().Received, w.missing())
}
