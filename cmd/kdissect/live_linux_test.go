package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kdissect/kdissect/internal/netlab"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
)

// A program runs beside a test.
type program struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	logged         chan struct{} // closed at the end of standard error
}

// start starts a program and waits until a line on standard error matches.
func start(t *testing.T, cmd *exec.Cmd, ready string) *program {
	t.Helper()
	p := &program{Cmd: cmd, logged: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.stdout
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	isReady := make(chan bool, 1)
	go func() {
		defer close(p.logged)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			fmt.Fprintln(&p.stderr, lines.Text())
			if regexp.MustCompile(ready).MatchString(lines.Text()) {
				isReady <- true
			}
		}
		close(isReady)
	}()
	select {
	case ok := <-isReady:
		if ok {
			return p
		}
	case <-time.After(time.Minute):
	}
	cmd.Process.Kill()
	cmd.Wait()
	t.Fatalf("%v: %s", cmd.Args, p.stderr.String())
	return nil
}

// interrupt ends a program as Ctrl-C does and returns what it printed.
func (p *program) interrupt(t *testing.T) string {
	t.Helper()
	p.Process.Signal(syscall.SIGINT)
	<-p.logged
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", p.Args, err, p.stderr.String())
	}
	return p.stdout.String()
}

// A script is what was said on the connections of a capture, in order.
type script struct{ lines []line }

// A line is bytes that one side of a connection sends, or its end.
type line struct {
	connection int
	client     bool
	data       []byte // nil at the end of the connection
}

func (s *script) Chunk(c *reassembly.Connection, d reassembly.Direction, chunk *reassembly.Chunk) {
	s.lines = append(s.lines, line{c.ID, d == reassembly.FromA, bytes.Clone(chunk.Data)})
}
func (s *script) Gap(*reassembly.Connection, reassembly.Direction, reassembly.Gap)    {}
func (s *script) Fin(*reassembly.Connection, reassembly.Direction, reassembly.Origin) {}
func (s *script) End(c *reassembly.Connection, _ reassembly.EndCause, _ reassembly.Origin) {
	s.lines = append(s.lines, line{connection: c.ID})
}

// scriptOf reads the script of a capture. Its connections begin in the capture, with their clients.
func scriptOf(t *testing.T, path string) *script {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	s := &script{}
	a := reassembly.New(s)
	for b := new(pcaps.Batch); ; b.Release() {
		if err := source.Next(b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Packets {
			if err := a.Packet(&b.Packets[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.Close()
	return s
}

// play says it all again, over TCP: each side sends when the other has got what was said before.
func (s *script) play(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	clients, servers := map[int]net.Conn{}, map[int]net.Conn{}
	for _, l := range s.lines {
		if l.data == nil {
			if clients[l.connection] != nil {
				clients[l.connection].Close()
				servers[l.connection].Close()
			}
			continue
		}
		if clients[l.connection] == nil {
			if clients[l.connection], err = net.Dial("tcp", listener.Addr().String()); err != nil {
				t.Fatal(err)
			}
			if servers[l.connection], err = listener.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		from, to := clients[l.connection], servers[l.connection]
		if !l.client {
			from, to = to, from
		}
		say(t, from, to, l.data)
	}
}

func say(t *testing.T, from, to net.Conn, data []byte) {
	t.Helper()
	go from.Write(data) // more than there are buffers for may have to be read meanwhile
	if _, err := io.ReadFull(to, make([]byte, len(data))); err != nil {
		t.Fatal(err)
	}
}

// settled waits until all that was sent is with those who capture.
func settled() { time.Sleep(300 * time.Millisecond) }

// rest waits until the program has used no processor for half a second.
func (p *program) rest(t *testing.T) {
	t.Helper()
	used := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):])) // proc_pid_stat(5): behind the name, user and system time are 12 and 13
		if now := fields[12] + " " + fields[13]; now == used {
			return
		} else {
			used = now
		}
	}
	t.Fatal("it does not come to rest")
}

// times are what two programs that capture at the same time see differently: each asks for the time itself, some 100 ns apart.
var times = regexp.MustCompile(`"(?:time|end|latencyMs|queuedMs|serviceMs|transferMs|excessMs)":[^,}]*|[0-9.]+ ms`)

// The output is, but for nanoseconds, what read makes of a capture that tcpdump took at the same time.
func TestLiveIsWhatReadMakesOfTcpdump(t *testing.T) {
	netlab.NeedProgram(t, "tcpdump")
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	for _, test := range []struct{ name, on, address, expression string }{
		{"lo", "lo", "127.0.0.1:9092", "tcp port 9092"},
		{"any", "any", "127.0.0.1:9092", "tcp port 9092 and host 127.0.0.1"},
		{"any, IPv6", "any", "[::1]:9092", ""},
		{"lo, another port", "lo", "127.0.0.1:29092", "not port 9092"},
	} {
		t.Run(test.name, func(t *testing.T) {
			netlab.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "tcpdump.pcap")
				dump := start(t, exec.Command("tcpdump", "-i", test.on, "--time-stamp-precision=nano", "--immediate-mode", "-B", "65536", "-s", "70000", "-Z", "root", "-U", "-w", file), "listening on")
				live := start(t, exec.Command("kdissect", "live", "-i", test.on, "-o", "json", "--records", "full", "--packets", test.expression), "capturing on")
				conversation.play(t, test.address)
				settled()
				got := live.interrupt(t)
				dump.interrupt(t)
				want, err := exec.Command("kdissect", "read", "-o", "json", "--records", "full", "--packets", file).Output()
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(got, `"kind":"message"`); n < 100 {
					t.Errorf("%d messages\n%s", n, live.stderr.String())
				}
				if g, w := times.ReplaceAllString(got, "-"), times.ReplaceAllString(string(want), "-"); g != strings.ReplaceAll(w, file, test.on) {
					t.Errorf("live differs: %s", firstDifference(g, w))
				}
				sameTimes(t, got, string(want))
				if !strings.Contains(live.stderr.String(), "packets captured, 0 packets lost because the buffer was full, 0 exchanges left out") {
					t.Errorf("standard error:\n%s", live.stderr.String())
				}
			})
		})
	}
}

