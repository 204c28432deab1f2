package main

import "testing"

// A search finds what a tool can do, to a tenth, or what the sender can.
func TestSearch(t *testing.T) {
	for _, test := range []struct {
		tool, sender float64 // what each can do, in packets a second
		accident     int     // the trial that loses something though it need not
		low          float64 // the least that is right
		limited      bool
	}{
		{tool: 300_000, sender: 1e9, low: 300_000 / precise},
		{tool: 300_000, sender: 1e9, low: 300_000 / precise, accident: 3},
		{tool: 25_000, sender: 1e9, low: 25_000 / precise},
		{tool: 10_000, sender: 1e9, low: 0},
		{tool: 1e9, sender: 310_000, low: 310_000, limited: true},
		{tool: 305_000, sender: 310_000, low: 305_000 / precise},
		{tool: 1e9, sender: 15_000, low: 15_000, limited: true},
	} {
		s := &search{}
		for i := 1; ; i++ {
			rate := s.next()
			if rate == 0 {
				break
			}
			if i > 100 {
				t.Fatalf("%+v: no end", test)
			}
			r := &trial{rate: min(rate, test.sender), sent: 1000, captured: 1000}
			if r.rate > test.tool || i == test.accident {
				r.captured--
			}
			s.note(r, rate)
		}
		if s.low < test.low || s.low > min(test.tool, test.sender) || s.low == 0 && test.low > 0 || s.limited != test.limited {
			t.Errorf("%+v: %.0f, limited %v", test, s.low, s.limited)
		}
	}
}
