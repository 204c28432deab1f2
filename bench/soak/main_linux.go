// Command soak has kdissect live run for long, on connections that come and go, and tells whether it takes more and more:
//
//	go run ./bench/soak --minutes 20
//
// Clients and a server say what a capture of the project has, over TCP, in a network of their own: a hundred connections begin each second, talk of
// several APIs, and end in order, by a reset with a request unanswered, or half a minute after the client has closed its side. It wants the rights of
// root, and little of a processor.
//
// It ends with status 1 where memory, threads or descriptors have grown, where a message was not printed, or where a goroutine is left.
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/internal/netlab"
)

func main() {
	minutes := pflag.Float64("minutes", 20, "how long")
	rate := pflag.Int("rate", 100, "new connections a second")
	capture := pflag.String("capture", "testdata/sample.pcap", "what is said")
	pflag.Parse()
	err := netlab.Alone(func() error {
		return soak(time.Duration(*minutes*float64(time.Minute)), *rate, *capture)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(length time.Duration, rate int, capture string) error {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "kdissect")
	if out, err := exec.Command("make", "build", "BINARY="+program).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	talks, err := readTalks(capture)
	if err != nil {
		return err
	}
	short, err := run(program, talks, time.Second, rate)
	if err != nil {
		return err
	}
	long, err := run(program, talks, length, rate)
	if err != nil {
		return err
	}
	return report(short, long)
}

// run has a crowd come for some time.
func run(program string, talks []talk, length time.Duration, rate int) (f figures, err error) {
	f.length = length
	f.crowd, err = newCrowd(talks)
	if err != nil {
		return f, err
	}
	defer f.crowd.listener.Close()
	f.live, err = startLive(program)
	if err != nil {
		return f, err
	}
	done, samples := make(chan struct{}), make(chan []sample)
	go func() { samples <- f.live.watch(done) }()
	err = f.crowd.come(length, rate)
	close(done)
	f.samples = <-samples
	return f, cmp.Or(err, f.crowd.leave(), f.live.quit())
}
