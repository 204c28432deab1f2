package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// jsonLines reads captures to their end, with everything opened, and returns the lines.
func jsonLines(t *testing.T, workers int, onePass bool, files ...string) []byte {
	t.Helper()
	source, err := pcaps.OpenAll(files...)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var out bytes.Buffer
	format := render.NewParallel(&out, io.Discard, workers, func(out, _ io.Writer, _ bool) render.Format {
		return render.NewJSON(out, render.Options{Records: render.RecordsFull, Files: files})
	})
	p := newPipeline(schema.Embedded(), files, source, format, nil)
	if !onePass {
		defer lookAheadFor(p.dissector, reassembly.DefaultMemory, func() (pcaps.Source, error) { return pcaps.OpenAll(files...) }).Close()
	}
	p.dissectAll() // damage is no concern here
	return out.Bytes()
}

// topicsIn calls yield for each topic id in a JSON value, with the name that stands beside it, if there is one. What is not JSON of a message, such
// as the text of a record, is left out.
func topicsIn(value any, yield func(id, name string)) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			topicsIn(v, yield)
		}
	case map[string]any:
		if id, ok := value["topicId"].(string); ok && id != noTopic {
			name, _ := value["name"].(string)
			for _, key := range []string{"topicName", "topic"} {
				if other, ok := value[key].(string); ok {
					name = other
				}
			}
			yield(id, name)
		}
		if ids, ok := value["topicIds"].([]any); ok {
			for _, id := range ids {
				yield(id.(string), "")
			}
		}
		for _, v := range value {
			topicsIn(v, yield)
		}
	}
}

const noTopic = "AAAAAAAAAAAAAAAAAAAAAA"

// In the captures of real traffic no topic id is without its name where any message of the capture has both.
func TestTopicIDsHaveTheirNames(t *testing.T) {
	paths, err := filepath.Glob(needShared(t, "captures/real") + "/*.pcap*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no captures", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var lines []map[string]any
			for decoder := json.NewDecoder(bytes.NewReader(jsonLines(t, 2, false, path))); decoder.More(); {
				var line map[string]any
				if err := decoder.Decode(&line); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, line)
			}
			names := map[string]string{}
			for _, line := range lines {
				topicsIn([]any{line["payload"], line["nested"]}, func(id, name string) {
					if name != "" {
						names[id] = name
					}
				})
			}
			for _, line := range lines {
				known, _ := line["topicNames"].(map[string]any)
				topicsIn([]any{line["payload"], line["nested"]}, func(id, name string) {
					if want := names[id]; name == "" && want != "" {
						if known[id] != want {
							t.Errorf("message %v: topic %s is called %v, not %q", line["number"], id, known[id], want)
						}
					}
				})
			}
		})
	}
}

// What is looked for ahead does not depend on the number of workers, and without it names come only from what was before.
func TestLookAheadIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	path := filepath.Join(needShared(t, "captures/real"), "java-4.4-produce-consume--midstream.pcap")
	one := jsonLines(t, 1, false, path)
	for _, workers := range []int{2, 3, 8} {
		if !bytes.Equal(one, jsonLines(t, workers, false, path)) {
			t.Errorf("%d workers write something else", workers)
		}
	}
	if bytes.Equal(one, jsonLines(t, 2, true, path)) {
		t.Error("nothing was found ahead")
	}
}

// A file that is gone when it is to be read once more leaves ids without names.
func TestLookAheadWithoutFile(t *testing.T) {
	path := filepath.Join(needShared(t, "captures/real"), "java-4.4-produce-consume--midstream.pcap")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source, err := pcaps.NewSource(bytes.NewReader(data), "gone.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := newPipeline(schema.Embedded(), []string{"gone.pcap"}, source, render.NewJSON(&out, render.Options{Records: render.RecordsFull}), nil)
	defer lookAheadFor(p.dissector, reassembly.DefaultMemory, func() (pcaps.Source, error) { return pcaps.Open(filepath.Join(t.TempDir(), "gone.pcap")) }).Close()
	if err := p.dissectAll(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.Bytes(), jsonLines(t, 1, true, path); !bytes.Equal(got, want) {
		t.Error("the output is not that of one pass")
	}
}

// Closed while workers still look for names it reads no more, and does not open the input again.
func TestLookAheadClosed(t *testing.T) {
	opened := 0
	l := lookAheadFor(dissect.New(schema.Embedded(), 0, silence{}), reassembly.DefaultMemory, func() (pcaps.Source, error) {
		opened++
		return pcaps.Open("../../testdata/sample.pcap")
	})
	if !l.more() {
		t.Fatal("nothing was read")
	}
	l.Close()
	if l.more() || opened != 1 {
		t.Errorf("opened %d times", opened)
	}
}

// Standard input can be read but once, also where a file has its name.
func TestReadOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"-", "file"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readOnce(name); got != (name == "-") {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTopicIDs(t *testing.T) {
	const id = "4PnQyC2QTYyN7_ylpyo-0w"
	for _, test := range []struct{ text, want string }{
		{id + " orders\n\n", id + "=orders"},
		{"Topic: orders\tTopicId: " + id + "\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \n\tTopic: orders\tPartition: 0\tLeader: 1\n", id + "=orders"},
		{id + " orders\n" + id + "\n", `:2: "` + id + `" is not a topic id and a name`},
		{"orders " + id, `:1: "orders" is not a topic id`},
		{id[:21] + " orders", ":1: "},
	} {
		path := filepath.Join(t.TempDir(), "ids")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		topics, err := readTopicIDs(path)
		got := ""
		for _, topic := range topics {
			got += fmt.Sprintf("%s=%s", topic.id, topic.name)
		}
		if err != nil {
			got = strings.TrimPrefix(err.Error(), path)
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}
