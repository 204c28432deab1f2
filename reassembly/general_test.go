package reassembly

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
)

// A ledger writes down all that a Noter is told, and what is known of the connection then.
type ledger struct{ lines []string }

func (l *ledger) write(c *Connection, d Direction, what any) {
	known := *c
	known.Consumer = nil
	l.lines = append(l.lines, fmt.Sprintf("%+v %d %T %+v", known, d, what, what))
}

func (l *ledger) Chunk(c *Connection, d Direction, k *Chunk) {
	c.Memory = int(k.Offset) % 1000
	l.write(c, d, []any{k.Offset, len(k.Data), crc32.ChecksumIEEE(k.Data), k.Origin})
}
func (l *ledger) Gap(c *Connection, d Direction, g Gap)     { l.write(c, d, g) }
func (l *ledger) Fin(c *Connection, d Direction, at Origin) { l.write(c, d, at) }

func (l *ledger) Note(c *Connection, d Direction, n Note) {
	l.write(c, d, []any{n.Kind, n.Offset, n.Length, n.Origin, n.First, n.Twin != nil})
}

func (l *ledger) End(c *Connection, cause EndCause, at Origin) {
	l.write(c, FromA, []any{cause, at})
}

// A pair is two assemblers that take the same packets, one of them without shortcuts: both have to do the same.
type pair struct {
	t          testing.TB
	assemblers [2]*Assembler
	ledgers    [2]*ledger
}

func newPair(t testing.TB) *pair {
	p := &pair{t: t}
	for i := range p.assemblers {
		p.ledgers[i] = &ledger{}
		a := New(p.ledgers[i])
		a.CompareDelivered, a.general = true, i == 1
		p.assemblers[i] = a
	}
	return p
}

func (p *pair) each(do func(a *Assembler)) {
	for _, a := range p.assemblers {
		do(a)
	}
}

func (p *pair) packet(packet *pcaps.Packet) {
	p.each(func(a *Assembler) { a.Packet(packet) })
}

func (p *pair) finish() {
	p.t.Helper()
	p.each((*Assembler).Close)
	x, y := p.ledgers[0].lines, p.ledgers[1].lines
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || x[i] != y[i] {
			p.t.Fatalf("with shortcuts and without: %d and %d lines, the first that differ:\n%q\n%q", len(x), len(y), x[i:min(i+1, len(x))], y[i:min(i+1, len(y))])
		}
	}
	if x, y := p.assemblers[0].Stats(), p.assemblers[1].Stats(); x != y {
		p.t.Fatalf("with shortcuts and without:\n%+v\n%+v", x, y)
	}
}

func TestShortcutsOnCaptures(t *testing.T) {
	for _, path := range captures(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p := newPair(t)
			for _, packet := range readCapture(t, path) {
				p.packet(&packet)
			}
			p.finish()
		})
	}
}

func TestShortcutsOnRandomConversations(t *testing.T) {
	for seed := range uint64(100) {
		p := newPair(t)
		for i, packet := range newConversation(seed, seed%3 > 0, float64(seed%4)/40).packets {
			if seed%5 == 0 {
				p.each(age)
			}
			p.packet(packet.packet(int64(i+1), int64(i)*millisecond))
		}
		p.finish()
	}
}

