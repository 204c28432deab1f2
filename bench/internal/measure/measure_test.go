package measure

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

func TestParseBenchmark(t *testing.T) {
	line := "BenchmarkDecode/Fetch_v13-response-2   \t 1000\t      1234 ns/op\t  56.70 MB/s\t  12.5 ns/line\t      64 B/op\t       3 allocs/op"
	got, ok := parseBenchmark(line)
	if want := (Benchmark{"Decode/Fetch_v13-response", 1234, 56.7, 64, 3}); !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, line := range []string{"", "ok  \tgithub.com/kdissect/kdissect/pcaps\t1.2s", "BenchmarkDecode", "BenchmarkDecode-2  1000  many ns/op"} {
		if got, ok := parseBenchmark(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}

func TestMedianAndLeast(t *testing.T) {
	c := &Contender{Runs: []Cost{{5, 1, 30}, {3, 2, 10}, {4, 9, 20}}}
	if got, want := c.Median(), (Cost{4, 2, 20}); got != want {
		t.Errorf("median %v, want %v", got, want)
	}
	if got, want := c.Least(), (Cost{3, 1, 10}); got != want {
		t.Errorf("least %v, want %v", got, want)
	}
}

// A process that takes 64 MiB and sleeps is seen to take them, and what is written to standard input arrives.
func TestRun(t *testing.T) {
	if os.Getenv("MEASURE_CHILD") != "" {
		memory := make([]byte, 64<<20)
		for i := range memory {
			memory[i] = 1
		}
		io.Copy(io.Discard, os.Stdin)
		time.Sleep(20 * time.Millisecond)
		runtime.KeepAlive(memory)
		os.Exit(1)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &Contender{Args: []string{self, "-test.run=^TestRun$"}, Env: []string{"MEASURE_CHILD=1"}, NothingMatches: true}
	written := 0
	cost, err := c.Run(Stream(func(w io.Writer) error {
		var err error
		written, err = w.Write(make([]byte, 1<<20))
		return err
	}))
	if err != nil || written != 1<<20 || cost.Wall < 20*time.Millisecond || cost.CPU <= 0 {
		t.Errorf("%+v, %v, %d bytes written", cost, err, written)
	}
	if runtime.GOOS == "linux" && (cost.Memory < 64<<20 || cost.Memory > 128<<20) {
		t.Errorf("%d bytes of memory", cost.Memory)
	}
	c.NothingMatches = false
	if _, err := c.Run(Stream(func(io.Writer) error { return nil })); err == nil {
		t.Error("no error of a program that fails")
	}
	if _, err := exec.LookPath("true"); err == nil {
		c, often := &Contender{Args: []string{"true"}}, &Contender{Args: []string{"true"}, Times: 5}
		if err := Race(File("/"), 3, []*Contender{c, often}); err != nil || len(c.Runs) != 3 || len(often.Runs) != 15 {
			t.Errorf("%d and %d runs, %v", len(c.Runs), len(often.Runs), err)
		}
	}
}
