package main

import (
	"errors"
	"fmt"
)

// table prints what came of the searches, and returns an error if the counts of a trial of kdissect do not add up.
func table(searches []*search, highest, usual map[*search][]*trial) error {
	fmt.Println("| | highest rate without loss | | processor | at most 1 Gbit/s | processor | lost | counts add up |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|")
	var failed error
	for _, s := range searches {
		at := fmt.Sprintf("below %d packets/s | | ", firstRate)
		if t := highest[s]; t != nil {
			at = fmt.Sprintf("%.0f packets/s | %.2f Gbit/s | %.0f %%", s.low, median(t, (*trial).gigabits), median(t, (*trial).percent))
			if s.limited {
				at = "at least " + at
			}
		}
		exact, lossy := 0, 0
		for _, t := range s.trials {
			if t.captured+t.dropped == t.sent {
				exact++
			}
			if t.captured < t.sent {
				lossy++
			}
		}
		t := usual[s]
		fmt.Printf("| %s | %s | %.2f Gbit/s | %.0f %% | %.2f %% | in %d of %d trials, %d of them with loss |\n",
			s.name, at, median(t, (*trial).gigabits), median(t, (*trial).percent), median(t, (*trial).lost), exact, len(s.trials), lossy)
		if s.left != nil && exact != len(s.trials) {
			failed = errors.New("captured and lost packets do not add up to those sent")
		}
	}
	return failed
}

func (t *trial) gigabits() float64 { return t.bits / 1e9 }
func (t *trial) percent() float64  { return 100 * t.cpu }
func (t *trial) lost() float64     { return 100 * float64(t.sent-t.captured) / float64(t.sent) }
