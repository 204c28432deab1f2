package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kdissect/kdissect/internal/netlab"
)

// brokerFiles has what a broker and its clients are made of.
var brokerFiles = filepath.Join(testdata, "broker")

// The broker listens in a network of its own.
const (
	brokerAddress    = "127.0.0.1:9092"
	brokerExpression = "tcp port 9092 or tcp port 9093"
)

// TestLiveOnABroker captures what clients in Java, C and Go say to a broker, from its start to its end: in four ways at the same time. What live prints
// is what read makes of the capture of tcpdump, and what the broker logged.
func TestLiveOnABroker(t *testing.T) {
	needBroker(t, "java", "kcat", "tcpdump", "go", "kdissect")
	jars, franz := brokerJars(t), franzClient(t)
	netlab.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		dumped, requests := filepath.Join(dir, "tcpdump.pcap"), filepath.Join(dir, "requests.log")
		dump := start(t, beside("tcpdump", "-i", "lo", "--time-stamp-precision=nano", "--immediate-mode", "-B", "131072", "-s", "70000", "-Z", "root", "-U", "-w", dumped, brokerExpression), "listening on")
		shown, logged := newLivePrinter(t, "-o", "json", "--records", "full"), newLivePrinter(t, "-o", "requestlog", "--show-secrets")
		ring := newLivePrinter(t, "-w", filepath.Join(dir, "ring.pcapng"), "--files", "100", "--size", "2M")

		stop := startBroker(t, jars, dir, requests)
		runToEnd(t, "", "java", "-XX:TieredStopAtLevel=1", "-cp", jars, filepath.Join(brokerFiles, "Client.java"), brokerAddress)
		runToEnd(t, "", franz, brokerAddress)
		runToEnd(t, numbers(2000), "kcat", "-b", brokerAddress, "-P", "-t", "kcat", "-z", "zstd")
		runToEnd(t, numbers(2000), "kcat", "-b", brokerAddress, "-P", "-t", "kcat", "-z", "lz4", "-X", "enable.idempotence=true")
		runToEnd(t, "", "kcat", "-b", brokerAddress, "-G", "kcat", "-X", "auto.offset.reset=earliest", "-c", "4000", "kcat")
		stop()

		settled()
		dump.interrupt(t)
		if !strings.Contains(dump.stderr.String(), "\n0 packets dropped by kernel") {
			t.Errorf("tcpdump: %s", dump.stderr.String())
		}
		shown.interrupt(t)
		logged.interrupt(t)
		ring.interrupt(t)

		want := readJSON(t, dumped)
		sameCapture(t, "live", shown.printed.text.String(), want)
		shown.prompt(t)
		agrees(t, logged.printed.text.String(), requests)
		kept, err := filepath.Glob(filepath.Join(dir, "ring-*.pcapng"))
		if err != nil || len(kept) < 2 {
			t.Errorf("%d files of the ring: %v", len(kept), err)
		}
		sameCapture(t, "live -w", readJSON(t, kept...), want)
	})
}

