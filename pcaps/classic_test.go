package pcaps

import (
	"bytes"
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
