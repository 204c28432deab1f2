package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// nodesPerByte bounds the tape: a byte that is a structure without fields holds three nodes (structure, section of tagged
// fields, their count). Nodes that take no bytes stand beside others that do.
const nodesPerByte = 4

// allAPIs are the versions of all APIs, as pairs of key and version.
func allAPIs() [][2]int16 {
	var all [][2]int16
	for api := range schema.Embedded().APIs {
		for v := api.Versions.Low; v <= api.Versions.High; v++ {
			all = append(all, [2]int16{api.Key, v})
		}
	}
	return all
}

// readCatalog makes the plan of every request and response, which takes memory that no byte on the wire has asked for.
func readCatalog() {
	for _, api := range allAPIs() {
		schema.Embedded().Plan(api[0], api[1], schema.Request)
		schema.Embedded().Plan(api[0], api[1], schema.Response)
	}
}

// allPlans are the plans of every message of the catalog, in the order of the index.
func allPlans(t testing.TB) []*schema.Plan {
	var all []*schema.Plan
	for _, name := range schema.Embedded().Names() {
		m, err := schema.Embedded().Message(name)
		if err != nil {
			t.Fatal(err)
		}
		for v := m.ValidVersions.Low; v <= m.ValidVersions.High; v++ {
			all = append(all, schema.Embedded().PlanByName(name, v))
		}
	}
	return all
}

// checkMessages holds what was handed over against the promises that every message keeps.
func checkMessages(t *testing.T, k *talk) {
	t.Helper()
	k.checkTapes(t)
	for _, m := range k.messages {
		if n := len(m.Tape); n > 16+nodesPerByte*m.Size {
			t.Errorf("%s: %d nodes for %d bytes", m.short(), n, m.Size)
		}
		for _, f := range m.Findings {
			if f.Offset < -1 || f.Offset > m.Size {
				t.Errorf("%s: finding %+v of a frame of %d bytes", m.short(), f, m.Size)
			}
		}
		if u := m.Undecoded; u != nil && (u.Offset < 0 || u.Size < 0 || u.Offset+u.Size != m.Size) {
			t.Errorf("%s: undecoded %+v of a frame of %d bytes", m.short(), u, m.Size)
		}
	}
	checkPairs(t, k)
	if b := &k.dissector.Counts.Bytes; b.Total() != k.sent {
		t.Errorf("%d bytes handed over, the account has %d: %+v", k.sent, b.Total(), *b)
	}
}

// checkPairs holds numbers and exchanges against each other: messages count from 1, a response comes behind the request that it names and has its
// header, and a message is part of one exchange at most.
func checkPairs(t *testing.T, k *talk) {
	t.Helper()
	used := map[int64]bool{}
	for i, m := range k.messages {
		if m.number != int64(i+1) {
			t.Errorf("%s: number %d, want %d", m.short(), m.number, i+1)
		}
		if m.request == 0 {
			continue
		}
		if m.request >= m.number {
			t.Errorf("%s: number %d, its request %d", m.short(), m.number, m.request)
			continue
		}
		if q := k.messages[m.request-1]; q.Kind != schema.Request || q.Header != m.Header {
			t.Errorf("%s %+v answers %s %+v", m.short(), m.Header, q.short(), q.Header)
		}
	}
	for _, x := range k.exchanges {
		if x.request == 0 || used[x.request] || x.response != 0 && (used[x.response] || k.messages[x.response-1].request != x.request) {
			t.Errorf("exchange %+v", x)
		}
		used[x.request], used[x.response] = true, x.response != 0
	}
}

// FuzzFrame decodes arbitrary bytes as the body of a request and of a response of any API and version.
func FuzzFrame(f *testing.F) {
	apis := allAPIs()
	readCatalog()
	for i := range apis {
		f.Add(uint16(i), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(3))
	}
	f.Fuzz(func(t *testing.T, index uint16, body []byte, piece uint8) {
		api := apis[int(index)%len(apis)]
		request := framed(api[0], api[1], int32(7), text("fuzz"), body)
		response := framed(int32(7), body)
		var whole *talk
		used := allocated(func() {
			whole = playFrames(newTalk(NeedMessages|NeedExchanges|NeedRecords, true), request, response, wholePiece)
		})
		checkMessages(t, whole)
		if limit := uint64(1<<20 + 4096*len(body)); used > limit {
			t.Errorf("%d bytes allocated for a body of %d", used, len(body))
		}
		compareTalks(t, whole, playFrames(newTalk(NeedMessages|NeedExchanges|NeedRecords, true), request, response, pieces(1+int(piece))))
		// Nor does it matter what else is needed, or who decodes a message and in which order it is asked.
		later := newTalk(NeedMessages|NeedExchanges|NeedPackets, true)
		later.through = NewReader()
		compareTalks(t, whole, playFrames(later, request, response, wholePiece))
	})
}

