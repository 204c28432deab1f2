package main

import (
	"strings"
	"testing"
	"time"
)

// It is said once, after ten seconds, what may be wrong if no packet came, and not if one did.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		received int64
		want     string
	}{
		{0, "kdissect: no packet came in 10s: a hint\n"},
		{1, ""},
	} {
		begun := time.Now()
		w := &watch{begun: begun, hint: "a hint"}
		for _, second := range []time.Duration{0, 9} {
			if said := w.silent(begun.Add(second*time.Second), test.received); said != "" {
				t.Errorf("%d packets, after %d s: %q", test.received, second, said)
			}
		}
		if said := w.silent(begun.Add(10*time.Second), test.received); said != test.want {
			t.Errorf("%d packets: %q, want %q", test.received, said, test.want)
		}
		if said := w.silent(begun.Add(60*time.Second), 0); said != "" {
			t.Errorf("%d packets, once more: %q", test.received, said)
		}
	}
}

// What is no expression is told by what may be meant; tcpdump is named only where it would take it.
func TestWhatAnExpressionMayMean(t *testing.T) {
	for _, test := range []struct{ namespace, expression, want string }{
		{"3842", "3843", "--netns takes one process, here 3842"},
		{"", "capture.pcap", "kdissect read capture.pcap"},
		{"", "dumps/capture.pcapng.gz", "kdissect read dumps/capture.pcapng.gz"},
		{"", "9092", "tcp port 9092"},
		{"", "ether proto 0x800", "tcpdump -U"},
		{"", "tcp[13] = 2", "tcpdump -U"},
		{"", "port 70000", ""},
		{"", "(port 9092", ""},
		{"", "port 9092)", ""},
	} {
		f := &liveFlags{namespace: test.namespace}
		_, err := f.compile(test.expression)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "tcpdump") != strings.HasPrefix(test.want, "tcpdump") {
			t.Errorf("%s: %v, want %q", test.expression, err, test.want)
		}
	}
}
