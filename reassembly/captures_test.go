package reassembly

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/google/gopacket/reassembly"
	"github.com/kdissect/kdissect/pcaps"
)

const captureDir = "../../shared/captures/real"

// captures returns the paths of the captures of real traffic, and skips the test where they are not at hand.
func captures(t testing.TB) []string {
	paths, _ := filepath.Glob(filepath.Join(captureDir, "*.pcap*"))
	switch {
	case len(paths) > 0:
	case os.Getenv("KDISSECT_REQUIRE_SHARED") != "":
		t.Fatalf("no captures in %s", captureDir)
	default:
		t.Skipf("no captures in %s", captureDir)
	}
	return paths
}

// readCapture returns the packets of a capture, up to where it is damaged.
func readCapture(t testing.TB, path string) []pcaps.Packet {
	t.Helper()
	src, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var packets []pcaps.Packet
	for {
		var b pcaps.Batch // never released, so the packets stay valid
		if err := src.Next(&b); err != nil {
			if err != io.EOF && !strings.Contains(path, "truncated") {
				t.Fatal(err)
			}
			return packets
		}
		packets = append(packets, b.Packets...)
	}
}

// A flow is one direction between two endpoints.
type flow struct{ src, dst netip.AddrPort }

// A collector appends the bytes of all connections of a flow, one after the other.
type collector struct {
	bytes map[flow][]byte
	ended map[flow]int // connections from src to dst
	gaps  int64
}

func (f *collector) Chunk(c *Connection, d Direction, k *Chunk) {
	at := flow{c.Ends[d], c.Ends[d.Other()]}
	f.bytes[at] = append(f.bytes[at], k.Data...)
}
func (f *collector) Gap(_ *Connection, _ Direction, g Gap) { f.gaps += g.Length }

func (f *collector) Fin(*Connection, Direction, Origin) {}

func (f *collector) End(c *Connection, _ EndCause, _ Origin) {
	f.ended[flow{c.Ends[0], c.Ends[1]}]++
	f.ended[flow{c.Ends[1], c.Ends[0]}]++
}

func collect(t testing.TB, packets []pcaps.Packet) (*collector, Stats) {
	f := &collector{bytes: map[flow][]byte{}, ended: map[flow]int{}}
	a := New(f)
	for i := range packets {
		if err := a.Packet(&packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	return f, a.Stats()
}

// Captures whose bytes are all there lead to no Gap, and to the same bytes as gopacket's assembler, which
// is right on them.
func TestCapturesAgainstGopacket(t *testing.T) {
	for _, path := range captures(t) {
		name := filepath.Base(path)
		if strings.Contains(name, "lost") || strings.Contains(name, "snaplen") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			packets := readCapture(t, path)
			ours, stats := collect(t, packets)
			if stats.TCPPackets == 0 || stats.Malformed+stats.Unsupported+stats.BeforeStart > 0 {
				t.Errorf("%+v", stats)
			}
			if ours.gaps > 0 {
				t.Errorf("%d bytes missing", ours.gaps)
			}
			theirs := collectGopacket(packets)
			if theirs == nil {
				return // a link type that gopacket does not know
			}
			if len(ours.bytes) != len(theirs) {
				t.Errorf("%d flows, gopacket has %d", len(ours.bytes), len(theirs))
			}
			for at, want := range theirs {
				if ours.ended[at] > 1 {
					continue // gopacket takes the ports used again for the old connection
				}
				if got := ours.bytes[at]; !slices.Equal(got, want) {
					t.Errorf("%v: %d bytes, gopacket has %d", at, len(got), len(want))
				}
			}
		})
	}
}

// firstLayer is gopacket's name of what a packet of a link type begins with, 0 where it has none.
func firstLayer(link pcaps.LinkType) gopacket.LayerType {
	switch link {
	case pcaps.LinkTypeEthernet:
		return layers.LayerTypeEthernet
	case pcaps.LinkTypeNull:
		return layers.LayerTypeLoopback
	case pcaps.LinkTypeLinuxSLL:
		return layers.LayerTypeLinuxSLL
	case pcaps.LinkTypeRaw:
		return layers.LayerTypeIPv4
	}
	return 0
}

func collectGopacket(packets []pcaps.Packet) map[flow][]byte {
	f := gopacketStreams{}
	a := reassembly.NewAssembler(reassembly.NewStreamPool(f))
	for i := range packets {
		first := firstLayer(packets[i].Link)
		if first == 0 {
			return nil
		}
		p := gopacket.NewPacket(packets[i].Data, first, gopacket.NoCopy)
		if tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP); ok {
			ci := gopacket.CaptureInfo{Timestamp: time.Unix(0, packets[i].Time)}
			a.AssembleWithContext(p.NetworkLayer().NetworkFlow(), tcp, captureContext(ci))
		}
	}
	a.FlushAll()
	return f
}

