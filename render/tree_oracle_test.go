package render

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recordsOracle holds record buffers with what Kafka's own classes read out of them, one a line.
const recordsOracle = "../../shared/oracle/records.jsonl.gz"

type oracleBuffer struct {
	Name, Hex string
	Batches   []struct {
		Magic   int
		Records []oracleRecord
	}
}

type oracleRecord struct {
	Offset     int64
	Timestamp  *int64
	Key, Value *string
	Headers    [][]*string
}

// A shownRecord is a record as a tree shows it.
type shownRecord struct {
	offset, time string
	parts        []string // key, value, key of the first header, its value, and so on
}

func TestRecordsOfOracle(t *testing.T) {
	file, err := os.Open(recordsOracle)
	if err != nil {
		absent(t, recordsOracle)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 16<<20)
	records := 0
	for lines.Scan() {
		var buffer oracleBuffer
		if err := json.Unmarshal(lines.Bytes(), &buffer); err != nil {
			t.Fatal(err)
		}
		records += checkBuffer(t, &buffer)
	}
	if lines.Err() != nil || records == 0 {
		t.Errorf("%d records, %v", records, lines.Err())
	}
}

// checkBuffer wants a tree in full to show the records of a buffer, and returns how many there are.
func checkBuffer(t *testing.T, buffer *oracleBuffer) int {
	ask := produceTo(t, "t", unhex(t, buffer.Hex))
	text := tree(Options{Full: true, Records: RecordsFull}, ask)
	wantPlain(t, text)
	wantPlain(t, tree(Options{Full: true, Hex: true, Records: RecordsFull}, ask))
	wantPlain(t, tree(Options{Records: RecordsFull, MaxRecords: 3}, ask))
	shown, at := shownRecords(text), 0
	for _, batch := range buffer.Batches {
		for i := range batch.Records {
			if at == len(shown) {
				t.Errorf("%s: only %d records are shown:\n%s", buffer.Name, at, text)
				return at
			}
			if batch.Magic == 0 {
				batch.Records[i].Timestamp = nil
			}
			if wrong := shown[at].differs(&batch.Records[i]); wrong != "" {
				t.Errorf("%s: record %d, %+v: %s", buffer.Name, at, shown[at], wrong)
			}
			at++
		}
	}
	if at != len(shown) {
		t.Errorf("%s: %d records are shown, there are %d:\n%s", buffer.Name, len(shown), at, text)
	}
	return at
}

// shownRecords reads the records out of a tree.
func shownRecords(text string) (shown []shownRecord) {
	var r shownRecord
	flush := func() {
		if len(r.parts) >= 2 { // a compressed message has no value
			shown = append(shown, r)
		}
		r = shownRecord{}
	}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimLeft(line, " |+-"), " ")
		_, value, _ := strings.Cut(rest, "= ")
		switch {
		case strings.HasPrefix(name, "record["):
			flush()
			r.offset = word(rest, "offset=")
			r.time = strings.TrimSuffix(word(strings.Split(rest, " [")[0], "time="), "\n")
			if _, date, ok := strings.Cut(rest, "time=2"); ok && len(date) > 10 && date[3] == '-' {
				r.time = "2" + date[:22]
			}
		case name == "batch":
			flush()
		case name == "offset" && r.offset == "":
			r.offset = word(rest, "= ")
		case name == "timestamp" && r.time == "":
			if r.time = word(rest, "= "); strings.Contains(value, "(") {
				r.time = value[strings.Index(value, "(")+1 : strings.Index(value, ")")]
			}
		case r.offset != "" && (name == "key" || name == "value"):
			r.parts = append(r.parts, value[:strings.LastIndex(value, "len=")])
		}
	}
	flush()
	return shown
}

// word returns the word behind a text.
func word(line, behind string) string {
	_, rest, _ := strings.Cut(line, behind)
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// differs says what is shown wrong of a record.
func (r *shownRecord) differs(want *oracleRecord) string {
	if r.offset != fmt.Sprint(want.Offset) {
		return fmt.Sprintf("offset is %d", want.Offset)
	}
	if want.Timestamp != nil {
		date := time.UnixMilli(*want.Timestamp).UTC().Format("2006-01-02 15:04:05.000")
		if r.time != fmt.Sprint(*want.Timestamp) && (len(r.time) < 12 || !strings.HasSuffix(date, r.time)) {
			return fmt.Sprintf("timestamp is %d, %s", *want.Timestamp, date)
		}
	}
	parts := []*string{want.Key, want.Value}
	for _, header := range want.Headers {
		key := hex.EncodeToString([]byte(*header[0])) // the one that is not in hex
		parts = append(parts, &key, header[1])
	}
	if len(parts) != len(r.parts) {
		return fmt.Sprintf("it has %d parts", len(parts))
	}
	for i, part := range parts {
		if got, null := shownBytes(r.parts[i]); null != (part == nil) || !null && hex.EncodeToString(got) != *part {
			return fmt.Sprintf("part %d shows %x", i, got)
		}
	}
	return ""
}

// shownBytes returns the bytes that a payload is shown of.
func shownBytes(text string) (data []byte, null bool) {
	text = text[:strings.LastIndex(text, " (")]
	switch {
	case text == "null":
		return nil, true
	case strings.HasPrefix(text, "0x"):
		text, _, _ = strings.Cut(text[2:], " ")
		data, _ = hex.DecodeString(text)
		return data, false
	case strings.HasPrefix(text, `"`):
		unquoted, _ := strconv.Unquote(text)
		return []byte(unquoted), false
	}
	return bytes.Clone([]byte(text)), false
}
