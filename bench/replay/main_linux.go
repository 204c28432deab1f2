// Command replay finds the highest rate at which kdissect live loses nothing, and what it takes of a processor, beside tcpdump and tshark:
//
//	go run ./bench/replay small.pcap large.pcap
//
// The packets of a capture are sent over a wire, as they are, again and again, in a network of its own; a tool captures at the other end. The rate is doubled until
// something is lost, and then bisected; the tools take turns. What a tool says that it captured and that it lost has to add up to what came over the wire, in
// every trial: the kernel's count of the other end. It wants the rights of root, and the machine for itself.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/internal/netlab"
)

func main() {
	seconds := pflag.Float64("seconds", 4, "length of a trial")
	times := pflag.Int("times", 3, "trials at the highest rate, at 1 Gbit/s and as fast as it goes")
	pflag.Parse()
	if err := run(pflag.Args(), time.Duration(*seconds*float64(time.Second)), *times); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func run(captures []string, length time.Duration, times int) error {
	if len(captures) == 0 {
		return errors.New("which captures?")
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kdissect := filepath.Join(dir, "kdissect")
	if out, err := exec.Command("go", "build", "-o", kdissect, "./cmd/kdissect").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, path := range captures {
		err := netlab.Alone(func() error {
			s, err := newSender(path)
			if err != nil {
				return err
			}
			return s.measure(kdissect, path, length, times)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measure prints the figures of all tools on a capture.
func (s *sender) measure(kdissect, path string, length time.Duration, times int) error {
	var searches []*search
	for _, t := range toolsFor(kdissect) {
		searches = append(searches, &search{tool: t})
	}
	if err := s.searchAll(searches, length); err != nil {
		return err
	}
	highest, err := s.repeat(searches, func(one *search) float64 { return one.low }, times, length)
	if err != nil {
		return err
	}
	gigabit := 1e9 / s.perPacket()
	usual, err := s.repeat(searches, func(*search) float64 { return gigabit }, times, length)
	if err != nil {
		return err
	}
	asFastAsItGoes := func(one *search) float64 { // so that something is lost, and counted
		if one.left == nil {
			return 0 // that is not about others
		}
		return 1e9
	}
	if _, err := s.repeat(searches, asFastAsItGoes, times, length); err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	fmt.Printf("%s, packets of %.0f bytes:\n\n", name, s.perPacket()/8)
	return table(searches, highest, usual)
}