// sameTimes checks that messages were seen at the same time, as far as a busy machine allows.
func sameTimes(t *testing.T, got, want string) {
	t.Helper()
	seen := regexp.MustCompile(`"time":"([^"]*)"`)
	g, w := seen.FindAllStringSubmatch(got, -1), seen.FindAllStringSubmatch(want, -1)
	if len(g) != len(w) {
		t.Fatalf("%d times, want %d", len(g), len(w))
	}
	for i := range g {
		a, _ := time.Parse(time.RFC3339Nano, g[i][1])
		b, err := time.Parse(time.RFC3339Nano, w[i][1])
		if d := a.Sub(b).Abs(); err != nil || d > 100*time.Millisecond {
			t.Errorf("message %d: %s, want %s", i+1, g[i][1], w[i][1])
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n%s\nbut read has\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, read has %d", len(g), len(w))
}

// piped starts a capture on the loopback interface with an output, which it returns the other end of.
func piped(t *testing.T, output ...string) (live *program, out *os.File) {
	t.Helper()
	out, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	cmd := exec.Command("kdissect", append([]string{"live", "-i", "lo", "-o"}, output...)...)
	cmd.Stdout = writer
	live = start(t, cmd, "capturing on")
	writer.Close()
	return live, out
}

// connected returns the two ends of a connection on the loopback interface.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

// An exchange is printed though nothing comes behind it.
func TestLivePrintsAtOnce(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		live, out := piped(t, "requestlog")
		client, server := connected(t)
		lines := bufio.NewReader(out)
		for i := range 3 {
			// ApiVersions v0 without a client id, and an answer that offers ApiVersions v0
			say(t, client, server, []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, byte(i), 0xff, 0xff})
			say(t, server, client, []byte{0, 0, 0, 16, 0, 0, 0, byte(i), 0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0})
			sent := time.Now()
			out.SetReadDeadline(sent.Add(30 * time.Second))
			line, err := lines.ReadString('\n')
			if err != nil || !strings.Contains(line, `"requestApiKeyName":"API_VERSIONS"`) || !strings.Contains(line, fmt.Sprintf(`"correlationId":%d`, i)) {
				t.Fatalf("%q: %v", line, err)
			}
			t.Logf("printed %v after it was read", time.Since(sent).Round(time.Millisecond))
		}
		live.interrupt(t)
	})
}

