package pcaps

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"
)

// TestCorruptAnywhere changes each byte of files in several ways. Packets in front of the change come out, and
// those behind it but for the nearest; nothing else does but what became of the changed packet.
func TestCorruptAnywhere(t *testing.T) {
	for kind, recs := range map[string][]recording{
		"cut":   recordings(t, []int{60, 70, 0, 1, 100, 54, 61, 300, 2, 66}),
		"whole": uncutRecordings(t, []int{60, 70, 5, 1, 100, 54, 61, 300, 2, 66}),
	} {
		for _, rec := range recs {
			t.Run(rec.name+"/"+kind, func(t *testing.T) {
				for at := rec.borders[0]; at < len(rec.file); at++ {
					for _, change := range changes {
						rec.corrupt(t, at, change)
					}
				}
			})
		}
	}
}

var changes = []byte{0x01, 0x02, 0x03, 0x04, 0x07, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}

// corrupt changes one byte of a packet and checks what comes out.
func (rec recording) corrupt(t *testing.T, at int, change byte) {
	t.Helper()
	file := bytes.Clone(rec.file)
	file[at] ^= change
	touched := 0
	for rec.borders[touched+1] <= at {
		touched++
	}
	got := readAll(t, bytes.NewReader(file))
	failed := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("byte %d (%d of packet %d) changed by %#x: %s\ndamage %v", at, at-rec.borders[touched], touched+1, change, fmt.Sprintf(format, args...), got.damage)
	}
	if got.end != io.EOF {
		failed("ended with %v", got.end)
	}
	next, false := 0, 0
	for i, p := range got.packets {
		if p.Number != int64(i+1) {
			failed("packet %d has number %d", i+1, p.Number)
		}
		found := slices.IndexFunc(rec.packets[next:], func(w Packet) bool { return w.Time == p.Time && bytes.Equal(w.Data, p.Data) })
		if found < 0 {
			if false++; i != touched || false > 1 {
				failed("packet %d, %+v, is false", i+1, p)
			}
			continue
		}
		for missing := next; missing < next+found; missing++ {
			if missing != touched && missing != touched+1 {
				failed("packet %d is missing", missing+1)
			}
		}
		next += found + 1
	}
	if left := len(rec.packets) - next; left > 0 && (next != touched && next != touched+1 || next+left > touched+2) {
		failed("all from packet %d on are missing", next+1)
	}
	if behind := len(got.damage) > 0 && !got.damage[0].Resumed; behind && len(rec.packets) > touched+2 {
		failed("not resumed")
	}
}

// TestCorruptHead changes each byte in front of the first packet. What the file header
// and the description of the interface say may be wrong then, but all packets are there.
func TestCorruptHead(t *testing.T) {
	for _, rec := range recordings(t, []int{60, 70, 80, 90}) {
		t.Run(rec.name, func(t *testing.T) {
			skip := []int{0, 4} // the magic number of the file
			if rec.name == "pcapng" {
				section := int(littleEndian.uint32(rec.file[4:]))
				skip = append(skip, section, section+4) // the type of the block that describes the interface
			}
			for at := range rec.borders[0] {
				for _, change := range changes {
					file := bytes.Clone(rec.file)
					file[at] ^= change
					got := readAll(t, bytes.NewReader(file))
					if at >= skip[0] && at < skip[1] || len(skip) > 2 && at >= skip[2] && at < skip[3] {
						continue
					}
					if len(got.packets) != len(rec.packets) || got.end != io.EOF {
						t.Fatalf("byte %d changed by %#x: %d packets, damage %v", at, change, len(got.packets), got.damage)
					}
					for i, p := range got.packets {
						if !bytes.Equal(p.Data, rec.packets[i].Data) {
							t.Fatalf("byte %d changed by %#x: packet %d is false", at, change, i+1)
						}
					}
				}
			}
		})
	}
}

