// Command crowd writes captures that ask much of a dissector's memory to standard output: they are generated as they are read, so that
// none of them need be stored.
//
//	go run ./bench/crowd SCENARIO [-n COUNT] | kdissect -o summary -
//
// docs/performance.md has what comes of them.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// A scenario writes its packets; n is how much of it there is.
type scenario struct {
	name, about string
	n           int
	write       func(w *writer, n int)
}

var scenarios = []scenario{
	{"open", "connections that are all open at once: ApiVersions and Metadata answered, a Fetch not", 100_000, open},
	{"syn", "connections of which nothing but the SYN is seen", 1_000_000, syn},
	{"partial", "connections of which the SYN and the first bytes of a request are seen", 1_000_000, partial},
	{"stuck", "MB sent behind a segment that never comes and is never acknowledged, beside a connection that goes on", 1000, stuck},
	{"large", "MB of one Fetch answer", 100, large},
	{"long", "exchanges, a new connection for every 1000 of them", 10_000_000, long},
}

func main() {
	n := pflag.IntP("count", "n", 0, "how many, 0 for the scenario's own number")
	pflag.Parse()
	for _, s := range scenarios {
		if pflag.Arg(0) != s.name {
			continue
		}
		if *n == 0 {
			*n = s.n
		}
		w := newWriter()
		s.write(w, *n)
		w.flush()
		return
	}
	fmt.Fprintln(os.Stderr, "usage: crowd SCENARIO [-n COUNT], where SCENARIO is")
	for _, s := range scenarios {
		fmt.Fprintf(os.Stderr, "  %-8s %s (%d)\n", s.name, s.about, s.n)
	}
	os.Exit(2)
}

// A writer writes a pcap file of raw IPv4 packets, a microsecond apart.
type writer struct {
	out    *bufio.Writer
	packet []byte
	time   uint64 // microseconds
}

func newWriter() *writer {
	const magic, linkRaw = 0xa1b2c3d4, 101
	w := &writer{out: bufio.NewWriterSize(os.Stdout, 1<<20), time: 1_790_000_000_000_000}
	header := binary.LittleEndian.AppendUint32(nil, magic)
	header = binary.LittleEndian.AppendUint16(header, 2)
	header = binary.LittleEndian.AppendUint16(header, 4)
	header = append(header, 0, 0, 0, 0, 0, 0, 0, 0)
	header = binary.LittleEndian.AppendUint32(header, 1<<18)
	w.out.Write(binary.LittleEndian.AppendUint32(header, linkRaw))
	return w
}

// flush ends the program when nobody reads on.
func (w *writer) flush() {
	if w.out.Flush() != nil {
		os.Exit(1)
	}
}

// A connection is one of client number id, with port 9092 of a broker.
type connection struct {
	w    *writer
	id   int
	next [2]uint32 // sequence numbers of client and server
}

const (
	fin = 1 << iota
	synFlag
	_ // RST
	psh
	ack
)

const client, server = 0, 1

func (w *writer) connect(id int) *connection {
	c := &connection{w: w, id: id, next: [2]uint32{1000, 5000}}
	c.segment(client, synFlag, nil)
	c.next[client]++
	return c
}

// accept answers the SYN.
func (c *connection) accept() *connection {
	c.segment(server, synFlag|ack, nil)
	c.next[server]++
	c.segment(client, ack, nil)
	return c
}