// playFrames sends a request, cut, and its response, cut.
func playFrames(k *talk, request, response []byte, cut cutter) *talk {
	k.sendCut(fromClient, request, cut)
	k.sendCut(fromServer, response, cut)
	k.end(reassembly.EndOfInput)
	return k
}

// compareTalks fails where the messages of two talks differ.
func compareTalks(t testing.TB, want, got *talk) {
	t.Helper()
	for i := range max(len(want.messages), len(got.messages)) {
		switch {
		case i >= len(got.messages):
			t.Errorf("message %d is missing: %s", i, want.messages[i])
		case i >= len(want.messages):
			t.Errorf("message %d is one too many: %s", i, got.messages[i])
		default:
			if w, g := want.messages[i].String(), got.messages[i].String(); w != g {
				t.Errorf("message %d %s", i, whereTheyDiffer(w, g))
			}
			continue
		}
		return
	}
	if w, g := fmt.Sprint(want.exchanges), fmt.Sprint(got.exchanges); w != g {
		t.Errorf("exchanges %s, want %s", g, w)
	}
}

// whereTheyDiffer shows two texts from a little before their first difference on.
func whereTheyDiffer(want, got string) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	from := max(0, at-60)
	return fmt.Sprintf("(%.80q) at %d:\n got %.300q\nwant %.300q", want, at, got[min(from, len(got)):], want[from:])
}

