package traffic

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
)

// What happens to a packet of a lossy capture, and by how many packets one is late at most.
const (
	lost, late = 0.01, 0.01
	mostLate   = 10
)

// Lossy copies a capture in the little-endian form of pcap, and leaves out one packet in a hundred. Another one comes up to ten packets late. Times
// go on rising, as in a capture of packets that were late already.
func Lossy(out io.Writer, in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<20)
	w := bufio.NewWriterSize(out, 1<<20)
	const fileHeader, packetHeader = 24, 16
	if _, err := io.CopyN(w, r, fileHeader); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	waiting := map[int][][]byte{} // packets by the number of the one that they come behind
	for n := 0; ; n++ {
		header := make([]byte, packetHeader, 2048)
		if _, err := io.ReadFull(r, header); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		packet := append(header, make([]byte, binary.LittleEndian.Uint32(header[8:]))...)
		if _, err := io.ReadFull(r, packet[packetHeader:]); err != nil {
			return err
		}
		switch fate := rng.Float64(); {
		case fate < lost:
		case fate < lost+late:
			place := n + 1 + rng.IntN(mostLate)
			waiting[place] = append(waiting[place], packet)
		default:
			w.Write(packet)
		}
		for _, p := range waiting[n] {
			copy(p[:8], packet[:8])
			w.Write(p)
		}
		delete(waiting, n)
	}
	return w.Flush() // what is still late is lost
}