// segment writes one packet and leaves the sequence numbers as they are.
func (c *connection) segment(from int, flags byte, payload []byte) {
	w := c.w
	clientAddr, clientPort := uint32(10<<24+c.id/40000), uint16(20000+c.id%40000)
	b := append(w.packet[:0], 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(40+len(payload)))
	b = append(b, 0, 0, 0, 0, 64, 6, 0, 0)
	const serverAddr, serverPort = 192<<24 | 168<<16 | 1, 9092
	if from == client {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, clientAddr), serverAddr)
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, clientPort), serverPort)
	} else {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, serverAddr), clientAddr)
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, serverPort), clientPort)
	}
	b = binary.BigEndian.AppendUint32(b, c.next[from])
	acked := uint32(0)
	if flags&ack != 0 {
		acked = c.next[from^1]
	}
	b = binary.BigEndian.AppendUint32(b, acked)
	b = append(b, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	b = append(b, payload...)
	w.packet = b
	w.time++
	var header [16]byte
	binary.LittleEndian.PutUint32(header[0:], uint32(w.time/1e6))
	binary.LittleEndian.PutUint32(header[4:], uint32(w.time%1e6))
	binary.LittleEndian.PutUint32(header[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(header[12:], uint32(len(b)))
	w.out.Write(header[:])
	if _, err := w.out.Write(b); err != nil {
		os.Exit(1)
	}
}

// segmentSize is that of a segment of offloaded sending.
const segmentSize = 16 << 10

func (c *connection) send(from int, data []byte) {
	for len(data) > 0 {
		n := min(segmentSize, len(data))
		c.segment(from, ack|psh, data[:n])
		c.next[from] += uint32(n)
		data = data[n:]
	}
}

func (c *connection) close() {
	c.segment(client, fin|ack, nil)
	c.next[client]++
	c.segment(server, fin|ack, nil)
	c.next[server]++
	c.segment(client, ack, nil)
}

// frame puts the size in front.
func frame(parts ...[]byte) []byte {
	b := make([]byte, 4)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func text(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }

func int32s(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func int16s(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func request(key, version, correlation int, body ...[]byte) []byte {
	return frame(append([][]byte{int16s(key, version), int32s(correlation), text("crowd")}, body...)...)
}

// apiVersions is what today's brokers answer to ApiVersions v0: APIs by key, with a range of versions each.
func apiVersions(correlation int) []byte {
	const count = 70
	b := int32s(count)
	for key := range count {
		b = append(b, int16s(key, 0, 9)...)
	}
	return frame(int32s(correlation), int16s(0), b)
}

// fetch asks for partition 0 of a topic with version 4.
func fetch(correlation int) []byte {
	return request(1, 4, correlation, int32s(-1, 500, 1, 50<<20), []byte{0}, int32s(1), text("orders"), int32s(1, 0, 0, 0, 1<<20))
}

// fetched is the answer, with record data.
func fetched(correlation int, records []byte) []byte {
	return frame(int32s(correlation, 0, 1), text("orders"), int32s(1, 0), int16s(0), int32s(0, 9, 0, 9, -1, len(records)), records)
}

func open(w *writer, n int) {
	all := make([]*connection, n)
	for i := range all {
		c := w.connect(i).accept()
		all[i] = c
		c.send(client, request(18, 0, 1))
		c.send(server, apiVersions(1))
	}
	for _, c := range all {
		c.send(client, request(3, 1, 2, int32s(0)))
		c.send(server, frame(int32s(2, 1, 1), text("broker.example"), int32s(9092), int16s(-1), int32s(1, 0)))
	}
	for _, c := range all {
		c.send(client, fetch(3))
	}
}

func syn(w *writer, n int) {
	for i := range n {
		w.connect(i)
	}
}

func partial(w *writer, n int) {
	whole := fetch(1)
	for i := range n {
		w.connect(i).send(client, whole[:len(whole)-10])
	}
}

func stuck(w *writer, n int) {
	c, other := w.connect(0).accept(), w.connect(1).accept()
	c.send(client, fetch(1))
	answer := fetched(1, make([]byte, n<<20))
	c.next[server] += segmentSize
	answer = answer[segmentSize:]
	for i := 0; len(answer) > 0; i++ {
		m := min(segmentSize, len(answer))
		c.segment(server, psh|ack, answer[:m])
		c.next[server] += uint32(m)
		answer = answer[m:]
		other.send(client, request(3, 1, i, int32s(0)))
		other.send(server, frame(int32s(i, 0, 0, 0)))
	}
}

func large(w *writer, n int) {
	c := w.connect(0).accept()
	c.send(client, fetch(1))
	c.send(server, fetched(1, make([]byte, n<<20)))
}

func long(w *writer, n int) {
	topic, value := text("orders"), []byte(strings.Repeat("x", 840))
	var c *connection
	for i := range n {
		if i%1000 == 0 {
			if c != nil {
				c.close()
			}
			c = w.connect(i / 1000).accept()
		}
		// Produce v2 with a message set of one message of magic 1, whose CRC nobody looks at
		message := frame(int32s(0), []byte{1, 0}, int32s(0, 0, -1, len(value)), value)
		set := append(int32s(0, 0), message...)
		c.send(client, request(0, 2, i, int16s(1), int32s(30000, 1), topic, int32s(1, 0, len(set)), set))
		c.send(server, frame(int32s(i, 1), topic, int32s(1, 0), int16s(0), int32s(0, i, -1, -1, 0)))
	}
}