type captureContext gopacket.CaptureInfo

func (c captureContext) GetCaptureInfo() gopacket.CaptureInfo { return gopacket.CaptureInfo(c) }

// gopacketStreams is a reassembly.StreamFactory that collects as collector does.
type gopacketStreams map[flow][]byte

func (f gopacketStreams) New(network, transport gopacket.Flow, tcp *layers.TCP, _ reassembly.AssemblerContext) reassembly.Stream {
	src, _ := netip.AddrFromSlice(network.Src().Raw())
	dst, _ := netip.AddrFromSlice(network.Dst().Raw())
	s := &gopacketStream{all: f}
	s.flow = flow{netip.AddrPortFrom(src, uint16(tcp.SrcPort)), netip.AddrPortFrom(dst, uint16(tcp.DstPort))}
	return s
}

type gopacketStream struct {
	all  gopacketStreams
	flow flow
}

// Accept takes streams that begin without a SYN, too.
func (s *gopacketStream) Accept(_ *layers.TCP, _ gopacket.CaptureInfo, _ reassembly.TCPFlowDirection, _ reassembly.Sequence, start *bool, _ reassembly.AssemblerContext) bool {
	*start = true
	return true
}

func (s *gopacketStream) ReassembledSG(sg reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	length, _ := sg.Lengths()
	direction, _, _, _ := sg.Info()
	at := s.flow
	if direction == reassembly.TCPDirServerToClient {
		at = flow{at.dst, at.src}
	}
	if length > 0 {
		s.all[at] = append(s.all[at], sg.Fetch(length)...)
	}
}

func (s *gopacketStream) ReassemblyComplete(reassembly.AssemblerContext) bool { return true }

// All payload of a file is counted: as much as gopacket finds that reads the file, too, packet by packet. Files with packets that it takes for
// something else than TCP are left out: fragments, tunnels, link types that it does not have, or several of them.
func TestPayloadAgainstGopacket(t *testing.T) {
	others, _ := filepath.Glob(filepath.Join(captureDir, "../public/*.pcap*"))
	cases, _ := filepath.Glob(filepath.Join(captureDir, "../../cases/*.pcap*"))
	compared := 0
	for _, path := range slices.Concat(captures(t), others, cases) {
		packets, payload, ok := countGopacket(t, path)
		if !ok {
			continue
		}
		compared++
		a := New(&nothing{})
		readAll(t, path, a)
		a.Close()
		if s := a.Stats(); s.Packets != packets || s.PayloadBytes != payload {
			t.Errorf("%s: %d bytes in %d packets, gopacket has %d in %d", filepath.Base(path), s.PayloadBytes, s.Packets, payload, packets)
		}
		checkEmpty(t, a)
	}
	if compared < 100 {
		t.Errorf("%d captures were compared", compared)
	}
}

// readAll gives an assembler all packets of a file, also those behind damage.
func readAll(t *testing.T, path string, a *Assembler) {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var batch pcaps.Batch
	for {
		var damage *pcaps.DamageError
		switch err := source.Next(&batch); {
		case err == io.EOF:
			return
		case errors.As(err, &damage):
			continue
		case err != nil:
			t.Fatal(err)
		}
		for i := range batch.Packets {
			a.Packet(&batch.Packets[i])
		}
		batch.Release()
	}
}

// countGopacket returns how many packets a file has, and how many bytes of TCP payload. ok is false where gopacket cannot tell.
func countGopacket(t *testing.T, path string) (packets, payload int64, ok bool) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var source interface {
		gopacket.PacketDataSource
		LinkType() layers.LinkType
	}
	if source, err = pcapgo.NewReader(file); err != nil {
		file.Seek(0, io.SeekStart)
		if source, err = pcapgo.NewNgReader(file, pcapgo.NgReaderOptions{ErrorOnMismatchingLinkType: true}); err != nil {
			return 0, 0, false
		}
	}
	for {
		data, _, err := source.ReadPacketData()
		if err != nil {
			return packets, payload, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
		packets++
		p := gopacket.NewPacket(data, source.LinkType(), gopacket.NoCopy)
		if tcp, ok := p.TransportLayer().(*layers.TCP); ok && p.Layer(layers.LayerTypeUDP) == nil {
			payload += int64(len(tcp.Payload))
		} else {
			return 0, 0, false
		}
	}
}

