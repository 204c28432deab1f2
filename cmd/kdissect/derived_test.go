package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
)

// A loggedExchange is a line of a broker's request log, or one that is printed in its shape.
type loggedExchange struct {
	Forwarded     bool   `json:"isForwarded"`
	Connection    string // host:port of the broker, host:port of the client, one or two numbers, with hyphens between
	RequestHeader map[string]any
	Request       any
	Response      any
}

// A logKey is what a line and a printed exchange have in common.
type logKey struct {
	server, client string // ports
	key, id        string
}

func (e *loggedExchange) logKey() logKey {
	var ports []string
	for _, end := range strings.Split(e.Connection, "-") {
		if at := strings.LastIndexByte(end, ':'); at >= 0 {
			ports = append(ports, end[at+1:])
		}
	}
	return logKey{ports[0], ports[1], fmt.Sprint(e.RequestHeader["requestApiKey"]), fmt.Sprint(e.RequestHeader["correlationId"])}
}

func keyOfFrame(f *wireFrame) logKey {
	port := func(i int) string { return strconv.Itoa(int(f.conn.ends[i].Port())) }
	return logKey{port(1), port(0), strconv.Itoa(int(f.key)), strconv.Itoa(int(f.id))}
}

// readLog reads exchanges, one a line.
func readLog(t *testing.T, r io.Reader) (all []*loggedExchange) {
	t.Helper()
	lines := bufio.NewReader(r)
	decoder := json.NewDecoder(lines)
	decoder.UseNumber()
	for decoder.More() {
		e := &loggedExchange{}
		if err := decoder.Decode(e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// brokerLog reads the log of a broker. A list of API versions stands in it once: "as in line 7".
func brokerLog(t *testing.T, path string) []*loggedExchange {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := readLog(t, f)
	for _, e := range all {
		response, _ := e.Response.(map[string]any)
		if text, ok := response["apiKeys"].(string); ok {
			line, err := strconv.Atoi(strings.TrimPrefix(text, "as in line "))
			if err != nil {
				t.Fatal(text)
			}
			response["apiKeys"] = all[line-1].Response.(map[string]any)["apiKeys"]
		}
	}
	return all
}

// masked is what a broker writes in place of what is secret.
var masked = regexp.MustCompile(`(?i)^[\[(]hidden[\])]$`)

// newNames are fields that the newest release calls otherwise than brokers before it.
var newNames = map[string]string{
	"generationId": "generationIdOrMemberEpoch", "candidateEpoch": "replicaEpoch", "candidateId": "replicaId",
	"candidateDirectoryId": "replicaDirectoryId", "clientMetricsResources": "configResources",
}

// differs says where a printed value is not the logged one, "" where it is.
func differs(path string, logged, got any) string {
	different := fmt.Sprintf("%s is %.80v, logged %.80v", path, got, logged)
	switch l := logged.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(l) {
			return different
		}
		for name, value := range l {
			if _, ok := g[name]; !ok && newNames[name] != "" {
				name = newNames[name]
			}
			if _, ok := g[name]; !ok {
				return path + " lacks " + name
			}
			if d := differs(path+"."+name, value, g[name]); d != "" {
				return d
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(l) {
			return different
		}
		for i := range l {
			if d := differs(fmt.Sprintf("%s[%d]", path, i), l[i], g[i]); d != "" {
				return d
			}
		}
	case json.Number:
		g, ok := got.(json.Number)
		if x, _ := l.Float64(); ok && g != l {
			y, err := g.Float64()
			ok = err == nil && x == y && strings.ContainsAny(l.String()+g.String(), ".eE")
		}
		if !ok {
			return different
		}
	case string:
		if l != got && !masked.MatchString(l) {
			return different
		}
	default:
		if logged != got {
			return different
		}
	}
	return ""
}

// withoutRecords takes records out of a value: the log has none of ShareFetch.
func withoutRecords(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "records")
		delete(v, "recordsSizeInBytes")
		for _, field := range v {
			withoutRecords(field)
		}
	case []any:
		for _, element := range v {
			withoutRecords(element)
		}
	}
}

const keyShareFetch = 78

// fault says what is wrong with a printed exchange of which the request is whole, and the response if answered.
func (e *loggedExchange) fault(got *loggedExchange, answered bool) string {
	for _, name := range []string{"requestApiKey", "requestApiVersion", "correlationId", "clientId"} {
		if d := differs("requestHeader."+name, e.RequestHeader[name], got.RequestHeader[name]); d != "" {
			return d
		}
	}
	if response, ok := e.Response.(map[string]any); !ok || fmt.Sprint(e.RequestHeader["requestApiKey"], response["errorCode"]) != "18 35" {
		if d := differs("request", e.Request, got.Request); d != "" { // a broker does not read an ApiVersions request of a version that it does not know
			return d
		}
	}
	if !answered {
		return ""
	}
	if e.RequestHeader["requestApiKey"] == json.Number(strconv.Itoa(keyShareFetch)) {
		withoutRecords(e.Response)
		withoutRecords(got.Response)
	}
	return differs("response", e.Response, got.Response)
}

// printedLog reads a capture and returns what is printed in the shape of a broker's log.
func printedLog(t *testing.T, path string) map[logKey][]*loggedExchange {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var out bytes.Buffer
	format := render.NewRequestLog(&out, io.Discard, render.Options{ShowSecrets: true, Records: render.RecordsSize})
	dissectTo(t, path, source, format)
	all := map[logKey][]*loggedExchange{}
	for _, e := range readLog(t, &out) {
		all[e.logKey()] = append(all[e.logKey()], e)
	}
	return all
}

// Captures of real traffic of which packets were taken away, moved, repeated or cut: each exchange of the broker's log whose bytes are all
// there has the values of the log, and each message whose bytes are there is printed, and no other.
func TestDerivedCaptures(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(needShared(t, "captures/real"), "*--*.pcap*"))
	if len(paths) < 15 {
		t.Fatalf("%d captures", len(paths))
	}
	for _, path := range paths {
		name := filepath.Base(path)
		base, _, _ := strings.Cut(path, "--")
		if filepath.Base(base) == "router-any-duplicates" {
			continue // each connection is in it several times, by other addresses
		}
		t.Run(name, func(t *testing.T) {
			w := readWire(t, base+".pcap")
			have := presenceOf(w, w.packetsFrom(t, path))
			checkLog(t, w, have, brokerLog(t, base+".requests.jsonl"), printedLog(t, path))
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var a tally
			messages, _ := printedOf(t, file)
			a.compare(w, have, messages)
			if t.Logf("%v", &a); a.faults() > 0 || a.whole < 100 {
				t.Errorf("%v\n\t%s", &a, strings.Join(a.examples, "\n\t"))
			}
		})
	}
}

// checkLog holds printed exchanges against the log.
func checkLog(t *testing.T, w *wireCapture, have presence, log []*loggedExchange, printed map[logKey][]*loggedExchange) {
	t.Helper()
	requests, answers := map[logKey][]*wireFrame{}, map[*wireFrame]*wireFrame{}
	for _, c := range w.conns {
		for _, f := range c.frames {
			if f.server {
				answers[f.request] = f
			} else {
				requests[keyOfFrame(f)] = append(requests[keyOfFrame(f)], f)
			}
		}
	}
	compared, answered := 0, 0
	for _, e := range log {
		key := e.logKey()
		if e.Forwarded {
			continue
		}
		if len(requests[key]) == 0 {
			t.Errorf("%v is in the log and not in the capture that lacks nothing", key)
			continue
		}
		f := requests[key][0]
		requests[key] = requests[key][1:]
		if !have.whole(f) {
			continue
		}
		compared++
		response := answers[f]
		whole := response != nil && have.whole(response)
		if whole {
			answered++
		}
		fault := "not printed"
		for i, got := range printed[key] {
			if fault = e.fault(got, whole); fault == "" {
				printed[key] = slices.Delete(printed[key], i, i+1)
				break
			}
		}
		if fault != "" {
			t.Errorf("%v: %s", f, fault)
		}
	}
	t.Logf("%d of %d lines of the log compared, %d with their answers", compared, len(log), answered)
}
