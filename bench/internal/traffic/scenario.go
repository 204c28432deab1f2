package traffic

import (
	"bytes"
	"io"
)

// A Scenario is a kind of traffic; n is how much of it there is.
type Scenario struct {
	Name, About string
	Count       int // that tells most
	write       func(w *Writer, n int)
}

// Write writes a capture of n of what the scenario is about.
func (s *Scenario) Write(out io.Writer, n int) error {
	w := NewWriter(out)
	s.write(w, n)
	return w.Flush()
}

// Stream returns what writes it.
func (s *Scenario) Stream(n int) func(io.Writer) error {
	return func(out io.Writer) error { return s.Write(out, n) }
}

// Scenarios are all there are. Several ask much of a dissector's memory.
var Scenarios = []*Scenario{Many, Open, Syn, Partial, Stuck, Large, Packed, Long}

// The scenarios.
var (
	Many    = &Scenario{"many", "connections of three exchanges each, up to 1000 open at a time", 100_000, many}
	Open    = &Scenario{"open", "connections that are all open at once: ApiVersions and Metadata answered, a Fetch not", 100_000, open}
	Syn     = &Scenario{"syn", "connections of which nothing but the SYN is seen", 1_000_000, syn}
	Partial = &Scenario{"partial", "connections of which the SYN and the first bytes of a request are seen", 1_000_000, partial}
	Stuck   = &Scenario{"stuck", "MB sent behind a segment that never comes and is never acknowledged, beside a connection that goes on", 1000, stuck}
	Large   = &Scenario{"large", "MB of one Fetch answer", 100, large}
	Packed  = &Scenario{"packed", "Produce requests of one record of 15 MiB each, compressed to some 15 kB", 12, packed}
	Long    = &Scenario{"long", "exchanges of about 1.1 kB, a new connection for every 1000 of them", 10_000_000, long}
)

func many(w *Writer, n int) {
	const atOnce = 1000
	records := batch(0, 1, record(0, make([]byte, 100)))
	for first := 0; first < n; first += atOnce {
		var all []*connection
		for id := first; id < min(first+atOnce, n); id++ {
			c := w.connect(id).accept()
			all = append(all, c)
			c.send(client, request(18, 0, 1))
			c.send(server, apiVersions(1))
		}
		for _, c := range all {
			c.metadata(2)
		}
		for _, c := range all {
			c.produce(3, records)
		}
		for _, c := range all {
			c.close()
		}
	}
}

func open(w *Writer, n int) {
	all := make([]*connection, n)
	for i := range all {
		c := w.connect(i).accept()
		all[i] = c
		c.send(client, request(18, 0, 1))
		c.send(server, apiVersions(1))
	}
	for _, c := range all {
		c.metadata(2)
	}
	for _, c := range all {
		c.send(client, fetch(3))
	}
}

func syn(w *Writer, n int) {
	for i := range n {
		w.connect(i)
	}
}

func partial(w *Writer, n int) {
	whole := fetch(1)
	for i := range n {
		w.connect(i).send(client, whole[:len(whole)-10])
	}
}

func stuck(w *Writer, n int) {
	c, other := w.connect(0).accept(), w.connect(1).accept()
	c.send(client, fetch(1))
	answer := fetched(1, make([]byte, n<<20))
	c.next[server] += OffloadSegment
	answer = answer[OffloadSegment:]
	for i := 0; len(answer) > 0; i++ {
		m := min(OffloadSegment, len(answer))
		c.segment(server, pshFlag|ackFlag, answer[:m])
		c.next[server] += uint32(m)
		answer = answer[m:]
		other.send(client, request(3, 1, i, int32s(0)))
		other.send(server, frame(int32s(i, 0, 0, 0)))
	}
}

func large(w *Writer, n int) {
	c := w.connect(0).accept()
	c.send(client, fetch(1))
	c.send(server, fetched(1, make([]byte, n<<20)))
}

// packed has values that JSON shows in six times their size, as text, and as base64.
func packed(w *Writer, n int) {
	const size = 15 << 20
	var batches [][]byte
	for _, value := range [][]byte{make([]byte, size), bytes.Repeat([]byte("kdissect "), size/9), bytes.Repeat([]byte{0xff}, size)} {
		batches = append(batches, batch(1, 1, record(0, value)))
	}
	c := w.connect(0).accept()
	for i := range n {
		c.produce(i, batches[i%len(batches)])
	}
	c.close()
}

func long(w *Writer, n int) {
	topic := text("orders")
	message := frame(int32s(0), []byte{1, 0}, int32s(0, 0, -1, 840), make([]byte, 840)) // a message of magic 1, whose CRC nobody looks at
	set := append(int32s(0, 0), message...)
	var c *connection
	for i := range n {
		if i%1000 == 0 {
			if c != nil {
				c.close()
			}
			c = w.connect(i / 1000).accept()
		}
		c.send(client, request(0, 2, i, int16s(1), int32s(30000, 1), topic, int32s(1, 0, len(set)), set))
		c.send(server, frame(int32s(i, 1), topic, int32s(1, 0), int16s(0), int32s(0, i, -1, -1, 0)))
	}
}

// smallestRequest is the size of a ListGroups request, and smallestProduce about that of a Produce request with one record.
const (
	smallestRequest = 20
	smallestProduce = 200
)

// WriteMessages writes a capture of n exchanges whose requests have a size of their own: 20 bytes, or from 200 on, with one record that fills them.
func WriteMessages(out io.Writer, size, n int) error {
	w := NewWriter(out)
	c := w.connect(0).accept()
	records := []byte(nil)
	if size >= smallestProduce {
		const most = 16 // bytes of a record beside its value
		records = batch(0, 1, record(0, make([]byte, size-produceOverhead-batchOverhead-most)))
	}
	for i := range n {
		if size == smallestRequest {
			c.listGroups(i)
		} else {
			c.produce(i, records)
		}
	}
	c.close()
	return w.Flush()
}
