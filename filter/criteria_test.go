package filter_test

import (
	"strings"
	"testing"

	"github.com/kdissect/kdissect/filter"
	"github.com/kdissect/kdissect/schema"
)

func TestWrongCriteria(t *testing.T) {
	api := func(s string) error { _, err := filter.ParseAPI(schema.Embedded(), s); return err }
	topic := func(s string) error { _, err := filter.ParseTopic(s); return err }
	host := func(s string) error { _, err := filter.ParseHost(s); return err }
	numbers := func(s string) error { _, err := filter.ParseRange(s); return err }
	connection := func(s string) error { _, err := filter.ParseConnection(s); return err }
	time := func(s string) error { _, err := filter.ParseTime(s); return err }
	where := func(s string) error { _, err := filter.ParseWhere(s, schema.Embedded()); return err }
	for _, test := range []struct {
		parse      func(string) error
		text, want string
	}{
		{api, "Fecth", "did you mean Fetch?"},
		{api, "qqqqqqqqqqqq", `unknown API "qqqqqqqqqqqq"`},
		{topic, "orders/x", "a partition"},
		{topic, "orders/-1", "a partition"},
		{topic, "orders/1@", "an offset"},
		{host, "localhost", "is no address"},
		{host, "10.0.0.1:99999", "is no address"},
		{numbers, "", "is no range"},
		{numbers, "-", "is no range"},
		{numbers, "0", "is no range"},
		{numbers, "7-3", "ends before it begins"},
		{connection, "x3", "is no connection"},
		{connection, "0", "is no connection"},
		{time, "yesterday", "is no time"},
		{time, "25:00:00", "is no time"},
		{time, "1677-12-31", "is no time"},
		{time, "2262-01-01", "is no time"},
		{where, "excess", "expected bool"},
		{where, "api = 3", "^"},
		{where, "api == 3", "mismatched types"},
		{where, "exces > 3", "did you mean excess?"},
		{where, `any(topics, .nam == "x")`, "nam"},
		{where, `len(field("highWatermrk")) > 0`, "did you mean highWatermark?"},
		{where, "size > ", "^"},
		{where, "", "--where"},
	} {
		if err := test.parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestRightCriteria(t *testing.T) {
	if key, err := filter.ParseAPI(schema.Embedded(), "fetch"); key != 1 || err != nil {
		t.Errorf("fetch is %d, %v", key, err)
	}
	if key, err := filter.ParseAPI(schema.Embedded(), "501"); key != 501 || err != nil {
		t.Errorf("501 is %d, %v", key, err)
	}
	for text, want := range map[string]filter.Range{"7": {7, 7}, "100-200": {100, 200}, "100-": {100, 1<<63 - 1}, "-200": {1, 200}} {
		if r, err := filter.ParseRange(text); r != want || err != nil {
			t.Errorf("%s is %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"10.0.0.1", "10.0.0.0/8", "10.0.0.1:9092", "[::1]:9092", "::1", ":9092"} {
		if _, err := filter.ParseHost(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"2026-11-29T20:07:50.5Z", "2026-11-29 20:07:50", "2026-11-29T20:07:50+02:00", "20:07", "20:07:50.123456789", "2026-11-29"} {
		if _, err := filter.ParseTime(text); err != nil {
			t.Error(err)
		}
	}
}

// TestWhereTellsNoSecret: what no output shows, no expression and no search may tell either.
func TestWhereTellsNoSecret(t *testing.T) {
	const path = "../testdata/odd-frames.pcap"
	for _, text := range []string{
		`mechanism == "PLAIN" && (payload.authBytes != nil || request.authBytes != nil || response.errorMessage != nil)`,
		`len(field("authBytes")) > 0`,
	} {
		if found := read(t, path, where(t, text)); len(found) > 0 {
			t.Errorf("%s: %d messages", text, len(found))
		}
	}
	if found := read(t, path, where(t, `mechanism == "PLAIN" && user == "admin"`)); len(found) == 0 {
		t.Error("the login itself is not found")
	}
}

func TestHalves(t *testing.T) {
	const path = "../testdata/sample.pcap"
	for _, test := range []struct {
		criteria          *filter.Criteria
		requests, answers bool
	}{
		{&filter.Criteria{APIs: []int16{0}, RequestsOnly: true}, true, false},
		{&filter.Criteria{APIs: []int16{0}, ResponsesOnly: true}, false, true},
		{&filter.Criteria{APIs: []int16{0}}, true, true},
	} {
		var requests, answers bool
		for _, m := range read(t, path, test.criteria) {
			requests = requests || m.Header.Type == "REQUEST"
			answers = answers || m.Header.Type == "RESPONSE"
		}
		if requests != test.requests || answers != test.answers {
			t.Errorf("%+v: requests %t, answers %t", *test.criteria, requests, answers)
		}
	}
}
