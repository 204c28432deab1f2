// Command crowd writes captures to standard output, several of which ask much of a dissector's memory: they are generated as they are read, so that
// none of them need be stored.
//
//	go run ./bench/crowd SCENARIO [-n COUNT] | kdissect -o summary -
//
// docs/performance.md has what comes of them.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/traffic"
)

func main() {
	n := pflag.IntP("count", "n", 0, "how many, 0 for the scenario's own number")
	pflag.Parse()
	for _, s := range traffic.Scenarios {
		if pflag.Arg(0) != s.Name {
			continue
		}
		if *n == 0 {
			*n = s.Count
		}
		if err := s.Write(os.Stdout, *n); err != nil {
			fmt.Fprintln(os.Stderr, "crowd:", err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "usage: crowd SCENARIO [-n COUNT], where SCENARIO is")
	for _, s := range traffic.Scenarios {
		fmt.Fprintf(os.Stderr, "  %-8s %s (%d)\n", s.Name, s.About, s.Count)
	}
	os.Exit(2)
}