// capabilities are the lines of /proc/*/status about what a thread may do.
var capabilities = regexp.MustCompile(`(?m)^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Uid|Gid|Groups):[^\S\n]*(.*?)[^\S\n]*$`)

// threads returns what each thread of a process may do.
func threads(t *testing.T, pid int) (all []map[string]string) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		one := map[string]string{}
		for _, m := range capabilities.FindAllStringSubmatch(string(status), -1) {
			one[m[1]] = m[2]
		}
		all = append(all, one)
	}
	return all
}

// nobody is the number of a user without rights.
const nobody = 65534

// Once it captures, no thread may do anything, whoever started it.
func TestLiveGivesUpItsRights(t *testing.T) {
	netlab.NeedRoot(t)
	const none = "0000000000000000"
	const root, other = "0\t0\t0\t0", "65534\t65534\t65534\t65534"
	for _, test := range []struct {
		name       string
		credential *syscall.Credential
		rights     []uintptr
		file       bool // the program has CAP_NET_RAW, whoever runs it
		args       []string
		user       string
		groups     string
	}{
		{name: "root", credential: &syscall.Credential{Groups: []uint32{0, 4}}, user: root, groups: "0 4"},
		{name: "--user", credential: &syscall.Credential{Groups: []uint32{0, 4}}, args: []string{"--user", "nobody"}, user: other, groups: "65534"},
		{name: "--user by number", credential: &syscall.Credential{Groups: []uint32{0, 4}}, args: []string{"--user", "65534"}, user: other, groups: "65534"},
		{name: "--user by another number", credential: &syscall.Credential{Groups: []uint32{0, 4}}, args: []string{"--user", "41234"}, user: "41234\t41234\t41234\t41234", groups: "41234"},
		{name: "CAP_NET_RAW alone", credential: &syscall.Credential{Uid: nobody, Gid: nobody}, rights: []uintptr{unix.CAP_NET_RAW}, user: other},
		{name: "setcap", credential: &syscall.Credential{Uid: nobody, Gid: nobody}, file: true, user: other},
	} {
		t.Run(test.name, func(t *testing.T) {
			netlab.Test(t, func(t *testing.T) {
				program := forEveryone(t)
				if test.file {
					setCapability(t, program)
				}
				cmd := exec.Command(program, append([]string{"live", "-o", "summary", "-i", "lo"}, test.args...)...)
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: test.credential, AmbientCaps: test.rights}
				live := start(t, cmd, "capturing on")
				want := map[string]string{
					"CapInh": none, "CapPrm": none, "CapEff": none, "CapAmb": none, "NoNewPrivs": "1",
					"Uid": test.user, "Gid": test.user, "Groups": test.groups,
				}
				for i, thread := range threads(t, cmd.Process.Pid) {
					if !maps.Equal(thread, want) {
						t.Errorf("thread %d: %q, want %q", i, thread, want)
					}
				}
				live.interrupt(t)
			})
		})
	}
}

// setCapability gives a program CAP_NET_RAW, as setcap cap_net_raw+ep does: struct vfs_cap_data of linux/capability.h.
func setCapability(t *testing.T, program string) {
	t.Helper()
	const revision2, effective = 0x02000000, 1
	data := binary.LittleEndian.AppendUint32(nil, revision2|effective)
	data = binary.LittleEndian.AppendUint32(data, 1<<unix.CAP_NET_RAW) // permitted
	data = append(data, make([]byte, 12)...)                           // inheritable, and the upper halves of both
	if err := unix.Setxattr(program, "security.capability", data, 0); err != nil {
		t.Fatal(err)
	}
}

