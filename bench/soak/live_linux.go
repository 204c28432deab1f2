package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A live is kdissect while it captures, with what it printed.
type live struct {
	cmd        *exec.Cmd
	requests   int64 // printed so far; to be read when it has ended, as all of these
	responses  int64
	other      int64          // other lines
	goroutines map[string]int // at the end, by the function that they began with
	read       chan error     // the end of its output
	log        *bytes.Buffer  // standard error
	logged     chan struct{}  // the end of it
}

// startLive starts kdissect and waits until it captures.
func startLive(program string) (*live, error) {
	l := &live{cmd: exec.Command(program, "live", "-i", "lo", "-o", "json"), read: make(chan error, 1), log: &bytes.Buffer{}, logged: make(chan struct{})}
	l.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := l.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(log)
	for first := ""; !strings.Contains(first, "capturing on"); {
		if first, err = lines.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("kdissect does not capture: %w", err)
		}
	}
	go func() {
		defer close(l.logged)
		io.Copy(l.log, lines)
	}()
	go func() { l.read <- l.count(out) }()
	return l, nil
}

// count counts the messages in an output.
func (l *live) count(out io.Reader) error {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case bytes.Contains(line, []byte(`"header":{"type":"REQUEST"`)):
			l.requests++
		case bytes.Contains(line, []byte(`"header":{"type":"RESPONSE"`)):
			l.responses++
		default:
			l.other++
		}
	}
}

// quit ends kdissect so that it says where its goroutines are.
func (l *live) quit() error {
	if err := l.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-l.logged
	if err := <-l.read; err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := l.cmd.Wait(); !errors.As(err, &exit) {
		return fmt.Errorf("kdissect ended by itself: %v", err)
	}
	l.goroutines = goroutinesOf(l.log.String())
	return nil
}

// collected matches what the runtime says of a garbage collection: when it was, in seconds, and how many MB of memory are in use after it.
var collected = regexp.MustCompile(`(?m)^gc \d+ @([\d.]+)s .*->(\d+) MB,`)

// inUse returns the median of what was in use after each garbage collection between two times, in MB. kdissect must have ended.
func (l *live) inUse(from, to time.Duration) int64 {
	var values []int64
	for _, m := range collected.FindAllStringSubmatch(l.log.String(), -1) {
		if at, _ := strconv.ParseFloat(m[1], 64); at >= from.Seconds() && at < to.Seconds() {
			n, _ := strconv.ParseInt(m[2], 10, 64)
			values = append(values, n)
		}
	}
	return median(values)
}

// goroutinesOf counts the goroutines of a dump by the function that they began with.
func goroutinesOf(dump string) map[string]int {
	found := map[string]int{}
	for _, one := range strings.Split(dump, "\n\n") {
		if !strings.HasPrefix(one, "goroutine ") || strings.HasPrefix(one, "goroutine 0 ") {
			continue
		}
		if calls := began.FindAllStringSubmatch(one, -1); calls != nil {
			found[calls[len(calls)-1][1]]++
		}
	}
	return found
}

// began matches a function in the dump of a goroutine; the last is where it began.
var began = regexp.MustCompile(`(?m)^([^\s(]\S*)\(.*\)$`)

// A sample is what kdissect takes at a time.
type sample struct{ memory, threads, descriptors int64 }

// interval is the time between samples.
const interval = 10 * time.Second

// watch takes samples until it is done.
func (l *live) watch(done chan struct{}) (samples []sample) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return samples
		case <-tick.C:
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
		descriptors, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", l.cmd.Process.Pid))
		s := sample{memory: field(status, "RssAnon") << 10, threads: field(status, "Threads"), descriptors: int64(len(descriptors))}
		samples = append(samples, s)
		fmt.Fprintf(os.Stderr, "%5d s: %d KiB, %d threads, %d descriptors\n", len(samples)*int(interval/time.Second), s.memory>>10, s.threads, s.descriptors)
	}
}

// field returns a number in a status file of /proc, 0 where it is not there.
func field(status []byte, name string) int64 {
	m := regexp.MustCompile(`(?m)^` + name + `:\s*(\d+)`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n
}
