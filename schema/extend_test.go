package schema

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

const probe = `{ "apiKey": 12, "type": "request", "name": "PulseRequest", "validVersions": "0-9", "flexibleVersions": "none",
  "fields": [ { "name": "Count", "type": "int32", "versions": "0+", "about": "how many" } ] }`

// A JAR has its schemas under common/message. A request takes the place of the one with its key, whatever its name; its API goes by the new one.
func TestExtendByJar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kafka-clients-9.9.9.jar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(f)
	w, err := jar.Create("common/message/PulseRequest.json")
	if err == nil {
		_, err = w.Write([]byte(probe))
	}
	if err == nil {
		err = jar.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := Extend(&Extension{Sources: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	if _, known := c.Versions("HeartbeatRequest"); known || c.APIByName("heartbeat") != nil {
		t.Error("the old name is still there")
	}
	plan := c.Plan(12, 9, Request)
	if plan == nil || plan.Ops[1].Name != "Count" || plan.Ops[1].About() != "how many" || c.Origin("PulseRequest") != path+":common/message/PulseRequest.json" {
		t.Errorf("%+v, from %s", plan, c.Origin("PulseRequest"))
	}
	if c.Plan(12, 4, Response) == nil || c.API(12).Name != "Pulse" || Embedded().API(12).Name != "Heartbeat" {
		t.Error("the response is gone, or the built-in catalog was changed")
	}
}

// Schemas of before Kafka 4.0, whose coordinator records are plain data, leave those records readable.
func TestExtendByOldRelease(t *testing.T) {
	needKafkaMessages(t)
	c, err := Extend(&Extension{Sources: []string{filepath.Join(kafkaMessages, "3.9.1")}})
	if err != nil {
		t.Fatal(err)
	}
	if c.RecordPlan("__consumer_offsets", CoordinatorKey, 1, 0) == nil {
		t.Error("no key of a committed offset")
	}
	value := c.RecordPlan("__consumer_offsets", CoordinatorValue, 1, 3)
	if value == nil || c.Origin("OffsetCommitValue") == "" {
		t.Errorf("no value of a committed offset, or it is not the one that was loaded")
	}
	for api := range c.APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			if c.Plan(api.Key, v, Request) == nil {
				t.Errorf("no plan of %s v%d", api.Name, v)
			}
		}
	}
}

// The page of a KIP, saved as text: prose, no-break spaces, several drafts.
func TestExtendByPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kip.txt")
	page := "It's \"new\" // see https://example.org\n\n{\u00a0\"apiKey\": TBD, \"type\": \"request\", \"name\": \"ARequest\", \"validVersions\": \"0\", \"flexibleVersions\": \"0+\",\n\u00a0\u00a0\"fields\": [] }\n" +
		"Then \"it answers\n{ \"apiKey\": TBD, \"type\": \"response\", \"name\": \"AResponse\", \"validVersions\": \"0\", \"flexibleVersions\": \"0+\",\n  \"fields\": [{ \"name\": \"B\", \"type\": \"bool\", \"versions\": \"0+\" }] }\nThe end."
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Extend(&Extension{Sources: []string{path}, APIKeys: map[string]int16{"A": 900}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Plan(900, 0, Request) == nil || c.Plan(900, 0, Response) == nil {
		t.Error("a message is missing")
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("one\n"+probe+"\ntwo\n{ \"name\": 5 }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Extend(&Extension{Sources: []string{bad}}); err == nil || err.Error()[:len(bad)+3] != bad+":5:" {
		t.Errorf("%v, want %s:5", err, bad)
	}
}

// A draft without a key is no API on the wire.
func TestDraftsHaveNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draft.json")
	if err := os.WriteFile(path, []byte(`{ "apiKey": TBD, "type": "request", "name": "DraftRequest", "validVersions": "0", "flexibleVersions": "0+", "fields": [] }`), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Extend(&Extension{Sources: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	api := c.APIByName("draft")
	if api == nil || api.Key != -1 || c.PlanOf(api, 0, Request) == nil || c.Plan(-1, 0, Request) != nil {
		t.Errorf("%+v", api)
	}
	for other := range c.APIs {
		if other == api {
			t.Error("it is among those with a key")
		}
	}
}
