package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// A trial is what came of sending at a rate.
type trial struct {
	rate              float64       // packets a second that came over the wire
	bits              float64       // the same in bits
	sent              int64         // packets that came over the wire
	captured, dropped int64         // what the tool says of them
	left              int64         // exchanges that it left out
	behind            time.Duration // how long it went on when no more came
	cpu               float64       // processors that it used meanwhile
}

// maxBehind is how long a tool may go on when no more comes. dumpcap tells tshark what it has twice a second.
const maxBehind = time.Second

// lossless tells whether all was captured, and in time.
func (t *trial) lossless() bool { return t.captured == t.sent && t.left == 0 && t.behind < maxBehind }

// try has a tool capture what is sent at a rate for some time.
func (s *sender) try(t *tool, rate float64, length time.Duration) (*trial, error) {
	p, err := t.start()
	if err != nil {
		return nil, err
	}
	defer p.cmd.Process.Kill() // if it has not ended by then
	packets, bytes, err := arrived()
	if err != nil {
		return nil, err
	}
	used, begun := p.cpu(), time.Now()
	if err := s.send(rate, length); err != nil {
		return nil, err
	}
	ended := time.Now()
	took := ended.Sub(begun).Seconds()
	rested, total := p.rest()
	allPackets, allBytes, err := arrived()
	if err != nil {
		return nil, err
	}
	r := &trial{sent: allPackets - packets, behind: rested.Sub(ended), cpu: (total - used).Seconds() / took}
	r.rate, r.bits = float64(r.sent)/took, 8*float64(allBytes-bytes)/took
	r.captured, r.dropped, r.left = p.stop()
	fmt.Fprintf(os.Stderr, "%-28s %9.0f packets/s wanted, %9.0f sent, %5.2f Gbit/s: %d sent, %d captured, %d dropped, %d left out, %v behind, %3.0f %% CPU\n",
		t.name, rate, r.rate, r.bits/1e9, r.sent, r.captured, r.dropped, r.left, r.behind.Round(time.Millisecond), 100*r.cpu)
	return r, nil
}

// A search looks for the highest rate without loss: it doubles the rate until something is lost, then halves the interval.
type search struct {
	*tool
	low, high float64 // without loss, with loss; 0 as long as that is not known
	failures  int     // at the present rate, of the tool or of the sender: one may be an accident of the machine
	limited   bool    // the sender could not go faster
	trials    []*trial
}

const (
	firstRate = 20_000
	// precise is how near the bounds have to be.
	precise = 1.1
)

// next returns the rate to try next, 0 at the end of the search.
func (s *search) next() float64 {
	switch {
	case s.limited || s.high > 0 && (s.low == 0 || s.high/s.low < precise):
		return 0
	case s.low == 0:
		return firstRate
	case s.high == 0:
		return 2 * s.low
	}
	return (s.low + s.high) / 2
}

// note takes note of a trial of the rate that was next.
func (s *search) note(t *trial, wanted float64) {
	s.trials = append(s.trials, t)
	again := s.failures == 0
	switch {
	case t.lossless() && t.rate > 0.95*wanted:
		s.low, s.failures = t.rate, 0
	case again:
		s.failures++
	case t.lossless():
		s.low, s.limited = max(s.low, t.rate), true
	default:
		s.high, s.failures = min(wanted, t.rate), 0
		s.limited = s.high <= s.low
	}
}

// searchAll looks for the highest rates of several tools, which take turns.
func (s *sender) searchAll(searches []*search, length time.Duration) error {
	for going := true; going; {
		going = false
		for _, one := range searches {
			rate := one.next()
			if rate == 0 {
				continue
			}
			going = true
			t, err := s.try(one.tool, rate, length)
			if err != nil {
				return err
			}
			one.note(t, rate)
		}
	}
	return nil
}

// repeat has several tools capture at a rate of each several times, in turns.
func (s *sender) repeat(searches []*search, rate func(*search) float64, times int, length time.Duration) (map[*search][]*trial, error) {
	all := map[*search][]*trial{}
	for range times {
		for _, one := range searches {
			if rate(one) == 0 {
				continue
			}
			t, err := s.try(one.tool, rate(one), length)
			if err != nil {
				return nil, err
			}
			one.trials = append(one.trials, t)
			all[one] = append(all[one], t)
		}
	}
	return all, nil
}

func median(trials []*trial, value func(*trial) float64) float64 {
	var values []float64
	for _, t := range trials {
		values = append(values, value(t))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
