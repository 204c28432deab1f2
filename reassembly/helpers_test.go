package reassembly

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kdissect/kdissect/pcaps"
)

// A sent is a TCP segment to put into a packet.
type sent struct {
	from     Direction
	seq, ack uint32
	flags    uint8
	data     string
	cut      int // bytes behind data that are on the wire only
}

// packet encodes s as raw IPv4 between 10.0.0.1:40000 (FromA) and 10.0.0.2:9092.
func (s sent) packet(number, time int64) *pcaps.Packet {
	ends := [2][4]byte{{10, 0, 0, 1}, {10, 0, 0, 2}}
	ports := [2]uint16{40000, 9092}
	b := make([]byte, 40, 40+len(s.data))
	b[0], b[9] = 0x45, protoTCP
	binary.BigEndian.PutUint16(b[2:], uint16(40+len(s.data)+s.cut))
	copy(b[12:], ends[s.from][:])
	copy(b[16:], ends[s.from.Other()][:])
	binary.BigEndian.PutUint16(b[20:], ports[s.from])
	binary.BigEndian.PutUint16(b[22:], ports[s.from.Other()])
	binary.BigEndian.PutUint32(b[24:], s.seq)
	binary.BigEndian.PutUint32(b[28:], s.ack)
	b[32], b[33] = 5<<4, s.flags
	b = append(b, s.data...)
	return &pcaps.Packet{Number: number, Time: time, Data: b, WireLen: uint32(len(b) + s.cut), Link: pcaps.LinkTypeRaw}
}

var (
	directionNames = [...]string{"A", "B"}
	gapNames       = [...]string{"not-captured", "snaplen", "limit"}
	endNames       = [...]string{"end-of-input", "closed", "reset", "replaced", "evicted"}
)

// A recorder writes down what it is told, a line an event. A connection other than the first has its ID in front.
type recorder struct {
	events []string
}

func (r *recorder) note(c *Connection, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if c.ID != 1 {
		line = fmt.Sprintf("%d: %s", c.ID, line)
	}
	r.events = append(r.events, line)
}

func (r *recorder) Chunk(c *Connection, d Direction, k *Chunk) {
	r.note(c, "%s %d %s #%d", directionNames[d], k.Offset, k.Data, k.Packet)
}

func (r *recorder) Gap(c *Connection, d Direction, g Gap) {
	r.note(c, "%s %d gap %d %s #%d", directionNames[d], g.Offset, g.Length, gapNames[g.Cause], g.Packet)
}

func (r *recorder) Fin(c *Connection, d Direction, at Origin) {
	r.note(c, "%s fin #%d", directionNames[d], at.Packet)
}

func (r *recorder) End(c *Connection, cause EndCause, at Origin) {
	by := ""
	if cause == Reset {
		by = " by " + directionNames[c.ResetBy]
	}
	r.note(c, "end %s%s #%d", endNames[cause], by, at.Packet)
}

// A notingRecorder writes down notes, too.
type notingRecorder struct{ recorder }

var noteNames = [...]string{"conflict", "duplicates", "twin"}

func (r *notingRecorder) Note(c *Connection, d Direction, n Note) {
	line := fmt.Sprintf("%s %d %s %d #%d/#%d", directionNames[d], n.Offset, noteNames[n.Kind], n.Length, n.Packet, n.First.Packet)
	if n.Twin != nil {
		line += fmt.Sprintf(" of %d", n.Twin.ID)
	}
	r.note(c, "%s", line)
}

// A script is a capture of one pair of endpoints, a packet a line, numbered from 1, a
// millisecond apart. Lines are
//
//	A syn 100 [ack 501] [data]      a SYN with that sequence number
//	B 501 [words] [fin] [rst] [ack 106] [cut 7]
//	idle 32                         so many bare segments of A that acknowledge nothing
//	wait 2s                         let time pass, back too
type script struct {
	t         *testing.T
	assembler *Assembler
	number    int64
	time      int64
}

