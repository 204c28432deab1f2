package measure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Programs are those that are measured; what is not there is empty.
type Programs struct {
	Kdissect string
	Floor    string // gopacket reading, decoding and reassembling, nothing of Kafka
	Plain    string // bench/plain
	Tshark   string
	taskset  string
}

// Build builds the programs of this module and the yardstick in shared/bench/floor into dir, and looks for the others.
func Build(shared, dir string) (p Programs, err error) {
	dir, err = filepath.Abs(dir) // the yardstick is built from its own folder
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return p, err
	}
	p.Kdissect, p.Plain = filepath.Join(dir, "kdissect"), filepath.Join(dir, "plain")
	if err := Command("", "make", "--no-print-directory", "build", "BINARY="+p.Kdissect); err != nil {
		return p, err
	}
	if err := Command("", "go", "build", "-o", p.Plain, "./bench/plain"); err != nil {
		return p, err
	}
	floor := filepath.Join(shared, "bench", "floor")
	if _, err := os.Stat(floor); err == nil {
		p.Floor = filepath.Join(dir, "floor")
		if err := Command(floor, "go", "build", "-o", p.Floor, "."); err != nil {
			return p, err
		}
	}
	p.Tshark, _ = exec.LookPath("tshark")
	p.taskset, _ = exec.LookPath("taskset")
	return p, nil
}

// Command runs a program that is not measured, in a directory.
func Command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}

// Ours is kdissect with some flags.
func (p Programs) Ours(name string, flags ...string) *Contender {
	return &Contender{Name: name, Args: append([]string{p.Kdissect}, flags...)}
}

// Yardstick is the floor, nil where it is not there.
func (p Programs) Yardstick() *Contender {
	if p.Floor == "" {
		return nil
	}
	return &Contender{Name: "floor", Args: []string{p.Floor}}
}

// Bare is one of the loops of bench/plain.
func (p Programs) Bare(name string, args ...string) *Contender {
	return &Contender{Name: name, Args: append([]string{p.Plain}, args...)}
}

// TsharkAs is tshark with some flags.
func (p Programs) TsharkAs(name string, flags ...string) *Contender {
	args := append([]string{p.Tshark, "-d", "tcp.port==9092,kafka"}, flags...)
	return &Contender{Name: name, Args: append(args, "-r")}
}

// On lets a contender have so many processors; without taskset, that holds for programs in Go alone, and not for what the system does for them.
func (p Programs) On(processors int, c *Contender) *Contender {
	c.Env = append(c.Env, fmt.Sprintf("GOMAXPROCS=%d", processors))
	if p.taskset != "" && processors <= runtime.NumCPU() {
		c.Args = append([]string{p.taskset, "-c", fmt.Sprintf("0-%d", processors-1)}, c.Args...)
	}
	return c
}

// Machine says what figures depend on.
func (p Programs) Machine() string {
	facts := fmt.Sprintf("%s, %d CPUs (%s)%s, %s %s", runtime.Version(), runtime.NumCPU(), infoLine("/proc/cpuinfo", "model name"), memoryOfMachine(), runtime.GOOS, runtime.GOARCH)
	if version, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		facts += ", kdissect " + strings.TrimSpace(string(version))
	}
	if p.Tshark == "" {
		return facts
	}
	version, _ := exec.Command(p.Tshark, "--version").Output()
	line, _, _ := strings.Cut(string(version), "\n")
	name, _, _ := strings.Cut(line, " (Git")
	return facts + ", " + strings.TrimSuffix(name, ".")
}

// infoLine returns the value of a line of a file of the system, where there is one.
func infoLine(file, wanted string) string {
	content, _ := os.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == wanted {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memoryOfMachine() string {
	var kib int64
	if _, err := fmt.Sscanf(infoLine("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return ""
	}
	return fmt.Sprintf(", %.0f GiB of memory", float64(kib)/(1<<20))
}