// TestOverwritten puts runs of other bytes into files, and takes some out. Reading goes on behind them, and
// how the bytes arrive does not matter.
func TestOverwritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	junk := make([]byte, 3<<20)
	for i := range junk {
		junk[i] = byte(random.Uint32())
	}
	text := bytes.Repeat([]byte("a line of text\n"), 1000)
	for _, rec := range recordings(t, manySizes(2000)) {
		from, to := rec.borders[700]+3, rec.borders[710]+7
		for name, bytesInstead := range map[string][]byte{
			"nothing": nil,
			"zeros":   make([]byte, 5000),
			"ones":    bytes.Repeat([]byte{0xff}, 5000),
			"text":    text,
			"junk":    junk,
		} {
			t.Run(rec.name+"/"+name, func(t *testing.T) {
				file := slices.Concat(rec.file[:from], bytesInstead, rec.file[to:])
				got := readAll(t, bytes.NewReader(file))
				if got.end != io.EOF || len(got.damage) == 0 || !got.damage[0].Resumed {
					t.Fatalf("damage %v, then %v", got.damage, got.end)
				}
				behind := rec.packets[712:]
				if len(got.packets) < 700+len(behind) || len(got.packets) > 701+len(behind)+1 {
					t.Fatalf("%d packets, damage %v", len(got.packets), got.damage)
				}
				samePackets(t, got.packets[:700], rec.packets[:700])
				for i, p := range got.packets[len(got.packets)-len(behind):] {
					if !bytes.Equal(p.Data, behind[i].Data) || p.Time != behind[i].Time {
						t.Fatalf("packet %d behind the damage is false", i+1)
					}
				}
				if end := got.damage[0].Offset + got.damage[0].Skipped; end < int64(from) || end > int64(from+len(bytesInstead)+rec.borders[712]-to) {
					t.Errorf("damage %v, want it up to byte %d", got.damage[0], from+len(bytesInstead))
				}
				split := readAll(t, iotest.HalfReader(bytes.NewReader(file)))
				samePackets(t, split.packets, got.packets)
				if fmt.Sprint(split.damage) != fmt.Sprint(got.damage) {
					t.Errorf("damage %v\nread in pieces %v", got.damage, split.damage)
				}
			})
		}
	}
}

// TestOddButWhole reads files of writers that keep to no rule but are not damaged.
func TestOddButWhole(t *testing.T) {
	type header struct{ seconds, fraction, captured, wire uint32 }
	for name, headers := range map[string][]header{
		"no wire lengths":             {{10, 1, 50, 0}, {10, 2, 60, 0}, {11, 3, 70, 0}},
		"longer than the snap length": {{10, 1, 5000, 5000}, {10, 2, 60, 60}, {11, 3, 6000, 7000}},
		"fractions of a second above": {{10, 1000001, 50, 50}, {10, 4000000000, 60, 60}, {11, 3000000, 70, 70}},
		"clock set":                   {{10, 1, 50, 50}, {1790000000, 2, 60, 60}, {1790000001, 3, 70, 70}, {5, 3, 70, 70}},
		"one packet of another time":  {{1790000000, 1, 50, 50}, {10, 2, 60, 60}, {1790000001, 3, 70, 70}},
		"years between":               {{10, 1, 50, 50}, {500000000, 2, 60, 60}, {1000000000, 3, 70, 70}, {1500000000, 3, 70, 70}},
		"wrap":                        {{0xffffffff, 1, 50, 50}, {0, 2, 60, 60}},
		"cut and the clock set":       {{10, 1, 50, 90}, {11, 1, 50, 90}, {1790000000, 2, 60, 90}, {1790000001, 3, 70, 90}, {1790000001, 4, 70, 90}},
		"empty packet":                {{10, 1, 50, 50}, {10, 2, 0, 0}, {10, 3, 50, 50}},
		"cut at will":                 {{10, 1, 50, 90}, {10, 2, 60, 60}, {11, 3, 0, 100}, {11, 3, 0, 100}, {11, 3, 17, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			file := unhex(t, `d4c3b2a1 0200 0400 00000000 00000000 e8030000 01000000`) // snap length 1000
			for _, h := range headers {
				for _, word := range []uint32{h.seconds, h.fraction, h.captured, h.wire} {
					file = binary.LittleEndian.AppendUint32(file, word)
				}
				file = append(file, bytes.Repeat([]byte{0xaa}, int(h.captured))...)
			}
			got := readAll(t, bytes.NewReader(file))
			wantEOF(t, got)
			if len(got.packets) != len(headers) {
				t.Errorf("%d packets, want %d", len(got.packets), len(headers))
			}
		})
	}
}

// TestTruncatedTail wants no packets out of the rest of a record that is cut.
func TestTruncatedTail(t *testing.T) {
	for _, rec := range uncutRecordings(t, []int{60, 70, 3000}) {
		for cut := rec.borders[2] + 1; cut < len(rec.file); cut += 100 {
			got := readAll(t, bytes.NewReader(rec.file[:cut]))
			samePackets(t, got.packets, rec.packets[:2])
			damage := wantDamage(t, got.err, TruncatedFile, int64(rec.borders[2]), 2)
			if damage.Resumed || damage.Skipped != int64(cut-rec.borders[2]) || got.end != io.EOF || len(got.damage) != 1 {
				t.Errorf("damage %v, then %v", got.damage, got.end)
			}
		}
	}
}