// One packet each that the shortcut has to leave alone, behind ten that it takes.
func TestShortcutsOnOddities(t *testing.T) {
	flow := func(data string, off, ack uint32, flags uint8) sent {
		return sent{from: FromA, seq: 101 + off, ack: 501 + ack, flags: flags, data: data}
	}
	back := func(data string, off, ack uint32) sent {
		return sent{from: FromB, seq: 501 + off, ack: ack, flags: flagACK, data: data}
	}
	for name, odd := range map[string][]sent{
		"repeated":         {flow("abc", 27, 0, flagACK)},
		"overlapping":      {flow("abcdef", 27, 0, flagACK)},
		"conflicting":      {flow("xyz", 27, 0, flagACK)},
		"ahead":            {flow("abc", 40, 0, flagACK), flow("0123456789", 30, 0, flagACK)},
		"cut":              {{from: FromA, seq: 131, ack: 501, flags: flagACK, data: "ab", cut: 3}},
		"all cut":          {{from: FromA, seq: 131, ack: 501, flags: flagACK, cut: 3}},
		"acknowledging":    {flow("abc", 30, 90, flagACK)},
		"bare news":        {flow("", 30, 90, flagACK)},
		"bare far news":    {flow("", 30, 1<<30, flagACK)},
		"bare beyond news": {flow("", 30, 1<<30+1, flagACK)},
		"no ACK":           {flow("abc", 30, 90, 0)},
		"fin":              {flow("abc", 30, 0, flagACK|flagFIN), flow("abc", 33, 0, flagACK)},
		"rst":              {flow("abc", 30, 0, flagACK|flagRST)},
		"syn":              {flow("abc", 30, 0, flagACK|flagSYN)},
		"lost end":         append([]sent{flow("", 40, 0, flagACK|flagFIN), back("x", 0, 141)}, slices.Repeat([]sent{back("", 1, 131)}, 40)...),
		"answer":           {back("abc", 0, 131)},
		"old syn":          {{from: FromA, seq: 100, flags: flagSYN}},
	} {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprint(name, answered), func(t *testing.T) {
				all := []sent{{from: FromA, seq: 100, flags: flagSYN}}
				if answered {
					all = append(all, sent{from: FromB, seq: 500, ack: 101, flags: flagSYN | flagACK})
				}
				for i := range uint32(10) {
					all = append(all, flow("abc", 3*i, 0, flagACK))
				}
				all = append(all, odd...)
				for range settlePackets + 1 { // gives up what is lost
					all = append(all, flow("", 30, 90, flagACK))
				}
				all = append(all, flow("the end", 60, 0, flagACK))
				p := newPair(t)
				for i, s := range all {
					p.packet(s.packet(int64(i+1), int64(i)*millisecond))
				}
				p.finish()
			})
		}
	}
}

// What is read in one go is what is read step by step, and that of nearly all packets.
func TestPlainHeaders(t *testing.T) {
	var packets, plain int
	for _, path := range captures(t) {
		for _, packet := range readCapture(t, path) {
			var s segment
			if packet.Link != pcaps.LinkTypeEthernet || s.decode(&packet) != isTCP || s.v6 {
				continue
			}
			packets++
			if checkPlain(t, packet.Data[14:]) {
				plain++
			}
		}
	}
	if plain*10 < packets*9 {
		t.Errorf("%d of %d packets are plain", plain, packets)
	}
}

// The same with each value that each byte of the headers can have, and whatever is cut off.
func TestPlainHeadersOfAnyKind(t *testing.T) {
	data := sent{flags: flagACK, data: "0123456789abcdefghijklmnopqrstuvwxyz"}.packet(1, 0).Data
	if !checkPlain(t, data) {
		t.Fatal("not plain")
	}
	for at := range 40 {
		for value := range 256 {
			changed := slices.Clone(data)
			changed[at] = byte(value)
			checkPlain(t, changed)
		}
	}
	for n := range data {
		checkPlain(t, data[:n])
	}
}

// checkPlain reads IPv4 data in both ways, and says whether they can be read in one go.
func checkPlain(t testing.TB, data []byte) bool {
	t.Helper()
	x, y := segment{v6: true, seq: 77}, segment{v6: true, ack: 88}
	if !x.plain(data) {
		return false
	}
	if v := y.ipv4(data, len(data)); v != isTCP {
		t.Fatalf("verdict %d on % x", v, data)
	}
	if !slices.Equal(x.payload, y.payload) || cap(x.payload) != cap(y.payload) {
		t.Fatalf("% x and % x in % x", x.payload, y.payload, data)
	}
	x.payload, y.payload = nil, nil
	if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
		t.Fatalf("%+v and %+v in % x", x, y, data)
	}
	return true
}
