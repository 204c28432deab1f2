package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// maxFuzzFile bounds the captures that are fuzzed, so that one takes milliseconds.
const maxFuzzFile = 24 << 10

// FuzzRead has the whole program read any bytes as a capture and print them in every format. Nothing may panic; what is printed may hold no control character;
// JSON must be JSON; and one worker and two must print the same.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(testdata, "*.pcap*"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no captures: ", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), maxFuzzFile/2)])
	}
	devNull, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		f.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = devNull // damage is told there
	f.Cleanup(func() { os.Stderr = stderr })
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxFuzzFile {
			return
		}
		for _, output := range []string{"tree", "summary", "json", "requestlog", "records", "tsv", "csv"} {
			out, log := readFuzzed(file, output, 1)
			out2, log2 := readFuzzed(file, output, 2)
			if out != out2 || log != log2 {
				t.Errorf("%s: two workers print something else:\n%s%s\none worker:\n%s%s", output, out2, log2, out, log)
			}
			checkPrinted(t, output, out)
			checkPrinted(t, output, log)
			if output == "json" || output == "requestlog" {
				checkLines(t, output, out)
			}
		}
	})
}

// readFuzzed prints a capture, and returns what goes to standard output and, of the findings, to standard error.
func readFuzzed(file []byte, output string, workers int) (out, log string) {
	files := []string{"capture.pcap"}
	source, err := pcaps.NewSource(bytes.NewReader(file), files[0])
	if err != nil {
		return "", ""
	}
	defer source.Close()
	f := readFlags{output: choice{output, nil}, records: choice{"full", nil}, color: choice{"never", nil}}
	f.options = render.Options{Full: true, Hex: true, Layout: true, Packets: true, MaxRecords: 10, MaxBytes: 64}
	f.columns, _ = render.Columns(strings.Join(render.ColumnNames(), ",")+",payload.topics[],payload.responses[].partitions[].errorCode", schema.Embedded())
	f.settle(files)
	f.options.Aligned = false
	var w, l bytes.Buffer
	format := f.create(&w, &l, true)
	if workers > 1 {
		format = render.NewParallel(&w, &l, workers, f.create)
	}
	newPipeline(schema.Embedded(), files, source, format, nil).dissectAll() // that the input is damaged is no matter
	return w.String(), l.String()
}

// checkPrinted wants text without control characters.
func checkPrinted(t *testing.T, output, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: not UTF-8: %q", output, text)
	}
	for i, c := range text {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			t.Fatalf("%s: %q at byte %d: %q", output, c, i, text[max(0, i-40):min(len(text), i+20)])
		}
	}
}

// checkLines wants an object of JSON in each line.
func checkLines(t *testing.T, output, text string) {
	t.Helper()
	for line := range bytes.Lines([]byte(text)) {
		if !json.Valid(line) || line[0] != '{' {
			t.Fatalf("%s: not an object of JSON: %s", output, line)
		}
	}
}