// FuzzDecodePlan decodes arbitrary bytes along any plan of the catalog, also those that are not for messages, whole and as they come.
func FuzzDecodePlan(f *testing.F) {
	plans := allPlans(f)
	for i := range plans {
		f.Add(uint16(i), []byte{1, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(1))
	}
	f.Fuzz(func(t *testing.T, index uint16, data []byte, piece uint8) {
		plan := plans[int(index)%len(plans)]
		whole := decodeAlong(plan, data, len(data))
		if fault := tapeFault(whole.tape, len(data)); fault != "" {
			t.Errorf("%s v%d: %s", plan.Message.Name, plan.Version, fault)
		}
		if n := len(whole.tape); n > 16+nodesPerByte*len(data) {
			t.Errorf("%s v%d: %d nodes for %d bytes", plan.Message.Name, plan.Version, n, len(data))
		}
		cut := decodeAlong(plan, data, 1+int(piece))
		if a, b := tapeText(whole), tapeText(cut); a != b {
			t.Errorf("%s v%d in pieces of %d:\n got %s\nwant %s", plan.Message.Name, plan.Version, 1+int(piece), b, a)
		}
		skimmed := skimAlong(plan, data, 1+int(piece))
		if a, b := tapeText(whole), tapeText(skimmed); a != b {
			t.Errorf("%s v%d skimmed in pieces of %d:\n got %s\nwant %s", plan.Message.Name, plan.Version, 1+int(piece), b, a)
		}
	})
}

// decodeAlong decodes data that comes in pieces, and puts what is left into one leaf.
func decodeAlong(plan *schema.Plan, data []byte, piece int) *decoder {
	d := &decoder{}
	d.reset(nil, nil, len(data))
	d.complete = false
	return d.along(plan, data, piece)
}

// skimAlong passes over records as they come, and then decodes what was kept.
func skimAlong(plan *schema.Plan, data []byte, piece int) *decoder {
	first := &decoder{}
	first.reset(nil, nil, len(data))
	first.complete, first.passOver, first.sumBatches = false, true, true
	left := data
	first.start(plan, 0)
	for len(left) > 0 { // as for a frame, behind a fault, too
		n := min(piece, len(left))
		first.feed(left[:n])
		left = left[n:]
		first.run()
	}
	d := &decoder{}
	d.reset(first.data, first.holes, len(data))
	return d.along(plan, nil, piece)
}

func (d *decoder) along(plan *schema.Plan, data []byte, piece int) *decoder {
	d.start(plan, 0)
	s := d.run()
	for s == needMore && len(data) > 0 {
		n := min(piece, len(data))
		d.feed(data[:n])
		data = data[n:]
		d.complete = len(data) == 0
		s = d.run()
	}
	if s == needMore {
		d.complete = true
		s = d.run()
	}
	d.closeAll()
	if left := d.limit - d.pos; left > 0 {
		d.leaf(UndecodedNode, nil, left)
	}
	if s != broken {
		d.failed = fault{}
	}
	return d
}

func tapeText(d *decoder) string {
	var b bytes.Buffer
	for _, n := range d.tape {
		n.Op = nil
		fmt.Fprintf(&b, "%v ", n)
	}
	// How many bytes were there is left out: a length that can never fit is a fault before the bytes have come.
	fmt.Fprintf(&b, "%s %d %d %s %v", d.failed.code, d.failed.offset, d.failed.want, d.failed.what, d.findings)
	return b.String()
}

// FuzzStream sends arbitrary bytes in both directions. The first bytes of the script say whether the opening was seen and how the
// streams are cut; pieces are the lengths of the runs of which every other is the server's.
func FuzzStream(f *testing.F) {
	readCatalog()
	hello := pack(framed(int16(18), int16(0), int32(1), text("c")), framed(int16(3), int16(1), int32(2), text("c"), int32(0)))
	answer := pack(framed(int32(1), int16(0), int32(0)), framed(int32(2), int32(0), int32(0), int32(0)))
	f.Add(hello, answer, []byte{40, 20, 200, 200}, true)
	f.Add(hello[3:], answer[5:], []byte{3, 3, 3, 3}, false)
	f.Fuzz(func(t *testing.T, client, server, runs []byte, opened bool) {
		if len(client)+len(server) > 1<<16 {
			return
		}
		var k *talk
		start := time.Now()
		used := allocated(func() { k = playStream(client, server, runs, opened, wholePiece, true) })
		checkMessages(t, k)
		n := len(client) + len(server)
		if limit := uint64(readerMemory + 8192*n); used > limit {
			t.Errorf("%d bytes allocated for %d, at most %d are justified", used, n, limit)
		}
		if spent := time.Since(start); spent > maxFuzzTime {
			t.Errorf("%v for %d bytes", spent, n)
		}
		if !opened {
			return // while searching, what a packet's borders say counts
		}
		whole, cut := playStream(client, server, runs, true, wholePiece, false), playStream(client, server, runs, true, pieces(1+len(runs)%7), false)
		if !slices.Equal(whole.shorts(), cut.shorts()) && (hasOrphan(whole) || hasOrphan(cut)) {
			t.Skip("known: the number of packets says how long a response waits for its request, and whether it is believed without one")
		}
		compareTalks(t, whole, cut)
	})
}

// hasOrphan tells whether a response without a request came out.
func hasOrphan(k *talk) bool {
	return slices.ContainsFunc(k.messages, func(m *messageSeen) bool { return m.Kind == schema.Response && !m.Header.Known })
}

// playStream hands over two streams in turns. A run whose length is a multiple of 13 is missing from the capture if gaps are wanted.
func playStream(client, server, runs []byte, opened bool, cut cutter, gaps bool) *talk {
	k := newTalk(NeedMessages|NeedExchanges|NeedRecords, opened)
	streams := [2][]byte{client, server}
	for i, run := range runs {
		dir := reassembly.Direction(i % 2)
		n := min(int(run), len(streams[dir]))
		if gaps && run%13 == 12 && n > 0 {
			k.gap(dir, int64(n), reassembly.GapCause(run%3))
		} else {
			k.sendCut(dir, streams[dir][:n], cut)
		}
		streams[dir] = streams[dir][n:]
	}
	k.sendCut(fromClient, streams[fromClient], cut)
	k.sendCut(fromServer, streams[fromServer], cut)
	k.end(reassembly.EndCause(len(runs) % 5))
	return k
}

// uvarintOf lays out an unsigned varint.
func uvarintOf(v uint64) []byte { return binary.AppendUvarint(nil, v) }
