package pcaps

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Blocks of pcapng, written by hand from draft-ietf-opsawg-pcapng. A name ends in BE where the block is big-endian.
const (
	ngSection = `0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000`
	// Ethernet without snap length, microseconds.
	ngEthernet = `01000000 14000000 0100 0000 00000000 14000000`
	// Ethernet, snap length 2.
	ngShortSnap = `01000000 14000000 0100 0000 02000000 14000000`
	// LINUX_SLL2 (276), if_tsresol 9.
	ngSLL2Nano = `01000000 20000000 1401 0000 00000000 0900 0100 09000000 0000 0000 20000000`
	// "abc" of 9 bytes on interface 0, stamp 2^32 + 5.
	ngEnhanced = `06000000 24000000 00000000 01000000 05000000 03000000 09000000 61626300 24000000`

	ngSectionBE  = `0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c`
	ngEthernetBE = `00000001 00000014 0001 0000 00000000 00000014`
	ngEnhancedBE = `00000006 00000024 00000000 00000001 00000005 00000003 00000009 61626300 00000024`
)

// ngTime is the time of ngEnhanced in microseconds.
const ngTime = (1<<32 + 5) * 1000

func TestPcapng(t *testing.T) {
	abc := []byte("abc")
	plain := Packet{1, ngTime, abc, 9, LinkTypeEthernet, 0}
	for _, test := range []struct {
		name   string
		blocks []string
		want   []Packet
	}{
		{"little-endian", []string{ngSection, ngEthernet, ngEnhanced}, []Packet{plain}},
		{"big-endian", []string{ngSectionBE, ngEthernetBE, ngEnhancedBE}, []Packet{plain}},
		{"no packet", []string{ngSection}, nil},
		{
			"two sections with an interface 0 each",
			[]string{ngSection, ngSLL2Nano, ngEnhanced, ngSectionBE, ngEthernetBE, ngEnhancedBE},
			[]Packet{{1, 1<<32 + 5, abc, 9, LinkTypeLinuxSLL2, 0}, {2, ngTime, abc, 9, LinkTypeEthernet, 0}},
		},
		{
			"second interface",
			[]string{ngSection, ngEthernet, ngSLL2Nano,
				`06000000 24000000 01000000 01000000 05000000 03000000 09000000 61626300 24000000`},
			[]Packet{{1, 1<<32 + 5, abc, 9, LinkTypeLinuxSLL2, 0}},
		},
		{
			"units of 2^-10 s, 60 s later",
			[]string{ngSection,
				`01000000 2c000000 0100 0000 00000000 0900 0100 8a000000 0e00 0800 3c00000000000000 0000 0000 2c000000`,
				`06000000 24000000 00000000 00000000 00060000 03000000 09000000 61626300 24000000`},
			[]Packet{{1, 61_500_000_000, abc, 9, LinkTypeEthernet, 0}},
		},
		{
			"simple packet without a snap length",
			[]string{ngSection, ngEthernet, `03000000 14000000 03000000 61626300 14000000`},
			[]Packet{{1, 0, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"simple packet cut at the snap length",
			[]string{ngSection, ngShortSnap, `03000000 14000000 09000000 61620000 14000000`},
			[]Packet{{1, 0, abc[:2], 9, LinkTypeEthernet, 0}},
		},
		{
			"obsolete packet with 0xffff, unknown, drops",
			[]string{ngSection, ngEthernet,
				`02000000 24000000 0000 ffff 01000000 05000000 03000000 09000000 61626300 24000000`},
			[]Packet{plain},
		},
		{
			"longer than snap length and wire length",
			[]string{ngSection, ngShortSnap,
				`06000000 24000000 00000000 01000000 05000000 03000000 01000000 61626300 24000000`},
			[]Packet{{1, ngTime, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"unpadded block",
			[]string{ngSection, ngEthernet,
				`06000000 23000000 00000000 01000000 05000000 03000000 09000000 616263 23000000`},
			[]Packet{plain},
		},
		{
			"options without an end",
			[]string{ngSection, ngEthernet,
				`06000000 2c000000 00000000 01000000 05000000 03000000 09000000 61626300 0200 0400 01000000 2c000000`},
			[]Packet{plain},
		},
		{
			"option longer than its block",
			[]string{ngSection, ngEthernet,
				`06000000 28000000 00000000 01000000 05000000 03000000 09000000 61626300 0200 0400 28000000`},
			[]Packet{plain},
		},
		{
			"unknown blocks, one without a body",
			[]string{ngSection, `ad0b0000 0c000000 0c000000`, ngEthernet, `04000000 10000000 00000000 10000000`, ngEnhanced},
			[]Packet{plain},
		},
		{
			"statistics and secrets too short to say anything",
			[]string{ngSection, ngEthernet, `05000000 0c000000 0c000000`, `0a000000 10000000 4b534c54 10000000`,
				`0a000000 14000000 4b534c54 ff000000 14000000`, ngEnhanced},
			[]Packet{plain},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := readAll(t, bytes.NewReader(unhex(t, strings.Join(test.blocks, ""))))
			wantEOF(t, got)
			samePackets(t, got.packets, test.want)
			if len(got.events) > 0 {
				t.Errorf("events %v, want none", got.events)
			}
		})
	}
}

func TestPcapngEvents(t *testing.T) {
	file := unhex(t, `
		0a0d0d0a 28000000 4d3c2b1a 0100 0000 ffffffffffffffff 0100 0200 68690000 0000 0000 28000000`+ // comment "hi"
		ngEthernet+
		`0a000000 18000000 4b534c54 03000000 6b657900 18000000`+ // "key"
		ngEnhanced+
		// comment "one", epb_dropcount 2, comment "two"
		`06000000 44000000 00000000 01000000 05000000 03000000 09000000 61626300
		 0100 0300 6f6e6500 0400 0800 0200000000000000 0100 0300 74776f00 0000 0000 44000000`+
		// isb_ifdrop 5 and isb_osdrop 4 since the interface was opened
		`05000000 34000000 00000000 00000000 00000000 0500 0800 0500000000000000 0700 0800 0400000000000000 0000 0000 34000000`+
		// the obsolete block counts 3 more
		`02000000 24000000 0000 0300 01000000 05000000 03000000 09000000 61626300 24000000`+
		// less than is known
		`05000000 28000000 00000000 00000000 00000000 0500 0800 0b00000000000000 0000 0000 28000000`)
	got := readAll(t, bytes.NewReader(file))
	wantEOF(t, got)
	want := []Event{
		{Kind: Comment, Packet: 0, Data: []byte("hi")},
		{Kind: Secrets, Packet: 0, Data: []byte("key"), Type: SecretsTLSKeyLog},
		{Kind: Dropped, Packet: 2, Count: 2},
		{Kind: Comment, Packet: 2, Data: []byte("one")},
		{Kind: Comment, Packet: 2, Data: []byte("two")},
		{Kind: Dropped, Packet: 2, Count: 7},
		{Kind: Dropped, Packet: 3, Count: 3},
	}
	sameEvents(t, got.events, want)
	if len(got.packets) != 3 {
		t.Errorf("got %d packets, want 3", len(got.packets))
	}
}

func TestPcapngDamage(t *testing.T) {
	for _, test := range []struct{ name, block, detail string }{
		{"block length 0", `06000000 00000000 00000000`, "0 bytes"},
		{"block length 11", `06000000 0b000000 00000000`, "11 bytes"},
		{"block length beyond the largest", `06000000 04000001 00000000`, "16777220 bytes"},
		{"block lengths differ", `06000000 10000000 00000000 14000000`, "says 20"},
		{"packet block too short", `06000000 10000000 00000000 10000000`, "too short"},
		{"obsolete packet block too short", `02000000 10000000 00000000 10000000`, "too short"},
		{"simple packet block too short", `03000000 0c000000 0c000000`, "too short"},
		{"interface block too short", `01000000 10000000 01000000 10000000`, "too short"},
		{"packet longer than its block", `06000000 24000000 00000000 00000000 00000000 05000000 05000000 61626364 24000000`, "room for 4"},
		{"packet length near 2^32", `06000000 24000000 00000000 00000000 00000000 ffffffff 05000000 61626364 24000000`, "room for 4"},
		{"interface not described", `06000000 20000000 01000000 00000000 00000000 00000000 05000000 20000000`, "interface 1"},
		{"obsolete packet of an interface not described", `02000000 20000000 0100 0000 00000000 00000000 00000000 05000000 20000000`, "interface 1"},
		{"section with no byte order", `0a0d0d0a 1c000000 01020304 0100 0000 ffffffffffffffff 1c000000`, "01 02 03 04"},
		{"section too short", `0a0d0d0a 10000000 4d3c2b1a 10000000`, "too short"},
		{"section of version 2", `0a0d0d0a 1c000000 4d3c2b1a 0200 0000 ffffffffffffffff 1c000000`, "version 2.0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := unhex(t, ngSection+ngEthernet+ngEnhanced)
			file := slices.Concat(before, unhex(t, test.block+ngEnhanced))
			got := readAll(t, bytes.NewReader(file))
			damage := wantDamage(t, got.err, DamagedBlock, int64(len(before)), 1)
			if !strings.Contains(damage.Detail, test.detail) {
				t.Errorf("detail %q does not say %q", damage.Detail, test.detail)
			}
			// The packet behind it comes out unless a section's header, and with it the interface, is lost.
			behind := 1
			if strings.HasPrefix(test.name, "section") {
				behind = 0
			}
			if len(got.packets) != 1+behind {
				t.Errorf("got %d packets, want the one before the damage and %d behind it", len(got.packets), behind)
			}
			if damage.Resumed != (behind > 0) || damage.Skipped != int64(len(file)-len(before)-behind*36) {
				t.Errorf("resumed %v after %d bytes of %d", damage.Resumed, damage.Skipped, len(file)-len(before))
			}
			if len(got.damage) != 1 || got.end != io.EOF {
				t.Errorf("damage %v, then %v", got.damage, got.end)
			}
		})
	}
}

// A simple packet before any interface has no link type.
func TestPcapngSimplePacketWithoutInterface(t *testing.T) {
	got := readAll(t, bytes.NewReader(unhex(t, ngSection+`03000000 14000000 03000000 61626300 14000000`)))
	wantDamage(t, got.err, DamagedBlock, 28, 0)
}

// Memory for interfaces is bounded.
func TestPcapngManyInterfaces(t *testing.T) {
	one := unhex(t, ngEthernet)
	file := io.MultiReader(
		bytes.NewReader(unhex(t, ngSection)),
		bytes.NewReader(bytes.Repeat(one, maxInterfaces+1)),
	)
	got := readAll(t, file)
	wantDamage(t, got.err, DamagedBlock, 28+int64(len(one))*maxInterfaces, 0)
}

// blocks decodes as decode does, one block after the other.
func (p *pcapng) blocks(b *Batch, data []byte, whole bool) (used int, err error) {
	for {
		length, err := p.block(b, data[used:], whole)
		if used += length; err != nil || length == 0 {
			return used, err
		}
	}
}

// What is taken in the loop for plain packets is what is taken as a block: packets of every kind, whole or wrong in a field.
func TestPlainBlocksAreBlocks(t *testing.T) {
	for _, write := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for seed := range uint64(2000) {
			rng := rand.New(rand.NewPCG(seed, 3))
			data, whole := packetBlocks(write, rng), rng.IntN(2) == 0
			interfaces := []captureInterface{{link: 1, clock: microseconds}, {link: 276, clock: clock{numerator: 1, divisor: 1}}, {damaged: true}}
			order := byteOrder(write == binary.AppendByteOrder(binary.BigEndian))
			fast, slow := pcapng{order: order, interfaces: slices.Clone(interfaces)}, pcapng{order: order, interfaces: interfaces}
			var x, y Batch
			used, _, err := fast.decode(&x, data, whole)
			usedSlow, errSlow := slow.blocks(&y, data, whole)
			if fast.toPass > 0 || slow.toPass > 0 {
				continue // a block too large is passed over by decode alone
			}
			if whole && errSlow == nil && usedSlow < len(data) {
				errSlow = errCut
			}
			samePackets(t, x.Packets, y.Packets)
			if !whole && errSlow == nil && used != usedSlow || fmt.Sprint(err) != fmt.Sprint(errSlow) || len(x.Events) != len(y.Events) {
				t.Fatalf("seed %d: %d bytes and %v; in blocks %d and %v", seed, used, err, usedSlow, errSlow)
			}
		}
	}
}

// packetBlocks returns up to 200 Enhanced Packet Blocks, some with an option, some with a word that is not what it should be.
func packetBlocks(order binary.AppendByteOrder, rng *rand.Rand) []byte {
	var data []byte
	for range rng.IntN(200) {
		captured := rng.IntN(50)
		body := make([]byte, (captured+3)&^3)
		if rng.IntN(10) == 0 {
			body = append(body, order.AppendUint32(nil, 0)...) // the end of no options
		}
		total := uint32(32 + len(body))
		words := []uint32{blockEnhancedPacket, total, rng.Uint32N(2), rng.Uint32N(3), rng.Uint32(), uint32(captured), uint32(captured + rng.IntN(2))}
		if rng.IntN(60) == 0 {
			words[rng.IntN(len(words))] = []uint32{0, 2, 3, 5, total, total + 4, total - 4, uint32(captured + 1), rng.Uint32(), 1 << 31, 0xfffffff0}[rng.IntN(11)]
		}
		if rng.IntN(100) == 0 {
			total++
		}
		for _, word := range words {
			data = order.AppendUint32(data, word)
		}
		data = order.AppendUint32(append(data, body...), total)
	}
	return data[:len(data)-rng.IntN(len(data)/10+1)]
}
