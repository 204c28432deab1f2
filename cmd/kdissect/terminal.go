package main

import (
	"os"
	"slices"

	"github.com/mattn/go-isatty"
)

// direct chooses where the output goes and what else is shown meanwhile. It returns what is to be done at the end, with the error of
// the reading. What does not end by itself scrolls by: it has neither pager nor progress.
func (f *readFlags) direct(files []string) (done func(error) error) {
	f.out, f.log = os.Stdout, os.Stderr
	done = func(err error) error { return err }
	if f.follow || slices.ContainsFunc(files, readOnce) {
		return done
	}
	if f.output.value == "tree" {
		if p := openPager(); p != nil {
			f.out = p
			if isatty.IsTerminal(os.Stderr.Fd()) {
				f.log = p
			}
			return p.finish
		}
	}
	if f.progress = newProgress(files); f.progress != nil {
		f.log = f.progress
		return func(err error) error {
			f.progress.close()
			return err
		}
	}
	return done
}
