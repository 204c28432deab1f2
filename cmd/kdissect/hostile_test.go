package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// hostile is text that would drive a terminal: escape sequences, C1 controls, carriage returns, marks that turn the direction of writing.
const hostile = "\x1b]0;owned\x07\x1b[2J\u009b31m\u0085\u202e\u202a\u2066\u2069\u200e\u200f\u061c\x7f\b\rfake\u2028"

// Wherever text stands in a message, nothing in it that drives a terminal reaches the output or standard error. The capture has the newest
// version of every request and response, hostile in each of their strings, keys, values and headers of records.
func TestNothingDrivesTheTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hostile.pcap")
	if err := os.WriteFile(path, hostileCapture(t), 0o600); err != nil {
		t.Fatal(err)
	}
	outputs := newRead().Flags().Lookup("output").Value.(*choice).known
	for _, output := range outputs {
		for _, more := range [][]string{nil, {"--records", "full"}, {"--full", "-x"}, {"--show-secrets"}, {"--account"}, {"--where", `clientId != "x"`}} {
			args := append([]string{"read", "-o", output, path}, more...)
			out, log := outputOf(t, args)
			if len(out) < 1000 {
				t.Errorf("%q: only %q, %q", args, out, log)
			}
			if !strings.Contains(out, "owned") {
				t.Errorf("%q: the hostile text is not there", args)
			}
			checkHarmless(t, fmt.Sprintf("%q", args), out)
			checkHarmless(t, fmt.Sprintf("standard error of %q", args), log)
		}
	}
}

// checkHarmless wants printable characters, spaces and line ends; tabs between columns.
func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			t.Errorf("%s: %U passes in %q", what, r, text[max(0, i-60):min(len(text), i+20)])
			return
		}
	}
}

// outputOf runs the program and returns what it writes on standard output and standard error.
func outputOf(t *testing.T, args []string) (out, log string) {
	t.Helper()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	var files [2]*os.File
	for i, file := range []**os.File{&os.Stdout, &os.Stderr} {
		var err error
		if files[i], err = os.CreateTemp(t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
		*file = files[i]
	}
	run(args)
	var text [2]string
	for i, file := range files {
		file.Seek(0, io.SeekStart)
		data, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(data)
	}
	return text[0], text[1]
}

// hostileCapture is a capture with a connection for each API: its request and its answer at the newest version. A last one is no Kafka.
func hostileCapture(t *testing.T) []byte {
	catalog := schema.Embedded()
	var packets [][]byte
	port := uint16(20000)
	server := netip.MustParseAddrPort("10.0.0.2:9092")
	add := func(streams ...[]byte) {
		port++
		ends := [2]netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port), server}
		next := [2]uint32{1000, 2000}
		send := func(dir int, flags byte, data []byte) {
			s := shapeSegment{from: ends[dir], to: ends[1-dir], seq: next[dir], ack: next[1-dir], flags: flags, data: data}
			packets = append(packets, plainIP(s.tcp(), s.from.Addr(), s.to.Addr(), len(packets))...)
			next[dir] += uint32(len(data))
		}
		send(0, wireSYN, nil)
		next[0]++
		send(1, wireSYN|wireACK, nil)
		next[1]++
		for dir, stream := range streams {
			for part := range slices.Chunk(stream, 1400) {
				send(dir, wireACK, part)
			}
		}
	}
	for api := range catalog.APIs {
		var frames [2][]byte
		for i, kind := range []schema.Kind{schema.Request, schema.Response} {
			frames[i] = hostileFrame(t, catalog, api, catalog.Plan(api.Key, api.Versions.High, kind))
		}
		add(frames[:]...)
	}
	add([]byte("GET /"+hostile+" HTTP/1.1\r\nHost: "+hostile+"\r\n\r\n"), []byte("HTTP/1.1 400 "+hostile+"\r\n\r\n"))
	times := make([]int64, len(packets))
	for i := range times {
		times[i] = 1_700_000_000_000_000_000 + int64(i)*1_000_000
	}
	const rawIP = 101
	return classic(binary.LittleEndian, 0xa1b2c3d4, 1000)(rawIP, packets, times)
}

func hostileFrame(t *testing.T, catalog *schema.Catalog, api *schema.API, plan *schema.Plan) []byte {
	document := map[string]any{"type": strings.ToUpper(plan.Message.Kind.String()), "apiName": api.Name, "apiVersion": plan.Version, "correlationId": 7,
		"payload": hostileValue(plan.Ops, 0)}
	if plan.Message.Kind == schema.Request {
		document["clientId"] = hostile
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	m, err := encode.Parse(catalog, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	frame, err := m.Encode(encode.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return frame
}

// hostileValue is a value of a field, hostile in all its texts.
func hostileValue(ops []schema.Op, at int32) any {
	op := &ops[at]
	switch op.Code {
	case schema.OpStruct:
		fields := map[string]any{}
		hostileFields(ops, at, fields)
		return fields
	case schema.OpArray:
		return []any{hostileValue(ops, at+1)}
	case schema.OpRecords:
		record := map[string]any{"key": hostile, "value": hostile, "headers": []any{map[string]any{"key": hostile, "value": hostile}}}
		return []any{map[string]any{"magic": 2, "compression": "none", "records": []any{record}}}
	case schema.OpString:
		return hostile
	case schema.OpBytes:
		return base64.StdEncoding.EncodeToString([]byte(hostile))
	case schema.OpUUID:
		return "AAAAAAAAAAAAAAAAAAAAAA"
	case schema.OpBool:
		return true
	}
	if op.Role == schema.ErrorCode {
		return 3
	}
	return 1
}

func hostileFields(ops []schema.Op, at int32, fields map[string]any) {
	for i := at + 1; i < ops[at].Next; i = ops[i].Next {
		if ops[i].Code == schema.OpTags {
			hostileFields(ops, i, fields)
			continue
		}
		fields[ops[i].JSON] = hostileValue(ops, i)
	}
}
