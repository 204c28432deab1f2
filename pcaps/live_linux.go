package pcaps

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// AnyInterface stands for all interfaces at once.
const AnyInterface = "any"

// LiveOptions say what OpenLive captures.
type LiveOptions struct {
	Interface   string               // its name, or AnyInterface
	Filter      []bpf.RawInstruction // run by the kernel: how many bytes of a packet to keep, 0 for none. Empty keeps all
	Buffer      int                  // bytes for packets that the receiver has not come to; rounded to blocks of 1 MiB, 2 at least
	Promiscuous bool                 // take what is addressed to others, too
}

// LiveStats counts the packets that passed the filter.
type LiveStats struct {
	Received int64 // that Next handed over
	Dropped  int64 // that the kernel had no room for, because Next was called too seldom
	Freezes  int64 // how often the kernel ran out of room
}

// Live is the Source of packets as they pass an interface. It is read from memory that it shares with the kernel: blocks of a ring (TPACKET_V3,
// Documentation/networking/packet_mmap.rst of Linux), which cost no system call a packet.
//
// Every packet comes once: of those that a host sends to itself the kernel shows two copies, the first of which is passed over. VLAN tags that the kernel has
// taken off are put back. Packets are Ethernet frames, or of LinkTypeLinuxSLL2 where the interface is another one or any.
//
// Next returns an empty Batch each tenth of a second in which no packet comes. What the kernel dropped is an event of kind Dropped.
type Live struct {
	ctx    context.Context
	name   string
	cooked bool
	socket int
	ring   []byte
	block  int // the one to look at next

	packets int64     // handed over so far
	until   int64     // when to end, capture time in nanoseconds; 0 as long as that is open
	drained time.Time // when the kernel has handed over all that came up to the end; zero as long as that is open
	stats   LiveStats
	counted time.Time // when the kernel was last asked for its counts
	fault   error     // of the interface; what was captured before is handed over first
	err     error     // what Next returns from now on
}

const (
	// liveBlock is the size of a block of the ring, and of the slab that it is copied to. It takes the largest packets there are, those that network
	// cards or the kernel join (BIG TCP, 512 KiB).
	liveBlock = 1 << 20
	// liveHandover is after how many milliseconds the kernel hands over a block that is not full.
	liveHandover = 50
	// liveDrain is how long the kernel has for the last block: the handover comes with the second tick of its clock, later on a busy machine.
	liveDrain = 300 * time.Millisecond
	// livePoll is how many milliseconds Next waits for a block.
	livePoll = 100
	// liveCount is how often the kernel is asked what it dropped.
	liveCount = time.Second
)

var liveSlabs = newSlabPool(liveBlock)

// errInterfaceDown is what the kernel tells of an interface that was set down or taken away.
var errInterfaceDown = errors.New("the interface went down")

// OpenLive begins to capture. When ctx is done, Next hands over what was captured up to then and returns io.EOF. An error for want of rights is fs.ErrPermission.
func OpenLive(ctx context.Context, options LiveOptions) (*Live, error) {
	l := &Live{ctx: ctx, name: options.Interface, cooked: options.Interface == AnyInterface, socket: -1, counted: time.Now()}
	index := 0
	if !l.cooked {
		one, err := net.InterfaceByName(options.Interface)
		if err != nil {
			return nil, fmt.Errorf("no interface %q; kdissect interfaces lists them", options.Interface)
		}
		if one.Flags&net.FlagUp == 0 {
			return nil, fmt.Errorf("%s: the interface is down", l.name)
		}
		index = one.Index
	}
	if err := l.open(index, options); err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	return l, nil
}

// open sets all up before the socket is bound: no packet comes that the filter has not seen.
func (l *Live) open(index int, options LiveOptions) (err error) {
	if l.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("opening a packet socket", err)
	}
	if err := unix.SetsockoptInt(l.socket, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return os.NewSyscallError("choosing TPACKET_V3", err)
	}
	if err := l.setFilter(options.Filter); err != nil {
		return os.NewSyscallError("setting the filter", err)
	}
	blocks := max(options.Buffer/liveBlock, 2)
	const frame = 2048 // of no meaning in this version, but checked
	ring := unix.TpacketReq3{
		Block_size: liveBlock, Block_nr: uint32(blocks),
		Frame_size: frame, Frame_nr: uint32(blocks * (liveBlock / frame)),
		Retire_blk_tov: liveHandover,
	}
	if err := unix.SetsockoptTpacketReq3(l.socket, unix.SOL_PACKET, unix.PACKET_RX_RING, &ring); err != nil {
		return fmt.Errorf("a buffer of %d MiB: %w", blocks, err)
	}
	if l.ring, err = unix.Mmap(l.socket, 0, blocks*liveBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mapping the buffer", err)
	}
	if options.Promiscuous && index != 0 {
		request := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(l.socket, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &request); err != nil {
			return os.NewSyscallError("promiscuous mode", err)
		}
	}
	all := &unix.SockaddrLinklayer{Protocol: hostToNetwork(unix.ETH_P_ALL), Ifindex: index}
	return os.NewSyscallError("binding the socket", unix.Bind(l.socket, all))
}