// forEveryone returns a copy of the program that any user may run.
func forEveryone(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("kdissect")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	directory, err := os.MkdirTemp("", "kdissect")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(directory, "kdissect")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Without rights it says which, and how to give them.
func TestLiveWithoutRights(t *testing.T) {
	netlab.NeedRoot(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, `^kdissect: any: .*not permitted: capturing wants the right CAP_NET_RAW.*sudo setcap cap_net_raw\+ep /.*/kdissect\n$`},
		{[]string{"--netns", "self"}, `^kdissect: .*netns`},
		{[]string{"-i", "nosuch0"}, `^kdissect: no interface "nosuch0"; kdissect interfaces lists them\n$`},
		{[]string{"tcp", "port", "kafka"}, `^kdissect: expression "tcp port kafka": "kafka" is no port number`},
		{[]string{"--buffer", "1"}, `^kdissect: --buffer wants`},
	} {
		cmd := exec.Command(forEveryone(t), append([]string{"live"}, test.args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != statusUsage || !regexp.MustCompile(test.want).MatchString(stderr.String()) {
			t.Errorf("%v: %v, %s", test.args, err, stderr.String())
		}
	}
}

// Who may not look into the processes of others is told so, rather than that there are none.
func TestLiveCannotLookIntoProcesses(t *testing.T) {
	netlab.NeedRoot(t)
	netlab.Test(t, func(t *testing.T) {
		cmd := exec.Command(forEveryone(t), "live", "-i", "lo")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: []uintptr{unix.CAP_NET_RAW}}
		live := start(t, cmd, "capturing on")
		if said := live.stderr.String(); !strings.Contains(said, "no Java process of this user") || !strings.Contains(said, "tcp port 9092") {
			t.Errorf("a user is told %s", said)
		}
		live.interrupt(t)
	})
}

// What is kept is what was shown, for the user who captures alone, also in a directory of that user's.
func TestLiveKeepsPackets(t *testing.T) {
	netlab.NeedRoot(t)
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	netlab.Test(t, func(t *testing.T) {
		program := forEveryone(t)
		directory := filepath.Join(filepath.Dir(program), "kept")
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(directory, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		ring := []string{"-w", filepath.Join(directory, "ring.pcapng"), "--files", "2", "--size", "2M", "--user", "nobody"}
		live := start(t, exec.Command(program, append([]string{"live", "-i", "lo", "-o", "json", "--packets"}, ring...)...), "capturing on")
		alone := start(t, exec.Command(program, "live", "-i", "lo", "-w", filepath.Join(directory, "alone.pcapng"), "--user", "nobody"), "capturing on")
		piped := start(t, exec.Command(program, "live", "-i", "lo", "-w", "-"), "capturing on")
		conversation.play(t, "127.0.0.1:9092")
		settled()
		got := live.interrupt(t)
		if shown := alone.interrupt(t); shown != "" {
			t.Errorf("-w alone shows %q", shown)
		}
		pipe := filepath.Join(t.TempDir(), "piped")
		if err := os.WriteFile(pipe, []byte(piped.interrupt(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{filepath.Join(directory, "ring-000001.pcapng"), filepath.Join(directory, "alone.pcapng"), pipe} {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v", file, info.Mode())
			}
			want, err := exec.Command("kdissect", "read", "-o", "json", "--packets", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			g, w := got, string(want)
			if !strings.Contains(file, "ring") { // each capture has its own times
				g, w = times.ReplaceAllString(g, "-"), times.ReplaceAllString(w, "-")
			}
			if n := strings.Count(g, `"kind":"message"`); g != w || n < 100 {
				t.Errorf("%s: %d messages: %s", file, n, firstDifference(w, g))
			}
		}
		// what must not or cannot be written
		for _, test := range []struct{ args, want string }{
			{"-w " + pipe, "file exists"},
			{"-w " + filepath.Join(directory, "roots.pcapng"), "permission denied; the rights of root have been given up"},
			{"-w /proc/none.pcapng", "no such file"},
			{"-w x.pcapng --files 3", "both --files and --size"},
			{"--size 3M", "name a file with -w"},
			{"-w - -o json", "both want standard output"},
		} {
			var stderr bytes.Buffer
			cmd := exec.Command(program, append([]string{"live", "-i", "lo"}, strings.Fields(test.args)...)...)
			cmd.Stderr = &stderr
			if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("%s: %v, %s", test.args, err, stderr.String())
			}
		}
	})
}

// What is kept is a capture though no packet came, for tcpdump too; a packet that comes has the link type that was foretold.
func TestLiveKeepsNothing(t *testing.T) {
	netlab.NeedProgram(t, "tcpdump")
	netlab.Test(t, func(t *testing.T) {
		for _, test := range []struct{ on, link string }{{"lo", "EN10MB"}, {"any", "LINUX_SLL2"}} {
			directory := t.TempDir()
			for _, args := range []string{"-w alone.pcapng", "-w ring.pcapng --files 2 --size 2M", "-w -"} {
				cmd := exec.Command("kdissect", append([]string{"live", "-i", test.on}, strings.Fields(args)...)...)
				cmd.Dir = directory
				out := start(t, cmd, "capturing on").interrupt(t)
				if args == "-w -" {
					if err := os.WriteFile(filepath.Join(directory, "out.pcapng"), []byte(out), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, name := range []string{"alone.pcapng", "ring-000001.pcapng", "out.pcapng"} {
				if out, err := exec.Command("kdissect", filepath.Join(directory, name)).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
				if out, err := exec.Command("tcpdump", "-r", filepath.Join(directory, name)).CombinedOutput(); err != nil || !strings.Contains(string(out), "link-type "+test.link+" ") {
					t.Errorf("%s: %v\n%s", name, err, out)
				}
			}
		}
	})
}

// A disk that is full ends the capture, with the file's name, and what was written before can be read.
func TestLiveDiskIsFull(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		disk int // in MiB
		full string
	}{
		{"a file", []string{"-w", "kept.pcapng"}, 1, "kept.pcapng"},
		{"a file and output", []string{"-w", "kept.pcapng", "-o", "json"}, 1, "kept.pcapng"},
		{"a ring", []string{"-w", "ring.pcapng", "--files", "10", "--size", "2M"}, 5, "ring-000003.pcapng"},
		{"standard output", []string{"-w", "-"}, 1, "/dev/stdout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			netlab.Test(t, func(t *testing.T) {
				directory := t.TempDir()
				if err := netlab.SmallDisk(directory, test.disk); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("kdissect", append([]string{"live", "-i", "lo"}, test.args...)...)
				cmd.Dir = directory
				if test.full == "/dev/stdout" {
					out, err := os.Create(filepath.Join(directory, "out.pcapng"))
					if err != nil {
						t.Fatal(err)
					}
					defer out.Close()
					cmd.Stdout = out
				}
				live := start(t, cmd, "capturing on")
				client, server := connected(t)
				for ended := false; !ended; {
					say(t, client, server, make([]byte, 256<<10))
					select {
					case <-live.logged:
						ended = true
					case <-time.After(60 * time.Millisecond): // it takes what has come each 50 ms
					}
				}
				var exit *exec.ExitError
				if err := live.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusDamaged {
					t.Errorf("%v, want exit status %d", err, statusDamaged)
				}
				log := live.stderr.String()
				if !strings.Contains(log, "kdissect: write "+test.full+": no space left on device\n") || !strings.Contains(log, "packets captured, 0 packets lost") {
					t.Errorf("standard error:\n%s", log)
				}
				files, err := filepath.Glob(filepath.Join(directory, "*.pcapng"))
				if err != nil || len(files) != (test.disk+1)/2 {
					t.Errorf("%d files: %v", len(files), err)
				}
				account, _ := exec.Command("kdissect", append([]string{"--account"}, files...)...).CombinedOutput() // the last record is cut
				payload := regexp.MustCompile(`TCP payload +(\d+) B`).FindSubmatch(account)
				if payload == nil {
					t.Fatalf("%s", account)
				}
				if n, _ := strconv.Atoi(string(payload[1])); n < test.disk<<20*3/4 || bytes.Count(account, []byte("truncated-file")) > 1 || bytes.Contains(account, []byte("damaged-block")) {
					t.Errorf("%s", account)
				}
			})
		})
	}
}

// The files of a ring are the user's who goes on, in a directory that nobody else may enter.
func TestLiveRotatesAsTheUser(t *testing.T) {
	netlab.NeedRoot(t)
	netlab.Test(t, func(t *testing.T) {
		program := forEveryone(t)
		directory := filepath.Join(filepath.Dir(program), "kept")
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(directory, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		live := start(t, exec.Command(program, "live", "-i", "lo", "-w", filepath.Join(directory, "ring.pcapng"), "--files", "2", "--size", "2M", "--user", "nobody"), "capturing on")
		client, server := connected(t)
		for range 32 { // 8 MiB, in as many pieces as are written at a time
			say(t, client, server, make([]byte, 256<<10))
			time.Sleep(60 * time.Millisecond)
		}
		settled()
		live.interrupt(t)
		files, err := os.ReadDir(directory)
		if err != nil || len(files) != 2 || files[0].Name() < "ring-000003.pcapng" {
			t.Fatalf("%v: %v", files, err)
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t); owner.Uid != nobody || owner.Gid != nobody || info.Mode().Perm() != 0o600 || info.Size() > 2<<20 {
				t.Errorf("%s: %v of %d:%d, %d bytes", file.Name(), info.Mode(), owner.Uid, owner.Gid, info.Size())
			}
			if out, err := exec.Command("kdissect", filepath.Join(directory, file.Name())).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
}

// An interface that goes down ends the capture, and is told.
func TestLiveInterfaceGoesDown(t *testing.T) {
	for _, args := range []string{"-o json", "-w -"} {
		netlab.Test(t, func(t *testing.T) {
			if err := netlab.Wire("left", "right"); err != nil {
				t.Fatal(err)
			}
			live := start(t, exec.Command("kdissect", append([]string{"live", "-i", "right"}, strings.Fields(args)...)...), "capturing on")
			if err := netlab.IP("link del left"); err != nil {
				t.Fatal(err)
			}
			<-live.logged
			var exit *exec.ExitError
			if err := live.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusDamaged {
				t.Errorf("%s: %v, want exit status %d", args, err, statusDamaged)
			}
			if log := live.stderr.String(); !strings.Contains(log, "kdissect: right: the interface went down\n") || !strings.Contains(log, "packets captured, 0 packets lost") {
				t.Errorf("%s: standard error:\n%s", args, log)
			}
		})
	}
}

// hearsHangup has programs that the test starts end at SIGHUP, also where the test was started with that ignored, as nohup(1) does.
func hearsHangup(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // what is caught is not inherited, what is ignored is
	t.Cleanup(func() { signal.Stop(caught) })
}

// timeout(1) sends two signals at once, one to the program and one to its group. That is no wish for a hasty end.
func TestLiveInterruptedTwice(t *testing.T) {
	hearsHangup(t)
	netlab.Test(t, func(t *testing.T) {
		for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			live := start(t, exec.Command("kdissect", "live", "-i", "lo", "-o", "summary"), "capturing on")
			live.Process.Signal(signal)
			time.Sleep(10 * time.Millisecond)
			live.Process.Signal(signal)
			<-live.logged
			if err := live.Wait(); err != nil || !strings.Contains(live.stderr.String(), "packets captured") {
				t.Errorf("%v: %v\n%s", signal, err, live.stderr.String())
			}
		}
	})
}

// A terminal that goes away ends the capture with all that came, unless nohup(1) is in front.
func TestLiveHangsUp(t *testing.T) {
	hearsHangup(t)
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	netlab.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "kept.pcapng")
		live := start(t, exec.Command("kdissect", "live", "-i", "lo", "-w", file), "capturing on")
		nohup := start(t, exec.Command("nohup", "kdissect", "live", "-i", "lo", "-o", "requestlog"), "capturing on")
		nohup.Process.Signal(syscall.SIGHUP)
		conversation.play(t, "127.0.0.1:9092")
		live.Process.Signal(syscall.SIGHUP)
		<-live.logged
		if err := live.Wait(); err != nil || !strings.Contains(live.stderr.String(), "packets captured") {
			t.Errorf("%v\n%s", err, live.stderr.String())
		}
		if kept, err := exec.Command("kdissect", "-o", "requestlog", file).Output(); err != nil || bytes.Count(kept, []byte("\n")) != exchangesOfSample {
			t.Errorf("kept: %v, %d exchanges, want %d", err, bytes.Count(kept, []byte("\n")), exchangesOfSample)
		}
		settled()
		if n := strings.Count(nohup.interrupt(t), "\n"); n != exchangesOfSample {
			t.Errorf("nohup: %d exchanges, want %d", n, exchangesOfSample)
		}
	})
}

// When the reader has left, nobody wants more: it ends, with success, though nothing was printed. A reader that only waits stays.
func TestLiveEndsWithItsReader(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		for _, args := range []string{"-o summary", "-o summary --api Produce", "--account", "--every 1h", "-w -"} {
			for _, kind := range []string{"pipe", "socket"} {
				reader, writer, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				if kind == "socket" {
					ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
					if err != nil {
						t.Fatal(err)
					}
					reader, writer = os.NewFile(uintptr(ends[0]), kind), os.NewFile(uintptr(ends[1]), kind)
				}
				cmd := exec.Command("kdissect", append([]string{"live", "-i", "lo"}, strings.Fields(args)...)...)
				cmd.Stdout = writer
				live := start(t, cmd, "capturing on")
				writer.Close()
				select {
				case <-live.logged:
					t.Errorf("%s: it ended before the %s was closed", args, kind)
				case <-time.After(700 * time.Millisecond):
				}
				reader.Close()
				select {
				case <-live.logged:
				case <-time.After(30 * time.Second):
					t.Errorf("%s: it goes on behind a %s that is closed", args, kind)
					live.Process.Kill()
					<-live.logged
				}
				if err := live.Wait(); err != nil || !strings.Contains(live.stderr.String(), "packets captured") {
					t.Errorf("%s: %v\n%s", args, err, live.stderr.String())
				}
			}
		}
	})
}

