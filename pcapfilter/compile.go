package pcapfilter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/net/bpf"
)

// networkHeader is the offset by which a program of the kernel's asks for bytes of the network header, wherever in the packet that
// lies: SKF_NET_OFF of linux/filter.h.
const networkHeader = 0xfff00000

// maxInstructions is how many instructions the kernel takes: BPF_MAXINSNS of linux/bpf_common.h.
const maxInstructions = 4096

// ErrUnsupported is what tcpdump may take and Compile does not.
var ErrUnsupported = errors.New("not supported")

// Compile returns the program for an expression. It takes keep bytes of each packet that matches. Names of hosts are resolved by lookup.
func Compile(expression string, keep uint32, lookup func(name string) ([]netip.Addr, error)) ([]bpf.RawInstruction, error) {
	instructions, err := compile(expression, keep, networkHeader, lookup)
	if err != nil {
		return nil, err
	}
	return bpf.Assemble(instructions)
}

// compile is Compile for packets with their IP header at offset base.
func compile(expression string, keep, base uint32, lookup func(string) ([]netip.Addr, error)) ([]bpf.Instruction, error) {
	words, err := scan(expression)
	if err != nil {
		return nil, err
	}
	p := parser{words: words, lookup: lookup}
	n, err := p.expression()
	if err != nil {
		return nil, err
	}
	if len(p.words) > 0 {
		return nil, fmt.Errorf("%q stands where and, or, or the end is expected", p.words[0])
	}
	c := &program{base: base}
	reject := c.add(bpf.RetConstant{})
	accept := c.add(bpf.RetConstant{Val: keep})
	c.prepare(n.compile(c, accept, reject), reject)
	if len(c.reversed) > maxInstructions {
		return nil, fmt.Errorf("the expression takes %d instructions, and the kernel %d", len(c.reversed), maxInstructions)
	}
	return c.instructions(), nil
}

// A program is made from its end to its beginning, since instructions jump forwards only: where a jump goes to is known when it is made.
type program struct {
	reversed []bpf.Instruction
	base     uint32 // offset of the IP header
}

// add puts an instruction in front of the others and returns its place, counted from the end.
func (c *program) add(i bpf.Instruction) int {
	c.reversed = append(c.reversed, i)
	return len(c.reversed) - 1
}

// jump adds a conditional jump to the places yes or no. Those that are too far for it are reached by another jump.
func (c *program) jump(test bpf.JumpTest, value uint32, yes, no int) int {
	const reach = 255
	near := func(place int) int {
		if len(c.reversed)-place > reach-1 {
			return c.add(bpf.Jump{Skip: uint32(len(c.reversed) - place - 1)})
		}
		return place
	}
	yes = near(yes)
	no = near(no)
	skip := func(place int) uint8 { return uint8(len(c.reversed) - place - 1) }
	return c.add(bpf.JumpIf{Cond: test, Val: value, SkipTrue: skip(yes), SkipFalse: skip(no)})
}

func (c *program) instructions() []bpf.Instruction {
	all := make([]bpf.Instruction, 0, len(c.reversed))
	for i := len(c.reversed) - 1; i >= 0; i-- {
		all = append(all, c.reversed[i])
	}
	return all
}

// IP protocol numbers.
const (
	protoTCP      = 6
	protoUDP      = 17
	protoSCTP     = 132
	protoFragment = 44 // the IPv6 header of fragments
)

// noPort stands for the ports of packets that have none.
const noPort = 1 << 16

// Where in the scratch memory what is known of a packet lies.
const (
	versionSlot = iota
	protocolSlot
	sourcePortSlot
	destinationPortSlot
)

var (
	loadVersion         = bpf.LoadScratch{Dst: bpf.RegA, N: versionSlot}
	loadProtocol        = bpf.LoadScratch{Dst: bpf.RegA, N: protocolSlot}
	loadSourcePort      = bpf.LoadScratch{Dst: bpf.RegA, N: sourcePortSlot}
	loadDestinationPort = bpf.LoadScratch{Dst: bpf.RegA, N: destinationPortSlot}
)

