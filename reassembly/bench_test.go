package reassembly

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/reassembly"
	"github.com/kdissect/kdissect/pcaps"
)

// nothing is a Handler, and what gopacket's assembler needs in its place.
type nothing struct{ bytes int }

func (n *nothing) Chunk(_ *Connection, _ Direction, k *Chunk)          { n.bytes += len(k.Data) }
func (n *nothing) Gap(*Connection, Direction, Gap)                     {}
func (n *nothing) Fin(*Connection, Direction, Origin)                  {}
func (n *nothing) End(*Connection, EndCause, Origin)                   {}
func (n *nothing) ReassemblyComplete(reassembly.AssemblerContext) bool { return true }

func (n *nothing) New(_, _ gopacket.Flow, _ *layers.TCP, _ reassembly.AssemblerContext) reassembly.Stream {
	return n
}

func (n *nothing) Accept(_ *layers.TCP, _ gopacket.CaptureInfo, _ reassembly.TCPFlowDirection, _ reassembly.Sequence, start *bool, _ reassembly.AssemblerContext) bool {
	*start = true
	return true
}

func (n *nothing) ReassembledSG(sg reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	length, _ := sg.Lengths()
	n.bytes += len(sg.Fetch(length))
}

// A load is traffic to measure with: rounds of one segment and its answer on every connection.
type load struct {
	name        string
	connections int
	size        int // of a segment's payload
	reorder     int // places that a packet may be moved by
	train       int // packets in a row of one connection
}

var loads = []load{
	{name: "one connection, 100 B", connections: 1, size: 100, train: 1},
	{name: "one connection, 1448 B", connections: 1, size: 1448, train: 1},
	{name: "64 connections, 100 B", connections: 64, size: 100, train: 1},
	{name: "64 connections in trains, 100 B", connections: 64, size: 100, train: 8},
	{name: "10k connections, 100 B", connections: 10000, size: 100, train: 1},
	{name: "reordered, 1448 B", connections: 16, size: 1448, reorder: 10, train: 4},
}

// rounds is how many trains each direction of a connection sends: few, so that the packets of few connections
// are in the processor's caches, as they are just after they were read.
func (l load) rounds() int { return max(1, 1<<10/(l.connections*l.train)) }

func (l load) packets() []pcaps.Packet {
	count := l.rounds() * 2 * l.connections * l.train
	packets := make([]pcaps.Packet, 0, count)
	seq := make([][2]uint32, l.connections)
	payload := string(make([]byte, l.size))
	for n := range count {
		c := n / l.train % l.connections
		d := Direction(n / l.train / l.connections & 1)
		s := sent{from: d, flags: flagACK, seq: seq[c][d], ack: seq[c][d.Other()], data: payload}
		seq[c][d] += uint32(l.size)
		p := *s.packet(int64(n+1), int64(n)*1000)
		ends := p.Data[12:20]
		ends[1+4*int(d)], ends[2+4*int(d)] = byte(c>>8), byte(c)
		p.Data = append(make([]byte, 14, 14+len(p.Data)), p.Data...)
		p.Data[12], p.WireLen, p.Link = 0x08, uint32(len(p.Data)), pcaps.LinkTypeEthernet
		packets = append(packets, p)
	}
	if l.reorder > 0 {
		jumble(packets[2*l.connections*l.train:], l.reorder)
	}
	return packets
}

// again moves the packets on to where their streams have come to, so they can be sent once more.
func (l load) again(packets []pcaps.Packet) {
	moved := uint32(l.rounds() * l.train * l.size)
	for i := range packets {
		tcp := packets[i].Data[14+20:]
		binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+moved)
		binary.BigEndian.PutUint32(tcp[8:], binary.BigEndian.Uint32(tcp[8:])+moved)
	}
}

// jumble moves packets by up to so many places.
func jumble(packets []pcaps.Packet, places int) {
	rng := rand.New(rand.NewPCG(1, 2))
	place := make(map[int64]int, len(packets))
	for i, p := range packets {
		place[p.Number] = i + rng.IntN(places+1)
	}
	slices.SortStableFunc(packets, func(x, y pcaps.Packet) int { return place[x.Number] - place[y.Number] })
}

