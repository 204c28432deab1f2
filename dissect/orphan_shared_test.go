package dissect

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// completeCaptures are the captures of real traffic in which no request lacks its answer and none of these its request.
func completeCaptures(t testing.TB) []string {
	t.Helper()
	f, err := os.Open(needShared(t, "captures/real/complete.txt")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var files []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), " ")
		files = append(files, filepath.Join(shared, "captures/real", name))
	}
	return files
}

// An answerID tells the responses of a capture apart, whether their requests are there or not.
type answerID struct {
	client, server netip.AddrPort
	correlationID  int32
	packet         int64
	size           int
}

func idOf(m *Message) answerID {
	return answerID{m.Connection.Client, m.Connection.Server, m.Header.CorrelationID, m.Packets.Last, m.Size}
}

// flowOf is what the packets of a direction have in common: addresses and ports, which stand one behind the other where the IP header has no
// options.
func flowOf(from, to netip.AddrPort) string {
	return string(pack(from.Addr().AsSlice(), to.Addr().AsSlice(), int16(from.Port()), int16(to.Port())))
}

// hasFlow tells whether a packet is of one of some flows.
func hasFlow(packet []byte, flows map[string]bool) bool {
	for _, size := range [...]int{12, 36} {
		for at := 0; at < 100 && at+size <= len(packet); at++ {
			if flows[string(packet[at:at+size])] {
				return true
			}
		}
	}
	return false
}

// readCaptureWithout is readCapture without the packets of some flows.
func readCaptureWithout(t testing.TB, file string, flows map[string]bool, handler reassembly.Handler) {
	t.Helper()
	source, err := pcaps.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	assembler := reassembly.New(handler)
	var batch pcaps.Batch
	for source.Next(&batch) == nil {
		for i := range batch.Packets {
			if p := &batch.Packets[i]; !hasFlow(p.Data, flows) {
				assembler.Packet(p)
			}
		}
		batch.Release()
	}
	assembler.Close()
}

// A truth is what a response is, as the capture with its request tells.
type truth struct {
	api     *schema.API
	version int16
}

// truths reads what the responses of a capture are that decode, and which packets carry requests.
func truths(t testing.TB, file string) (map[answerID]truth, map[string]bool) {
	t.Helper()
	answers, flows := map[answerID]truth{}, map[string]bool{}
	readCapture(t, file, New(schema.Embedded(), NeedMessages, onMessage(func(m *Message) {
		flows[flowOf(m.Connection.Client, m.Connection.Server)] = true
		if m.Kind == schema.Request || m.Request == 0 || m.Header.Token || m.Cut() || m.Plan() == nil || m.Undecoded() != nil {
			return
		}
		for _, f := range m.Findings {
			if f.Code == TrailingBytes {
				return
			}
		}
		answers[idOf(m)] = truth{m.API, m.Plan().Version}
	})))
	return answers, flows
}

// wireShape is what stands on the wire, whatever it is called.
func wireShape(p *schema.Plan) string {
	var b []byte
	b = fmt.Appendf(b, "%d", p.Header.Version)
	for i := range p.Ops {
		op := &p.Ops[i]
		b = fmt.Appendf(b, " %d,%t,%t,%d,%d", op.Code, op.Compact, op.Nullable, op.Tag, op.Next)
	}
	return string(b)
}

// sharedShapes are the shapes that responses of several APIs have.
func sharedShapes() map[string]bool {
	owner, several := map[string]*schema.API{}, map[string]bool{}
	for api := range schema.Embedded().APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			if plan := schema.Embedded().Plan(api.Key, v, schema.Response); plan != nil {
				shape := wireShape(plan)
				several[shape] = several[shape] || owner[shape] != nil && owner[shape] != api
				owner[shape] = api
			}
		}
	}
	return several
}

// A score counts how responses without their requests were told.
type score struct {
	responses, decoded int // of the capture: all, and those of which it is known what they are
	found              int // of the decoded: those that came out as orphans
	among              int // of these: the true API and version is among the candidates
	unique, first      int // layout is that of no other API; of these, the true API is the first candidate
	clear, wrong       int // taken for an API; not for the true one and its version
	near               int // taken for the true API in other versions, which differ in what the message does not have
	longest            int // list of candidates
}

func (s *score) add(o score) {
	s.responses += o.responses
	s.decoded += o.decoded
	s.found += o.found
	s.among += o.among
	s.unique += o.unique
	s.first += o.first
	s.clear += o.clear
	s.wrong += o.wrong
	s.near += o.near
	s.longest = max(s.longest, o.longest)
}

func (s *score) judge(m *Message, want truth, several map[string]bool, log func(string, ...any)) {
	s.found++
	i := m.Inferred
	among, first := false, false
	if i != nil {
		for _, c := range i.Candidates {
			among = among || c.API == want.api && c.Versions.Contains(want.version)
		}
		s.longest = max(s.longest, len(i.Candidates)+i.More)
		first = i.Candidates[0].API == want.api
		if i.Clear {
			s.clear++
			switch {
			case !first:
				s.wrong++
				log("taken for %s: %s v%d", i, want.api.Name, want.version)
			case !i.Taken.Versions.Contains(want.version):
				s.wrong++
				log("taken for %s: %s v%d", i.Taken, want.api.Name, want.version)
			case !i.Candidates[0].Versions.Contains(want.version):
				s.near++
			}
		}
	}
	if among {
		s.among++
	} else {
		log("not among %v: %s v%d % x", i, want.api.Name, want.version, m.data[:min(len(m.data), 80)])
	}
	if several[wireShape(schema.Embedded().Plan(want.api.Key, want.version, schema.Response))] {
		return
	}
	s.unique++
	if first {
		s.first++
	} else {
		log("not first of %v: %s v%d, %d bytes", i, want.api.Name, want.version, m.Size)
	}
}

