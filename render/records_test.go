package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// unescape takes the escapes of a cell back, by the rule that the documentation gives.
func unescape(t *testing.T, cell string) string {
	t.Helper()
	var b []byte
	for i := 0; i < len(cell); i++ {
		if cell[i] != '\\' {
			b = append(b, cell[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[cell[i]]
		if digits == 0 {
			plain, known := map[byte]byte{'\\': '\\', 'n': '\n', 'r': '\r', 't': '\t'}[cell[i]]
			if !known {
				t.Fatalf("an escape \\%c in %q", cell[i], cell)
			}
			b = append(b, plain)
			continue
		}
		n, err := strconv.ParseUint(cell[i+1:i+1+digits], 16, 32)
		if err != nil {
			t.Fatalf("%q: %v", cell, err)
		}
		if i += digits; digits == 2 {
			b = append(b, byte(n))
		} else {
			b = utf8.AppendRune(b, rune(n))
		}
	}
	return string(b)
}

// wantTame wants lines of the same number of cells, without anything that drives a terminal.
func wantTame(t *testing.T, lines []string, columns int) {
	t.Helper()
	for _, line := range lines {
		if n := strings.Count(line, "\t") + 1; n != columns {
			t.Fatalf("%d columns instead of %d in %q", n, columns, line)
		}
		for _, r := range line {
			if r != '\t' && (!unicode.IsPrint(r) || r == utf8.RuneError) {
				t.Fatalf("%U in %q", r, line)
			}
		}
	}
}

// messagesOf returns the messages that the format "json" has of a capture, by their numbers.
func messagesOf(t *testing.T, capture string, o Options) map[string]map[string]any {
	t.Helper()
	var out bytes.Buffer
	readCapture(t, capture, NewJSON(&out, o))
	all := map[string]map[string]any{}
	for line := range bytes.Lines(out.Bytes()) {
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if m["kind"] == "message" {
			all[fmt.Sprint(m["number"])] = m
		}
	}
	return all
}

// recordFields says where records are in the bodies that have any: topics, partitions and number of a partition, records.
var recordFields = map[string][4]string{
	"REQUEST Produce":        {"topicData", "partitionData", "index", "records"},
	"RESPONSE Fetch":         {"responses", "partitions", "partitionIndex", "records"},
	"RESPONSE ShareFetch":    {"responses", "partitions", "partitionIndex", "records"},
	"RESPONSE FetchSnapshot": {"topics", "partitions", "index", "unalignedRecords"},
}

// recordsIn walks the records of a message in JSON.
func recordsIn(m map[string]any, yield func(topic, partition string, record map[string]any)) {
	header := m["header"].(map[string]any)
	names, known := recordFields[fmt.Sprint(header["type"], " ", header["apiName"])]
	body, _ := m["payload"].(map[string]any)
	if !known || body == nil {
		return
	}
	topicNames, _ := m["topicNames"].(map[string]any)
	for _, topic := range list(body[names[0]]) {
		name := ""
		for _, field := range []string{"name", "topic", "topicId"} {
			if v, has := topic[field].(string); has {
				name = v
				break
			}
		}
		if known, has := topicNames[name].(string); has {
			name = known
		}
		for _, partition := range list(topic[names[1]]) {
			for _, batch := range list(partition[names[3]]) {
				for _, record := range list(batch["records"]) {
					yield(name, fmt.Sprint(partition[names[2]]), record)
				}
			}
		}
	}
}

func list(v any) []map[string]any {
	all, _ := v.([]any)
	var objects []map[string]any
	for _, one := range all {
		if object, is := one.(map[string]any); is {
			objects = append(objects, object)
		}
	}
	return objects
}

// bytesOf returns the bytes that JSON has under a name as text or base64. null tells that they are null.
func bytesOf(t *testing.T, object map[string]any, name string) (text string, null bool) {
	if packed, has := object[name+"Base64"].(string); has {
		raw, err := base64.StdEncoding.DecodeString(packed)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), false
	}
	text, has := object[name].(string)
	return text, !has
}

// A recordChecker holds lines of the format "records" against JSON.
type recordChecker struct {
	t                                 *testing.T
	lines                             []string
	plain, decoded, withheld, headers int
}

// text wants a cell to be bytes of the record.
func (c *recordChecker) text(cell, want string, null bool) {
	c.t.Helper()
	c.plain++
	if null != (cell == "-") || !null && unescape(c.t, cell) != want {
		c.t.Fatalf("%q for %q, null %v", cell, want, null)
	}
}

// structure wants a cell to be what JSON says of a decoded key or value.
func (c *recordChecker) structure(cell string, want any) {
	c.t.Helper()
	c.decoded++
	object := want.(map[string]any)
	text := unescape(c.t, cell)
	name, rest, _ := strings.Cut(text, " {")
	if got := strings.Fields(name); got[0] != object["name"] || len(got) > 1 && got[1] != fmt.Sprint("v", object["version"]) {
		c.t.Fatalf("%q for %v", cell, want)
	}
	d := json.NewDecoder(strings.NewReader("{" + rest))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil || !reflect.DeepEqual(value, object["value"]) {
		c.t.Fatalf("%q for %v", cell, want)
	}
	for _, inner := range list(object["nested"]) {
		if !strings.Contains(text, fmt.Sprint(" ", inner["path"], "=", inner["name"], " v", inner["version"], " {")) {
			c.t.Fatalf("%q lacks %v", cell, inner)
		}
	}
}

// record wants the next line to be a record.
func (c *recordChecker) record(number, topic, partition string, r map[string]any) {
	c.t.Helper()
	if len(c.lines) == 0 {
		c.t.Fatalf("no line for %v", r)
	}
	cells := strings.Split(c.lines[0], "\t")
	c.lines = c.lines[1:]
	if unescape(c.t, cells[0]) != topic || cells[1] != partition || cells[2] != fmt.Sprint(r["offset"]) || cells[7] != number {
		c.t.Fatalf("%q for %s %s %v of %s", cells, topic, partition, r, number)
	}
	c.timestamp(cells[3], r["timestamp"])
	key, null := bytesOf(c.t, r, "key")
	switch {
	case r["control"] != nil && r["control"] != "":
		c.text(cells[4], fmt.Sprint("control ", r["control"]), false)
	case r["keyDecoded"] != nil:
		c.structure(cells[4], r["keyDecoded"])
	default:
		c.text(cells[4], key, null)
	}
	value, null := bytesOf(c.t, r, "value")
	switch {
	case r["valueDecoded"] != nil:
		c.structure(cells[5], r["valueDecoded"])
	case r["valueWithheld"] != nil:
		c.withheld++
		c.text(cells[5], "[withheld]", false)
	default:
		c.text(cells[5], value, null)
	}
	c.header(cells[6], r)
}

func (c *recordChecker) timestamp(cell string, want any) {
	c.t.Helper()
	if cell == "-" {
		if want != nil && fmt.Sprint(want) != "-1" {
			c.t.Fatalf("no timestamp for %v", want)
		}
		return
	}
	ms := cell
	if at, err := time.Parse(time.RFC3339, cell); err == nil {
		ms = fmt.Sprint(at.UnixMilli())
	}
	if ms != fmt.Sprint(want) {
		c.t.Fatalf("%s for %v", cell, want)
	}
}

func (c *recordChecker) header(cell string, r map[string]any) {
	c.t.Helper()
	headers := list(r["headers"])
	if cell == "-" || cell == "[withheld]" {
		if len(headers) > 0 {
			c.t.Fatalf("%s for %v", cell, headers)
		}
		return
	}
	got := strings.Split(cell, ",")
	if len(got) != len(headers) {
		c.t.Fatalf("%q for %v", got, headers)
	}
	for i, h := range headers {
		c.headers++
		key, value, _ := strings.Cut(got[i], "=")
		want, null := bytesOf(c.t, h, "key")
		c.text(key, want, null)
		want, null = bytesOf(c.t, h, "value")
		c.text(value, want, null)
	}
}

// The lines of "records" are the records that JSON has, in its order: topic, partition, offset, timestamp, key, value, headers and message.
func TestRecordsAreThoseOfJSON(t *testing.T) {
	sum := recordChecker{}
	for _, name := range append(captures(t), capturesIn(t, casesDir)...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var out, log bytes.Buffer
			readCapture(t, name, NewRecords(&out, &log, Options{Continued: true}))
			c := recordChecker{t: t, lines: strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")}
			if out.Len() == 0 {
				c.lines = nil
			}
			wantTame(t, c.lines, len(recordColumns))
			messages := messagesOf(t, name, Options{Records: RecordsFull})
			for n := 1; n <= len(messages); n++ {
				number := strconv.Itoa(n)
				recordsIn(messages[number], func(topic, partition string, r map[string]any) { c.record(number, topic, partition, r) })
			}
			if len(c.lines) > 0 {
				t.Fatalf("%d lines that JSON does not have: %q", len(c.lines), c.lines[0])
			}
			sum.plain, sum.decoded, sum.withheld, sum.headers = sum.plain+c.plain, sum.decoded+c.decoded, sum.withheld+c.withheld, sum.headers+c.headers
		})
	}
	t.Logf("%d texts, %d structures, %d withheld values, %d headers", sum.plain, sum.decoded, sum.withheld, sum.headers)
	if sum.plain < 10000 || sum.decoded < 100 || sum.headers < 100 {
		t.Error("too few to tell")
	}
}

// recordLines returns the lines of "records" for some messages, and what goes to the log but for requests that have no answer.
func recordLines(o Options, steps ...step) (lines []string, log string) {
	var out, notes bytes.Buffer
	o.Continued = true
	r := NewRecords(&out, &notes, o)
	converse(r, steps...)
	r.Flush()
	for line := range strings.Lines(notes.String()) {
		if !strings.HasPrefix(line, "info unanswered ") {
			log += line
		}
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), log
}

func TestRecordLines(t *testing.T) {
	control := produceTo(t, "t", recordBatch(t, 0x30, 1, unhex(t, `20 00 00 00 08 0000 0001 0c 0000 00000005 00`)))
	commit := produceTo(t, "__consumer_offsets", recordBatch(t, 0, 1, unhex(t, offsetCommit)))
	// Key "-", value null and one header "a,b" = null; then key "", value "1\t\x1b\xff" and headers "=" = "-".
	odd := produceTo(t, "t", recordBatch(t, 0, 2, unhex(t, `18 00 00 00 02 2d 01 02 06 61 2c 62 01  1c 00 00 02 00 08 31 09 1b ff 02 02 3d 02 2d`)))
	long := produceTo(t, "t", recordBatch(t, 0, 1, unhex(t, `1a 00 00 00 01 0e 61 62 63 c3 a9 66 67 00`)))
	for want, s := range map[string]step{
		"t	3	7	2026-11-29T10:00:00.000Z	control COMMIT	EndTxnMarker v0 {\"coordinatorEpoch\":5}	-	1": control,
		"__consumer_offsets	3	7	2026-11-29T10:00:00.000Z	OffsetCommitKey {\"group\":\"g\",\"topic\":\"orders\",\"partition\":0}	" +
			"OffsetCommitValue v3 {\"offset\":17,\"leaderEpoch\":-1,\"metadata\":\"\",\"commitTimestamp\":1795946400000}	-	1": commit,
		"t	3	7	2026-11-29T10:00:00.000Z	\\x2d	-	a\\x2cb=-	1\n" +
			"t	3	8	2026-11-29T10:00:00.000Z		1\\t\\x1b\\xff	\\x3d=\\x2d	1": odd,
		"t	3	7	2026-11-29T10:00:00.000Z	-	abcéfg	-	1": long,
	} {
		lines, log := recordLines(Options{}, s)
		if got := strings.Join(lines, "\n"); got != want || log != "" {
			t.Errorf("%s\nwant\n%s\nlog %s", got, want, log)
		}
	}
	if lines, _ := recordLines(Options{MaxBytes: 4}, long); !strings.Contains(lines[0], "\tabc... 4 more bytes\t") {
		t.Errorf("%q", lines)
	}
	if lines, _ := recordLines(Options{Time: TimeRelative}, odd); !strings.Contains(lines[0], "\t1795946400.000000\t") {
		t.Errorf("%q", lines)
	}
}

// What cannot be read is told, and what can be is there.
func TestRecordsThatCannotBeRead(t *testing.T) {
	whole := recordBatch(t, 0, 2, unhex(t, twoRecords))
	short := seal(append(bytes.Clone(whole[:len(whole)-5]), 0))
	flipped := bytes.Clone(whole)
	flipped[17] ^= 1
	lines, log := recordLines(Options{}, produceTo(t, "t", bytes.Join([][]byte{flipped, short, recordBatch(t, 1, 2, []byte("no gzip")), whole[:40]}, nil)))
	if len(lines) != 3 {
		t.Errorf("%d lines instead of 3: %q", len(lines), lines)
	}
	for _, code := range []string{"crc-mismatch", "bad-record", "decompression"} {
		if strings.Count(log, "warn "+code+" c3 ") != 1 {
			t.Errorf("%s is not told once:\n%s", code, log)
		}
	}
}

// What the tree withholds of records is not in lines either.
func TestRecordLinesHideSecrets(t *testing.T) {
	value := append(append(append(unhex(t, `01 0b 00 04 626f62 01 05`), "salt\x0bstored-key\x0bserver-key"...), unhex(t, `00001000`)...), 0)
	record := append(append(unhex(t, `5c 00 00 00 01 50`), value...), 0)
	odd := append(append(unhex(t, `20 00 00 00 01 14`), "stored-key"...), 0)
	for name, batch := range map[string][]byte{
		"plain": recordBatch(t, 0, 1, record), "gzip": recordBatch(t, 1, 1, gzipped(t, record)), "of no known layout": recordBatch(t, 0, 1, odd),
	} {
		ask := produceTo(t, "__cluster_metadata", batch)
		lines, log := recordLines(Options{}, ask)
		if len(lines) != 1 || !strings.Contains(lines[0], "\t[withheld]\t") || strings.Contains(lines[0]+log, "key") {
			t.Errorf("%s: %q %s", name, lines, log)
		}
		if lines, _ := recordLines(Options{ShowSecrets: true}, ask); !strings.Contains(lines[0], "stored-key") && !strings.Contains(lines[0], base64.StdEncoding.EncodeToString([]byte("stored-key"))) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}
