package render

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
	"github.com/kdissect/kdissect/state"
)

// secretsOf collects what nobody may see of the logins of a capture: the whole tokens, and of what is in them the passwords, the nonces, salts and
// proofs of SCRAM, and bearer tokens.
func secretsOf(t *testing.T, name string) map[string]bool {
	var out bytes.Buffer
	readCapture(t, name, NewJSON(&out, Options{ShowSecrets: true}))
	secrets := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			Payload struct {
				AuthBytes, Token, HMAC, Hmac string
			}
			Auth *struct{ Mechanism string }
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Auth == nil {
			continue
		}
		for _, token := range []string{m.Payload.AuthBytes, m.Payload.Token, m.Payload.HMAC, m.Payload.Hmac} {
			b, err := base64.StdEncoding.DecodeString(token)
			if err != nil {
				t.Fatalf("%s: %q is no base64: %v", name, token, err)
			}
			secrets[string(b)] = true
			if m.Auth.Mechanism == "PLAIN" {
				if parts := bytes.Split(b, []byte{0}); len(parts) == 3 {
					secrets[string(parts[2])] = true
				}
			}
			for _, part := range regexp.MustCompile(`(?:^|,)[rspvc]=([^,\x01]+)|auth=Bearer ([^\x01]+)`).FindAllSubmatch(b, -1) {
				secrets[string(part[1])], secrets[string(part[2])] = true, true
			}
		}
	}
	for s := range secrets {
		if len(s) < 6 { // would be found in anything
			delete(secrets, s)
		}
	}
	return secrets
}

// disguises are the forms in which bytes could get into an output.
func disguises(secret string) []string {
	return []string{
		secret,
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(secret)), "="),
		hex.EncodeToString([]byte(secret)),
	}
}

// spaced is what a dump of bytes is searched without.
var spaced = regexp.MustCompile(`[ |]+|\n[0-9a-f]{4,8} `)

func TestNoSecretOfALoginIsPrinted(t *testing.T) {
	found := 0
	for _, name := range captures(t) {
		if !strings.Contains(name, "sasl") && !strings.Contains(name, "raw-odd") {
			continue
		}
		secrets := secretsOf(t, name)
		found += len(secrets)
		for format, create := range map[string]func(out, log io.Writer) Format{
			"tree": func(out, _ io.Writer) Format { return NewTree(out, Options{Records: RecordsFull}) },
			"tree -x": func(out, _ io.Writer) Format {
				return NewTree(out, Options{Records: RecordsFull, Full: true, Hex: true})
			},
			"json":       func(out, _ io.Writer) Format { return NewJSON(out, Options{Records: RecordsFull, Layout: true}) },
			"summary":    func(out, log io.Writer) Format { return NewSummary(out, log, Options{}) },
			"requestlog": func(out, log io.Writer) Format { return NewRequestLog(out, log, Options{}) },
			"state":      func(out, _ io.Writer) Format { return stateFormat{state.New(), out} },
		} {
			var out bytes.Buffer
			readCapture(t, name, create(&out, &out))
			text := out.String()
			dense := ""
			if format == "tree -x" {
				dense = spaced.ReplaceAllString(text, "")
			}
			for secret := range secrets {
				for _, d := range disguises(secret) {
					if strings.Contains(text, d) || len(d) >= 12 && strings.Contains(dense, d) {
						t.Errorf("%s, %s: %q of a login is printed", name, format, d)
					}
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d secrets were looked for", found)
	}
}

// TestWhoIsAuthenticated holds what connections say at their end against what is known of the clients of the captures.
func TestWhoIsAuthenticated(t *testing.T) {
	for name, want := range map[string]string{
		"sasl-plain-java.pcap": "PLAIN", "sasl-scram-java.pcap": "SCRAM-SHA-256", "sasl-franz-go.pcap": "SCRAM-SHA-512", "sasl-kafka-python.pcap": "PLAIN",
	} {
		var e endings
		readCapture(t, name, &e)
		users := 0
		for _, one := range e.all {
			if one.Auth != nil && one.Auth.Mechanism == want && one.Auth.User != "" && one.Auth.Result == "ok" {
				users++
			}
		}
		if users == 0 {
			t.Errorf("%s: nobody is authenticated by %s", name, want)
		}
	}
}

// endings is a Format that keeps the endings of connections, and the timing of answers.
type endings struct {
	all     []*dissect.Ending
	timings []dissect.Timing
	fetches []dissect.Timing // of those that waited for as long as they might, for nothing
}

func (e *endings) Needs() dissect.Needs     { return dissect.NeedExchanges }
func (e *endings) Message(*dissect.Message) {}
func (e *endings) Close(*dissect.Counts)    {}
func (e *endings) Flush() error             { return nil }
func (e *endings) Report(r *dissect.Report) {
	if r.Ending != nil {
		e.all = append(e.all, r.Ending)
	}
}

func (e *endings) Exchange(x *dissect.Exchange) {
	if x.Request == nil || x.Response == nil || x.Response.Kind != schema.Response {
		return
	}
	t := x.Response.Timing
	e.timings = append(e.timings, t)
	if name := x.Request.Name(); (name == "Fetch" || name == "ShareFetch") && t.Allowed > 0 && t.Latency >= t.Allowed && !x.Response.Facts().HasRecords {
		e.fetches = append(e.fetches, t)
	}
}

// TestTimeAddsUp: the parts of an answer's time are the whole, and a fetch that waits for nothing is not slow.
func TestTimeAddsUp(t *testing.T) {
	var excess []int64
	answers := 0
	for _, name := range captures(t) {
		var e endings
		readCapture(t, name, &e)
		answers += len(e.timings)
		for i := range e.timings {
			if x := &e.timings[i]; x.Queued+x.Service+x.Transfer != x.Latency {
				t.Errorf("%s: %d + %d + %d ns are not %d", name, x.Queued, x.Service, x.Transfer, x.Latency)
			}
		}
		if strings.Contains(name, "--") {
			continue // the same conversations once more
		}
		for _, f := range e.fetches {
			excess = append(excess, f.Excess)
			if f.Excess >= f.Allowed && f.Allowed >= 100e6 {
				t.Errorf("%s: a fetch that may wait %d ms is said to be %d ms late", name, f.Allowed/1e6, f.Excess/1e6)
			}
		}
	}
	if len(excess) < 100 {
		t.Fatalf("only %d idle polls", len(excess))
	}
	slices.Sort(excess)
	if median := excess[len(excess)/2]; median >= 5e6 {
		t.Errorf("the median excess of %d idle polls is %d us", len(excess), median/1e3)
	} else {
		t.Logf("%d answers; %d idle polls, median excess %d us, highest %d us", answers, len(excess), median/1e3, excess[len(excess)-1]/1e3)
	}
}
