package measure

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A Layer is one of the program, with its benchmarks.
type Layer struct {
	Name, pkg, pattern string
}

// Layers are in the order of the way of a byte.
var Layers = []Layer{
	{"packets of a file", "./pcaps", "^Benchmark(Pcap|Pcapng)$/^pcaps$"},
	{"headers and streams", "./reassembly", "^Benchmark(Decode|Assembler)$"},
	{"frames and pairs", "./dissect", "^BenchmarkPairing$"},
	{"facts", "./dissect", "^BenchmarkFacts$"},
	{"tapes", "./dissect", "^BenchmarkDecode$"},
	{"records", "./dissect", "^BenchmarkRecords$"},
	{"filters", "./filter", "^BenchmarkFilter$"},
	{"formats", "./render", "^BenchmarkFormats$"},
}

// A Benchmark is the result of one. Bytes and allocations are those of an operation.
type Benchmark struct {
	Name          string // with its package
	Nanos, Speed  float64
	Bytes, Allocs int64
}

// Benchmarks runs those of a layer. time is as for go test -benchtime.
func (l *Layer) Benchmarks(time string) ([]Benchmark, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", l.pattern, "-benchmem", "-benchtime", time, l.pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	var all []Benchmark
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if b, ok := parseBenchmark(lines.Text()); ok {
			b.Name = strings.TrimPrefix(l.pkg, "./") + "." + b.Name
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no benchmarks", cmd)
	}
	slices.SortFunc(all, func(x, y Benchmark) int { return cmp.Compare(x.Name, y.Name) })
	return all, nil
}

// parseBenchmark reads a line such as
//
//	BenchmarkDecode/Fetch_v13-2   1000   1234 ns/op   56.7 MB/s   0 B/op   0 allocs/op
func parseBenchmark(line string) (b Benchmark, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return b, false
	}
	b.Name = strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndexByte(b.Name, '-'); i >= 0 { // behind it stands the number of processors, unless that is 1
		if _, err := strconv.Atoi(b.Name[i+1:]); err == nil {
			b.Name = b.Name[:i]
		}
	}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return b, false
		}
		switch fields[i+1] {
		case "ns/op":
			b.Nanos = value
		case "MB/s":
			b.Speed = value
		case "B/op":
			b.Bytes = int64(value)
		case "allocs/op":
			b.Allocs = int64(value)
		}
	}
	return b, true
}
