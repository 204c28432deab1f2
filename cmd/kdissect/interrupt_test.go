//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What comes from a pipe is shown to its end after Ctrl-C, with what comes still and the counts, although the pipe stays open.
func TestInterruptOfAPipe(t *testing.T) {
	capture, err := os.ReadFile("../../testdata/sample.pcap")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("kdissect", "-o", "summary", "-")
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
	cmd.Process.Signal(os.Interrupt)
	in.Write(capture[half:])
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