// prepare adds what reads the headers of a packet: version of IP, protocol, ports. From there it goes to the places body, or reject if it is not
// IP. It is the beginning of the program. A packet that ends early is rejected by the kernel.
func (c *program) prepare(body, reject int) {
	store := func(slot int) bpf.Instruction { return bpf.StoreScratch{Src: bpf.RegA, N: slot} }

	// ports, of IPv6: the header has 40 bytes
	c.backwards(bpf.LoadAbsolute{Off: c.base + 40, Size: 2}, store(sourcePortSlot), bpf.LoadAbsolute{Off: c.base + 42, Size: 2}, store(destinationPortSlot), c.to(body))
	ports := len(c.reversed) - 1
	c.backwards(bpf.LoadAbsolute{Off: c.base + 40, Size: 1}, store(protocolSlot), c.to(body))
	fragment := len(c.reversed) - 1
	c.portsOf(ports, c.jump(bpf.JumpEqual, protoFragment, fragment, c.anyPlace(body)))
	c.backwards(bpf.LoadAbsolute{Off: c.base + 6, Size: 1}, store(protocolSlot))
	six := len(c.reversed) - 1

	c.backwards(
		bpf.LoadMemShift{Off: c.base},
		bpf.LoadIndirect{Off: c.base, Size: 2}, store(sourcePortSlot),
		bpf.LoadIndirect{Off: c.base + 2, Size: 2}, store(destinationPortSlot),
		c.to(body),
	)
	ports = len(c.reversed) - 1
	c.portsOf(ports, c.anyPlace(body))
	c.add(loadProtocol)
	first := len(c.reversed) - 1
	const offsetMask = 0x1fff // of a fragment: others than the first have no ports
	c.jump(bpf.JumpBitsSet, offsetMask, c.anyPlace(body), first)
	c.backwards(bpf.LoadAbsolute{Off: c.base + 9, Size: 1}, store(protocolSlot), bpf.LoadAbsolute{Off: c.base + 6, Size: 2})
	four := len(c.reversed) - 1

	c.jump(bpf.JumpEqual, 4, four, c.jump(bpf.JumpEqual, 6, six, c.anyPlace(reject)))
	c.backwards(
		bpf.LoadConstant{Dst: bpf.RegA, Val: noPort}, store(sourcePortSlot), store(destinationPortSlot),
		bpf.LoadAbsolute{Off: c.base, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		store(versionSlot),
	)
}

// portsOf adds a jump to the place ports if the protocol in the register is one with ports.
func (c *program) portsOf(ports, other int) {
	for _, protocol := range []uint32{protoSCTP, protoUDP, protoTCP} {
		other = c.jump(bpf.JumpEqual, protocol, ports, other)
	}
}

// backwards adds instructions that are given in the order in which they run. A jump among them must be the last.
func (c *program) backwards(list ...bpf.Instruction) {
	for i := len(list) - 1; i >= 0; i-- {
		c.add(list[i])
	}
}

// to returns a jump to a place from the instruction that is added next.
func (c *program) to(place int) bpf.Instruction {
	return bpf.Jump{Skip: uint32(len(c.reversed) - place - 1)}
}

// anyPlace returns a place near by that leads to a place far away.
func (c *program) anyPlace(place int) int { return c.add(c.to(place)) }

// A node is a condition.
type node interface {
	// compile adds instructions that go to the place yes or no, and returns the first one's place.
	compile(c *program, yes, no int) int
}

type both struct{ a, b node }

func (n both) compile(c *program, yes, no int) int {
	return n.a.compile(c, n.b.compile(c, yes, no), no)
}

type either struct{ a, b node }

func (n either) compile(c *program, yes, no int) int {
	return n.a.compile(c, yes, n.b.compile(c, yes, no))
}

type negation struct{ n node }

func (n negation) compile(c *program, yes, no int) int { return n.n.compile(c, no, yes) }

// A field compares a value; with a mask, if that is not 0, only those bits of it.
type field struct {
	load  bpf.Instruction
	mask  uint32
	value uint32
}

func (n field) compile(c *program, yes, no int) int {
	c.jump(bpf.JumpEqual, n.value, yes, no)
	if n.mask != 0 {
		c.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: n.mask})
	}
	return c.add(n.load)
}

// Within compares a value with the ends of a range.
type within struct {
	load      bpf.Instruction
	low, high uint32
}

func (n within) compile(c *program, yes, no int) int {
	upper := c.jump(bpf.JumpLessOrEqual, n.high, yes, no)
	c.jump(bpf.JumpGreaterOrEqual, n.low, upper, no)
	return c.add(n.load)
}

// inPrefix asks whether an address of the packet lies in a range.
func inPrefix(prefix netip.Prefix, source bool) node {
	version, at := uint32(4), uint32(16)
	switch {
	case prefix.Addr().Is4() && source:
		at = 12
	case prefix.Addr().Is6() && source:
		version, at = 6, 8
	case prefix.Addr().Is6():
		version, at = 6, 24
	}
	var n node
	address, bits := prefix.Addr().AsSlice(), prefix.Bits()
	for i := len(address) - 4; i >= 0; i -= 4 {
		if own := min(max(bits-8*i, 0), 32); own > 0 {
			n = and(address4{at + uint32(i), ^uint32(0) << (32 - own), binary.BigEndian.Uint32(address[i:])}, n)
		}
	}
	return and(field{loadVersion, 0, version}, n)
}

// An address4 compares four bytes of an address, at an offset in the IP header.
type address4 struct{ at, mask, value uint32 }

func (n address4) compile(c *program, yes, no int) int {
	mask := n.mask
	if mask == ^uint32(0) {
		mask = 0
	}
	return field{bpf.LoadAbsolute{Off: c.base + n.at, Size: 4}, mask, n.value}.compile(c, yes, no)
}
