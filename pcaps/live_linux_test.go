package pcaps

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/kdissect/kdissect/internal/netlab"
)

// onWire runs a test in a network of its own with two interfaces, left and right, that are the ends of a wire.
func onWire(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	netlab.Test(t, func(t *testing.T) {
		if err := netlab.Wire("left", "right"); err != nil {
			t.Fatal(err)
		}
		test(t)
	})
}

// send sends frames on an interface.
func send(t *testing.T, on string, frames ...[]byte) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4<<20); err != nil {
		t.Fatal(err)
	}
	to := &unix.SockaddrLinklayer{Ifindex: indexOf(t, on)}
	for _, frame := range frames {
		if err := unix.Sendto(fd, frame, 0, to); err != nil {
			t.Fatal(err)
		}
	}
}

func indexOf(t *testing.T, name string) int {
	t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return i.Index
}

// captured returns copies of all packets up to the end, and how many the events say were dropped. It ends the capture when so many were seen or dropped,
// or after a minute.
func captured(t *testing.T, l *Live, end context.CancelFunc, enough int) (packets []Packet, dropped int) {
	t.Helper()
	timer := time.AfterFunc(time.Minute, end)
	defer timer.Stop()
	for b := new(Batch); ; b.Release() {
		err := l.Next(b)
		if err == io.EOF {
			return packets, dropped
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Packets {
			p.Data = bytes.Clone(p.Data)
			packets = append(packets, p)
		}
		for _, e := range b.Events {
			dropped += int(e.Count)
		}
		if len(packets)+dropped >= enough {
			end()
		}
	}
}

// ethernetFrame returns an Ethernet frame with tags, each of a protocol and its control information, and a payload of some bytes.
func ethernetFrame(size int, tags ...uint16) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for _, half := range tags {
		b = binary.BigEndian.AppendUint16(b, half)
	}
	b = binary.BigEndian.AppendUint16(b, 0x0800)
	for i := range size {
		b = append(b, byte(i))
	}
	return b
}

// What is captured is what was sent, the tags that the kernel takes off included.
func TestLiveFrames(t *testing.T) {
	onWire(t, func(t *testing.T) {
		frames := [][]byte{
			ethernetFrame(46),
			ethernetFrame(1500),
			ethernetFrame(100, 0x8100, 0x6005),
			ethernetFrame(100, 0x88a8, 0x0007),
			ethernetFrame(100, 0x88a8, 0x0007, 0x8100, 0x0008),
			ethernetFrame(100, 0x8100, 0x0000),
		}
		ctx, cancel := context.WithCancel(context.Background())
		ctxAll, cancelAll := context.WithCancel(context.Background())
		before := runtime.NumGoroutine()
		one, err := OpenLive(ctx, LiveOptions{Interface: "right"})
		if err != nil {
			t.Fatal(err)
		}
		all, err := OpenLive(ctxAll, LiveOptions{Interface: AnyInterface})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		send(t, "left", frames...)
		packets, _ := captured(t, one, cancel, len(frames))
		if len(packets) != len(frames) {
			t.Fatalf("%d packets, want %d", len(packets), len(frames))
		}
		for i, p := range packets {
			if !bytes.Equal(p.Data, frames[i]) || p.Link != LinkTypeEthernet || p.Number != int64(i+1) || int(p.WireLen) != len(frames[i]) {
				t.Errorf("packet %d of %v, %d bytes: %x\nwant %x", p.Number, p.Link, p.WireLen, p.Data, frames[i])
			}
			if seen := time.Unix(0, p.Time); seen.Before(start.Add(-time.Second)) || seen.After(time.Now()) {
				t.Errorf("packet %d was seen at %v", i+1, seen)
			}
		}
		packets, _ = captured(t, all, cancelAll, 2*len(frames))
		const toHost, toOthers, outgoing = 0, 3, 4
		kinds := map[uint32]byte{uint32(indexOf(t, "left")): outgoing, uint32(indexOf(t, "right")): toOthers}
		next := map[uint32]int{}
		for _, p := range packets {
			index := binary.BigEndian.Uint32(p.Data[4:])
			want := frames[next[index]]
			next[index]++
			// draft-ietf-opsawg-pcaplinktype, LINUX_SLL2: protocol, reserved, interface, ARPHRD type, packet type, address
			header := append(append([]byte{}, want[12:14]...), 0, 0)
			header = append(binary.BigEndian.AppendUint32(header, index), 0, 1, kinds[index], 6, 2, 0, 0, 0, 0, 1, 0, 0)
			if want := append(header, want[14:]...); !bytes.Equal(p.Data, want) || p.Link != LinkTypeLinuxSLL2 || int(p.WireLen) != len(want) {
				t.Errorf("packet %d of %v, %d bytes: %x\nwant %x", p.Number, p.Link, p.WireLen, p.Data, want)
			}
		}
		if len(packets) != 2*len(frames) {
			t.Errorf("%d packets on any, want %d", len(packets), 2*len(frames))
		}
		for _, l := range []*Live{one, all} {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != fs.ErrClosed {
				t.Errorf("closed twice: %v", err)
			}
			if err := l.Next(new(Batch)); err != fs.ErrClosed {
				t.Errorf("after Close: %v", err)
			}
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, %d before", after, before)
		}
	})
}

