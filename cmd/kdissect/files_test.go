package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// A classicFile is a little-endian file of classic pcap, cut at its records.
type classicFile struct {
	header  []byte
	records [][]byte // 16 bytes of header and the packet
}

func cutRecords(data []byte) (classicFile, error) {
	if len(data) < 24 || data[3] != 0xa1 {
		return classicFile{}, fmt.Errorf("no little-endian pcap file: begins with % x", data[:min(4, len(data))])
	}
	f := classicFile{header: data[:24]}
	for data = data[24:]; len(data) > 0; {
		n := 16 + int(binary.LittleEndian.Uint32(data[8:]))
		f.records = append(f.records, data[:n])
		data = data[n:]
	}
	return f, nil
}

// with returns a file of some of the records.
func (f classicFile) with(records [][]byte) classicFile { return classicFile{f.header, records} }

func (f classicFile) pcap() []byte {
	return append(slices.Clone(f.header), slices.Concat(f.records...)...)
}

// pcapng returns the same packets in the other format.
func (f classicFile) pcapng() []byte {
	le := binary.LittleEndian
	resolution, perSecond := byte(6), uint64(1e6)
	if f.header[0] == 0x4d { // its times are in nanoseconds
		resolution, perSecond = 9, 1e9
	}
	block := func(kind uint32, body []byte) []byte {
		body = append(body, make([]byte, -len(body)&3)...)
		size := uint32(len(body) + 12)
		b := append(le.AppendUint32(le.AppendUint32(nil, kind), size), body...)
		return le.AppendUint32(b, size)
	}
	section := le.AppendUint64([]byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0}, 1<<64-1)
	link := le.Uint16(f.header[20:])
	device := append(le.AppendUint16(nil, link), 0, 0, 0, 0, 0, 0)
	device = append(device, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0) // if_tsresol, end of options
	file := append(block(0x0a0d0d0a, section), block(1, device)...)
	for _, r := range f.records {
		at := uint64(le.Uint32(r))*perSecond + uint64(le.Uint32(r[4:]))
		packet := le.AppendUint32(le.AppendUint32([]byte{0, 0, 0, 0}, uint32(at>>32)), uint32(at))
		packet = append(packet, r[8:]...) // both lengths, the data
		file = append(file, block(6, packet)...)
	}
	return file
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// split is a command of the scripts that cuts a capture in two behind a packet: split PACKETS FROM TO TO. What a target's name ends
// with says its format: .gz is compressed, .pcapng has the other format.
func split(ts *testscript.TestScript, neg bool, args []string) {
	var n int
	if neg || len(args) != 4 {
		ts.Fatalf("usage: split packets from to to")
	}
	_, err := fmt.Sscan(args[0], &n)
	ts.Check(err)
	whole, err := cutRecords([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(writeAs(ts.MkAbs(args[2]), whole.with(whole.records[:n])))
	ts.Check(writeAs(ts.MkAbs(args[3]), whole.with(whole.records[n:])))
}

func writeAs(path string, f classicFile) error {
	data := f.pcap()
	switch filepath.Ext(path) {
	case ".gz":
		data = zipped(data)
	case ".pcapng":
		data = f.pcapng()
	}
	return os.WriteFile(path, data, 0o600)
}

// linesOf reads captures as one and returns the objects that are written.
func linesOf(t *testing.T, files ...string) []map[string]any {
	t.Helper()
	source, err := pcaps.OpenAll(files...)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var out bytes.Buffer
	format := render.NewJSON(&out, render.Options{Packets: true, Files: files})
	if err := newPipeline(schema.Embedded(), files, source, format, nil).dissectAll(); err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// A parting says where the packets of a capture went that was parted: for a file, the number that each of its packets has in the whole.
type parting map[string][]float64

// whole replaces the numbers in an object by those of the whole capture, and takes out the files.
func (p parting) whole(t *testing.T, line map[string]any) map[string]any {
	t.Helper()
	number := func(n, file any) any {
		numbers := p[file.(string)]
		if i := int(n.(float64)); i > 0 && i <= len(numbers) {
			return numbers[i-1]
		}
		t.Fatalf("%v has no packet %v: %v", file, n, line)
		return nil
	}
	line = maps.Clone(line)
	if n, ok := line["packet"]; ok {
		line["packet"] = number(n, line["file"])
		delete(line, "file")
	}
	packets, ok := line["packets"].(map[string]any)
	if !ok {
		return line
	}
	packets = maps.Clone(packets)
	first := packets["file"]
	if file, ok := packets["firstFile"]; ok {
		first = file
	}
	packets["first"], packets["last"] = number(packets["first"], first), number(packets["last"], packets["file"])
	list := slices.Clone(packets["list"].([]any))
	for i := range list {
		file := packets["file"]
		if files, ok := packets["listFiles"].([]any); ok {
			file = files[i]
		}
		list[i] = number(list[i], file)
	}
	packets["list"] = list
	for _, key := range []string{"file", "firstFile", "listFiles"} {
		delete(packets, key)
	}
	line["packets"] = packets
	return line
}

// part writes the packets of a capture to several files, each to the one that choose says.
func part(t *testing.T, f classicFile, names []string, choose func(i int) int) (paths []string, p parting) {
	t.Helper()
	records := make([][][]byte, len(names))
	p = parting{}
	dir := t.TempDir()
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	for i, r := range f.records {
		file := choose(i)
		records[file] = append(records[file], r)
		p[paths[file]] = append(p[paths[file]], float64(i+1))
	}
	for i, path := range paths {
		if err := writeAs(path, f.with(records[i])); err != nil {
			t.Fatal(err)
		}
	}
	return paths, p
}

// A capture that is parted reads as the whole does, however its parts are named and in whatever format they are; and every packet number,
// with its file, is that of the same packet.
func TestPartedCaptures(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testdata, "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if real := filepath.Join(shared, "captures", "real"); exists(real) || os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
		for _, name := range []string{"franz-go-4.4.pcap", "java-3.9-transactions.pcap", "any-sll2.pcap", "client-killed.pcap"} {
			paths = append(paths, needShared(t, filepath.Join("captures", "real", name)))
		}
	}
	spread := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := cutRecords(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.records) < 10 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := linesOf(t, path)
			rotated := []string{"c.pcap", "b.pcapng", "a.pcap.gz"}
			n := len(f.records)
			files, p := part(t, f, rotated, func(i int) int { return 2 - i*3/n })
			spread += sameMessages(t, want, linesOf(t, files...), p)

			// Packets of the same time have to stay together: among files their order is not known.
			host := make([]int, n)
			for i := 1; i < n; i++ {
				host[i] = host[i-1]
				switch was, is := timeOf(f.records[i-1]), timeOf(f.records[i]); {
				case is < was:
					t.Skip("its times go backwards")
				case is > was:
					host[i] ^= 1
				}
			}
			files, p = part(t, f, []string{"host-1.pcap", "host-2.pcap"}, func(i int) int { return host[i] })
			spread += sameMessages(t, want, linesOf(t, files...), p)
		})
	}
	if spread == 0 {
		t.Error("no message begins in one file and ends in another")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func timeOf(record []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(record))<<32 | uint64(binary.LittleEndian.Uint32(record[4:]))
}