// --netns captures in the network of another process.
func TestLiveInAnotherNetwork(t *testing.T) {
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	netlab.Test(t, func(t *testing.T) {
		sleeper := exec.Command("sleep", "600") // a process of that network
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		defer sleeper.Wait()
		defer sleeper.Process.Kill()
		outside := make(chan *program)
		go func() {
			outside <- start(t, exec.Command("kdissect", "live", "--netns", fmt.Sprint(sleeper.Process.Pid), "-i", "lo", "-o", "requestlog"), "capturing on")
		}()
		live := <-outside
		conversation.play(t, "127.0.0.1:9092")
		settled()
		if n := strings.Count(live.interrupt(t), "\n"); n < 50 {
			t.Errorf("%d exchanges: %s", n, live.stderr.String())
		}
	})
}

// Output that nobody reads for a while costs whole exchanges, which are counted; and the capture goes on.
func TestLiveLeavesOutWholeExchanges(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		live, out := piped(t, "json", "--layout")
		client, server := connected(t)
		const exchanges = 20000
		var requests, responses []byte
		for i := range exchanges {
			requests = append(requests, 0, 0, 0, 10, 0, 18, 0, 0, 0, 0, byte(i>>8), byte(i), 0xff, 0xff)
			responses = append(responses, 0, 0, 0, 16, 0, 0, byte(i>>8), byte(i), 0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0)
		}
		for at := 0; at < exchanges; at += 100 {
			say(t, client, server, requests[at*14:(at+100)*14])
			say(t, server, client, responses[at*20:(at+100)*20])
		}
		client.Close()
		server.Close()
		live.rest(t) // all has come, and there is room for no more
		text := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(out)
			text <- all
		}()
		live.interrupt(t)
		asked, answered := map[string]bool{}, map[string]bool{}
		for _, m := range regexp.MustCompile(`"type":"(REQUEST|RESPONSE)","apiKey":18,"apiName":"ApiVersions","apiVersion":0,"correlationId":(\d+)`).FindAllStringSubmatch(string(<-text), -1) {
			if m[1] == "REQUEST" {
				asked[m[2]] = true
			} else {
				answered[m[2]] = true
			}
		}
		if len(asked) != len(answered) {
			t.Errorf("%d requests, %d answers", len(asked), len(answered))
		}
		for id := range asked {
			if !answered[id] {
				t.Errorf("request %s has no answer", id)
			}
		}
		left := fmt.Sprintf("%d exchanges left out because the output was too slow", exchanges-len(asked))
		if len(asked) == exchanges || len(asked) == 0 || !strings.Contains(live.stderr.String(), left) {
			t.Errorf("%d exchanges shown of %d; standard error:\n%s", len(asked), exchanges, live.stderr.String())
		}
	})
}
