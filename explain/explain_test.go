package explain

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/encode"
	"github.com/kdissect/kdissect/schema"
)

// eachPart makes the page of every message of the catalog in every version.
func eachPart(t *testing.T, f func(*Page, *Part)) {
	t.Helper()
	parts := 0
	catalog := schema.Embedded()
	for _, name := range catalog.Names() {
		versions, _ := catalog.Versions(name)
		for v := versions.Low; v <= versions.High; v++ {
			p, err := NewPage(catalog, name, v)
			if err != nil {
				t.Fatalf("%s v%d: %v", name, v, err)
			}
			for _, part := range p.Parts {
				parts++
				f(p, part)
			}
		}
	}
	if parts < 850 {
		t.Errorf("only %d parts", parts)
	}
}

// Every smallest message is read back without a finding and without a byte left over.
func TestSmallestMessagesAreLegal(t *testing.T) {
	eachPart(t, func(_ *Page, part *Part) {
		tape := part.dissected.Tape()
		if len(part.dissected.Findings) > 0 {
			t.Errorf("%s: %v", part.Title(), part.dissected.Findings)
		}
		if last := tape[len(tape)-1]; int(last.Offset+last.Length) != len(part.Bytes) {
			t.Errorf("%s: the tape ends at %d", part.Title(), last.Offset+last.Length)
		}
	})
}

// Every example can be encoded, every field given a value, and what comes out is read without a finding.
func TestExamplesCanBeEncoded(t *testing.T) {
	catalog := schema.Embedded()
	eachPart(t, func(_ *Page, part *Part) {
		example := part.Example()
		if part.Message.Kind == schema.Header {
			return // it stands in front of messages, and is none by itself
		}
		m, err := encode.Parse(catalog, example)
		if err != nil {
			t.Errorf("%s: %v\n%s", part.Title(), err, example)
			return
		}
		frame, err := m.Encode(encode.Options{})
		if err != nil {
			t.Errorf("%s: %v\n%s", part.Title(), err, example)
			return
		}
		if part.Plan.Header == nil {
			return
		}
		back := dissect.NewGiven(catalog).Whole(frame, part.Plan)
		back.Tape()
		for _, f := range back.Findings {
			if f.Severity > dissect.Info {
				t.Errorf("%s: %v", part.Title(), f)
			}
		}
	})
}

// The schema that is shown can be read, is that of the catalog, and explains every field.
func TestSchemasAreExplained(t *testing.T) {
	catalog := schema.Embedded()
	name, about := regexp.MustCompile(`\{ "name": "[^"]*", "type"`), regexp.MustCompile(`"about": "[^"]+"`)
	for _, message := range catalog.Names() {
		m, err := catalog.Message(message)
		if err != nil {
			t.Fatal(err)
		}
		text := m.Format(true)
		fields, texts := len(name.FindAll(text, -1)), len(about.FindAll(text, -1))
		if fields != texts {
			t.Errorf("%s: %d fields, %d explanations", message, fields, texts)
		}
		again, err := schema.Parse(message, text)
		if err != nil {
			t.Errorf("%s: %v", message, err)
			continue
		}
		if got, want := again.Format(false), m.Format(false); !bytes.Equal(got, want) {
			t.Errorf("%s is read back as\n%s\nwant\n%s", message, got, want)
		}
	}
}

// What is known of DescribeLogDirs v5 from its KIP (KIP-1066) and from the sources of Kafka.
func TestDescribeLogDirs(t *testing.T) {
	p, err := NewPage(schema.Embedded(), "35", 5, schema.Response)
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.AppendText(nil, false))
	for _, want := range []string{
		"DescribeLogDirs v5\n", "API key             35\n", "4.4.0, not in 3.9.1\n",
		"CLUSTER_AUTHORIZATION_FAILED", "KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION",
		"| ThrottleTimeMs | ErrorCode | Results ", "| IsCordoned | tagged fields |", `"name": "IsCordoned", "type": "bool", "versions": "5+"`, `"isCordoned": true`,
		// size 4, correlation id 4, tags 1, throttle time 4, error 2, one result: error 2, directory 1, one topic: name 1, one partition 4+8+8+1+1, tags 1;
		// the sizes of the disk 16, cordoned 1, tags 1; each array has a byte in front, and the body ends with tags
		"DescribeLogDirsResponse v5, response header v1, 64 bytes on the wire",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestAvailability(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		want    string
	}{
		{"AlterReplicaLogDirs", 0, "3.9.1, not in 4.4.0"}, // KIP-896 removed it
		{"AlterReplicaLogDirs", 2, "3.9.1 and 4.4.0"},
		{"Produce", 13, "4.4.0, not in 3.9.1"},     // KIP-516
		{"LeaderAndIsr", 7, "3.9.1, not in 4.4.0"}, // there is no ZooKeeper any more
		{"ShareFetch", 0, "3.9.1 (not released yet), not in 4.4.0"},
		{"OffsetCommitKey", 0, "3.9.1 and 4.4.0"},
		{"LegacyOffsetCommitKey", 0, "3.9.1 and 4.4.0"},
	} {
		p, err := NewPage(schema.Embedded(), c.name, c.version, schema.Request, schema.Response)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := p.availability(); got != c.want {
			t.Errorf("%s v%d: %s, want %s", c.name, c.version, got, c.want)
		}
	}
}

func TestNamesThatAreUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"Fecth":             `unknown API "Fecth": did you mean Fetch?`,
		"producer":          `unknown API "producer": did you mean Produce?`,
		"OffsetCommitValeu": `unknown API "OffsetCommitValeu": did you mean OffsetCommitValue?`,
		"9999":              `unknown API key 9999`,
		"":                  `unknown API ""`,
	} {
		if _, err := NewPage(schema.Embedded(), name, Newest, schema.Request); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	_, err := NewPage(schema.Embedded(), "fetch", 99, schema.Request)
	if want := "Fetch has no version 99; it has 0-18"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestJSONOfAStructure(t *testing.T) {
	p, err := NewPage(schema.Embedded(), "offsetcommitkey", Newest)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		APIKey    int16
		Structure struct{ Hex string }
	}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	// record type 1, group and topic of length 0, partition 0
	if page.APIKey != 1 || page.Structure.Hex != "00010000000000000000" {
		t.Errorf("%+v", page)
	}
}

const seed = "../../shared/seeds/004_50bcf987127a4b9a.txt"

// The drafts of a KIP are explained from its page as it was saved, in its own words.
func TestDraftsOfAPage(t *testing.T) {
	if _, err := os.Stat(seed); err != nil {
		if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	catalog, err := schema.Extend(&schema.Extension{Sources: []string{seed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		// size, correlation id, tags, throttle time, error, message, and one topic with one partition: 4+4+1+4+2+1+1+(1+1+4+8+4+2+1)+1+1
		"LastMirroredOffsets": "LastMirroredOffsetsResponse v0, response header v1, 40 bytes on the wire",
		// the same with a state of 1 byte
		"ReadMirrorStates": "ReadMirrorStatesResponse v0, response header v1, 41 bytes on the wire",
		// header 15, name, one topic with one partition of 4+8+4+1+1, removed topics 2, tags
		"WriteMirrorStates":        "WriteMirrorStatesRequest v0, request header v2, 41 bytes on the wire",
		"LastMirroredOffsetsKey":   "LastMirroredOffsetsKey v0, 4 bytes",
		"LastMirroredOffsetsValue": "LastMirroredOffsetsValue v0, 24 bytes",
	} {
		p, err := NewPage(catalog, name, Newest, schema.Request, schema.Response)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Parts) != 1 || p.Parts[0].Title() != want {
			t.Errorf("%s: %s, want %s", name, p.Parts[0].Title(), want)
		}
		if p.Parts[0].Message.Fields[0].About(p.Parts[0].Message) == "" {
			t.Errorf("%s: no explanation", name)
		}
	}
}

// What changed from 3.9.1 to 4.4.0, where the schema files of both are at hand: facts from the KIPs named.
func TestDiff(t *testing.T) {
	const messages = "../../shared/kafka-messages/"
	if _, err := os.Stat(messages); err != nil {
		if os.Getenv("KDISSECT_REQUIRE_SHARED") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	older, err := schema.ReadRelease(messages + "3.9.1")
	if err != nil {
		t.Fatal(err)
	}
	newer, err := schema.ReadRelease(messages + "4.4.0")
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + Diff(older, newer)
	for _, want := range []string{
		"~ FetchRequest: versions 0-17 -> 4-18",                                     // KIP-896 removed the old, KIP-1166 added 18
		"- LeaderAndIsrRequest: gone, with versions 0-7",                            // no ZooKeeper
		"~ ListClientMetricsResourcesRequest: is called ListConfigResourcesRequest", // KIP-1142
		"+ DescribeLogDirsResponse.Results.IsCordoned: bool, versions 5",            // KIP-1066
		"+ OffsetCommitValue.topicId: uuid, versions 4, tag 0",                      // KIP-848
		"+ UnregisterControllerRequest: new, versions 0",
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "~ OffsetCommitKey") {
		t.Error("the form of a key is taken for a change")
	}
}