func (s score) String() string {
	var b []byte
	for _, n := range [...]int{s.responses, s.decoded, s.found, s.among, s.unique, s.first, s.clear, s.wrong, s.near, s.longest} {
		b = fmt.Appendf(b, " %6d", n)
	}
	return string(b)
}

// The requests are cut out of captures that have everything. What is made of the responses then is held against what they are.
func TestOrphansOfRealCaptures(t *testing.T) {
	several := sharedShapes()
	var total score
	table := []string{fmt.Sprintf("%-40s    all decode orphan  among unique  first  clear  wrong   near   list", "capture")}
	for _, file := range completeCaptures(t) {
		answers, flows := truths(t, file)
		s := score{decoded: len(answers)}
		readCaptureWithout(t, file, flows, New(schema.Embedded(), NeedMessages, onMessage(func(m *Message) {
			if m.Kind != schema.Response {
				t.Errorf("%s: message %d is a request", file, m.Number)
				return
			}
			s.responses++
			if want, ok := answers[idOf(m)]; ok {
				s.judge(m, want, several, t.Logf)
				if carriesCredentials(want.api.Key) && !m.Secret() && !m.Guarded() {
					t.Errorf("%s: %s v%d, taken for %s, is shown", file, want.api.Name, want.version, m.Inferred)
				}
			}
		})))
		table = append(table, fmt.Sprintf("%-40s%s", filepath.Base(file), s))
		total.add(s)
	}
	table = append(table, fmt.Sprintf("%-40s%s", "together", total))
	t.Log("\n" + strings.Join(table, "\n"))
	if total.among < total.found {
		t.Errorf("%d of %d responses are not what any candidate says", total.found-total.among, total.found)
	}
	if total.wrong > 0 || total.near*50 > total.clear {
		t.Errorf("of %d that were clear %d are of another API, %d of other versions", total.clear, total.wrong, total.near)
	}
	if total.first*10 < total.unique*9 {
		t.Errorf("the true API is first for %d of %d responses", total.first, total.unique)
	}
}

// candidatesOf are all layouts that fit a response of which nothing else is known, by rank.
func candidatesOf(d *Dissector, frame []byte) []fit {
	fits, _ := d.fitsOf(frame)
	c := &conn{dissector: d, ends: &Connection{}}
	return c.rank(fits)
}

func contains(fits []fit, api *schema.API, version int16) bool {
	return slices.ContainsFunc(fits, func(f fit) bool { return f.layout.API == api && f.versions.Contains(version) })
}

// Every response of a real broker is among its own candidates.
func TestRealResponsesAreAmongTheirCandidates(t *testing.T) {
	d := New(schema.Embedded(), 0, nil)
	n := 0
	for _, file := range realCaptures(t) {
		readCapture(t, file, New(schema.Embedded(), NeedMessages|NeedRecords, onMessage(func(m *Message) {
			if m.Kind == schema.Request || m.Request == 0 || m.Header.Token || m.Cut() || m.Plan() == nil || m.Undecoded() != nil || len(m.Nodes) > 0 && m.Nodes[len(m.Nodes)-1].Kind == TrailingNode {
				return
			}
			n++
			if fits := candidatesOf(d, m.data); !contains(fits, m.API, m.Plan().Version) {
				t.Errorf("%s: %s v%d is not among its own candidates: % x", filepath.Base(file), m.API.Name, m.Plan().Version, m.data[:min(len(m.data), 200)])
			}
		})))
	}
	t.Logf("%d responses", n)
}

// What Kafka's own classes write has odd values in it, such as errors that no broker knows. Where it is among its candidates all the same, these must be of one
// mind about secrets: nothing of a response that carries credentials is shown because it looks like another one.
func TestOracleResponsesKeepSecrets(t *testing.T) {
	frames, _ := oracleFrames(t)
	var total, among, taken int
	for _, o := range frames {
		if o.Kind != "response" || o.HeaderVersion > 1 {
			continue
		}
		total++
		d := New(schema.Embedded(), 0, nil)
		if contains(candidatesOf(d, o.Hex), schema.Embedded().API(o.Key), o.Version) {
			among++
		}
		k := listen(NeedMessages, func(m *Message) {
			if m.Inferred == nil || !m.Inferred.Clear {
				return
			}
			taken++
			if (carriesCredentials(o.Key) || o.Key == keyEnvelope) && !m.Secret() && m.Header.APIKey != keyEnvelope {
				t.Errorf("%s is shown as %s", o, m.Inferred)
			}
		})
		c := k.dissector.connection(k.conn)
		c.setClient(fromClient, kafkaRole)
		c.halves[fromServer].state = inStep
		k.conn.Seen[fromClient] = false
		k.server([]byte(o.Hex))
	}
	t.Logf("%d responses, %d among their candidates, %d taken for something", total, among, taken)
}