// run measures one packet an operation: feed takes all packets, again and again.
func (l load) run(b *testing.B, packets []pcaps.Packet, feed func([]pcaps.Packet)) {
	b.SetBytes(int64(len(packets[0].Data)))
	b.ReportAllocs()
	feed(packets) // what is done once a connection is done
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(packets) {
		b.StopTimer()
		l.again(packets)
		b.StartTimer()
		feed(packets[:min(left, len(packets))])
	}
}

func BenchmarkDecode(b *testing.B) {
	packets := loads[0].packets()
	loads[0].run(b, packets, func(packets []pcaps.Packet) {
		var s segment
		for i := range packets {
			if s.decode(&packets[i]) != isTCP {
				b.Fatal(i)
			}
		}
	})
}

func BenchmarkDecodeGopacket(b *testing.B) {
	packets := loads[0].packets()
	parser := newParser()
	loads[0].run(b, packets, func(packets []pcaps.Packet) {
		for i := range packets {
			if !parser.decode(packets[i].Data) {
				b.Fatal(i)
			}
		}
	})
}

func BenchmarkAssembler(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			packets := l.packets()
			a := New(&nothing{})
			l.run(b, packets, func(packets []pcaps.Packet) {
				for i := range packets {
					a.Packet(&packets[i])
				}
			})
			if s := a.Stats(); s.Gaps > 0 || s.Retransmitted > 0 {
				b.Fatalf("%+v", s)
			}
		})
	}
}

// noting is a Handler that is a Noter, too.
type noting struct{ nothing }

func (*noting) Note(*Connection, Direction, Note) {}

func BenchmarkAssemblerWithNotes(b *testing.B) {
	for n := range 2 * len(loads) {
		l, compare := loads[n/2], n%2 == 1
		b.Run(fmt.Sprintf("%s, compare %v", l.name, compare), func(b *testing.B) {
			packets := l.packets()
			a := New(&noting{})
			a.CompareDelivered = compare
			l.run(b, packets, func(packets []pcaps.Packet) {
				for i := range packets {
					a.Packet(&packets[i])
				}
			})
		})
	}
}

// Every segment in two fragments.
func BenchmarkFragments(b *testing.B) {
	var packets []pcaps.Packet
	a := New(&nothing{})
	const size = 1448
	segment := sent{flags: flagACK, data: string(make([]byte, size))}.packet(0, 0).Data
	for n := range 512 {
		for _, data := range fragments(segment, uint32(n), ipFragment{0, 1024, 0}, ipFragment{1024, 20 + size, 0}) {
			packets = append(packets, pcaps.Packet{Number: int64(len(packets)), Data: data, WireLen: uint32(len(data)), Link: pcaps.LinkTypeRaw})
		}
	}
	b.ReportAllocs()
	seq := uint32(0)
	for n := 0; n < b.N; n++ {
		p := &packets[n%len(packets)]
		p.Time = int64(n) * 1e6
		if n%2 == 0 {
			binary.BigEndian.PutUint32(p.Data[24:], seq)
			seq += size
		}
		a.Packet(p)
	}
}

func BenchmarkAssemblerGopacket(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			packets := l.packets()
			a := reassembly.NewAssembler(reassembly.NewStreamPool(&nothing{}))
			parser := newParser()
			l.run(b, packets, func(packets []pcaps.Packet) {
				for i := range packets {
					parser.decode(packets[i].Data)
					ci := captureContext{Timestamp: time.Unix(0, packets[i].Time)}
					a.AssembleWithContext(parser.ip4.NetworkFlow(), &parser.tcp, &ci)
				}
			})
		})
	}
}

// A parser is gopacket's fast path for Ethernet, IPv4 and TCP.
type parser struct {
	*gopacket.DecodingLayerParser
	ether   layers.Ethernet
	ip4     layers.IPv4
	tcp     layers.TCP
	payload gopacket.Payload
	decoded []gopacket.LayerType
}

func newParser() *parser {
	p := &parser{}
	p.DecodingLayerParser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet)
	p.SetDecodingLayerContainer(gopacket.DecodingLayerArray(nil))
	for _, l := range []gopacket.DecodingLayer{&p.ether, &p.ip4, &p.tcp, &p.payload} {
		p.AddDecodingLayer(l)
	}
	return p
}

func (p *parser) decode(data []byte) bool {
	return p.DecodeLayers(data, &p.decoded) == nil && len(p.decoded) >= 3
}
