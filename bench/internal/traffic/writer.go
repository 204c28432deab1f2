// Package traffic makes captures to measure with: Kafka between clients and a broker, as its bytes would lie in packets. All of it is the same each time.
package traffic

import (
	"bufio"
	"encoding/binary"
	"io"
)

// A Writer writes a pcap file of Ethernet packets, a microsecond apart. An error of what it writes to sticks and is returned by Flush.
type Writer struct {
	Segment int // bytes of payload in a packet
	out     *bufio.Writer
	packet  []byte
	time    uint64 // microseconds
}

// Sizes of segments: what an Ethernet link carries, and what a capture shows where the network card cuts or joins segments.
const (
	LinkSegment    = 1448
	OffloadSegment = 16 << 10
)

// NewWriter begins a capture.
func NewWriter(out io.Writer) *Writer {
	const magic, linkEthernet = 0xa1b2c3d4, 1
	w := &Writer{Segment: OffloadSegment, out: bufio.NewWriterSize(out, 1<<20), time: 1_790_000_000_000_000}
	header := binary.LittleEndian.AppendUint32(nil, magic)
	header = binary.LittleEndian.AppendUint16(header, 2)
	header = binary.LittleEndian.AppendUint16(header, 4)
	header = append(header, 0, 0, 0, 0, 0, 0, 0, 0)
	header = binary.LittleEndian.AppendUint32(header, 1<<18)
	w.out.Write(binary.LittleEndian.AppendUint32(header, linkEthernet))
	return w
}

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.out.Flush() }

// A connection is one of client number id, with port 9092 of a broker.
type connection struct {
	w    *Writer
	id   int
	next [2]uint32 // sequence numbers of client and server
}

const (
	finFlag = 1 << iota
	synFlag
	_ // RST
	pshFlag
	ackFlag
)

const client, server = 0, 1

// connect sends the SYN.
func (w *Writer) connect(id int) *connection {
	c := &connection{w: w, id: id, next: [2]uint32{1000, 5000}}
	c.segment(client, synFlag, nil)
	c.next[client]++
	return c
}

// accept answers the SYN.
func (c *connection) accept() *connection {
	c.segment(server, synFlag|ackFlag, nil)
	c.next[server]++
	c.segment(client, ackFlag, nil)
	return c
}

// segment writes one packet and leaves the sequence numbers as they are.
func (c *connection) segment(from int, flags byte, payload []byte) {
	w := c.w
	clientAddr, clientPort := uint32(10<<24+c.id/40000), uint16(20000+c.id%40000)
	b := append(w.packet[:0], 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0) // Ethernet, with IPv4 in it
	b = append(b, 0x45, 0)
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
	if flags&ackFlag != 0 {
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
	w.out.Write(b)
}

// send writes data in as many segments as it takes.
func (c *connection) send(from int, data []byte) {
	for len(data) > 0 {
		n := min(c.w.Segment, len(data))
		c.segment(from, ackFlag|pshFlag, data[:n])
		c.next[from] += uint32(n)
		data = data[n:]
	}
}

func (c *connection) close() {
	c.segment(client, finFlag|ackFlag, nil)
	c.next[client]++
	c.segment(server, finFlag|ackFlag, nil)
	c.next[server]++
	c.segment(client, ackFlag, nil)
}
