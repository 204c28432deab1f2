package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
	"github.com/kdissect/kdissect/state"
)

// watched returns what a capture tells of its cluster. What clients are called is changed by a function before the dissector sees it.
func watched(t *testing.T, file string, change func([]byte) []byte) *state.Cluster {
	t.Helper()
	source, err := pcaps.Open(file)
	if err != nil {
		t.Skip(err)
	}
	defer source.Close()
	c := state.New()
	a := reassembly.New(dissect.New(schema.Embedded(), state.Needs, c))
	var batch pcaps.Batch
	for source.Next(&batch) == nil {
		for i := range batch.Packets {
			batch.Packets[i].Data = change(batch.Packets[i].Data)
			a.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	a.Close()
	return c
}

// stateFormat prints what is known of the cluster at the end, as text and as JSON.
type stateFormat struct {
	*state.Cluster
	out io.Writer
}

func (stateFormat) Needs() dissect.Needs  { return state.Needs }
func (stateFormat) Close(*dissect.Counts) {}

func (f stateFormat) Flush() error {
	_, err := f.out.Write(AppendStateJSON(AppendState(nil, f.Cluster), f.Cluster))
	return err
}

func unchanged(b []byte) []byte { return b }

// Names in a capture cannot drive a terminal, end a line or a cell, or break JSON.
func TestStateEscapes(t *testing.T) {
	evil := func(b []byte) []byte {
		return bytes.ReplaceAll(slices.Clone(b), []byte("pc-group"), []byte("p\x1b[\n\t\"\\\x9b"))
	}
	c := watched(t, "../testdata/midstream.pcap", evil)
	text := string(AppendState(nil, c))
	if !strings.Contains(text, `p\x1b[\n\t"\\\x9b: classic group`) {
		t.Errorf("the group is missing: %s", text)
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%q in %s", r, text)
		}
	}
	for line := range strings.Lines(string(AppendStateJSON(nil, c))) {
		var object struct{ Group struct{ ID string } }
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if id := object.Group.ID; id != "" && id != "p\x1b[\n\t\"\\\uFFFD" {
			t.Errorf("the group is %q", id)
		}
	}
}

// Text and JSON tell of the same brokers, partitions, groups and transactions, and all JSON is valid.
func TestStateOfCaptures(t *testing.T) {
	files, _ := filepath.Glob("../../shared/captures/real/*.pcap")
	own, _ := filepath.Glob("../testdata/*.pcap")
	for _, file := range append(own, files...) {
		if strings.Contains(file, "--") {
			continue // made out of another one
		}
		c := watched(t, file, unchanged)
		text := string(AppendState(nil, c))
		lines := bufio.NewScanner(bytes.NewReader(AppendStateJSON(nil, c)))
		lines.Buffer(nil, 64<<20)
		n := map[string]int{}
		for lines.Scan() {
			var object map[string]any
			if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
				t.Fatalf("%s: %v: %s", file, err, lines.Bytes())
			}
			for key, value := range object {
				about, ok := value.(map[string]any)
				if !ok {
					continue
				}
				n[key]++
				if id, ok := about["id"].(string); ok && !strings.Contains(text, escaped(id)) {
					t.Errorf("%s: %s %q is not in the text", file, key, id)
				}
			}
		}
		if n["broker"] != len(c.Brokers()) || n["partition"] != len(c.Partitions()) || n["group"] != len(c.Groups()) || n["transaction"] != len(c.Transactions()) {
			t.Errorf("%s: %v", file, n)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int32{"": nil, "5": {5}, "0-3,7": {0, 1, 2, 3, 7}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := string(appendRanges(nil, numbers)); got != want {
			t.Errorf("%v is %q, want %q", numbers, got, want)
		}
	}
}
