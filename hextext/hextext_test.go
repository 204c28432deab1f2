package hextext

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// frame is a Metadata request of 20 bytes; the texts of it are what the tools named beside them print.
var frame = []byte("\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02me\xff\xff\xff\xff")

// onTheWire is frame in a TCP segment in an IP packet, as tcpdump -X shows it.
const onTheWire = `12:00:00.000312 IP 10.0.0.1.40000 > 10.0.0.2.9092: Flags [P.], seq 1:21, ack 1, win 512, length 20
	0x0000:  4500 003c 0001 4000 4006 0000 0a00 0001  E..<..@.@.......
	0x0010:  0a00 0002 9c40 2384 0000 0001 0000 0001  .....@#.........
	0x0020:  5018 0200 0000 0000 0000 0010 0003 0001  P...............
	0x0030:  0000 0007 0002 6d65 ffff ffff            ......me....
`

func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"digits":        "00000010000300010000000700026d65ffffffff",
		"upper case":    "0x00000010000300010000000700026D65FFFFFFFF\n",
		"pairs":         "00 00 00 10 00 03 00 01 00 00 00 07 00 02 6d 65 ff ff ff ff",
		"colons":        "00:00:00:10:00:03:00:01:00:00:00:07:00:02:6d:65:ff:ff:ff:ff",
		"groups":        "00000010 00030001 00000007 00026d65 ffffffff",
		"short groups":  "0000 0010 0003 0001 0000 0007\n0002 6d65 ffff ffff",
		"0x pairs":      "0x00 0x00 0x00 0x10 0x00 0x03 0x00 0x01 0x00 0x00 0x00 0x07 0x00 0x02 0x6d 0x65 0xff 0xff 0xff 0xff",
		"xxd -i":        "unsigned char f_bin[] = {\n  0x00, 0x00, 0x00, 0x10, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x07,\n  0x00, 0x02, 0x6d, 0x65, 0xff, 0xff, 0xff, 0xff\n};",
		"Go":            "[]byte{0x0, 0x0, 0x0, 0x10, 0x0, 0x3, 0x0, 0x1, 0x0, 0x0, 0x0, 0x7, 0x0, 0x2, 0x6d, 0x65, 0xff, 0xff, 0xff, 0xff}",
		"Java":          "[0, 0, 0, 16, 0, 3, 0, 1, 0, 0, 0, 7, 0, 2, 109, 101, -1, -1, -1, -1]",
		"Python":        `b'\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02me\xff\xff\xff\xff'`,
		"C string":      `"\x00\x00\x00\x10\000\3\0\1\0\0\0\a" "\0\2me\xff\xff\xff\xff"`,
		"no quotes":     `\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02me\xff\xff\xff\xff`,
		"base64":        "AAAAEAADAAEAAAAHAAJtZf////8=",
		"base64url":     "AAAAEAADAAEAAAAHAAJtZf____8",
		"wrapped":       "AAAAEAADAAEA\nAAAHAAJtZf//\n//8=\n",
		"hexdump -C":    "00000000  00 00 00 10 00 03 00 01  00 00 00 07 00 02 6d 65  |..............me|\n00000010  ff ff ff ff                                       |....|\n00000014\n",
		"xxd":           "00000000: 0000 0010 0003 0001 0000 0007 0002 6d65  ..............me\n00000010: ffff ffff                                ....\n",
		"od":            "000000 00 00 00 10 00 03 00 01 00 00 00 07 00 02 6d 65\n000010 ff ff ff ff\n000014\n",
		"Wireshark":     "0000   00 00 00 10 00 03 00 01 00 00 00 07 00 02 6d 65   ..............me\n0010   ff ff ff ff                                       ....\n",
		"tshark -x":     "0000  00 00 00 10 00 03 00 01 00 00 00 07 00 02 6d 65   ..............me\n0010  ff ff ff ff                                       ....\n",
		"own dump":      "0000  00 00 00 10 00 03 00 01  00 00 00 07 00 02 6d 65  |..............me|\n0010  ff ff ff ff                                       |....|\n",
		"tcpdump -X":    onTheWire,
		"tcpdump -x":    "\t0x0000:  0000 0010 0003 0001 0000 0007 0002 6d65\n\t0x0010:  ffff ffff\n",
		"DOS":           "00000000  00 00 00 10 00 03 00 01  00 00 00 07 00 02 6d 65  |..............me|\r\n00000010  ff ff ff ff                                       |....|\r\n",
		"themselves":    string(frame),
		"eight, hex in": "0000   00 00 00 10 00 03 00 01   ........\n0008   00 00 00 07 00 02 6d 65   ab cd\n0010   ff ff ff ff   ffff\n",
	} {
		got, err := Parse([]byte(text))
		if err != nil || !bytes.Equal(got, frame) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// A dump of several packets gives what TCP carried, one behind the other, and that of an Ethernet frame, padded, as well.
func TestPackets(t *testing.T) {
	ethernet := "0000   02 00 00 00 00 01 02 00 00 00 00 02 08 00 45 00\n0010   00 2c 00 01 40 00 40 06 00 00 0a 00 00 01 0a 00\n0020   00 02 9c 40 23 84 00 00 00 01 00 00 00 01 50 18\n0030   02 00 00 00 00 00 01 02 03 04 00 00\n"
	for name, c := range map[string]struct{ text, want string }{
		"two":        {onTheWire + onTheWire, fmt.Sprintf("%x%x", frame, frame)},
		"Ethernet":   {ethernet, "01020304"},
		"an ACK":     {"0x0000: 4500 0028 0001 4000 4006 0000 0a00 0001\n0x0010: 0a00 0002 9c40 2384 0000 0001 0000 0001\n0x0020: 5010 0200 0000 0000\n" + onTheWire, fmt.Sprintf("%x", frame)},
		"repeated":   {"00000000  01 01 01 01 01 01 01 01  01 01 01 01 01 01 01 01  |................|\n*\n00000030  02 |.|\n00000031\n", strings.Repeat("01", 48) + "02"},
		"to the end": {"00000000  01 01 01 01 01 01 01 01  01 01 01 01 01 01 01 01  |................|\n*\n00000020\n", strings.Repeat("01", 32)},
	} {
		got, err := Parse([]byte(c.text))
		if err != nil || fmt.Sprintf("%x", got) != c.want {
			t.Errorf("%s: %x, %v, want %s", name, got, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, says := range map[string]string{
		"":                            "nothing to read",
		" \n":                         "nothing to read",
		"00000":                       "odd",
		"00 0 00":                     "stands alone",
		"hello, this":                 "is not a byte",
		"hello (this)":                "'h' at byte 0 is no hex digit",
		"1, 2, 256":                   `"256" in the list is not a byte`,
		`\x0g`:                        "escape",
		"0000  00 01\n0010  02\n":     "line 2 of the dump begins at 0x10, but the lines before it have 2 bytes",
		"0000  00\n*\nffffffff  00\n": "more than 16 MiB",
		"0000  00 00\n*\n0001  00\n":  "stands for no lines",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

// No text makes it panic, and what it returns is no more than the text can stand for.
func FuzzParse(f *testing.F) {
	f.Add([]byte(onTheWire))
	f.Add([]byte("00000000  00 00 00 10 00 03 00 01  00 00 00 07 00 02 6d 65  |..............me|\n*\n00000030\n"))
	f.Add([]byte(`b'\x00\n'`))
	f.Add([]byte("{0x1, -1}"))
	f.Add([]byte("AAAAEAADAAEAAAAHAAJtZf////8="))
	f.Add(frame)
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		if err != nil && got != nil {
			t.Fatal("bytes beside an error")
		}
		if len(got) > len(text)+maxRepeated {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
	})
}
