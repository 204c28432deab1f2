package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kdissect/kdissect/pcaps"
)

func TestPagerCommand(t *testing.T) {
	for _, test := range []struct {
		name        string
		terminal    bool
		environment string
		less        bool
		want        string
	}{
		{"less where nothing is set", true, "", true, "less"},
		{"no less", true, "", false, ""},
		{"no terminal", false, "PAGER=most", true, ""},
		{"a dumb terminal", true, "TERM=dumb PAGER=most", true, ""},
		{"PAGER", true, "TERM=xterm PAGER=most", false, "most"},
		{"ours before PAGER", true, "PAGER=most KDISSECT_PAGER=bat", true, "bat"},
		{"none", true, "PAGER=most KDISSECT_PAGER=", true, ""},
		{"cat is none", true, "PAGER=cat", true, ""},
	} {
		environment := func(name string) (string, bool) {
			for _, word := range strings.Fields(test.environment) {
				if key, value, _ := strings.Cut(word, "="); key == name {
					return value, true
				}
			}
			return "", false
		}
		path := func(string) (string, error) {
			if test.less {
				return "/usr/bin/less", nil
			}
			return "", errors.New("not found")
		}
		if got := pagerCommand(test.terminal, environment, path); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestShowsProgress(t *testing.T) {
	for _, test := range []struct {
		name           string
		log, out, want bool
		mode           fs.FileMode
	}{
		{"output to a file", true, false, true, 0},
		{"output to /dev/null", true, false, true, fs.ModeDevice | fs.ModeCharDevice},
		{"output to a pipe", true, false, false, fs.ModeNamedPipe},
		{"output to the terminal", true, true, false, fs.ModeDevice | fs.ModeCharDevice},
		{"all to files", false, false, false, 0},
	} {
		if got := showsProgress(test.log, test.out, test.mode); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
}

// A screenLine is a terminal's last line, and what scrolled by above it.
type screenLine struct {
	above   []string
	current []rune
	column  int
}

func (s *screenLine) Write(b []byte) (int, error) {
	for _, r := range string(b) {
		switch r {
		case '\r':
			s.column = 0
		case '\n':
			s.above = append(s.above, strings.TrimRight(string(s.current), " "))
			s.current, s.column = nil, 0
		default:
			s.current = append(s.current[:s.column], append([]rune{r}, s.current[min(s.column+1, len(s.current)):]...)...)
			s.column++
		}
	}
	return len(b), nil
}

func (s *screenLine) line() string { return strings.TrimRight(string(s.current), " ") }

// The bar is not there at once, gives way to what is said meanwhile, and leaves no trace.
func TestProgressLeavesNoTrace(t *testing.T) {
	source, err := pcaps.Open(filepath.Join(testdata, "sample.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	screen := &screenLine{}
	p := newProgressOn(screen, 2*source.Position())
	p.show(source)
	if screen.line() != "" {
		t.Errorf("shown at once: %q", screen.line())
	}
	p.begun = time.Now().Add(-2 * patience)
	p.show(source)
	if !strings.Contains(screen.line(), "50%") {
		t.Errorf("half of the file is shown as %q", screen.line())
	}
	p.Write([]byte("a finding\n"))
	if len(screen.above) != 1 || screen.above[0] != "a finding" || screen.line() != "" {
		t.Errorf("what is said meanwhile is %q and %q", screen.above, screen.line())
	}
	p.close()
	if len(screen.above) != 1 || screen.line() != "" {
		t.Errorf("at the end there is %q and %q", screen.above, screen.line())
	}
}