// needBroker skips the test unless it is asked for, as it fetches a broker, and where something is missing. If KDISSECT_REQUIRE_BROKER is set, nothing may be
// missing.
func needBroker(t *testing.T, programs ...string) {
	t.Helper()
	switch required := os.Getenv("KDISSECT_REQUIRE_BROKER") != ""; {
	case required:
		t.Cleanup(func() {
			if t.Skipped() {
				t.Error("skipped, though KDISSECT_REQUIRE_BROKER is set")
			}
		})
	case os.Getenv("KDISSECT_BROKER") == "":
		t.Skip("KDISSECT_BROKER=1 runs it: it fetches a broker of about 45 MB with Maven, once")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
}

// brokerJars returns the class path of the broker and the client in Java. Maven fetches them once; the user's cache keeps them, for each pom.xml.
func brokerJars(t *testing.T) string {
	t.Helper()
	pom, err := os.ReadFile(filepath.Join(brokerFiles, "pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	jars := filepath.Join(cache, "kdissect", fmt.Sprintf("broker-%.8x", sha256.Sum256(pom)))
	if !exists(jars) {
		if err := os.MkdirAll(filepath.Dir(jars), 0o700); err != nil {
			t.Skip(err)
		}
		fetched := jars + ".part" // of a fetch that was ended, too
		fetch(t, "mvn", "-q", "-B", "-f", filepath.Join(brokerFiles, "pom.xml"), "dependency:copy-dependencies", "-DoutputDirectory="+fetched)
		if err := os.Rename(fetched, jars); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(jars, "*")
}

// franzClient builds the client in Go. It is a module of its own.
func franzClient(t *testing.T) string {
	t.Helper()
	module, program := filepath.Join(brokerFiles, "franz-go"), filepath.Join(t.TempDir(), "franz-go")
	fetch(t, "go", "-C", module, "mod", "download")
	if out, err := exec.Command("go", "-C", module, "build", "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// fetch runs a program that fetches something. The test is skipped where it cannot.
func fetch(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", name, err, out)
	}
}

// beside returns a command that runs beside the test, and not longer.
func beside(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// startBroker starts a broker that keeps its data in a directory and writes a log of requests. stop ends it as an administrator does.
func startBroker(t *testing.T, jars, dir, requests string) (stop func()) {
	t.Helper()
	properties, err := os.ReadFile(filepath.Join(brokerFiles, "server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(own, fmt.Appendf(properties, "log.dirs=%s\n", filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	log4j, err := filepath.Abs(filepath.Join(brokerFiles, "log4j2.xml"))
	if err != nil {
		t.Fatal(err)
	}
	runToEnd(t, "", "java", "-XX:TieredStopAtLevel=1", "-cp", jars, "kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", own)
	broker := start(t, beside("java", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Dlog4j2.configurationFile="+log4j, "-Drequests="+requests, "-cp", jars, "kafka.Kafka", own), "Kafka Server started")
	return func() {
		broker.Process.Signal(syscall.SIGTERM)
		<-broker.logged
		if err := broker.Wait(); broker.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
			t.Errorf("broker: %v\n%s", err, broker.stderr.String())
		}
	}
}

// runToEnd runs a program to its end.
func runToEnd(t *testing.T, input, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	t.Logf("%s: %.1f s", filepath.Base(name), time.Since(began).Seconds())
}

// numbers returns lines with numbers.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// A livePrinter is a live that captures beside the test.
type livePrinter struct {
	*program
	printed timedOutput
}

func newLivePrinter(t *testing.T, args ...string) *livePrinter {
	t.Helper()
	p := &livePrinter{}
	cmd := beside("kdissect", append(append([]string{"live", "-i", "lo", "--buffer", "128M"}, args...), brokerExpression)...)
	cmd.Stdout = &p.printed
	p.program = start(t, cmd, "capturing on")
	return p
}

// interrupt ends it. Nothing may be missing from what it printed.
func (p *livePrinter) interrupt(t *testing.T) {
	t.Helper()
	p.program.interrupt(t)
	if !strings.Contains(p.stderr.String(), "packets captured, 0 packets lost because the buffer was full, 0 exchanges left out") {
		t.Errorf("%v: %s", p.Args, p.stderr.String())
	}
}

// A timedOutput is output, and when each line of it came.
type timedOutput struct {
	text bytes.Buffer
	when []time.Time
}

func (p *timedOutput) Write(b []byte) (int, error) {
	now := time.Now()
	for range bytes.Count(b, []byte("\n")) {
		p.when = append(p.when, now)
	}
	return p.text.Write(b)
}

// prompt checks that answers were printed soon after their last packet.
func (p *livePrinter) prompt(t *testing.T) {
	t.Helper()
	var late []time.Duration
	for i, o := range objects(t, p.printed.text.String()) {
		if header, _ := o["header"].(map[string]any); header["type"] == "RESPONSE" {
			captured, err := time.Parse(time.RFC3339Nano, o["time"].(string))
			if err != nil {
				t.Fatal(err)
			}
			late = append(late, p.printed.when[i].Sub(captured))
		}
	}
	slices.Sort(late)
	n := len(late)
	t.Logf("%d answers were printed after %v in the median, 99 of 100 within %v, all within %v", n, late[n/2], late[n*99/100], late[n-1])
	if late[n/2] > 200*time.Millisecond {
		t.Errorf("answers are printed %v after their last packet", late[n/2])
	}
}

// readJSON returns what read makes of captures. As in live, a topic has the name that was told before.
func readJSON(t *testing.T, captures ...string) string {
	t.Helper()
	out, err := exec.Command("kdissect", append([]string{"read", "-o", "json", "--records", "full", "--one-pass"}, captures...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
