package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// leafPaths adds the paths of all values in a body, with [] for the elements of arrays.
func leafPaths(value any, at string, paths map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			leafPaths(inner, strings.TrimPrefix(at+"."+name, "."), paths)
		}
	case []any:
		for _, inner := range v {
			leafPaths(inner, at+"[]", paths)
		}
	case nil: // it may be an array or a structure
	default:
		paths[at] = true
	}
}

// follow returns the values that a path leads to in a body.
func follow(value any, path string) []string {
	if array, is := value.([]any); is && strings.HasPrefix(path, "[]") {
		var all []string
		for _, inner := range array {
			all = append(all, follow(inner, strings.TrimPrefix(path[2:], "."))...)
		}
		return all
	}
	if path == "" {
		if value == nil {
			return []string{""}
		}
		return []string{fmt.Sprint(value)}
	}
	object, is := value.(map[string]any)
	if !is {
		return nil
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	inner, has := object[path[:end]]
	if whole, records := strings.CutSuffix(path, "SizeInBytes"); records && !has {
		inner, has = object[whole] // null
	}
	if rest := strings.TrimPrefix(path[end:], "."); has && (inner != nil || rest == "") {
		return follow(inner, rest)
	}
	return nil
}

// Each column of a table has what JSON has in the same place: of the facts, and of every field that any body of the captures has.
func TestTablesHaveWhatJSONHas(t *testing.T) {
	facts := "number,request,time,connection,client,clientId,server,api,apiKey,version,correlationId,size,responseSize,latency,queued,service,transfer,excess," +
		"group,member,transactionalId,acks,records,recordBytes,topics"
	names := strings.Split(facts, ",")
	cells, bodies := 0, 0
	for _, capture := range append(captures(t), capturesIn(t, casesDir)...) {
		t.Run(filepath.Base(capture), func(t *testing.T) {
			messages := messagesOf(t, capture, Options{})
			paths := map[string]bool{}
			for _, m := range messages {
				kind := strings.ToLower(fmt.Sprint(m["header"].(map[string]any)["type"]))
				if m["header"].(map[string]any)["apiKey"] != nil { // else it is a raw token
					leafPaths(m["payload"], kind, paths)
				}
			}
			fields := append(slices.Clone(names), slices.Sorted(maps.Keys(paths))...)
			columns, err := Columns(strings.Join(fields, ","), schema.Embedded())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			readCapture(t, capture, NewTSV(&out, io.Discard, columns, Options{}))
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			wantTame(t, lines, len(columns))
			if bodies < 1000 {
				out.Reset()
				readCapture(t, capture, NewCSV(&out, io.Discard, columns, Options{}))
				wantSameTable(t, lines, out.String())
			}
			if lines[0] != strings.Join(fields, "\t") {
				t.Fatalf("first line %s", lines[0])
			}
			for _, line := range lines[1:] {
				row := map[string]string{}
				for i, cell := range strings.Split(line, "\t") {
					row[fields[i]] = cell
				}
				request, response := messages[row["request"]], messages[row["number"]]
				if row["request"] == row["number"] {
					response = nil
				}
				wantFacts(t, row, request, response)
				for path := range paths {
					m := request
					if strings.HasPrefix(path, "response") {
						m = response
					}
					wantCell(t, row, path, m)
					cells++
				}
				bodies++
			}
		})
	}
	t.Logf("%d lines, %d cells of bodies", bodies, cells)
	if cells < 100000 {
		t.Error("too few to tell")
	}
}

// wantSameTable wants comma-separated values to be the lines of tab-separated ones.
func wantSameTable(t *testing.T, lines []string, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(lines) {
		t.Fatalf("%d rows instead of %d: %v", len(rows), len(lines), err)
	}
	for i := range rows {
		if strings.Join(rows[i], "\t") != lines[i] {
			t.Fatalf("%q for %q", rows[i], lines[i])
		}
	}
}

// wantCell wants a cell to have what the path of its name leads to in a message.
func wantCell(t *testing.T, row map[string]string, path string, m map[string]any) {
	t.Helper()
	var want []string
	if m != nil {
		_, inside, _ := strings.Cut(path, ".")
		want = follow(m["payload"], inside)
		if m["payloadWithheld"] != nil {
			if row[path] != withheldCell && row[path] != "" {
				t.Fatalf("%s is %q of a message whose payload is withheld", path, row[path])
			}
			return
		}
	}
	got := []string{row[path]}
	if strings.Contains(path, "[]") {
		got = strings.Split(row[path], ",")
	}
	for i := range got {
		got[i] = unescape(t, got[i])
		if object := map[string]any(nil); strings.HasPrefix(got[i], "{") {
			d := json.NewDecoder(strings.NewReader(got[i]))
			d.UseNumber()
			if d.Decode(&object) == nil {
				got[i] = fmt.Sprint(object)
			}
		}
	}
	if len(want) == 0 {
		want = []string{""}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s is %q in line %s, JSON has %q", path, got, row["number"], want)
	}
}

// wantFacts wants the facts of an exchange to be those of its messages in JSON.
func wantFacts(t *testing.T, row map[string]string, request, response map[string]any) {
	t.Helper()
	leading := request
	if leading == nil {
		leading = response
	}
	text := func(value any) string {
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	header, connection := leading["header"].(map[string]any), leading["connection"].(map[string]any)
	want := map[string]string{
		"time": text(leading["time"]), "connection": text(connection["id"]), "client": text(connection["client"]), "server": text(connection["server"]),
		"clientId": text(header["clientId"]), "api": text(header["apiName"]), "correlationId": text(header["correlationId"]),
	}
	if leading["inferred"] == nil {
		want["apiKey"], want["version"] = text(header["apiKey"]), text(header["apiVersion"])
	}
	if request != nil {
		want["size"] = text(request["size"])
	}
	if response != nil {
		want["responseSize"] = text(response["size"])
		for _, part := range []string{"latency", "queued", "service", "transfer", "excess"} {
			want[part] = text(response[part+"Ms"])
		}
	}
	for _, name := range []string{"group", "member", "transactionalId", "acks", "records", "recordBytes"} {
		want[name] = ""
		for _, m := range []map[string]any{request, response} {
			if facts, _ := m["facts"].(map[string]any); facts != nil && want[name] == "" {
				want[name] = text(facts[name])
			}
		}
	}
	for name, value := range want {
		if unescape(t, row[name]) != value {
			t.Fatalf("%s is %q in line %s, JSON has %q", name, row[name], row["number"], value)
		}
	}
}

func TestPaths(t *testing.T) {
	for fields, want := range map[string]string{
		"apiName":                   "there is no field apiName; there are number, ",
		"latncy":                    "there is no field latncy: did you mean latency?",
		"time, api":                 "",
		"payload.throttleTimeMs":    "",
		"payload.throttleTime":      "payload.throttleTime: there is no field throttleTime in the body of any message: did you mean throttleTimeMs?",
		"request.throttleTimeMs[0]": "in the body of any request",
		"payload.responses[].partitionResponses[].errorCode":   "",
		"payload.responses.partitionResponses.errorCode":       "",
		"payload.responses[0].partitionResponses[*].errorCode": "",
		"payload.responses[x].name":                            "responses[x]: behind a name an element stands as [0], all elements as []",
		"payload.responses[0].partitionResponses[0].errCode":   "there is no field errCode in partitionResponses: did you mean errorCode?",
		"payload.errorCode[]":                                  "errorCode in the body of any message is a single value",
		"payload.topicData[].partitionData[].records":          "there is no field records in partitionData; it has ",
		"response.topicData":                                   "there is no field topicData in the body of any response",
		"payload.":                                             `"" lacks the name of a field`,
		"payload":                                              "there is no field payload",
	} {
		_, err := Columns(fields, schema.Embedded())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
}

// A column of a payload has the answer's field, or the request's where the answer lacks it.
func TestPayloadColumns(t *testing.T) {
	columns, err := Columns("number,payload.timeoutMs,payload.responses[0].partitionResponses[0].baseOffset,payload.topicData[0].partitionData,payload.responses[1].name", schema.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := dissectFile(t, "../testdata/sample.pcap", NewTSV(&out, io.Discard, columns, Options{})); err != nil {
		t.Fatal(err)
	}
	// Message 7 has 144 bytes: size 4, header 19, transactional id 2, acks 2, timeout 4, count 4, name 6, count 4, index 4, length 4, batch.
	// Its client waits for 30 s at most, and message 8 says offset 0.
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "8\t") && line != "8\t30000\t0\t"+`[{"index":0,"recordsSizeInBytes":91}]`+"\t\n" {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(out.String(), "\n8\t") {
		t.Error("no line of message 8")
	}
}

// Separators inside of values are escaped.
func TestEscapeAlso(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", ",": `\x2c`, "a,b=c": `a\x2cb\x3dc`, ",,": `\x2c\x2c`} {
		if got := string(escapeAlso([]byte(","+text), 1, ",=")); got != ","+want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Whatever a text is, its cell is one cell, tells no terminal what to do, and is that text again once the escapes are taken back.
func FuzzRecordText(f *testing.F) {
	for _, seed := range []string{"", "-", "a\tb\nc", "\x1b[31m", "\u202e", `\`, "\xff\xfe", "\u00a0", ",=", "\x7f", "\U000e0001"} {
		f.Add([]byte(seed))
	}
	r := &Records{}
	f.Fuzz(func(t *testing.T, text []byte) {
		cell := string(r.appendText(nil, text))
		wantTame(t, []string{cell}, 1)
		if text != nil && (cell == "-" || unescape(t, cell) != string(text)) {
			t.Errorf("%q for %q", cell, text)
		}
		part := string(escapeAlso([]byte(cell), 0, ",="))
		if strings.ContainsAny(part, ",=") || unescape(t, part) != unescape(t, cell) {
			t.Errorf("%q for %q", part, cell)
		}
	})
}

// tableOf returns the lines of a table about some messages.
func tableOf(t *testing.T, fields string, o Options, steps ...step) string {
	t.Helper()
	columns, err := Columns(fields, schema.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	f := NewTSV(&out, &log, columns, o)
	converse(f, steps...)
	f.Flush()
	return out.String() + log.String()
}

func TestTablesHideSecrets(t *testing.T) {
	ask := request(frame(unhex(t, `0024 0001 00000002 0000 0000 000e`), []byte("\x00alice\x00hunter2")))
	answer := response(frame(unhex(t, `00000002 003a 0007`), []byte("hunter2"), unhex(t, `00000007`), []byte("hunter2"), unhex(t, `0000000000000000`)))
	body := append(unhex(t, `002c 0000 00000001 0000  00000001 02 0001 74 00000002 0001`), "a"...)
	body = append(append(body, 0, 0, 4), "open"...)
	body = append(append(body, 0, 12), "ssl.password"...)
	body = append(append(body, 0, 0, 7), "hunter2"...)
	alter := request(frame(body, []byte{0}))
	fields := "what,error,payload.errorMessage,request.authBytes,response.authBytes,request.resources[].configs[].value,request.resources,payload.throttleTimeMs"
	text := tableOf(t, fields, Options{}, ask, answer, alter)
	if shows(text, "hun") || shows(text, "aHVud") || strings.Count(text, withheldCell) != 3 || strings.Count(text, "[hidden]") != 2 || !strings.Contains(text, "open") {
		t.Errorf("secrets:\n%s", text)
	}
	if text := tableOf(t, fields, Options{ShowSecrets: true}, ask, answer, alter); strings.Count(text, "hunter2") < 3 {
		t.Errorf("no secrets:\n%s", text)
	}
}

// Text of the wire stays in its cell: a mechanism and the name of a library with escape sequences and separators.
func TestTablesAreTame(t *testing.T) {
	login := request(frame(unhex(t, `0011 0001 00000001 0003`), []byte("a,b"), unhex(t, `0006`), []byte("P\t\x1b[1m")))
	hello := request(frame(unhex(t, `0012 0003 00000002 0003`), []byte("a,b"), unhex(t, `00 0b`), []byte("\u202e\x1b[31m\n\xff"), []byte("\x02x\x00")))
	text := tableOf(t, strings.Join(ColumnNames(), ",")+",request.mechanism,request.clientSoftwareName", Options{}, login, hello)
	lines := strings.Split(text, "\n")
	wantTame(t, lines[:3], len(tableColumns)+2)
	if !strings.Contains(lines[1], `P\t\x1b[1m`) || !strings.Contains(lines[2], `\u202e\x1b[31m\n\xff`) {
		t.Error(text)
	}
	var out bytes.Buffer
	converse(NewSummary(&out, io.Discard, Options{}), login, hello)
	wantPlain(t, strings.ReplaceAll(out.String(), "\t", ""))
}