func hostToNetwork(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// setFilter has the kernel run a filter, behind one that passes over the first copies of what a host sends to itself.
func (l *Live) setFilter(filter []bpf.RawInstruction) error {
	if len(filter) == 0 {
		filter, _ = bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 1<<32 - 1}})
	}
	once, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLinkLayerType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ARPHRD_LOOPBACK, SkipTrue: 3},
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 1},
		bpf.RetConstant{},
	})
	if err != nil {
		return err
	}
	var program []unix.SockFilter
	for _, i := range append(once, filter...) {
		program = append(program, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	if len(program) > 4096 { // BPF_MAXINSNS; the kernel's length is a uint16
		return unix.EINVAL
	}
	defer runtime.KeepAlive(program)
	return unix.SetsockoptSockFprog(l.socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// Next implements Source. It never waits for longer than a tenth of a second.
func (l *Live) Next(b *Batch) error {
	b.reset(l.packets+1, 0)
	if l.err != nil {
		return l.err
	}
	if l.until == 0 && l.ctx.Err() != nil {
		now := time.Now()
		l.until, l.drained = now.UnixNano(), now.Add(liveDrain)
	}
	s := slabFrom(liveSlabs)
	b.hold(s)
	s.release() // b holds it
	switch ready, err := l.await(); {
	case err != nil:
		l.err = fmt.Errorf("%s: %w", l.name, err)
	case ready:
		if ended := l.take(b, s.bytes); ended {
			l.err = io.EOF
		}
	case l.drained.IsZero() || time.Now().Before(l.drained):
	case l.fault != nil:
		l.err = fmt.Errorf("%s: %w", l.name, l.fault)
	default:
		l.err = io.EOF
	}
	l.packets = b.last()
	l.stats.Received = l.packets
	if time.Since(l.counted) >= liveCount || l.err != nil {
		l.count(b)
	}
	return nil
}

// header returns that of the block to look at next.
func (l *Live) header() *unix.TpacketHdrV1 {
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&l.ring[l.block*liveBlock+int(unsafe.Offsetof(unix.TpacketBlockDesc{}.Hdr))]))
}

// await waits until the next block is there. It returns false if none comes in time.
func (l *Live) await() (ready bool, err error) {
	for end := time.Now().Add(livePoll * time.Millisecond); ; {
		if atomic.LoadUint32(&l.header().Block_status)&unix.TP_STATUS_USER != 0 {
			return true, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return false, nil
		}
		events := []unix.PollFd{{Fd: int32(l.socket), Events: unix.POLLIN}}
		if _, err := unix.Poll(events, int(left/time.Millisecond)+1); err != nil && err != unix.EINTR {
			return false, os.NewSyscallError("waiting for packets", err)
		}
		if events[0].Revents&unix.POLLERR != 0 {
			if code, _ := unix.GetsockoptInt(l.socket, unix.SOL_SOCKET, unix.SO_ERROR); code != 0 {
				l.fault, l.drained = unix.Errno(code), time.Now().Add(liveDrain)
				if l.fault == unix.ENETDOWN {
					l.fault = errInterfaceDown
				}
			}
		}
	}
}

// take copies the packets of the next block to room and gives the block back. It returns true if it met the first packet that came too late.
func (l *Live) take(b *Batch, room []byte) (ended bool) {
	header := l.header()
	block := l.ring[l.block*liveBlock : (l.block+1)*liveBlock]
	at := header.Offset_to_first_pkt
	for range header.Num_pkts {
		frame := (*unix.Tpacket3Hdr)(unsafe.Pointer(&block[at]))
		seen := int64(frame.Sec)*1e9 + int64(frame.Nsec)
		if ended = l.until != 0 && seen > l.until; ended {
			break
		}
		const behind = (unix.SizeofTpacket3Hdr + unix.TPACKET_ALIGNMENT - 1) &^ (unix.TPACKET_ALIGNMENT - 1)
		from := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&block[at+behind]))
		size, link := l.copy(room, block[at:], frame, from)
		p := b.add()
		p.Time, p.Link = seen, link
		p.Data, p.WireLen = room[:size:size], uint32(size)+frame.Len-frame.Snaplen
		room = room[size:]
		at += frame.Next_offset
	}
	atomic.StoreUint32(&header.Block_status, unix.TP_STATUS_KERNEL)
	l.block = (l.block + 1) % (len(l.ring) / liveBlock)
	return ended
}

