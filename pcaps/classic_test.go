package pcaps

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The expectations were computed by hand from draft-ietf-opsawg-pcap.
func TestClassic(t *testing.T) {
	const second = int64(1_000_000_000)
	abc := []byte("abc")
	for _, test := range []struct {
		name, file string
		want       []Packet
	}{
		{
			"microseconds, little-endian",
			`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000
			 0a000000 07000000 03000000 09000000 616263`,
			[]Packet{{1, 10*second + 7000, abc, 9, LinkTypeEthernet, 0}},
		},
		{
			"microseconds, big-endian",
			`a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001
			 0000000a 00000007 00000003 00000009 616263`,
			[]Packet{{1, 10*second + 7000, abc, 9, LinkTypeEthernet, 0}},
		},
		{
			"nanoseconds, little-endian",
			`4d3cb2a1 0200 0400 00000000 00000000 00000400 65000000
			 0a000000 07000000 03000000 03000000 616263`,
			[]Packet{{1, 10*second + 7, abc, 3, LinkTypeRaw, 0}},
		},
		{
			"nanoseconds, big-endian",
			`a1b23c4d 0002 0004 00000000 00000000 00040000 00000114
			 0000000a 3b9ac9ff 00000003 00000003 616263`,
			[]Packet{{1, 10*second + 999_999_999, abc, 3, LinkTypeLinuxSLL2, 0}},
		},
		{
			"modified, with eight bytes more a packet",
			`34cdb2a1 0200 0400 00000000 00000000 00000400 01000000
			 0a000000 07000000 03000000 03000000 01000000 0008 04 00 616263
			 0b000000 07000000 00000000 03000000 01000000 0008 04 00`,
			[]Packet{{1, 10*second + 7000, abc, 3, LinkTypeEthernet, 0}, {2, 11*second + 7000, nil, 3, LinkTypeEthernet, 0}},
		},
		{
			"longer than the snap length of 2",
			`d4c3b2a1 0200 0400 00000000 00000000 02000000 01000000
			 0a000000 00000000 03000000 03000000 616263`,
			[]Packet{{1, 10 * second, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"snap length 0",
			`d4c3b2a1 0200 0400 00000000 00000000 00000000 01000000
			 0a000000 00000000 03000000 03000000 616263`,
			[]Packet{{1, 10 * second, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"longer than on the wire",
			`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000
			 0a000000 00000000 03000000 01000000 616263`,
			[]Packet{{1, 10 * second, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"frame check sequence of 4 bytes noted above the link type",
			`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000024
			 0a000000 00000000 03000000 03000000 616263`,
			[]Packet{{1, 10 * second, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"seconds beyond 2038",
			`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000
			 ffffffff 00000000 03000000 03000000 616263`,
			[]Packet{{1, 4294967295 * second, abc, 3, LinkTypeEthernet, 0}},
		},
		{
			"no packet",
			`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000`,
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := readAll(t, bytes.NewReader(unhex(t, test.file)))
			wantEOF(t, got)
			samePackets(t, got.packets, test.want)
		})
	}
}

func TestClassicDamage(t *testing.T) {
	file := unhex(t, `
		d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000
		0a000000 07000000 03000000 09000000 616263
		0a000000 07000000 01000001 01000001 616263`)
	got := readAll(t, bytes.NewReader(file))
	wantDamage(t, got.err, DamagedBlock, 24+19, 1)
	if len(got.packets) != 1 {
		t.Errorf("got %d packets, want the one before the damage", len(got.packets))
	}
}

// examineAll decodes as decode does, but examines every header.
func (c *classic) examineAll(b *Batch, data []byte, whole bool) (used int, err error) {
	for len(data)-used >= c.headerLen {
		if v, err := c.examine(data[used:], whole); err != nil || v == later {
			return used, err
		}
		used += c.take(b.add(), data[used:])
	}
	if whole && used < len(data) {
		return used, errCut
	}
	return used, nil
}

// What is taken without a closer look is what would be taken with one: packets whose headers are right, or wrong in a field, in every form of the format.
func TestPlainPacketsWouldPass(t *testing.T) {
	for _, magic := range []uint32{magicMicroseconds, magicNanoseconds, magicModified} {
		for _, write := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for seed := range uint64(300) {
				rng := rand.New(rand.NewPCG(seed, uint64(magic)))
				file := classicFile(write, magic, rng)
				order, _ := isClassic(file)
				fast, slow := newClassic(order, file), newClassic(order, file)
				data, whole := file[classicHeaderLen:], rng.IntN(2) == 0
				var x, y Batch
				used, _, err := fast.decode(&x, data, whole)
				usedSlow, errSlow := slow.examineAll(&y, data, whole)
				samePackets(t, x.Packets, y.Packets)
				if used != usedSlow || fmt.Sprint(err) != fmt.Sprint(errSlow) || fast.last != slow.last {
					t.Fatalf("magic %#x, seed %d: %d bytes, %v, then %v; examined %d, %v, then %v", magic, seed, used, err, fast.last, usedSlow, errSlow, slow.last)
				}
			}
		}
	}
}

// classicFile returns a file of up to 200 packets. Some fields of their headers are not what they should be.
func classicFile(order binary.AppendByteOrder, magic uint32, rng *rand.Rand) []byte {
	snapLen := uint32([]int{0, 60, 1000, 1 << 20}[rng.IntN(4)])
	file := order.AppendUint32(nil, magic)
	for _, field := range []uint32{0, 0, 0, snapLen, 1} {
		file = order.AppendUint32(file, field)
	}
	seconds := rng.Uint32()
	for range rng.IntN(200) {
		wire := uint32(rng.IntN(100))
		header := []uint32{seconds, rng.Uint32N(1e6), wire, wire}
		if rng.IntN(30) == 0 {
			header[rng.IntN(4)] = []uint32{0, wire, wire + 1, rng.Uint32N(2e9), rng.Uint32(), seconds + usualPause, seconds - usualPause - 1}[rng.IntN(7)]
		}
		seconds += rng.Uint32N(3)
		for _, field := range header {
			file = order.AppendUint32(file, field)
		}
		if magic == magicModified {
			file = append(file, make([]byte, 8)...)
		}
		file = append(file, make([]byte, min(header[2], 2000))...)
	}
	return file[:len(file)-rng.IntN(len(file)-classicHeaderLen+1)/10]
}
