package filter_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/filter"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// read returns what JSON says of the exchanges of a capture that match, and of all for nil.
func read(t *testing.T, path string, c *filter.Criteria) []message {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var out bytes.Buffer
	var format render.Format = render.NewJSON(&out, render.Options{Records: render.RecordsFull})
	if c != nil {
		var matched atomic.Int64
		format = filter.Heads(c, filter.Exchanges(c, format, &matched, 0))
	}
	assembler := reassembly.New(dissect.New(schema.Embedded(), format.Needs(), format))
	var batch pcaps.Batch
	for {
		if err := source.Next(&batch); err != nil {
			if damage := (*pcaps.DamageError)(nil); err != io.EOF && !errors.As(err, &damage) {
				t.Fatal(err)
			}
			break
		}
		for i := range batch.Packets {
			assembler.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
	assembler.Close()
	format.Flush()
	var messages []message
	for line := range strings.Lines(out.String()) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Kind == "message" {
			m.line = line
			messages = append(messages, m)
		}
	}
	return messages
}

// A message is what the expectations are computed from: the line of JSON.
type message struct {
	Kind       string
	Number     int64
	Time       time.Time
	Connection struct {
		ID             int
		Client, Server string
	}
	Size   int
	Header struct {
		Type, APIName string
		APIKey        *int
		APIVersion    *int
		CorrelationID *int32
		ClientID      *string
	}
	Facts struct {
		Group, TransactionalID *string
		Topics                 []struct {
			Name, ID   string
			Partitions []int
		}
		Errors  []struct{ Name string }
		Session struct {
			Asks []struct {
				Name, ID    string
				Partition   int
				FetchOffset *int64
			}
		}
		Records int
	}
	Payload   map[string]any
	LatencyMs float64
	ExcessMs  float64
	Request   int64
	Findings  []struct{ Code string }

	line string
}

// An exchange is a request with its answer, either of which may be missing.
type exchange struct{ q, r *message }

func exchangesOf(all []message) []exchange {
	answers := map[int64]*message{}
	for i := range all {
		if m := &all[i]; m.Request > 0 {
			answers[m.Request] = m
		}
	}
	var list []exchange
	for i := range all {
		switch m := &all[i]; {
		case m.Header.Type == "REQUEST":
			list = append(list, exchange{m, answers[m.Number]})
		case m.Request == 0:
			list = append(list, exchange{nil, m})
		}
	}
	return list
}

// either tells whether something holds of the request or of the answer.
func (x exchange) either(holds func(m *message) bool) bool {
	return x.q != nil && holds(x.q) || x.r != nil && holds(x.r)
}

func (x exchange) head() *message {
	if x.q != nil {
		return x.q
	}
	return x.r
}

// looksUp tells whether a request asks for the coordinator of a group (0) or transactional id (1), "" for any.
func (m *message) looksUp(keyType float64, name string) bool {
	if m.Header.APIName != "FindCoordinator" || m.Header.Type != "REQUEST" {
		return false
	}
	asked, _ := m.Payload["keyType"].(float64)
	keys, _ := m.Payload["coordinatorKeys"].([]any)
	return asked == keyType && (name == "" || slices.Contains(append(keys, m.Payload["key"]), any(name)))
}

// recordsIn yields all objects of a payload that are records.
func recordsIn(value any, yield func(record map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		_, hasOffset := v["offset"]
		_, hasKey := v["key"]
		_, hasKeyBytes := v["keyBase64"]
		if hasOffset && (hasKey || hasKeyBytes) {
			yield(v)
		}
		for _, inner := range v {
			recordsIn(inner, yield)
		}
	case []any:
		for _, inner := range v {
			recordsIn(inner, yield)
		}
	}
}

// bytesOf returns a part of a record.
func bytesOf(record map[string]any, name string) []byte {
	if text, ok := record[name].(string); ok {
		return []byte(text)
	}
	text, _ := record[name+"Base64"].(string)
	b, _ := base64.StdEncoding.DecodeString(text)
	return b
}

func api(names ...string) func(exchange) bool {
	return func(x exchange) bool { return slices.Contains(names, x.head().Header.APIName) }
}

func where(t *testing.T, text string) *filter.Criteria {
	t.Helper()
	w, err := filter.ParseWhere(text, schema.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	return &filter.Criteria{Where: w}
}

func parsed[T any](t *testing.T, parse func(string) (T, error), texts ...string) (list []T) {
	t.Helper()
	for _, text := range texts {
		one, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// names tells whether a message names a topic, or its session does.
func names(topic string, partition int) func(m *message) bool {
	return func(m *message) bool {
		for _, a := range m.Facts.Session.Asks {
			if a.Name == topic && (partition < 0 || a.Partition == partition) {
				return true
			}
		}
		for _, one := range m.Facts.Topics {
			if one.Name == topic && (partition < 0 || slices.Contains(one.Partitions, partition)) {
				return true
			}
		}
		return false
	}
}

type filterCase struct {
	name     string
	criteria *filter.Criteria
	wants    func(x exchange) bool
}

func filterCases(t *testing.T) []filterCase {
	topic := func(texts ...string) *filter.Criteria {
		return &filter.Criteria{Topics: parsed(t, filter.ParseTopic, texts...)}
	}
	key := "key1"
	from, to := parsed(t, filter.ParseTime, "2026-11-29T20:07:48Z")[0], parsed(t, filter.ParseTime, "20:07:50.5")[0]
	return []filterCase{
		{"api", &filter.Criteria{APIs: []int16{0, 12}}, api("Produce", "Heartbeat")},
		{"two names", &filter.Criteria{APIs: []int16{1}, Connections: []int{26, 30, 31}}, func(x exchange) bool {
			return api("Fetch")(x) && slices.Contains([]int{26, 30, 31}, x.head().Connection.ID)
		}},
		{"client", &filter.Criteria{Clients: []filter.Pattern{filter.ParsePattern("pc-cons*"), filter.ParsePattern("consumer-?")}}, func(x exchange) bool {
			id := x.head().Header.ClientID
			return id != nil && (strings.HasPrefix(*id, "pc-cons") || strings.HasPrefix(*id, "consumer-") && len(*id) == 10)
		}},
		{"host", &filter.Criteria{Hosts: parsed(t, filter.ParseHost, "127.0.0.1:9092")}, func(x exchange) bool {
			return x.head().Connection.Server == "127.0.0.1:9092" || x.head().Connection.Client == "127.0.0.1:9092"
		}},
		{"network and port", &filter.Criteria{Hosts: parsed(t, filter.ParseHost, "10.0.0.0/8", ":9292")}, func(x exchange) bool {
			c := x.head().Connection
			return strings.HasPrefix(c.Client, "10.") || strings.HasPrefix(c.Server, "10.") || strings.HasSuffix(c.Server, ":9292") || strings.HasSuffix(c.Client, ":9292")
		}},
		{"correlation id", &filter.Criteria{CorrelationIDs: []int32{3, 7}}, func(x exchange) bool {
			id := x.head().Header.CorrelationID
			return id != nil && (*id == 3 || *id == 7)
		}},
		{"numbers", &filter.Criteria{Numbers: parsed(t, filter.ParseRange, "10-20", "33")}, func(x exchange) bool {
			return x.either(func(m *message) bool { return m.Number >= 10 && m.Number <= 20 || m.Number == 33 })
		}},
		{"time", &filter.Criteria{From: from}, func(x exchange) bool { return !x.head().Time.Before(time.Date(2026, 11, 29, 20, 7, 48, 0, time.UTC)) }},
		{"time of day", &filter.Criteria{To: to}, func(x exchange) bool {
			return x.head().Time.Format("15:04:05.000000000") <= "20:07:50.500000000"
		}},
		{"slow", &filter.Criteria{Slow: 5 * time.Millisecond}, func(x exchange) bool { return x.q != nil && x.r != nil && x.r.ExcessMs >= 5 }},
		{"errors", &filter.Criteria{Errors: true}, func(x exchange) bool { // of what is withheld only findings tell
			return x.r != nil && (len(x.r.Facts.Errors) > 0 || x.r.Header.APIName == "SaslAuthenticate" && strings.Contains(x.r.line, `(58) at`))
		}},
		{"topic", topic("pc-orders"), func(x exchange) bool { return x.either(names("pc-orders", -1)) }},
		{"partition", topic("pc-orders/2", "tx-in/0"), func(x exchange) bool {
			return x.either(names("pc-orders", 2)) || x.either(names("tx-in", 0))
		}},
		{"topics by pattern", topic("*-single"), func(x exchange) bool {
			return x.either(func(m *message) bool {
				for _, a := range m.Facts.Session.Asks {
					if strings.HasSuffix(a.Name, "-single") {
						return true
					}
				}
				for _, one := range m.Facts.Topics {
					if strings.HasSuffix(one.Name, "-single") {
						return true
					}
				}
				return false
			})
		}},
		{"group", &filter.Criteria{Groups: []filter.Pattern{filter.ParsePattern("pc-group")}}, func(x exchange) bool {
			return x.either(func(m *message) bool {
				return m.Facts.Group != nil && *m.Facts.Group == "pc-group" || m.looksUp(0, "pc-group")
			})
		}},
		{"transaction", &filter.Criteria{TransactionalIDs: []filter.Pattern{filter.ParsePattern("*")}}, func(x exchange) bool {
			return x.either(func(m *message) bool { return m.Facts.TransactionalID != nil || m.looksUp(1, "") })
		}},
		{"key", &filter.Criteria{Key: &key}, func(x exchange) bool {
			found := false
			x.either(func(m *message) bool {
				recordsIn(m.Payload, func(r map[string]any) { found = found || r["key"] == key })
				return found
			})
			return found
		}},
		{"grep", &filter.Criteria{Grep: regexp.MustCompile(`1[0-4]|trace`)}, func(x exchange) bool {
			found, re := false, regexp.MustCompile(`1[0-4]|trace`)
			x.either(func(m *message) bool {
				recordsIn(m.Payload, func(r map[string]any) {
					found = found || re.Match(bytesOf(r, "key")) || re.Match(bytesOf(r, "value"))
					headers, _ := r["headers"].([]any)
					for _, h := range headers {
						found = found || re.Match(bytesOf(h.(map[string]any), "key")) || re.Match(bytesOf(h.(map[string]any), "value"))
					}
				})
				return found
			})
			return found
		}},
		{"where: header", where(t, `api == "Fetch" && version >= 13 && excess > 3`), func(x exchange) bool {
			return api("Fetch")(x) && *x.head().Header.APIVersion >= 13 && x.q != nil && x.r != nil && x.r.ExcessMs > 3
		}},
		{"where: facts", where(t, `any(topics, .name == "pc-orders") and (len(errors) > 0 or api == "Produce")`), func(x exchange) bool {
			named := x.either(func(m *message) bool {
				return slices.ContainsFunc(m.Facts.Topics, func(t struct {
					Name, ID   string
					Partitions []int
				}) bool {
					return t.Name == "pc-orders"
				})
			})
			return named && (x.either(func(m *message) bool { return len(m.Facts.Errors) > 0 }) || api("Produce")(x))
		}},
		{"where: a name out of all", where(t, `$env["group"] == "pc-group"`), func(x exchange) bool {
			return x.either(func(m *message) bool { return m.Facts.Group != nil && *m.Facts.Group == "pc-group" })
		}},
		{"where: payload", where(t, `response.sessionId > 0 || request.acks == 0`), func(x exchange) bool {
			id, _ := x.payload(true, "sessionId").(float64)
			acks, ok := x.payload(false, "acks").(float64)
			return id > 0 || ok && acks == 0
		}},
		{"where: field", where(t, `any(field("highWatermark"), # > 40)`), func(x exchange) bool {
			return x.either(func(m *message) bool {
				high := false
				for _, found := range regexp.MustCompile(`"highWatermark":(\d+)`).FindAllStringSubmatch(m.line, -1) {
					high = high || len(found[1]) > 2 || len(found[1]) == 2 && found[1] > "40"
				}
				return high && m.Payload != nil
			})
		}},
	}
}

func (x exchange) payload(response bool, field string) any {
	m := x.q
	if response {
		m = x.r
	}
	if m == nil {
		return nil
	}
	return m.Payload[field]
}

// TestFilters holds what filters let through against what the JSON of everything says.
func TestFilters(t *testing.T) {
	paths := []string{"../testdata/midstream.pcap", "../testdata/sample.pcap", "../testdata/odd-frames.pcap"}
	for _, name := range []string{"java-4.4-produce-consume", "java-4.4-transactions", "sasl-plain-java", "large-messages"} {
		path := filepath.Join("../../shared/captures/real", name+".pcap")
		if _, err := os.Stat(path); err != nil {
			if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
				t.Fatal(err)
			}
			continue
		}
		paths = append(paths, path)
	}
	matched := map[string]int{}
	for _, path := range paths {
		all := exchangesOf(read(t, path, nil))
		for _, test := range filterCases(t) {
			var want, got []int64
			for _, x := range all {
				if test.wants(x) {
					x.either(func(m *message) bool { want = append(want, m.Number); return false })
				}
			}
			for _, m := range read(t, path, test.criteria) {
				got = append(got, m.Number)
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n got %v\nwant %v", filepath.Base(path), test.name, got, want)
			}
			if len(want) > 0 && len(want) < 2*len(all)-2 {
				matched[test.name] += len(want)
			}
		}
	}
	for _, test := range filterCases(t) {
		if matched[test.name] == 0 && len(paths) > 3 {
			t.Errorf("%s: nothing matches, or everything does", test.name)
		}
	}
}
