package main

import (
	"os"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
)

// A pace divides what a pipeline reads into intervals: by the times of packets, or by the clock where they come as they are sent. A nil one does not.
type pace struct {
	every  time.Duration
	table  *render.Intervals
	screen *screen
	live   bool
	keeps  bool // what is shown at the end is the last whole interval

	begun    bool
	interval render.Interval // that goes on
	since    time.Time       // when it began, live
	gaps     int64           // in all, when it began
}

// mixedUp is how far packets may lie behind the order of time.
const mixedUp = int64(10 * time.Second)

// patienceForAnswers is how long an answer may take beyond what was asked for before it is said to be hanging.
const patienceForAnswers = time.Second

// packet takes note of a packet, before it is dissected.
func (c *pace) packet(p *pipeline, packet *pcaps.Packet) {
	if c != nil {
		c.count(p, packet)
	}
}

func (c *pace) count(p *pipeline, packet *pcaps.Packet) {
	if !c.live && packet.Time != 0 {
		c.reach(p, packet.Time)
	}
	c.interval.Packets++
	c.interval.Bytes += int64(packet.WireLen)
}

// batch takes note of a batch that was dissected.
func (c *pace) batch(p *pipeline, b *pcaps.Batch) {
	if c == nil {
		return
	}
	for i := range b.Events {
		if b.Events[i].Kind == pcaps.Dropped {
			c.interval.Lost += int64(b.Events[i].Count)
		}
	}
	if c.live && c.screen.idle() { // one that is slow is shown the whole time since the last block
		c.tick(p, time.Now())
	}
}

// reach ends the interval if the time of a packet is behind it. The next one begins a multiple of its length later: those are left out in which there was nothing.
// Where times go back by more than packets of several interfaces are mixed up, a clock was set: the next one begins there.
func (c *pace) reach(p *pipeline, now int64) {
	i, length := &c.interval, int64(c.every)
	switch {
	case !c.begun:
		c.begun, i.Begin, i.End = true, now, now
	case now-i.Begin >= length:
		c.end(p, i.Begin+length)
		i.Begin += (now - i.Begin) / length * length
	case i.Begin-now > max(length, mixedUp):
		c.end(p, i.End)
		i.Begin, i.End = now, now
	}
	i.End = max(i.End, now)
}

// tick ends the interval if it has lasted long enough. The clock may be set meanwhile: what is shown goes by it, when it is shown does not.
func (c *pace) tick(p *pipeline, now time.Time) {
	i := &c.interval
	switch {
	case !c.begun:
		c.begun, c.since, i.Begin = true, now, now.UnixNano()
	case now.Sub(c.since) >= c.every:
		c.end(p, now.UnixNano())
		c.since = now
	}
	i.End = now.UnixNano()
}

// end ends the interval.
func (c *pace) end(p *pipeline, at int64) {
	i := &c.interval
	i.End = at
	c.observe(p)
	c.write(p)
	*i = render.Interval{Begin: at, End: at, LostInAll: i.LostInAll}
}

// write hands the interval over to be shown.
func (c *pace) write(p *pipeline) {
	i := &c.interval
	i.LostInAll += i.Lost
	i.Gaps, c.gaps = p.dissector.Counts.Gaps-c.gaps, p.dissector.Counts.Gaps
	c.table.End(i)
}

// last takes note of what goes on when the input ends.
func (c *pace) last(p *pipeline) {
	if c != nil && c.begun {
		c.observe(p)
	}
}

// observe looks at what goes on at the end of the interval.
func (c *pace) observe(p *pipeline) {
	c.interval.Connections = p.dissector.Waiting(p.assembler.Live(), c.interval.End, int64(patienceForAnswers))
}

// finish ends the last interval, which is not whole, when all has been dissected. There is one if no packet had a time, too.
func (c *pace) finish(p *pipeline) {
	if c != nil && (c.begun || c.interval.Packets > 0) && !c.keeps {
		c.write(p)
	}
}

// An introduction lets a table know who clients are, whatever a filter behind it selects.
type introduction struct {
	render.Format // the filter
	table         *render.Intervals
}

// Exchange implements dissect.Output.
func (i introduction) Exchange(x *dissect.Exchange) {
	if !x.Open {
		i.table.Learn(x)
	}
	i.Format.Exchange(x)
}

// intervals is what is written with --every, in place of an output.
const intervals = "intervals"

// shortestInterval is how often a table may be shown: packets of an interface come in blocks, a tenth of a second apart at most.
const shortestInterval = 100 * time.Millisecond

// paced readies what --every asks for. What goes on without an end is shown in place on a terminal.
func (f *readFlags) paced(goesOn, live bool) {
	if f.every == 0 {
		return
	}
	inPlace := goesOn && isTerminal() && os.Getenv("TERM") != "dumb"
	s := newScreen(os.Stdout, inPlace)
	f.pace = &pace{every: f.every, screen: s, live: live, keeps: live && inPlace, table: render.NewIntervals(s, f.options, s.size)}
}