// copy writes a packet to room, which is large enough: what the kernel puts in front of a packet takes more than what is put there here.
func (l *Live) copy(room, record []byte, frame *unix.Tpacket3Hdr, from *unix.RawSockaddrLinklayer) (size int, link LinkType) {
	data := record[frame.Mac : uint32(frame.Mac)+frame.Snaplen]
	const addresses, ethernet = 12, 14
	ethernetFrame := isEthernet(from.Hatype)
	tagged := frame.Status&unix.TP_STATUS_VLAN_VALID != 0
	if ethernetFrame && !l.cooked {
		if tagged && len(data) >= addresses {
			size = copy(room, data[:addresses])
			size += len(appendTag(room[size:size], frame))
			data = data[addresses:]
		}
		return size + copy(room[size:], data), LinkTypeEthernet
	}
	protocol := networkToHost(from.Protocol)
	if ethernetFrame && len(data) >= ethernet {
		protocol, data = binary.BigEndian.Uint16(data[addresses:]), data[ethernet:]
	} else {
		data = data[min(len(data), int(frame.Net-frame.Mac)):]
	}
	var tag []byte // with the protocol behind it; its own stands in the header
	if tagged {
		tag = binary.BigEndian.AppendUint16(appendTag(make([]byte, 0, 6), frame), protocol)
		protocol, tag = binary.BigEndian.Uint16(tag), tag[2:]
	}
	header := binary.BigEndian.AppendUint16(room[:0], protocol)
	header = binary.BigEndian.AppendUint32(append(header, 0, 0), uint32(from.Ifindex))
	header = binary.BigEndian.AppendUint16(header, from.Hatype)
	header = append(append(header, from.Pkttype, from.Halen), from.Addr[:]...)
	size = len(append(header, tag...))
	return size + copy(room[size:], data), LinkTypeLinuxSLL2
}

// appendTag appends the VLAN tag that the kernel took off: its protocol, which is IEEE 802.1Q where it does not say so, and its control information.
func appendTag(b []byte, frame *unix.Tpacket3Hdr) []byte {
	protocol := uint16(unix.ETH_P_8021Q)
	if frame.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		protocol = frame.Hv1.Vlan_tpid
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, protocol), uint16(frame.Hv1.Vlan_tci))
}

func networkToHost(n uint16) uint16 {
	return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, n))
}

// count asks the kernel what it dropped since it was last asked.
func (l *Live) count(b *Batch) {
	l.counted = time.Now()
	stats, err := unix.GetsockoptTpacketStatsV3(l.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil || stats.Drops == 0 {
		return
	}
	l.stats.Dropped += int64(stats.Drops)
	l.stats.Freezes += int64(stats.Freeze_q_cnt)
	b.Events = append(b.Events, Event{Kind: Dropped, Packet: b.last(), Count: uint64(stats.Drops)})
}

// LinkType returns the link type that packets have, or most of them.
func (l *Live) LinkType() LinkType {
	address, _ := unix.Getsockname(l.socket)
	if bound, ok := address.(*unix.SockaddrLinklayer); ok && !l.cooked && isEthernet(bound.Hatype) {
		return LinkTypeEthernet
	}
	return LinkTypeLinuxSLL2
}

// isEthernet tells whether packets of a kind of interface begin with a header of Ethernet.
func isEthernet(kind uint16) bool {
	return kind == unix.ARPHRD_ETHER || kind == unix.ARPHRD_LOOPBACK
}

// Stats returns what was counted so far. What the kernel dropped is known up to the last second, and all of it at the end.
func (l *Live) Stats() LiveStats { return l.stats }

// Files implements Source. It is the interface's name.
func (l *Live) Files() []string { return []string{l.name} }

// Position implements Source. No file is read.
func (l *Live) Position() int64 { return 0 }

// Close implements Source.
func (l *Live) Close() error {
	if l.err == fs.ErrClosed {
		return fs.ErrClosed
	}
	l.err = fs.ErrClosed
	var failed []error
	if l.ring != nil {
		failed = append(failed, unix.Munmap(l.ring))
		l.ring = nil
	}
	if l.socket >= 0 {
		failed = append(failed, unix.Close(l.socket))
	}
	return errors.Join(failed...)
}
