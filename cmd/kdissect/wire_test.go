package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"testing"

	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// What is in a capture, found without the packages under test but the one that reads files: payload laid out by its sequence
// numbers, and cut where the sizes in it say. It takes captures that begin with the handshake of each connection and lack nothing.

// A wireFrame is a Kafka message on the wire.
type wireFrame struct {
	conn     *wireConn
	server   bool  // a response
	from, to int64 // in its stream, prefix included; the last one may reach beyond what was sent
	key      int16 // a response has those of its request
	version  int16
	id       int32      // correlation id
	token    bool       // may be a raw SASL token, without a header
	request  *wireFrame // of a response
}

func (f *wireFrame) String() string {
	kind := "request"
	if f.server {
		kind = "response"
	}
	return fmt.Sprintf("%s key %d v%d id %d, %d bytes at %d of %s", kind, f.key, f.version, f.id, f.to-f.from, f.from, f.conn.name())
}

// A wireConn is a connection: ends and streams are the client's, then the server's.
type wireConn struct {
	ends    [2]netip.AddrPort
	first   [2]uint32 // sequence number of the first byte
	known   [2]bool
	streams [2][]byte
	frames  []*wireFrame
}

func (c *wireConn) name() string { return c.ends[0].String() + " " + c.ends[1].String() }

// A wirePacket is a packet of a capture, and which bytes of which stream it brings.
type wirePacket struct {
	pcaps.Packet
	conn     *wireConn // nil if it is no TCP of a known connection
	dir      int
	syn      bool
	from, to int64
}

// A wireCapture is what is in a capture.
type wireCapture struct {
	packets []wirePacket
	conns   []*wireConn
}

// readWire reads a capture.
func readWire(t testing.TB, path string) *wireCapture {
	t.Helper()
	w := &wireCapture{}
	latest := map[[2]netip.AddrPort]*wireConn{}
	for _, p := range packetsOf(t, path) {
		w.packets = append(w.packets, wirePacket{Packet: p})
		w.place(t, &w.packets[len(w.packets)-1], latest)
	}
	for _, c := range w.conns {
		c.cut()
	}
	return w
}

// portsAgain tells whether two connections have the same ends.
func (w *wireCapture) portsAgain() bool {
	seen := map[string]bool{}
	for _, c := range w.conns {
		if seen[c.name()] {
			return true
		}
		seen[c.name()] = true
	}
	return false
}

// packetsOf returns the packets of a capture.
func packetsOf(t testing.TB, path string) (packets []pcaps.Packet) {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for {
		var b pcaps.Batch // never released, so the packets stay valid
		if err := source.Next(&b); err == io.EOF {
			return packets
		} else if damage := (*pcaps.DamageError)(nil); errors.As(err, &damage) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, b.Packets...)
	}
}

// ipOffsets says behind how many bytes IP begins.
var ipOffsets = map[pcaps.LinkType]int{
	pcaps.LinkTypeEthernet: 14, pcaps.LinkTypeLinuxSLL: 16, pcaps.LinkTypeLinuxSLL2: 20, pcaps.LinkTypeNull: 4, pcaps.LinkTypeRaw: 0,
}

const (
	wireFIN = 1
	wireSYN = 2
	wireACK = 16
)

// A wireSegment is the TCP of a packet.
type wireSegment struct {
	ends    [2]netip.AddrPort // sender and receiver
	seq     uint32
	flags   byte
	payload []byte
}

