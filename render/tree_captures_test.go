package render

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

const (
	capturesDir = "../../shared/captures/real"
	casesDir    = "../../shared/cases"
)

// captures returns the names of the real captures, and skips the test where there are none.
func captures(t testing.TB) []string { return capturesIn(t, capturesDir) }

// capturesIn returns the names of the captures in a directory, from the one of the real captures on.
func capturesIn(t testing.TB, dir string) []string {
	var names []string
	for _, pattern := range []string{"*.pcap", "*.pcapng", "*.pcap.gz"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range found {
			name, err := filepath.Rel(capturesDir, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		absent(t, dir)
	}
	return names
}

// absent skips a test that needs files which are not here, or fails it where they have to be.
func absent(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
		t.Fatalf("%s is not here", what)
	}
	t.Skipf("%s is not here", what)
}

// readCapture dissects a real capture.
func readCapture(t testing.TB, name string, out Format) {
	source, err := pcaps.Open(filepath.Join(capturesDir, name))
	if errors.Is(err, os.ErrNotExist) {
		absent(t, name)
	}
	if base := filepath.Base(name); err != nil && (base == "empty-file.pcap" || base == "cut-file-header.pcap") {
		t.Skipf("nothing to print: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	assembler := reassembly.New(dissect.New(schema.Embedded(), out.Needs(), out))
	var batch pcaps.Batch
	for {
		if err := source.Next(&batch); err != nil {
			var damage *pcaps.DamageError
			if err != io.EOF && !errors.As(err, &damage) {
				t.Fatal(err)
			}
			break
		}
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	assembler.Close()
	out.Flush()
}

// A treeChecker holds the trees of messages against their tapes.
type treeChecker struct {
	*Tree
	t   *testing.T
	out *bytes.Buffer
}

func (c *treeChecker) Message(m *dissect.Message) {
	c.Flush()
	c.out.Reset()
	c.Tree.Message(m)
	c.Flush()
	text := c.out.String()
	wantPlain(c.t, text)
	for i := range m.Findings {
		f := &m.Findings[i]
		if n := strings.Count(text, "! "+f.Severity.String()+" "+string(f.Code)+": "+f.Text+"\n"); n != count(m, f) && f.Code != dissect.ErrorCode {
			c.t.Errorf("#%d: %d times %+v in\n%s", m.Number, n, *f, text)
		}
	}
	if c.options.Full {
		c.checkNodes(m, text)
	}
}

// count is how often a message has a finding.
func count(m *dissect.Message, f *dissect.Finding) (n int) {
	for _, other := range m.Findings {
		if other.Code == f.Code && other.Severity == f.Severity && other.Text == f.Text {
			n++
		}
	}
	return n
}

// checkNodes wants each node of the tape to have its line.
func (c *treeChecker) checkNodes(m *dissect.Message, text string) {
	if m.Secret() || c.opened.used > 0 || c.showsBatches() && m.Facts().RecordBytes > 0 {
		return // there are lines for what is inside the nodes
	}
	want := 1 // the frame, which has a line besides that of the size in it
	tape := m.Tape()
	for i := range tape {
		switch n := &tape[i]; {
		case n.Kind == dissect.ElementsNode:
			want += int(n.Count)
		case n.Kind == dissect.TagCountNode && n.Next == tape[i-1].Next: // stands in the line of the section
		default:
			want++
		}
	}
	if got := strings.Count(text, "+-- "); got != want {
		c.t.Errorf("#%d: %d lines for %d nodes:\n%s", m.Number, got, want, text)
	}
}

func TestTreesOfCaptures(t *testing.T) {
	for _, name := range append(captures(t), capturesIn(t, casesDir)...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for _, o := range []Options{
				{Full: true}, {}, {Hex: true}, {Full: true, Records: RecordsFull}, {Records: RecordsFull},
				{Records: RecordsBatches}, {Full: true, Hex: true, Records: RecordsFull}, {Records: RecordsFull, MaxRecords: 1, MaxBytes: 3},
			} {
				var out bytes.Buffer
				readCapture(t, name, &treeChecker{NewTree(&out, o), t, &out})
				if t.Failed() {
					return
				}
			}
		})
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestColorsChangeNothingElse(t *testing.T) {
	for _, name := range captures(t)[:8] {
		for _, o := range []Options{{Full: true, Hex: true, Records: RecordsFull}, {Records: RecordsFull}, {Hex: true}} {
			var plain, colored bytes.Buffer
			readCapture(t, name, NewTree(&plain, o))
			o.Color = true
			readCapture(t, name, NewTree(&colored, o))
			wantLines(t, escapes.ReplaceAllString(colored.String(), ""), plain.String())
		}
	}
}

// Only what cannot be broken may make a line of the compact tree wider than the terminal.
func TestCompactFitsTheTerminal(t *testing.T) {
	wide, all := 0, 0
	for _, name := range captures(t) {
		var out bytes.Buffer
		readCapture(t, name, NewTree(&out, Options{Records: RecordsFull}))
		for line := range strings.Lines(out.String()) {
			if all++; strings.Contains(line, "+-- ") && visible([]byte(line)) > columns+1 {
				wide++
				if testing.Verbose() {
					t.Log(line)
				}
			}
		}
	}
	if wide*200 > all {
		t.Errorf("%d of %d lines are wider than %d columns", wide, all, columns)
	}
}
