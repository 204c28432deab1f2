package render

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/kdissect/kdissect/dissect"
)

// A gate is a writer that lets nothing through before it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

// An opener is a format that opens the gate after some messages, and has each message be a job, as on an interface with little traffic.
type opener struct {
	*Shedding
	gate   *gate
	until  int
	handed int
}

func (o *opener) Message(m *dissect.Message) {
	if o.handed++; o.handed == o.until {
		close(o.gate.open)
		for len(o.parallel.free) < sheddingJobs-1 { // until the output has caught up
			o.Shedding.Flush()
		}
	}
	o.Shedding.Message(m)
	if len(o.parallel.free) > 0 {
		o.parallel.dispatch()
	}
}

// Output that is stuck for some time leaves out exchanges, none of them by half, and all of them are counted.
func TestSheddingLeavesOutWholeExchanges(t *testing.T) {
	const file = "../testdata/midstream.pcap"
	create := func(out, _ io.Writer, first bool) Format { return NewJSON(out, Options{Continued: !first}) }
	var all bytes.Buffer
	if err := dissectFile(t, file, create(&all, io.Discard, true)); err != nil {
		t.Fatal(err)
	}
	var never bytes.Buffer
	s := NewShedding(&never, io.Discard, 2, create)
	if err := dissectFile(t, file, s); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(never.Bytes(), all.Bytes()) || s.Left() != 0 {
		t.Errorf("%d exchanges are left out of output that is never stuck", s.Left())
	}
	want := linesByNumber(t, all.Bytes())
	for _, until := range []int{80, 120} {
		g := &gate{open: make(chan struct{})}
		o := &opener{Shedding: NewShedding(g, io.Discard, 2, create), gate: g, until: until}
		if err := dissectFile(t, file, o); err != nil {
			t.Fatal(err)
		}
		got := linesByNumber(t, g.Bytes())
		missing := int64(0)
		for number, line := range want {
			mine, shown := got[number]
			if line.Request != 0 {
				if _, asked := got[line.Request]; asked != shown {
					t.Errorf("stuck for %d messages: answer %d shown: %v, its request: %v", until, number, shown, asked)
				}
			} else if !shown {
				missing++
			}
			if shown && mine.text != line.text {
				t.Errorf("stuck for %d messages: message %d differs", until, number)
			}
		}
		if missing != o.Left() || missing == 0 {
			t.Errorf("stuck for %d messages: %d exchanges are missing, %d counted", until, missing, o.Left())
		}
	}
}

type jsonLine struct {
	Kind            string
	Number, Request int64
	text            string
}

func linesByNumber(t *testing.T, output []byte) map[int64]jsonLine {
	t.Helper()
	all := map[int64]jsonLine{}
	for text := range bytes.Lines(output) {
		var line jsonLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		if line.Kind == "message" {
			line.text = string(text)
			all[line.Number] = line
		}
	}
	return all
}