const millisecond = int64(time.Millisecond)

func (p *script) run(lines string) {
	p.t.Helper()
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) > 0 {
			p.line(words)
		}
	}
}

func (p *script) line(words []string) {
	p.t.Helper()
	switch words[0] {
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.time += int64(d)
	case "idle":
		for range p.uint(words[1]) {
			p.send(sent{from: FromA, seq: 1})
		}
	default:
		p.send(p.segment(words))
	}
}

func (p *script) segment(words []string) sent {
	p.t.Helper()
	s := sent{from: Direction(strings.Index("AB", words[0]))}
	words = words[1:]
	for len(words) > 0 {
		switch words[0] {
		case "syn":
			s.flags |= flagSYN
		case "fin":
			s.flags |= flagFIN
		case "rst":
			s.flags |= flagRST
		case "ack":
			s.flags |= flagACK
			s.ack = p.uint(words[1])
			words = words[1:]
		case "cut":
			s.cut = int(p.uint(words[1]))
			words = words[1:]
		default:
			if words[0][0] >= '0' && words[0][0] <= '9' {
				s.seq = p.uint(words[0])
			} else {
				s.data = words[0]
			}
		}
		words = words[1:]
	}
	return s
}

func (p *script) uint(word string) uint32 {
	p.t.Helper()
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		p.t.Fatal(err)
	}
	return uint32(n)
}

func (p *script) send(s sent) {
	p.t.Helper()
	p.number++
	p.time += millisecond
	if err := p.assembler.Packet(s.packet(p.number, p.time)); err != nil {
		p.t.Fatal(err)
	}
}

// play runs a script to its end and returns the events.
func play(t *testing.T, limits Limits, notes bool, lines string) ([]string, Stats) {
	t.Helper()
	r := &notingRecorder{}
	a := New(&r.recorder)
	if notes {
		a = New(r)
		a.CompareDelivered = true
	}
	a.Limits = limits
	p := &script{t: t, assembler: a}
	p.run(lines)
	a.Close()
	checkEmpty(t, a)
	return r.events, a.Stats()
}

// age settles all newcomers, as many more connections would.
func age(a *Assembler) {
	for i, c := range a.newcomers {
		a.newcomers[i] = nil
		if c != nil {
			a.settle(c)
		}
	}
}

// checkEmpty checks that a closed assembler has given back all it held.
func checkEmpty(t *testing.T, a *Assembler) {
	t.Helper()
	live := len(a.v4.live) + len(a.v6.live) + len(a.v4.asleep) + len(a.v6.asleep) + len(a.v4.asleepBefore) + len(a.v6.asleepBefore) + len(a.settled)
	if a.held != 0 || len(a.waiting) != 0 || live != 0 {
		t.Fatalf("after Close: %d bytes held, %d directions waiting, %d connections", a.held, len(a.waiting), live)
	}
	if slices.ContainsFunc(a.newcomers[:], func(c *conn) bool { return c != nil }) {
		t.Fatal("after Close: there are newcomers")
	}
	if a.datagrams.held != 0 || len(a.datagrams.byKey) != 0 {
		t.Fatalf("after Close: %d bytes in %d datagrams", a.datagrams.held, len(a.datagrams.byKey))
	}
	b := a.Stats().Bytes
	if gone := b.Delivered + b.Repeated + b.BeforeStart + b.BehindFin + b.InReset + b.OfTwins + b.OfEnded; gone != b.PayloadBytes {
		t.Fatalf("after Close: of %d bytes of payload it is known where %d went: %+v", b.PayloadBytes, gone, b)
	}
	_, _, stone4 := key4{}.sizes()
	_, _, stone6 := key6{}.sizes()
	if left := a.memory - a.v4.ended.count()*stone4 - a.v6.ended.count()*stone6; left != 0 {
		t.Fatalf("after Close: %d bytes counted that nothing holds", left)
	}
}