// sameMessages compares what parts have with what the whole has. It returns how many messages begin in one file and end in another.
func sameMessages(t *testing.T, want, got []map[string]any, p parting) (spread int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, the whole has %d", len(got), len(want))
	}
	for i := range want {
		if packets, ok := got[i]["packets"].(map[string]any); ok && packets["firstFile"] != nil {
			spread++
		}
		line := p.whole(t, got[i])
		if line["capture"] != nil {
			line["capture"] = want[i]["capture"] // the file that was read last
		}
		if !reflect.DeepEqual(line, want[i]) {
			t.Fatalf("line %d\n got %v\nthat is %v\nwant %v", i+1, got[i], line, want[i])
		}
	}
	return spread
}

func TestEachFileOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink("a", "link") == nil
	for _, test := range []struct {
		files []string
		want  string // of the error, none where empty
	}{
		{[]string{"a", "b", "-", "none"}, ""},
		{[]string{"a", "b", "a"}, "a is named twice"},
		{[]string{"none", "none"}, "none is named twice"},
		{[]string{"-", "a", "-"}, "standard input (-) is named twice"},
		{[]string{"a", "./a"}, "a and ./a are the same file"},
		{[]string{filepath.Join(here, "b"), "b"}, filepath.Join(here, "b") + " and b are the same file"},
		{[]string{"link", "a"}, "link and a are the same file"},
	} {
		if test.files[0] == "link" && !linked {
			continue
		}
		err := someFiles(newRoot(), test.files)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%q: %v, want %q", test.files, err, test.want)
		}
	}
}
