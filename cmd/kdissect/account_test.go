package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/schema"
)

// sums are those figures of an account that add up, as JSON has them.
type sums struct {
	Packets map[string]int64
	Payload map[string]any
}

// What an account says of packets and of payload adds up, for every capture.
func TestAccountAddsUp(t *testing.T) {
	var paths []string
	for _, pattern := range []string{
		filepath.Join(testdata, "*.pcap"),
		filepath.Join(needShared(t, "captures"), "*", "*.pcap*"),
		filepath.Join(needShared(t, "cases"), "*.pcap*"),
	} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	withPayload := 0
	for _, path := range paths {
		source, err := pcaps.Open(path)
		if err != nil {
			continue // there is nothing in it
		}
		var out bytes.Buffer
		dissectQuietly(t, path, source, &accountant{out: &out, json: true})
		var s sums
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v: %s", path, err, out.Bytes())
		}
		if all := s.Packets["all"]; sum(s.Packets) != 2*all {
			t.Errorf("%s: packets %v", path, s.Packets)
		}
		payload := map[string]int64{}
		flatten(payload, "", s.Payload)
		if sum(payload) != 2*payload[".all"] {
			t.Errorf("%s: payload %v", path, payload)
		}
		if payload[".all"] > 0 {
			withPayload++
		}
	}
	if withPayload < 100 {
		t.Errorf("%d of %d captures have payload", withPayload, len(paths))
	}
}

// dissectQuietly reads a capture without what goes to standard error.
func dissectQuietly(t *testing.T, path string, source pcaps.Source, a *accountant) {
	t.Helper()
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	os.Stderr, _ = os.Open(os.DevNull)
	defer os.Stderr.Close()
	defer source.Close()
	newPipeline(schema.Embedded(), []string{path}, source, silence{}, a).dissectAll()
}

func sum(figures map[string]int64) (n int64) {
	for _, f := range figures {
		n += f
	}
	return n
}

// flatten collects the numbers of an object and of those inside it.
func flatten(into map[string]int64, path string, object map[string]any) {
	for key, value := range object {
		switch v := value.(type) {
		case float64:
			into[path+"."+key] = int64(v)
		case map[string]any:
			flatten(into, path+"."+key, v)
		}
	}
}

// The account has the time span, whatever the order of the packets, and what the file says that it lacks.
func TestAccountOfTimeAndLoss(t *testing.T) {
	a := &accountant{}
	a.packets(&pcaps.Batch{Packets: []pcaps.Packet{{Time: 5e9}, {Time: 0}, {Time: 3e9}}, Events: []pcaps.Event{
		{Kind: pcaps.Dropped, Count: 7}, {Kind: pcaps.Comment, Count: 100},
	}})
	a.packets(&pcaps.Batch{Packets: []pcaps.Packet{{Time: 4e9}}, Events: []pcaps.Event{{Kind: pcaps.Dropped, Count: 2}}})
	a.damage(&pcaps.DamageError{Skipped: 10})
	a.damage(&pcaps.DamageError{Skipped: 1})
	c := &a.account
	if c.First != 3e9 || c.Last != 5e9 || !c.Timed || c.Dropped != 9 || c.Damages != 2 || c.DamagedBytes != 11 {
		t.Errorf("%+v", *c)
	}
}
