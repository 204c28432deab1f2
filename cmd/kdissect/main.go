// Command kdissect reads Kafka off the wire: see the README, or kdissect --help.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses.
const (
	statusOK      = 0
	statusDamaged = 1 // the input was damaged; what could be read was shown. Or a filter matched nothing
	statusUsage   = 2 // wrong use, or nothing could be opened
)

func main() {
	// A closed pipe is success (head got its lines), not a signal.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(os.Args[1:]))
}

// run runs the command line and returns the exit status.
func run(args []string) int {
	cmd := newRoot()
	cmd.SetArgs(args)
	err := cmd.Execute()
	var status statusError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return statusOK
	case errors.As(err, &status):
		if status.err != nil {
			fmt.Fprintln(os.Stderr, "kdissect:", status.err)
		}
		return status.status
	}
	fmt.Fprintln(os.Stderr, "kdissect:", err)
	return statusUsage
}

// A statusError ends the program with a status; err is nil when everything has been said.
type statusError struct {
	status int
	err    error
}

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", e.status) }
