package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// lastWords is how long the end of a piped capture is waited for after an interrupt.
const lastWords = 500 * time.Millisecond

// interrupted returns a context that is done when the user interrupts, or when the terminal has gone. What sends the capture is mostly
// interrupted as well, as in tcpdump -w - | kdissect -, and has a moment for its last packets. A second signal ends the program.
func interrupted() context.Context {
	ctx, done := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() {
		<-signals
		signal.Stop(signals)
		time.Sleep(lastWords)
		done()
	}()
	return ctx
}

// endings are the signals that end a capture: Ctrl-C, those of service managers, and of a terminal that goes away. nohup(1) has the last one ignored, which stays so.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
