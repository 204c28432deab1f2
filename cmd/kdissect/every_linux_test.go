package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/kdissect/kdissect/internal/netlab"
)

// Where a log is kept there is a block for each interval, and together they have every exchange. The packets can be kept meanwhile.
func TestLiveEveryIsALog(t *testing.T) {
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	netlab.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "kept.pcapng")
		live := start(t, exec.Command("kdissect", "live", "-i", "lo", "--every", "200ms", "-w", file, "tcp port 9092"), "capturing on")
		conversation.play(t, "127.0.0.1:9092")
		time.Sleep(700 * time.Millisecond)
		log := live.interrupt(t)
		if n := total(log, exchanged); n != exchangesOfSample {
			t.Errorf("%d exchanges, want %d", n, exchangesOfSample)
		}
		if kept, err := exec.Command("kdissect", "--every", "1h", file).Output(); err != nil || total(string(kept), exchanged) != exchangesOfSample {
			t.Errorf("kept: %v\n%s", err, kept)
		}
		for _, want := range []string{"kcap-kcat@127.0.0.1  librdkafka 2.0.2\n", " s  lo: tcp port 9092\n", " Produce\n", " kc-t\n", "JoinGroup        MEMBER_ID_REQUIRED  kcap-kcat@"} {
			if !strings.Contains(log, want) {
				t.Errorf("no %q in\n%s", want, log)
			}
		}
		if n := strings.Count(log, " lo: tcp port 9092\n"); n < 2 || strings.Contains(log, "\x1b") {
			t.Errorf("%d blocks:\n%q", n, log)
		}
	})
}

// exchangesOfSample is how many exchanges testdata/sample.pcap has: 114 messages, see its tree.
const exchangesOfSample = 57

// A window is the terminal that a program writes to.
type window struct {
	t      *testing.T
	master *os.File
	text   string // that came since the beginning
}

// newWindow returns one of 24 rows and 80 columns, and the end that a program writes to.
func newWindow(t *testing.T) (w *window, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	return &window{t: t, master: master}, slave
}

// await reads on until a screen that is whole matches, and returns it.
func (w *window) await(pattern string) string {
	w.t.Helper()
	const behind = "\x1b[K\r\n\x1b[J" // the cursor is on the line below
	w.master.SetReadDeadline(time.Now().Add(30 * time.Second))
	for b := make([]byte, 64<<10); ; {
		for {
			screen, rest, whole := strings.Cut(w.text, behind)
			if !whole {
				break
			}
			if w.text = rest; regexp.MustCompile(pattern).MatchString(screen) {
				return screen
			}
		}
		n, err := w.master.Read(b)
		if err != nil {
			w.t.Fatalf("no %q: %v, %q", pattern, err, w.text)
		}
		w.text += string(b[:n])
	}
}

// onScreen checks that a screen begins at the top, has no line left of the one before, and fits.
func (w *window) onScreen(screen string, rows, columns int) {
	w.t.Helper()
	text, atTop := strings.CutPrefix(screen, "\x1b[H")
	lines := strings.Split(text, "\x1b[K\r\n")
	if !atTop || len(lines) < 3 || len(lines) >= rows {
		w.t.Errorf("at top: %t, %d lines for %d:\n%q", atTop, len(lines), rows, screen)
	}
	for _, line := range lines {
		if strings.ContainsAny(line, "\r\n\x1b") || len(line) > columns {
			w.t.Errorf("%d columns: %q", len(line), line)
		}
	}
}

// What a file has when it is followed are many intervals at once. Each is shown in place of the one before.
func TestEveryOfAFileThatIsFollowed(t *testing.T) {
	w, slave := newWindow(t)
	cmd := exec.Command("kdissect", "--follow", "--every", "100ms", filepath.Join(testdata, "midstream.pcap"))
	cmd.Stdout, cmd.Env = slave, append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	defer time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() }).Stop()
	for range 20 {
		w.onScreen(strings.TrimPrefix(w.await("packets/s"), "\x1b[2J"), 24, 80)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// On a terminal a table is shown in place of the one before. A request that is not answered is in it as long as it is not.
func TestLiveEveryRefreshesATerminal(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		w, slave := newWindow(t)
		master := w.master
		cmd := exec.Command("kdissect", "live", "-i", "lo", "--every", "200ms")
		cmd.Stdout, cmd.Env = slave, append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
		live := start(t, cmd, "capturing on")
		slave.Close()
		if first := w.await(`0 exchanges`); !strings.HasPrefix(first, "\x1b[2J\x1b[H") {
			t.Errorf("first %q", first)
		}
		client, server := connected(t)
		hello := func(i byte) []byte { return []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, i, 0xff, 0xff} }
		answer := func(i byte) []byte { return []byte{0, 0, 0, 16, 0, 0, 0, i, 0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 0} }
		say(t, client, server, hello(1))
		say(t, server, client, answer(1))
		w.onScreen(w.await(`(?s)1 exchange, [0-9.]+/s, 0 answers with errors, 0 unanswered, 0 hanging\b.* ApiVersions\b`), 24, 80)
		asked := time.Now()
		say(t, client, server, hello(2))
		hangs := w.await(`(?s)\b1 hanging\b.*HANGING WAIT API.* c1 +[1-9]\.[0-9]s +1 ApiVersions +127\.0\.0\.1:`)
		if d := time.Since(asked); d < time.Second {
			t.Errorf("said to hang after %v", d)
		}
		w.onScreen(hangs, 24, 80)
		pty.Setsize(master, &pty.Winsize{Rows: 6, Cols: 40})
		time.Sleep(250 * time.Millisecond)
		w.text = ""
		w.await("")
		w.onScreen(w.await("packets/s"), 6, 40)
		pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80})
		say(t, server, client, answer(2))
		w.onScreen(w.await(`(?s)\b1 exchange,.*\b0 hanging\b.*EXCESS`), 24, 80)
		w.await(`\b0 exchanges`)
		live.interrupt(t)
		if strings.Contains(w.text, "\x1b[2J") || !strings.Contains(live.stderr.String(), " packets captured, 0 packets lost") {
			t.Errorf("at the end %q, %s", w.text, live.stderr.String())
		}
	})
}

// An output that stands still neither holds up the capture nor loses what came meanwhile.
func TestLiveEveryBehindAnOutputThatStandsStill(t *testing.T) {
	conversation := scriptOf(t, filepath.Join(testdata, "sample.pcap"))
	netlab.Test(t, func(t *testing.T) {
		out, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("kdissect", "live", "-i", "lo", "--every", "100ms", "tcp port 9092")
		cmd.Stdout = writer
		live := start(t, cmd, "capturing on")
		writer.Close()
		const times = 6
		for range times { // a block each, at least
			conversation.play(t, "127.0.0.1:9092")
			time.Sleep(400 * time.Millisecond)
		}
		var log strings.Builder
		read := make(chan error)
		go func() {
			_, err := out.WriteTo(&log)
			read <- err
		}()
		time.Sleep(300 * time.Millisecond)
		live.interrupt(t)
		if err := <-read; err != nil {
			t.Fatal(err)
		}
		longest := 0
		for _, m := range regexp.MustCompile(` (\d+)\.\d s  lo`).FindAllStringSubmatch(log.String(), -1) {
			n := 0
			fmt.Sscan(m[1], &n)
			longest = max(longest, n)
		}
		if n := total(log.String(), exchanged); n != times*exchangesOfSample || longest < 1 || !strings.Contains(live.stderr.String(), "0 packets lost") {
			t.Errorf("%d exchanges, want %d; %d s at once; %s", n, times*exchangesOfSample, longest, live.stderr.String())
		}
	})
}