// The largest packets are those that network cards or the kernel join. An interface with as large an MTU takes them, too.
func TestLiveJoinedPackets(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		if err := netlab.IP("link set lo mtu 530000"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		l, err := OpenLive(ctx, LiveOptions{Interface: "lo"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		frames := [][]byte{ethernetFrame(512 << 10), ethernetFrame(46), ethernetFrame(300_000), ethernetFrame(512 << 10)}
		send(t, "lo", frames...)
		packets, _ := captured(t, l, cancel, len(frames))
		if len(packets) != len(frames) {
			t.Fatalf("%d packets, want %d", len(packets), len(frames))
		}
		for i, p := range packets {
			if !bytes.Equal(p.Data, frames[i]) || int(p.WireLen) != len(frames[i]) {
				t.Errorf("packet %d: %d bytes of %d, want %d", i+1, len(p.Data), p.WireLen, len(frames[i]))
			}
		}
	})
}

// Packets are cut where the filter says, and those that it does not want do not come.
func TestLiveFilter(t *testing.T) {
	onWire(t, func(t *testing.T) {
		filter, err := bpf.Assemble([]bpf.Instruction{
			bpf.LoadExtension{Num: bpf.ExtLen},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 100, SkipFalse: 1},
			bpf.RetConstant{Val: 40},
			bpf.RetConstant{},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		l, err := OpenLive(ctx, LiveOptions{Interface: "right", Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		send(t, "left", ethernetFrame(50), ethernetFrame(1000), ethernetFrame(60), ethernetFrame(200, 0x8100, 5))
		packets, _ := captured(t, l, cancel, 2)
		if len(packets) != 2 {
			t.Fatalf("%d packets", len(packets))
		}
		if p := packets[0]; !bytes.Equal(p.Data, ethernetFrame(1000)[:40]) || p.WireLen != 1014 {
			t.Errorf("%d bytes of %d", len(p.Data), p.WireLen)
		}
		// The kernel cuts what it has; the tag is put back afterwards.
		if p := packets[1]; !bytes.Equal(p.Data, ethernetFrame(200, 0x8100, 5)[:44]) || p.WireLen != 218 {
			t.Errorf("%d bytes of %d", len(p.Data), p.WireLen)
		}
	})
}

// What there is no room for is counted, and what there is room for comes whole.
func TestLiveDrops(t *testing.T) {
	onWire(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		l, err := OpenLive(ctx, LiveOptions{Interface: "left", Buffer: 2 << 20}) // on right frames may get lost before they are captured
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const sent = 5000
		frames := make([][]byte, sent)
		for i := range frames {
			frames[i] = ethernetFrame(1400)
		}
		send(t, "left", frames...)
		packets, dropped := captured(t, l, cancel, sent)
		stats := l.Stats()
		if len(packets)+dropped != sent || dropped == 0 || int64(dropped) != stats.Dropped || int64(len(packets)) != stats.Received {
			t.Errorf("%d packets and %d dropped of %d; counted: %+v", len(packets), dropped, sent, stats)
		}
		for i, p := range packets {
			if !bytes.Equal(p.Data, frames[0]) || p.Number != int64(i+1) {
				t.Fatalf("packet %d: %x", p.Number, p.Data)
			}
		}
	})
}

// An interface that goes down or away ends the capture, with what it saw.
func TestLiveInterfaceGoesDown(t *testing.T) {
	for _, command := range []string{"link del left", "link set right down"} {
		onWire(t, func(t *testing.T) {
			l, err := OpenLive(context.Background(), LiveOptions{Interface: "right"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			send(t, "left", ethernetFrame(50))
			packets := 0
			for b := new(Batch); ; b.Release() {
				if err = l.Next(b); err != nil {
					break
				}
				if packets += len(b.Packets); len(b.Packets) > 0 {
					if err := netlab.IP(command); err != nil {
						t.Fatal(err)
					}
				}
			}
			if packets != 1 || err.Error() != "right: the interface went down" {
				t.Errorf("%s: %d packets, then %v", command, packets, err)
			}
		})
	}
}

// An interface that is down is told before there is a capture.
func TestLiveInterfaceIsDown(t *testing.T) {
	onWire(t, func(t *testing.T) {
		if err := netlab.IP("link set right down"); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLive(context.Background(), LiveOptions{Interface: "right"}); err == nil || err.Error() != "right: the interface is down" {
			t.Error(err)
		}
	})
}

// A capture of any sees interfaces that come later, and outlives those that go.
func TestLiveAnyOutlivesInterfaces(t *testing.T) {
	netlab.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		l, err := OpenLive(ctx, LiveOptions{Interface: AnyInterface})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for i := range 2 {
			if err := netlab.Wire("left", "right"); err != nil {
				t.Fatal(err)
			}
			send(t, "left", ethernetFrame(100+i))
			if err := netlab.IP("link del left"); err != nil {
				t.Fatal(err)
			}
		}
		var sizes []int
		packets, _ := captured(t, l, cancel, 4)
		for _, p := range packets {
			sizes = append(sizes, len(p.Data)-20) // without the header of LINUX_SLL2
		}
		if !slices.Equal(sizes, []int{100, 100, 101, 101}) {
			t.Errorf("payloads of %v bytes", sizes)
		}
	})
}
