// Command profile makes the profile that a build of kdissect is optimised by: the program reads captures of small and of large messages and of
// today's clients in the formats that people use.
//
//	go run ./bench/profile
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/bench/internal/captures"
)

func main() {
	var store captures.Store
	pflag.StringVar(&store.Shared, "shared", "../shared", "where bench/ and captures/ are")
	pflag.StringVar(&store.Dir, "dir", filepath.Join(os.TempDir(), "kdissect-bench"), "where inputs are kept")
	out := pflag.String("out", "bench/default.pgo", "where the profile goes")
	size := pflag.String("size", "16M", "size of the captures")
	pflag.Parse()
	if err := profile(&store, *size, *out); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

// profile runs the benchmark of the whole program on captures of a size. What is inlined depends on how often a call is seen: profiles of 3 s differ by a few
// percent in what comes of them, and are up to 4 % worse than one of 20 s.
func profile(store *captures.Store, size, out string) error {
	var files []string
	text := captures.Batches[0] // whose records are JSON
	for _, kind := range []*captures.Kind{captures.Small, captures.Large, captures.Real, text} {
		file, err := store.File(kind, size)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	path, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkRead$", "-benchtime", "20s", "-o", os.DevNull, "-cpuprofile", path, "./cmd/kdissect")
	cmd.Env = append(os.Environ(), "KDISSECT_CAPTURES="+strings.Join(files, " "))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
