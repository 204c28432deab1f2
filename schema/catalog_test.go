package schema

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kafkaMessages = "../../shared/kafka-messages"

// needKafkaMessages skips the test where Kafka's schema files are absent; where KDISSECT_REQUIRE_SHARED is set, that is a failure.
func needKafkaMessages(t *testing.T) {
	t.Helper()
	_, err := os.Stat(kafkaMessages)
	switch {
	case err == nil:
	case os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		t.Fatal(err)
	default:
		t.Skip("Kafka's schema files are not here: ", err)
	}
}

// The embedded catalog must lay out every version of every message as the release's own schema does. The versions
// that both releases describe differently are unstable in 3.9; the newer release's form is taken.
func TestCatalogMatchesKafkaSchemas(t *testing.T) {
	needKafkaMessages(t)
	differing := map[string]bool{
		"3.9.1/ReadShareGroupStateSummaryResponse v0": true,
		"3.9.1/ShareGroupMetadataValue v0":            true,
	}
	compared := 0
	for _, release := range []string{"3.9.1", "4.4.0"} {
		files, err := filepath.Glob(filepath.Join(kafkaMessages, release, "*", "*.json"))
		if err != nil || len(files) < 200 {
			t.Fatalf("%s: %d schema files, %v", release, len(files), err)
		}
		for _, file := range files {
			m := parseFile(t, file)
			if m.Kind == Data && strings.HasSuffix(m.Name, "Key") && m.Name != "ControlRecordTypeSchema" {
				continue // keys of 3.9 are compared by TestOldCoordinatorKeys
			}
			for v := m.ValidVersions.Low; v <= m.ValidVersions.High; v++ {
				name := m.Name
				if name = strings.Replace(name, "ListClientMetricsResources", "ListConfigResources", 1); differing[fmt.Sprintf("%s/%s v%d", release, m.Name, v)] {
					continue
				}
				got, want := layout(Embedded().PlanByName(name, v)), layout(compile(m, v))
				if got != want {
					t.Errorf("%s %s v%d:\n got %s\nwant %s", release, m.Name, v, got, want)
				}
				compared++
			}
		}
	}
	if compared < 1400 {
		t.Errorf("only %d layouts compared", compared)
	}
}

// In 3.9 the versions of a coordinator record's key are its record types.
func TestOldCoordinatorKeys(t *testing.T) {
	needKafkaMessages(t)
	files, _ := filepath.Glob(filepath.Join(kafkaMessages, "3.9.1", "*-coordinator", "*Key.json"))
	if len(files) < 10 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		m := parseFile(t, file)
		module := filepath.Base(filepath.Dir(file))
		for v := m.ValidVersions.Low; v <= m.ValidVersions.High; v++ {
			want := layout(compile(m, v))
			found := false
			for _, e := range Embedded().byName {
				if e.kind == CoordinatorKey && e.apiKey == v && strings.HasPrefix(e.path, module+"/") {
					found = true
					if got := layout(Embedded().PlanByName(e.name, 0)); got != want {
						t.Errorf("%s type %d is %s:\n got %s\nwant %s", m.Name, v, e.name, got, want)
					}
				}
			}
			if !found {
				t.Errorf("no key of record type %d in %s", v, module)
			}
		}
	}
}

func parseFile(t *testing.T, file string) *Message {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// layout writes down what a plan does to the bytes. Tagged fields are left out: a release may add one to a
// version that is already there, since readers that do not know it pass over it.
func layout(p *Plan) string {
	if p == nil {
		return "no plan"
	}
	var b strings.Builder
	writeLayout(&b, p, 0)
	return b.String()
}

func writeLayout(b *strings.Builder, p *Plan, at int32) {
	op := &p.Ops[at]
	fmt.Fprintf(b, "%d", op.Code)
	if op.Compact {
		b.WriteByte('c')
	}
	if op.Nullable {
		b.WriteByte('?')
	}
	b.WriteByte('(')
	for i := at + 1; i < op.Next && op.Code != OpTags; i = p.Ops[i].Next {
		writeLayout(b, p, i)
	}
	b.WriteByte(')')
}

// readOracle calls yield with each JSON object of the oracle's files that match a pattern.
func readOracle[T any](t *testing.T, pattern string, yield func(*T)) {
	t.Helper()
	needKafkaMessages(t)
	files, err := filepath.Glob(filepath.Join(kafkaMessages, "..", "oracle", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for decoder := json.NewDecoder(unzipped); ; {
			var line T
			if err := decoder.Decode(&line); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			yield(&line)
		}
	}
}
