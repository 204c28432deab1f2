package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// objects returns lines of JSON.
func objects(t *testing.T, lines string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var o map[string]any
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, o)
	}
	return all
}

// A said is one line of output, without what depends on the order of packets and the clock.
type said struct {
	line  map[string]any
	times map[string]float64 // in milliseconds
}

// sameCapture checks that two captures of the same packets give the same. Two processors carry packets of several connections, and of the two
// directions of one, to each capture in an order of its own, and each capture asks for the time itself. So what one side of a connection says is compared
// in its order; numbers of messages, connections and packets, and of requests that an answer found waiting, are not, but a response has to name the same
// request; and times are the same to 100 ms.
func sameCapture(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := sides(t, got), sides(t, want)
	total := 0
	for side, want := range w {
		got := g[side]
		delete(g, side)
		if len(got) != len(want) {
			t.Errorf("%s: %d lines of %s, read has %d", what, len(got), side, len(want))
		}
		for i := range min(len(got), len(want)) {
			total++
			if len(got[i].times) != len(want[i].times) || !reflect.DeepEqual(got[i].line, want[i].line) {
				t.Errorf("%s: line %d of %s: %s", what, i+1, side, unequal(got[i].line, want[i].line))
			}
			for name, at := range want[i].times {
				if other, ok := got[i].times[name]; !ok || math.Abs(at-other) > 100 {
					t.Errorf("%s: line %d of %s: %s differs by %v ms", what, i+1, side, name, at-other)
				}
			}
		}
	}
	for side := range g {
		t.Errorf("%s: %s, which read has not", what, side)
	}
	t.Logf("%s: %d lines compared", what, total)
}

// durations stand in the texts of findings.
var durations = regexp.MustCompile(`[0-9.]+ ms`)

// sides parts lines by what says them: one side of a connection.
func sides(t *testing.T, lines string) map[string][]said {
	t.Helper()
	all := map[string][]said{}
	names := map[any]string{} // of messages, by their numbers
	for _, o := range objects(t, lines) {
		connection, _ := o["connection"].(map[string]any)
		header, _ := o["header"].(map[string]any)
		names[o["number"]] = fmt.Sprint(connection["client"], " ", header["correlationId"])
		side := fmt.Sprint(o["kind"], " ", connection["client"], " ", header["type"])
		for _, name := range []string{"request", "message"} {
			if o[name] != nil {
				o[name] = names[o[name]]
			}
		}
		if packets, ok := o["packets"].(map[string]any); ok {
			o["packets"] = packets["count"]
		}
		findings, _ := o["findings"].([]any)
		for _, finding := range findings {
			f := finding.(map[string]any)
			f["text"] = durations.ReplaceAllString(f["text"].(string), "- ms")
		}
		delete(connection, "id")
		for _, name := range []string{"number", "packet", "file", "inFlight"} {
			delete(o, name)
		}
		all[side] = append(all[side], said{o, takeTimes(t, o)})
	}
	return all
}

// takeTimes takes the times out of a line.
func takeTimes(t *testing.T, o map[string]any) map[string]float64 {
	t.Helper()
	times := map[string]float64{}
	for _, name := range []string{"time", "end"} {
		if text, ok := o[name].(string); ok {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			times[name] = float64(at.UnixMicro()) / 1000
			delete(o, name)
		}
	}
	for _, name := range []string{"latencyMs", "queuedMs", "serviceMs", "transferMs", "excessMs"} {
		if number, ok := o[name].(json.Number); ok {
			times[name], _ = number.Float64()
			delete(o, name)
		}
	}
	return times
}

// unequal shows two values where they begin to differ.
func unequal(got, want any) string {
	g, w := fmt.Sprint(got), fmt.Sprint(want) // keys are sorted
	same := 0
	for same < min(len(g), len(w)) && g[same] == w[same] {
		same++
	}
	shown := func(s string) string { return s[max(0, same-200):min(len(s), same+200)] }
	return fmt.Sprintf("at %d\n%s\nwant\n%s", same, shown(g), shown(w))
}

// maxUnanswered is how many requests may be unanswered, of about 250.
const maxUnanswered = 10

// agrees compares an output with the broker's log of requests: each request of one has to be in the other, with the same content. The log has each request
// of an Envelope once more, as forwarded, and Envelopes not at all: these are left out. Who closes a connection does not wait for answers, so its requests
// behind the last answer may be unanswered; the broker logged what it would have answered, or nothing where it did not come to them.
func agrees(t *testing.T, printed, logFile string) {
	t.Helper()
	log, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	seen, answered := exchanges(t, printed)
	unanswered := 0
	clients := map[string]int{} // answered requests
	for _, want := range objects(t, strings.ReplaceAll(string(log), "Completed request:", "")) {
		if want["isForwarded"] == true {
			continue
		}
		key := exchangeOf(want)
		got := seen[key]
		delete(seen, key)
		if got == nil {
			t.Errorf("%v: not printed", key)
			continue
		}
		if got["response"] == nil && key.correlation > answered[key.connection] {
			unanswered++
			delete(want, "response")
		} else {
			id, _ := want["requestHeader"].(map[string]any)["clientId"].(string)
			client, _, _ := strings.Cut(id, "-")
			clients[client]++
		}
		for _, part := range []string{"requestHeader", "request", "response"} {
			if want[part] != nil && !reflect.DeepEqual(got[part], want[part]) {
				t.Errorf("%v: %s: %s", key, part, unequal(got[part], want[part]))
			}
		}
	}
	for key, got := range seen {
		switch {
		case key.api == "ENVELOPE":
		case got["response"] == nil && key.correlation > answered[key.connection]:
			unanswered++
		default:
			t.Errorf("%v: the broker did not log it", key)
		}
	}
	t.Logf("answers that the broker logged, by client: %v; %d requests were not answered", clients, unanswered)
	if unanswered > maxUnanswered {
		t.Errorf("%d requests were not answered", unanswered)
	}
	for _, client := range []string{"java", "rdkafka", "franz"} {
		if clients[client] < 20 {
			t.Errorf("the broker logged %d answers to %s", clients[client], client)
		}
	}
}

// An exchange is named by its connection, API and correlation id.
type exchange struct {
	connection, api string
	correlation     int64
}

// exchangeOf names the exchange of a line of the broker's log, or of one in its shape. Behind the addresses of a connection stand numbers that are not the
// same in both.
func exchangeOf(o map[string]any) exchange {
	header := o["requestHeader"].(map[string]any)
	correlation, _ := header["correlationId"].(json.Number).Int64()
	addresses := strings.Split(o["connection"].(string), "-")[:2]
	return exchange{strings.Join(addresses, "-"), header["requestApiKeyName"].(string), correlation}
}

// exchanges returns what was printed, and for each connection the last correlation id that was answered. Clients count them up.
func exchanges(t *testing.T, lines string) (all map[exchange]map[string]any, answered map[string]int64) {
	t.Helper()
	all, answered = map[exchange]map[string]any{}, map[string]int64{}
	for _, o := range objects(t, lines) {
		key := exchangeOf(o)
		if all[key] != nil {
			t.Errorf("%v was printed twice", key)
		}
		all[key] = o
		if o["response"] != nil {
			answered[key.connection] = max(answered[key.connection], key.correlation)
		}
	}
	return all, answered
}
