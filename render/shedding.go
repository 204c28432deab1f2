package render

import (
	"io"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Shedding is a Parallel for packets that do not wait, those of an interface. When the output is too slow it leaves out whole exchanges, so that what
// comes out is complete: a request that was handed on has its answer, if there is one. The answer to a request that was left out is left out, too.
type Shedding struct {
	parallel *Parallel
	shedding bool
	periods  []period // oldest first, of messages; whole exchanges need none
	open     bool     // the last period goes on
	left     int64
}

// A period is when requests were left out: those of numbers first to last.
type period struct{ first, last int64 }

const (
	// sheddingJobs is how many jobs may wait: half of them for output that comes in bursts, the other half for the answers to what was handed on.
	sheddingJobs = 64
	// sheddingPatience is how long the output may stall at first: at 1 Gbit/s so much takes less than half of the kernel's buffer.
	sheddingPatience = 100 * time.Millisecond
	// eagerJobs is how many jobs may be under way for another one to be begun before it is full.
	eagerJobs = 2
	// maxPeriods bounds what is remembered of requests that may be answered yet.
	maxPeriods = 1 << 12
)

// NewShedding returns a format as NewParallel does.
func NewShedding(out, log io.Writer, workers int, create func(out, log io.Writer, first bool) Format) *Shedding {
	return &Shedding{parallel: newParallel(out, log, workers, sheddingJobs, create)}
}

// Left returns how many exchanges were left out so far.
func (s *Shedding) Left() int64 { return s.left }

// behind tells whether the output is so slow that exchanges are left out. It catches up before they are handed on again.
func (s *Shedding) behind() bool {
	switch {
	case !s.shedding && s.free() < sheddingJobs/2:
		s.shedding = !s.catchesUp()
	case s.shedding && s.free() >= sheddingJobs*3/4:
		s.shedding, s.open = false, false
	}
	return s.shedding
}

func (s *Shedding) free() int { return len(s.parallel.free) }

// catchesUp waits a moment for the output. Packets wait in the kernel meanwhile.
func (s *Shedding) catchesUp() bool {
	for end := time.Now().Add(sheddingPatience); s.free() < sheddingJobs/2; {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// leaveOut notes that a request is left out, and with it its answer.
func (s *Shedding) leaveOut(request int64) {
	s.left++
	if s.open {
		s.periods[len(s.periods)-1].last = request
		return
	}
	if len(s.periods) == maxPeriods {
		s.periods = append(s.periods[:0], s.periods[1:]...)
	}
	s.periods, s.open = append(s.periods, period{request, request}), true
}

// leftOut tells whether a request was left out.
func (s *Shedding) leftOut(request int64) bool {
	for i := len(s.periods) - 1; i >= 0; i-- {
		if p := s.periods[i]; p.first <= request {
			return request <= p.last
		}
	}
	return false
}

// Needs implements Format.
func (s *Shedding) Needs() dissect.Needs { return s.parallel.Needs() }

// Message implements dissect.Output.
func (s *Shedding) Message(m *dissect.Message) {
	switch {
	case m.Kind == schema.Response && m.Request != 0:
		if s.leftOut(m.Request) {
			return
		}
	case s.behind():
		s.leaveOut(m.Number)
		return
	}
	s.parallel.Message(m)
}

// Exchange implements dissect.Output.
func (s *Shedding) Exchange(x *dissect.Exchange) {
	if s.Needs()&dissect.NeedMessages != 0 {
		if x.Request != nil && s.leftOut(x.Request.Number) {
			return
		}
	} else if s.behind() {
		s.left++
		return
	}
	s.parallel.Exchange(x)
}

// Report implements dissect.Output.
func (s *Shedding) Report(r *dissect.Report) {
	if r.Message == 0 || !s.leftOut(r.Message) {
		s.parallel.Report(r)
	}
}

// Flush implements Format. What was handed over is written as soon as what came before is.
func (s *Shedding) Flush() error {
	if s.free() < sheddingJobs-1-eagerJobs {
		return s.parallel.queue.failure()
	}
	return s.parallel.Flush()
}

// Close implements Format: it waits until all is written.
func (s *Shedding) Close(c *dissect.Counts) { s.parallel.Close(c) }
