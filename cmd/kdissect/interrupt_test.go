//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What comes from a pipe is shown to its end after Ctrl-C, with what comes still and the counts, although the pipe stays open.
func TestInterruptOfAPipe(t *testing.T) {
	signalled(t, exec.Command("kdissect", "-o", "summary", "-"), os.Interrupt, func(in io.WriteCloser, rest []byte) { in.Write(rest) })
}

// A terminal that goes away does not end what nohup(1) is in front of.
func TestHangupBehindNohup(t *testing.T) {
	signalled(t, exec.Command("nohup", "kdissect", "-o", "summary", "-"), syscall.SIGHUP, func(in io.WriteCloser, rest []byte) {
		time.Sleep(2 * lastWords)
		in.Write(rest)
		in.Close()
	})
}

// signalled sends a signal to a program that has half of a capture, and checks that it shows all of it.
func signalled(t *testing.T, cmd *exec.Cmd, signal os.Signal, goOn func(in io.WriteCloser, rest []byte)) {
	t.Helper()
	capture, err := os.ReadFile("../../testdata/sample.pcap")
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	half := len(capture) / 2
	in.Write(capture[:half])
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil { // it runs
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	cmd.Process.Signal(signal)
	goOn(in, capture[half:])
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &log)
	}
	want, err := exec.Command("kdissect", "-o", "summary", "../../testdata/sample.pcap").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(first) + string(rest); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(log.String(), "messages on") {
		t.Errorf("no counts: %s", &log)
	}
}
