package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kdissect/kdissect/internal/netlab"
	"github.com/kdissect/kdissect/pcaps"
)

// The ends of the wire: packets are sent on left and captured on right.
const left, right = "left", "right"

// A sender sends the packets of a capture on the wire, again and again. They are as they are, but that each round has other networks, 10.0.1.0 after
// 10.0.0.0: its connections are new ones, not the old ones once more.
type sender struct {
	lanes          []*lane
	packets, bytes int64 // of a round
}

// A lane is a part of the connections, which one thread sends.
type lane struct {
	socket   int
	messages []message
	next     int
}

// A message is what sendmmsg takes: struct mmsghdr.
type message struct {
	header unix.Msghdr
	sent   uint32
	_      [4]byte
}

// Where things are in an Ethernet frame that carries TCP over IPv4 without options.
const (
	protocolAt = 12
	sourceAt   = 14 + 12 + 2 // the third byte of the address: the network, where it is of class C
	targetAt   = 14 + 16 + 2
	portsAt    = 14 + 20
)

// newSender reads a capture and makes the wire, so it is called on the network's thread. As many threads send as there are processors.
func newSender(path string) (*sender, error) {
	if err := netlab.Wire(left, right); err != nil {
		return nil, err
	}
	end, err := net.InterfaceByName(left)
	if err != nil {
		return nil, err
	}
	s := &sender{}
	for range runtime.NumCPU() {
		socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		s.lanes = append(s.lanes, &lane{socket: socket})
		if err := unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return nil, err
		}
		if err := unix.Bind(socket, &unix.SockaddrLinklayer{Ifindex: end.Index}); err != nil {
			return nil, err
		}
	}
	return s, s.read(path)
}

func (s *sender) read(path string) error {
	source, err := pcaps.Open(path)
	if err != nil {
		return err
	}
	defer source.Close()
	for b := new(pcaps.Batch); ; b.Release() {
		if err := source.Next(b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for _, p := range b.Packets {
			if p.Link != pcaps.LinkTypeEthernet || len(p.Data) != int(p.WireLen) || len(p.Data) < portsAt+4 ||
				binary.BigEndian.Uint16(p.Data[protocolAt:]) != unix.ETH_P_IP {
				return fmt.Errorf("%s: packet %d is no whole Ethernet frame with TCP over IPv4", path, p.Number)
			}
			ports := binary.BigEndian.Uint16(p.Data[portsAt:]) + binary.BigEndian.Uint16(p.Data[portsAt+2:])
			l := s.lanes[int(ports)%len(s.lanes)]
			piece := &unix.Iovec{Base: &bytes.Clone(p.Data)[0]}
			piece.SetLen(len(p.Data))
			l.messages = append(l.messages, message{header: unix.Msghdr{Iov: piece, Iovlen: 1}})
			s.packets++
			s.bytes += int64(len(p.Data))
		}
	}
}

// perPacket is the mean size of a packet in bits.
func (s *sender) perPacket() float64 { return 8 * float64(s.bytes) / float64(s.packets) }

// send sends packets at a rate a second for some time. It falls behind where the machine does.
func (s *sender) send(rate float64, length time.Duration) error {
	failed := make(chan error)
	for _, l := range s.lanes {
		go func() { failed <- l.send(rate*float64(len(l.messages))/float64(s.packets), length) }()
	}
	var all []error
	for range s.lanes {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// maxMessages is how many packets go with one system call.
const maxMessages = 256

func (l *lane) send(rate float64, length time.Duration) error {
	for start, sent := time.Now(), 0; ; {
		passed := time.Since(start)
		if passed >= length {
			return nil
		}
		due := int(rate*passed.Seconds()) - sent
		if due <= 0 {
			time.Sleep(200 * time.Microsecond)
			continue
		}
		part := l.messages[l.next:min(len(l.messages), l.next+due, l.next+maxMessages)]
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(l.socket), uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), 0, 0, 0)
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOBUFS:
			continue
		default:
			return fmt.Errorf("sending: %w", errno)
		}
		for i := range part[:n] {
			frame := unsafe.Slice(part[i].header.Iov.Base, portsAt)
			frame[sourceAt]++
			frame[targetAt]++
		}
		sent += int(n)
		l.next = (l.next + int(n)) % len(l.messages)
	}
}

// arrived returns how many packets and bytes have come to the other end of the wire since it was made, by the count of the kernel.
func arrived() (packets, bytes int64, err error) {
	table, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(table)) {
		if name, counts, _ := strings.Cut(strings.TrimSpace(line), ":"); name == right {
			_, err := fmt.Sscan(counts, &bytes, &packets)
			return packets, bytes, err
		}
	}
	return 0, 0, fmt.Errorf("%s is not there", right)
}
