package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A tool is a program that captures what comes over the wire. Its output goes to the null device.
type tool struct {
	name string
	args []string
	// What it says on standard error: that it is there, how many packets it has captured, and how many the kernel had no room for.
	ready, captured, dropped *regexp.Regexp
	left                     *regexp.Regexp // how many exchanges it has left out; nil where there is no such thing
}

// buffer is the memory that each tool has in the kernel, in MiB.
const buffer = 32

// toolsFor returns what is compared. Programs that are not installed are left out.
func toolsFor(kdissect string) []*tool {
	ours := func(name string, args ...string) *tool {
		return &tool{
			name:     "`" + name + "`",
			args:     append([]string{kdissect, "live", "-i", right, "--buffer", fmt.Sprintf("%dM", buffer)}, append(args, "tcp")...),
			ready:    regexp.MustCompile(`capturing on`),
			captured: regexp.MustCompile(`(?m)^kdissect: (\d+) packets captured`),
			dropped:  regexp.MustCompile(`(?m)^kdissect: \d+ packets captured, (\d+) packets lost`),
			left:     regexp.MustCompile(`(?m)^kdissect: \d+ packets captured.*, (\d+) exchanges left out`),
		}
	}
	all := []*tool{ours("kdissect live -o summary", "-o", "summary"), ours("kdissect live -o json", "-o", "json"), ours("kdissect live -w", "-w", "-"), {
		name:     "`tcpdump -w`",
		args:     []string{"tcpdump", "-i", right, "-B", strconv.Itoa(buffer << 10), "-w", "/dev/null", "tcp"},
		ready:    regexp.MustCompile(`listening on`),
		captured: regexp.MustCompile(`(?m)^(\d+) packets captured`),
		dropped:  regexp.MustCompile(`(?m)^(\d+) packets dropped by kernel`),
	}, {
		name: "`tshark -T fields`",
		args: []string{"tshark", "-i", right, "-B", strconv.Itoa(buffer), "-f", "tcp", "-d", "tcp.port==9092,kafka",
			"-T", "fields", "-e", "kafka.api_key", "-e", "kafka.correlation_id", "-e", "kafka.topic_name"},
		ready:    regexp.MustCompile(`Capturing on`),
		captured: regexp.MustCompile(`(?m)^(\d+) packets captured`),
		dropped:  regexp.MustCompile(`(?m)^(\d+) packets dropped`),
	}}
	var installed []*tool
	for _, t := range all {
		if _, err := exec.LookPath(t.args[0]); err == nil {
			installed = append(installed, t)
		}
	}
	return installed
}

// A process is a tool that runs.
type process struct {
	*tool
	cmd    *exec.Cmd
	log    bytes.Buffer  // standard error
	logged chan struct{} // the end of it
}

// start starts a tool and waits until it captures.
func (t *tool) start() (*process, error) {
	p := &process{tool: t, cmd: exec.Command(t.args[0], t.args[1:]...), logged: make(chan struct{})}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		p.log.WriteString(line)
		if err != nil {
			return nil, fmt.Errorf("%v does not capture: %s", p.cmd.Args, p.log.String())
		}
		if t.ready.MatchString(line) {
			break
		}
	}
	go func() {
		defer close(p.logged)
		io.Copy(&p.log, lines)
	}()
	time.Sleep(500 * time.Millisecond) // tshark says so some time before
	return p, nil
}

// ticksPerSecond is the unit of the kernel's accounts of processor time.
const ticksPerSecond = 100

// cpu returns what a process and its children have used of a processor.
func (p *process) cpu() (used time.Duration) {
	ids := []string{strconv.Itoa(p.cmd.Process.Pid)}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", ids[0], ids[0]))
	for _, id := range append(ids, strings.Fields(string(children))...) {
		stat, _ := os.ReadFile("/proc/" + id + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		const user, system = 11, 12 // counted behind the name
		if len(fields) > system {
			u, _ := strconv.Atoi(fields[user])
			s, _ := strconv.Atoi(fields[system])
			used += time.Duration(u+s) * time.Second / ticksPerSecond
		}
	}
	return used
}

// patience is how long a tool may go on when nothing more comes, and again when it was interrupted.
const patience = 45 * time.Second

// rest waits until the process has nothing to do any more, and returns since when and what it has used.
func (p *process) rest() (since time.Time, used time.Duration) {
	const quiet = 300 * time.Millisecond
	for start := time.Now(); ; {
		since, used = time.Now(), p.cpu()
		time.Sleep(quiet)
		if p.cpu()-used <= time.Second/ticksPerSecond || time.Since(start) > patience {
			return since, used
		}
	}
}

// stop interrupts a process and returns what it counted. One that does not end in time is killed, and has captured nothing.
func (p *process) stop() (captured, dropped, left int64) {
	time.Sleep(time.Second) // for as long the kernel may keep the last packets for tcpdump
	p.cmd.Process.Signal(syscall.SIGINT)
	timer := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	<-p.logged
	p.cmd.Wait() // what counts is what it has said
	said := p.log.String()
	number := func(in *regexp.Regexp) int64 {
		m := in.FindAllStringSubmatch(said, -1)
		if m == nil {
			return 0
		}
		n, _ := strconv.ParseInt(m[len(m)-1][1], 10, 64)
		return n
	}
	if !p.captured.MatchString(said) {
		fmt.Fprintf(os.Stderr, "%s does not say what it captured:\n%s", p.name, said)
	}
	if p.left != nil {
		left = number(p.left)
	}
	return number(p.captured), number(p.dropped), left
}