// Captures made from one another by loss: the bytes that are there stand where they stood, and as much
// is missing as was taken away in front of them.
func TestLossyCaptures(t *testing.T) {
	for _, path := range captures(t) {
		name, _, lossy := strings.Cut(filepath.Base(path), "--lost")
		if !lossy {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			base := filepath.Join(captureDir, name+".pcap")
			if _, err := os.Stat(base); err != nil {
				t.Skip(err)
			}
			whole := newWitness(t)
			repeated := tape(whole, readCapture(t, base)).dropped()
			part := newWitness(t)
			stats := tape(part, readCapture(t, path))
			if stats.dropped() > repeated {
				t.Errorf("%d bytes dropped, %d of the whole capture", stats.dropped(), repeated)
			}
			compareLossy(t, whole, part, stats)
		})
	}
}

// noted keeps the notes.
type noted struct {
	nothing
	notes []Note
}

func (w *noted) Note(_ *Connection, _ Direction, n Note) { w.notes = append(w.notes, n) }

// Nothing is odd about the captures but that some have packets twice; and those have them on every connection that says much.
func TestNotesOfCaptures(t *testing.T) {
	cases, _ := filepath.Glob(filepath.Join(captureDir, "../../cases/*.pcap"))
	for _, path := range append(captures(t), cases...) {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "cut-") || name == "empty-file.pcap" {
			continue // damaged files
		}
		w := &noted{}
		a := New(w)
		a.CompareDelivered = true
		for _, p := range readCapture(t, path) {
			a.Packet(&p)
		}
		a.Close()
		stats := a.Stats()
		repeats := strings.Contains(name, "duplicate") || strings.Contains(name, "twice") || strings.Contains(name, "sll-any")
		for _, n := range w.notes {
			if n.Kind != DuplicatePackets || !repeats {
				t.Errorf("%s: %+v", name, n)
			}
		}
		if strings.Contains(name, "duplicate") && int64(len(w.notes)) < stats.Connections/2 {
			t.Errorf("%s: %d notes of %d connections", name, len(w.notes), stats.Connections)
		}
	}
}

// dropped returns how many bytes of payload were not handed on.
func (s Stats) dropped() int64 { return s.PayloadBytes - s.Delivered }

func tape(w *witness, packets []pcaps.Packet) Stats {
	a := New(w)
	for i := range packets {
		a.Packet(&packets[i])
	}
	a.Close()
	w.checkEnded()
	return a.Stats()
}

func compareLossy(t *testing.T, whole, part *witness, stats Stats) {
	streams := map[flow]*stream{}
	for c, s := range whole.streams {
		for d := range s {
			streams[flow{c.Ends[d], c.Ends[1-d]}] = &s[d]
		}
	}
	var delivered int
	for c, s := range part.streams {
		for d := range s {
			if !c.Opened {
				delivered += len(s[d].bytes)
				continue // where it begins is another matter
			}
			want := streams[flow{c.Ends[d], c.Ends[1-d]}]
			if s[d].next > want.next {
				t.Errorf("connection %d: %d bytes of %d", c.ID, s[d].next, want.next)
			}
			for at, got := range s[d].bytes {
				if got.value != want.bytes[at].value {
					t.Fatalf("connection %d: byte %d differs", c.ID, at)
				}
			}
			delivered += len(s[d].bytes)
		}
	}
	if int64(delivered) != stats.Delivered {
		t.Errorf("%d bytes handed on, %d counted", delivered, stats.Delivered)
	}
}

// Every packet of every capture means the same to gopacket, headers and payload.
func TestDecodeOfCaptures(t *testing.T) {
	for _, path := range captures(t) {
		for _, p := range readCapture(t, path) {
			if first := firstLayer(p.Link); first != 0 {
				checkAgainstGopacket(t, path, &p, first)
			}
		}
	}
}

func checkAgainstGopacket(t *testing.T, path string, p *pcaps.Packet, first gopacket.LayerType) {
	t.Helper()
	decoded := gopacket.NewPacket(p.Data, first, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	tcp, ok := decoded.Layer(layers.LayerTypeTCP).(*layers.TCP)
	var s segment
	if v := s.decode(p); (v == isTCP) != ok {
		t.Fatalf("%s: packet %d: verdict %d, gopacket has TCP: %v", path, p.Number, v, ok)
	}
	if !ok {
		return
	}
	src, _ := netip.AddrFromSlice(decoded.NetworkLayer().NetworkFlow().Src().Raw())
	if got := s.src.addrPort(s.v6); got != netip.AddrPortFrom(src, uint16(tcp.SrcPort)) {
		t.Fatalf("%s: packet %d: from %v, gopacket says %v", path, p.Number, got, src)
	}
	if s.seq != tcp.Seq || s.ack != tcp.Ack || !slices.Equal(s.payload, tcp.Payload) {
		t.Fatalf("%s: packet %d: seq %d ack %d, %d bytes; gopacket says %d %d, %d", path, p.Number, s.seq, s.ack, len(s.payload), tcp.Seq, tcp.Ack, len(tcp.Payload))
	}
}