// segmentOf returns the TCP segment of a packet, if it is one. There are no tunnels, fragments and extension headers.
func segmentOf(t testing.TB, p *pcaps.Packet) (s wireSegment, ok bool) {
	t.Helper()
	at, ok := ipOffsets[p.Link]
	if !ok {
		t.Fatalf("link type %d", p.Link)
	}
	if p.Link == pcaps.LinkTypeEthernet {
		for tag := binary.BigEndian.Uint16(p.Data[at-2:]); tag == 0x8100 || tag == 0x88a8; tag = binary.BigEndian.Uint16(p.Data[at-2:]) {
			at += 4
		}
	}
	if len(p.Data) < at+40 {
		return s, false
	}
	ip := p.Data[at:]
	var src, dst netip.Addr
	switch {
	case ip[0]>>4 == 4 && ip[9] == 6:
		src, _ = netip.AddrFromSlice(ip[12:16])
		dst, _ = netip.AddrFromSlice(ip[16:20])
		ip = ip[:min(len(ip), int(binary.BigEndian.Uint16(ip[2:])))][int(ip[0]&15)*4:]
	case ip[0]>>4 == 6 && ip[6] == 6:
		src, _ = netip.AddrFromSlice(ip[8:24])
		dst, _ = netip.AddrFromSlice(ip[24:40])
		ip = ip[40:min(len(ip), 40+int(binary.BigEndian.Uint16(ip[4:])))]
	default:
		return s, false
	}
	s.ends = [2]netip.AddrPort{netip.AddrPortFrom(src, binary.BigEndian.Uint16(ip)), netip.AddrPortFrom(dst, binary.BigEndian.Uint16(ip[2:]))}
	s.seq, s.flags, s.payload = binary.BigEndian.Uint32(ip[4:]), ip[13], ip[int(ip[12]>>4)*4:]
	return s, true
}

// place finds out which bytes a packet brings, and puts them into their stream.
func (w *wireCapture) place(t testing.TB, p *wirePacket, latest map[[2]netip.AddrPort]*wireConn) {
	s, ok := segmentOf(t, &p.Packet)
	if !ok {
		return
	}
	if s.flags&(wireSYN|wireACK) == wireSYN {
		if c := latest[s.ends]; c == nil || c.first[0] != s.seq+1 {
			c = &wireConn{ends: s.ends, first: [2]uint32{s.seq + 1, 0}, known: [2]bool{true, false}}
			w.conns = append(w.conns, c)
			latest[s.ends], latest[[2]netip.AddrPort{s.ends[1], s.ends[0]}] = c, c
		}
	}
	c := latest[s.ends]
	if c == nil {
		return
	}
	p.joins(c, &s)
	switch {
	case p.syn:
		c.first[p.dir], c.known[p.dir] = s.seq+1, true
		return
	case len(s.payload) == 0:
		return
	case !c.known[p.dir]:
		t.Fatalf("%s: data before the handshake", c.name())
	}
	stream := &c.streams[p.dir]
	if have := int64(len(*stream)); p.from > have {
		p.from, p.to = 0, 0 // behind bytes that the capture lacks: of no use here
	} else if p.to > have {
		*stream = append(*stream, s.payload[have-p.from:]...)
	}
}

// joins says that a packet is one of a connection.
func (p *wirePacket) joins(c *wireConn, s *wireSegment) {
	p.conn, p.dir, p.syn = c, 0, s.flags&wireSYN != 0
	if c.ends[0] != s.ends[0] {
		p.dir = 1
	}
	if !p.syn {
		p.from = int64(int32(s.seq - c.first[p.dir]))
		p.to = p.from + int64(len(s.payload))
	}
}

// packetsFrom are the packets of another capture of the same connections.
func (w *wireCapture) packetsFrom(t testing.TB, path string) (packets []wirePacket) {
	t.Helper()
	conns := map[[2]netip.AddrPort]*wireConn{}
	for _, c := range w.conns {
		conns[c.ends], conns[[2]netip.AddrPort{c.ends[1], c.ends[0]}] = c, c
	}
	for _, p := range packetsOf(t, path) {
		packets = append(packets, wirePacket{Packet: p})
		if s, ok := segmentOf(t, &p); ok && conns[s.ends] != nil {
			packets[len(packets)-1].joins(conns[s.ends], &s)
		}
	}
	return packets
}