// TestPcapngLostInterface wants one piece of damage for all packets that cannot be understood.
func TestPcapngLostInterface(t *testing.T) {
	head := unhex(t, ngSection)
	short := unhex(t, `01000000 10000000 01000000 10000000`)
	packets := bytes.Repeat(unhex(t, ngEnhanced), 1000)
	got := readAll(t, bytes.NewReader(slices.Concat(head, short, packets)))
	damage := wantDamage(t, got.err, DamagedBlock, int64(len(head)), 0)
	if len(got.damage) != 1 || damage.Resumed || damage.Skipped != int64(len(short)+len(packets)) {
		t.Errorf("damage %v", got.damage)
	}
	// The second interface keeps its number.
	second := unhex(t, ngSLL2Nano+`06000000 24000000 01000000 01000000 05000000 03000000 09000000 61626300 24000000`)
	got = readAll(t, bytes.NewReader(slices.Concat(head, short, second, packets, second[32:])))
	samePackets(t, got.packets, []Packet{
		{1, 1<<32 + 5, []byte("abc"), 9, LinkTypeLinuxSLL2, 0},
		{2, 1<<32 + 5, []byte("abc"), 9, LinkTypeLinuxSLL2, 0},
	})
	if len(got.damage) != 2 || got.damage[1].Skipped != int64(len(packets)) {
		t.Errorf("damage %v", got.damage)
	}
}

// TestPcapngLargeBlocks passes over a block that is larger than a packet can be, without holding it.
func TestPcapngLargeBlocks(t *testing.T) {
	const total = maxRecord + 4<<20
	frame := func(length uint32, body int64, again uint32) io.Reader {
		front := binary.LittleEndian.AppendUint32(unhex(t, `0a000000`), length)
		return io.MultiReader(
			bytes.NewReader(front),
			io.LimitReader(&loop{body: []byte("CLIENT_RANDOM 0123 4567\n")}, body),
			bytes.NewReader(binary.LittleEndian.AppendUint32(nil, again)),
		)
	}
	head, tail := unhex(t, ngSection+ngEthernet+ngEnhanced), unhex(t, ngEnhanced+ngEnhanced)
	read := func(block io.Reader) contents {
		return readAll(t, io.MultiReader(bytes.NewReader(head), block, bytes.NewReader(tail)))
	}
	t.Run("whole", func(t *testing.T) {
		before := allocated()
		got := read(frame(total, total-12, total))
		wantEOF(t, got)
		if len(got.packets) != 3 {
			t.Errorf("%d packets, want 3", len(got.packets))
		}
		if grown := allocated() - before; grown > total/2 { // with the race detector the pool forgets a slab now and then
			t.Errorf("%d bytes were allocated", grown)
		}
	})
	t.Run("another length at its end", func(t *testing.T) {
		got := read(frame(total, total-12, total+4))
		wantDamage(t, got.err, DamagedBlock, int64(len(head)+total-4), 1)
		if len(got.packets) != 3 || len(got.damage) != 1 {
			t.Errorf("%d packets, damage %v", len(got.packets), got.damage)
		}
	})
	t.Run("cut", func(t *testing.T) {
		file := io.MultiReader(bytes.NewReader(head), io.LimitReader(frame(total, total-12, total), total-1000))
		got := readAll(t, file)
		wantDamage(t, got.err, TruncatedFile, int64(len(head)+total-1000), 1)
	})
	t.Run("damaged length", func(t *testing.T) {
		block := frame(0x40000018, 12, 0x18)
		rest := bytes.Repeat(tail, 10000)
		got := readAll(t, io.MultiReader(bytes.NewReader(head), block, bytes.NewReader(rest)))
		damage := wantDamage(t, got.err, DamagedBlock, int64(len(head)), 1)
		if len(got.packets) != 20001 || damage.Skipped != 24 {
			t.Errorf("%d packets, damage %v", len(got.packets), got.damage)
		}
	})
}

// TestSearchIsLinear reads much that is no record, in ways that make a search look far ahead.
func TestSearchIsLinear(t *testing.T) {
	const size = 32 << 20
	for name, test := range map[string]struct{ head, junk string }{
		"pcap":   {`d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000 ffffffff ffffffff ffffffff ffffffff`, `0a000000 07000000 00000300 00000300`},
		"pcapng": {ngSection + ngEthernet + `06000000 00000000 00000000`, `06000000 00000700 00000000 00000000 00000000 03000000`},
	} {
		t.Run(name, func(t *testing.T) {
			file := io.MultiReader(bytes.NewReader(unhex(t, test.head)), io.LimitReader(&loop{body: unhex(t, test.junk)}, size))
			before := allocated()
			got := readAll(t, file)
			if len(got.damage) == 0 || got.end != io.EOF {
				t.Errorf("damage %v, then %v", got.damage, got.end)
			}
			if grown := allocated() - before; grown > 2*size+8*slabSize && len(got.packets) < 100 { // buffers double
				t.Errorf("%d bytes were allocated", grown)
			}
		})
	}
}
