package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// How many messages of each API, version and direction are in the captures that other projects publish. What is right was counted
// with tshark, so -update leaves it alone. Responses whose request is not in the capture are `orphan`.
func TestPublicCaptures(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(needShared(t, "captures/public"), "*.pcap*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no captures: ", err)
	}
	var b strings.Builder
	b.WriteString("# capture\tAPI\tversion\trequests\tresponses\n")
	for _, path := range paths {
		if err := countMessages(&b, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	want, err := os.ReadFile(filepath.Join(testdata, "public-counts.golden"))
	if err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for line := range strings.Lines(got) {
		if !strings.Contains(string(want), line) {
			t.Errorf("got  %s", line)
		}
	}
	for line := range strings.Lines(string(want)) {
		if !strings.Contains(got, line) {
			t.Errorf("want %s", line)
		}
	}
}

// A messageKind is what messages are counted by.
type messageKind struct {
	api     string
	version int16
}

// A counter is an Output that counts messages by kind and direction.
type counter map[messageKind]*[2]int

func (c counter) Message(m *dissect.Message) {
	k := messageKind{m.Name(), m.Header.Version}
	switch {
	case !m.Header.Known && !m.Header.Token, m.Inferred != nil:
		k = messageKind{api: "orphan"}
	case m.Name() == "":
		k.api = fmt.Sprintf("key %d", m.Header.APIKey)
	}
	if c[k] == nil {
		c[k] = new([2]int)
	}
	c[k][m.Kind]++
}

func (c counter) Exchange(*dissect.Exchange) {}
func (c counter) Report(*dissect.Report)     {}

// countMessages writes a line for each kind of message in a capture.
func countMessages(b *strings.Builder, path string) error {
	source, err := pcaps.Open(path)
	if err != nil {
		return err
	}
	defer source.Close()
	counts := counter{}
	assembler := reassembly.New(dissect.New(schema.Embedded(), dissect.NeedMessages, counts))
	var batch pcaps.Batch
	for err = source.Next(&batch); err == nil; err = source.Next(&batch) {
		for i := range batch.Packets {
			if err := assembler.Packet(&batch.Packets[i]); err != nil {
				return err
			}
		}
		batch.Release()
	}
	assembler.Close()
	kinds := slices.SortedFunc(maps.Keys(counts), func(x, y messageKind) int {
		return cmp.Or(cmp.Compare(x.api, y.api), cmp.Compare(x.version, y.version))
	})
	for _, k := range kinds {
		n := counts[k]
		fmt.Fprintf(b, "%s\t%s\t%d\t%d\t%d\n", filepath.Base(path), k.api, k.version, n[schema.Request], n[schema.Response])
	}
	if len(kinds) == 0 {
		fmt.Fprintf(b, "%s\tnone\t0\t0\t0\n", filepath.Base(path))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