// cut cuts the streams into frames, and pairs them.
func (c *wireConn) cut() {
	waiting := map[int32][]*wireFrame{}
	tokens := false
	for dir, stream := range c.streams {
		for at := int64(0); at+4 <= int64(len(stream)); {
			f := &wireFrame{conn: c, server: dir == 1, from: at, to: at + 4 + int64(binary.BigEndian.Uint32(stream[at:]))}
			if f.to-f.from < 8 {
				break
			}
			b := stream[f.from:min(f.to, int64(len(stream)))]
			f.token = tokens
			if len(b) < 8 {
				break
			}
			if f.server {
				f.id = int32(binary.BigEndian.Uint32(b[4:]))
				if q := waiting[f.id]; len(q) > 0 {
					f.request, waiting[f.id] = q[0], q[1:]
					f.key, f.version = f.request.key, f.request.version
				}
			} else if len(b) >= 12 {
				f.key, f.version, f.id = int16(binary.BigEndian.Uint16(b[4:])), int16(binary.BigEndian.Uint16(b[6:])), int32(binary.BigEndian.Uint32(b[8:]))
				waiting[f.id] = append(waiting[f.id], f)
				tokens = tokens || f.key == 17 && f.version == 0 // SaslHandshake v0: raw tokens follow
			}
			c.frames = append(c.frames, f)
			at = f.to
		}
	}
}

// A presence says which bytes of the streams of a capture some packets bring.
type presence map[*wireConn]*[2][]bool

// presenceOf looks at packets in the order in which they are captured. Of a connection whose opening is not among them a stream begins with
// the first byte that comes.
func presenceOf(w *wireCapture, packets []wirePacket) presence {
	have, opened, begun := presence{}, map[*wireConn]bool{}, map[*wireConn]*[2]int64{}
	for _, c := range w.conns {
		have[c] = &[2][]bool{make([]bool, len(c.streams[0])), make([]bool, len(c.streams[1]))}
		begun[c] = &[2]int64{-1, -1}
	}
	for _, p := range packets {
		if p.conn == nil {
			continue
		}
		opened[p.conn] = opened[p.conn] || p.syn
		first := &begun[p.conn][p.dir]
		if *first < 0 && p.from < p.to {
			if *first = p.from; opened[p.conn] {
				*first = 0
			}
		}
		for at := max(*first, p.from); at < min(p.to, int64(len(have[p.conn][p.dir]))); at++ {
			have[p.conn][p.dir][at] = true
		}
	}
	return have
}

// whole tells whether all bytes of a frame are there.
func (have presence) whole(f *wireFrame) bool {
	dir := 0
	if f.server {
		dir = 1
	}
	there := have[f.conn][dir]
	return f.to <= int64(len(there)) && !slices.Contains(there[f.from:f.to], false)
}

// pcapOf lays packets of one link type out as a capture file.
func pcapOf(packets []wirePacket) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d) // nanoseconds
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(packets[0].Link))
	for _, p := range packets {
		for _, v := range []uint32{uint32(p.Time / 1e9), uint32(p.Time % 1e9), uint32(len(p.Data)), p.WireLen} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = append(b, p.Data...)
	}
	return b
}

// A printed is a message as JSON has it, as far as the tests look at it.
type printed struct {
	Kind       string
	Number     int64
	Connection struct{ Client, Server netip.AddrPort }
	Size       int64
	Header     struct {
		Type          string
		APIKey        *int16
		APIVersion    *int16
		CorrelationID *int32
	}
	Request  int64
	Inferred bool // what the header says of a response whose request is not known
	Payload  any
	Findings []struct{ Code string }
}

func (m *printed) has(codes ...string) bool {
	for _, f := range m.Findings {
		if slices.Contains(codes, f.Code) {
			return true
		}
	}
	return false
}

// dissectTo is what the program does with a capture. It may be damaged.
func dissectTo(t testing.TB, name string, source pcaps.Source, format render.Format) {
	t.Helper()
	status := statusError{}
	if err := newPipeline(schema.Embedded(), []string{name}, source, format, nil).dissectAll(); err != nil && !(errors.As(err, &status) && status.status == statusDamaged) {
		t.Fatal(err)
	}
}

// printedOf reads a capture file and returns what JSON says of it.
func printedOf(t testing.TB, file []byte) (messages, findings []*printed) {
	t.Helper()
	source, err := pcaps.NewSource(bytes.NewReader(file), "capture")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var out bytes.Buffer
	dissectTo(t, "capture", source, render.NewJSON(&out, render.Options{}))
	decoder := json.NewDecoder(&out)
	for decoder.More() {
		m := &printed{}
		if err := decoder.Decode(m); err != nil {
			t.Fatal(err)
		}
		if m.Kind == "message" {
			messages = append(messages, m)
		} else {
			findings = append(findings, m)
		}
	}
	return messages, findings
}
