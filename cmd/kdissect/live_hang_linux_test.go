package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/kdissect/kdissect/internal/netlab"
)

// A request that hangs is told while it does, and once.
func TestLiveTellsOfAHang(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		live, out := piped(t, "json")
		client, server := connected(t)
		request := func(id byte) []byte { return []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, id, 0xff, 0xff} }
		say(t, client, server, request(1))
		say(t, server, client, []byte{0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0})
		say(t, client, server, request(2))
		out.SetReadDeadline(time.Now().Add(20 * time.Second))
		lines, told := bufio.NewScanner(out), 0
		for lines.Scan() {
			if !strings.Contains(lines.Text(), `"code":"waiting"`) {
				continue
			}
			if told++; told == 1 {
				time.Sleep(1500 * time.Millisecond) // for one more look
				go live.interrupt(t)
			}
			if !strings.Contains(lines.Text(), `"kind":"finding"`) || !strings.Contains(lines.Text(), "ApiVersions v0 with correlation id 2 has had no answer for 5.") {
				t.Error(lines.Text())
			}
		}
		if told != 1 {
			t.Errorf("told %d times: %v", told, lines.Err())
		}
	})
}
