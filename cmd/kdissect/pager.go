package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
)

// A pager shows what is written to it, a screen at a time.
type pager struct {
	io.WriteCloser
	command string
	process *exec.Cmd
}

// pagerCommand returns the command that shows trees and explanations on a terminal, "" for none.
func pagerCommand(terminal bool, environment func(string) (string, bool), path func(string) (string, error)) string {
	term, _ := environment("TERM")
	if !terminal || term == "dumb" {
		return ""
	}
	for _, name := range []string{"KDISSECT_PAGER", "PAGER"} {
		if command, set := environment(name); set {
			if command == "cat" {
				return ""
			}
			return command
		}
	}
	if _, err := path("less"); err != nil {
		return ""
	}
	return "less"
}

// openPager starts the user's pager where standard output is a terminal. It returns nil where none is wanted or it cannot be started.
func openPager() *pager {
	command := pagerCommand(isTerminal(), os.LookupEnv, exec.LookPath)
	if command == "" {
		return nil
	}
	p := &pager{command: command, process: shell(command)}
	p.process.Stdout, p.process.Stderr, p.process.Env = os.Stdout, os.Stderr, os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		// Ends by itself what fits on the screen, shows colours, and leaves the text on the screen.
		p.process.Env = append(p.process.Env, "LESS=FRX")
	}
	var err error
	if p.WriteCloser, err = p.process.StdinPipe(); err != nil || p.process.Start() != nil {
		return nil
	}
	// An interrupt is the pager's: the program ends when its user leaves it, and the terminal is as before.
	signal.Ignore(os.Interrupt)
	return p
}

func shell(command string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/c", command)
	}
	return exec.Command("sh", "-c", command)
}

// finish waits until the user has seen enough. It returns the error that writing ended with, or that of a pager which cannot be run.
func (p *pager) finish(written error) error {
	p.Close()
	err := p.process.Wait()
	signal.Reset(os.Interrupt)
	// What a shell says of a command that it cannot run.
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127) {
		return fmt.Errorf("the pager %q cannot be run; see KDISSECT_PAGER and PAGER in kdissect --help", p.command)
	}
	return written
}

// paged writes a page through the user's pager where standard output is a terminal.
func paged(write func(out io.Writer) error) error {
	p := openPager()
	if p == nil {
		return write(os.Stdout)
	}
	return p.finish(write(p))
}
