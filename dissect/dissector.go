package dissect

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// Needs says what an output looks at. What nobody needs is neither kept nor decoded.
type Needs uint8

const (
	NeedMessages  Needs = 1 << iota // every message, one by one
	NeedExchanges                   // requests together with their responses; requests are kept until then
	NeedBatches                     // whether the CRC of record batches is right; their headers are always there
	NeedRecords                     // the records themselves
	NeedPackets                     // the numbers of all packets of a message
	NeedSessions                    // what requests of fetch sessions really ask for
)

// An Exchange is a request and its response.
type Exchange struct {
	Request  *Message  // nil when it is not in the capture
	Response *Message  // nil when there was none
	NoAnswer bool      // none was expected: Produce with acks=0
	Closed   bool      // the server closed the connection instead of answering
	OneWay   bool      // only one side of the connection was captured by then
	Open     bool      // it goes on: told ahead of its end by Dissector.Waiting
	Findings []Finding // said of it at its end: why it has no answer
}

// Timing is when the parts of an exchange happened, as the capture saw it. All in nanoseconds. Of an exchange that is Open the request has it, up to now.
type Timing struct {
	Latency  int64 // from the request's last packet to the response's last; Queued + Service + Transfer
	Queued   int64 // until the answer before it had left: a broker serves one request of a connection at a time
	Service  int64 // from then to the first packet of the response
	Transfer int64 // from the first packet of the response to its last
	Allowed  int64 // how long the broker may wait by design: a fetch for its max wait, a join for its group to come together
	InFlight int32 // requests of the connection that waited for an answer when the request came, itself included
	Excess   int64 // Service beyond Allowed, and Transfer: what was neither waited by design nor behind another answer
}

// A Report is what belongs to no message that is being handed over: findings about a connection,
// about the whole capture, or about a message that was handed over before; or what a connection turned out to be.
type Report struct {
	Connection *Connection // nil for the whole capture
	Message    int64       // number of the message, 0 for none
	Packet     int64       // the packet that gave rise to it, 0 for none
	Time       int64       // its capture time, nanoseconds since the Unix epoch
	File       uint16      // its file, as in pcaps.Packet; of the whole capture the file that the findings are about
	Findings   []Finding
	Ending     *Ending // of the connection; there are no findings then
	Told       bool    // it has been said on standard error already
}

// An Output takes what was dissected. What it is handed is valid during the call only.
type Output interface {
	Message(*Message)
	Exchange(*Exchange)
	Report(*Report)
}

// A Dissector finds Kafka in the streams of an assembler and hands it to an Output. It is a reassembly.Handler.
type Dissector struct {
	// Files are the names of the files that are read as one, for findings that speak of a packet of another file. It may be set
	// before the first packet.
	Files []string

	catalog *schema.Catalog
	needs   Needs
	out     Output

	number     int64
	tools      *tools
	topics     *topicNames
	sessions   sessions
	namesOnly  bool       // nothing but the names of topics is wanted: see LookAhead
	nested     Facts      // of a structure inside a message
	free       []*request // to be used again
	conns      []*conn    // to be used again
	spare      *decoder   // of a large frame, to be used again
	frame      *frame     // the latest one, to be used again
	frames     []*frame   // others, to be used again
	buffers    [][]byte   // of frames, to be used again
	kept       int        // bytes of buffers
	windows    []*window  // to be used again
	message    Message    // the one that is being handed over
	head       Head       // of a response
	request    Message    // the request of the exchange that is being handed over
	exchange   Exchange
	report     Report                   // the one that is being handed over
	now        reassembly.Origin        // the latest packet that was heard of
	shared     map[string]*offer        // what brokers offer, by the bytes that say so
	announced  map[string]*announcement // what ApiVersions answers say, by their bytes behind the correlation id
	snaplen    bool                     // that packets were cut has been said
	duplicates bool                     // that packets came twice has been said
	logins     map[netip.AddrPort]bool  // brokers that some client has logged in to, up to maxLogins
	servers    map[netip.AddrPort]bool  // endpoints that are known to be brokers
	server     netip.AddrPort           // of the latest connection
	named      string                   // that as text
	silent     silent                   // attempts to connect to brokers that failed
	trial      trial
	fitting    fitting
	fits       []fit                     // to be used again
	offers     map[netip.AddrPort]*offer // what brokers offer, for connections that began before the capture
	Counts     Counts
}

// Counts is what a dissector has seen.
type Counts struct {
	Messages, Requests, Responses int64
	Unanswered                    int64
	Cut                           int64 // messages that lack bytes
	Gaps                          int64
	Connections, KafkaConnections int64 // with any payload, and those of them with Kafka
	OneDirection                  int64 // of Connections: only one side was captured
	Bytes                         Bytes
	Forgotten                     int64 // connections with Kafka, or undecided, that were forgotten to stay within the memory limit
}

// New returns a Dissector for an output.
func New(catalog *schema.Catalog, needs Needs, out Output) *Dissector {
	return &Dissector{catalog: catalog, needs: needs, out: out, servers: map[netip.AddrPort]bool{}, logins: map[netip.AddrPort]bool{}, shared: map[string]*offer{}, announced: map[string]*announcement{},
		tools: newTools(), topics: newTopicNames(), sessions: sessions{byKey: map[sessionKey]*session{}}}
}

// Chunk implements reassembly.Handler.
func (d *Dissector) Chunk(sc *reassembly.Connection, dir reassembly.Direction, chunk *reassembly.Chunk) {
	c := d.connection(sc)
	if !c.delivered {
		c.delivered = true
		d.Counts.Connections++
	}
	h := &c.halves[dir&1] // so that the compiler sees that it is one of two
	d.now = chunk.Origin
	h.bytes(chunk.Data, chunk.Origin)
	c.charge(h)
}

// Gap implements reassembly.Handler.
func (d *Dissector) Gap(sc *reassembly.Connection, dir reassembly.Direction, gap reassembly.Gap) {
	c := d.connection(sc)
	d.Counts.Gaps++
	d.now = gap.Origin
	c.halves[dir].gap(gap)
	sc.Memory = c.memory()
}

// Fin implements reassembly.Handler.
func (d *Dissector) Fin(sc *reassembly.Connection, dir reassembly.Direction, at reassembly.Origin) {
	d.now = at
	d.connection(sc).closes(dir, at)
}

// End implements reassembly.Handler.
func (d *Dissector) End(sc *reassembly.Connection, cause reassembly.EndCause, at reassembly.Origin) {
	d.now = at
	switch c, ok := sc.Consumer.(*conn); {
	case !ok: // nothing came
		d.silentEnd(sc, cause)
	default:
		c.end(cause, at.Time)
		d.keepConn(c)
	}
	sc.Consumer = nil
}

func (d *Dissector) connection(sc *reassembly.Connection) *conn {
	if c, ok := sc.Consumer.(*conn); ok {
		return c
	}
	c := reused(&d.conns) // where connections come and go its memory need not be fetched
	c.dissector, c.stream = d, sc
	for dir := range c.halves { // field by field: a literal would be copied
		h := &c.halves[dir]
		h.conn, h.dir, h.window = c, reassembly.Direction(dir), d.newWindow()
	}
	c.setClient(reassembly.FromA, unknownRole)
	if sc.Opened {
		c.role = guessedRole
	} else if d.isBroker(sc.Ends[0]) && !d.isBroker(sc.Ends[1]) {
		c.setClient(reassembly.FromB, unknownRole)
	}
	sc.Consumer = c
	return c
}

// Report hands over a finding about a file of the capture as a whole, such as damage that the source met. told says that the user
// knows of it already.
func (d *Dissector) Report(file uint16, f Finding, told bool) {
	d.tell(Report{File: file, Findings: []Finding{f}, Told: told})
}

// tell hands over a report, always in the same place.
func (d *Dissector) tell(r Report) {
	d.report = r
	d.out.Report(&d.report)
}

// Bounds of what is kept to be used again. Where records are read, all frames are held whole, and to get buffers for large ones anew each time takes
// several times as long as all the rest.
const (
	maxFree      = 256
	maxFreeConns = 1024    // they take less than 1 kB each; where many are open at a time many end at a time
	maxFreeFrame = 4 << 10 // of a request
	maxKeptBytes = 4 << 20
)

// skimmer returns a decoder for a large frame.
func (d *Dissector) skimmer() *decoder {
	s := d.spare
	d.spare = nil
	if s == nil || cap(s.data) > maxKeptSkim || cap(s.tape) > maxKeptSkim/32 {
		return &decoder{}
	}
	return s
}

// maxKeptSkim is how large the buffers of the decoder for large frames may be that is kept.
const maxKeptSkim = 4 << 20

// reused takes the latest of those that are kept to be used again, as it was left; a new one where there is none.
func reused[T any](kept *[]*T) *T {
	n := len(*kept)
	if n == 0 {
		return new(T)
	}
	x := (*kept)[n-1]
	*kept = (*kept)[:n-1]
	return x
}

// keepConn takes back a conn that has ended: nothing refers to it any more. What it held is given up at once, since nobody counts it any longer.
func (d *Dissector) keepConn(c *conn) {
	if len(d.conns) < maxFreeConns {
		*c = conn{}
		d.conns = append(d.conns, c)
	}
}

func (d *Dissector) newRequest() *request {
	r := reused(&d.free)
	r.outstanding = outstanding{} // the snapshot keeps its buffers
	r.frame = r.frame[:0]
	return r
}

// release gives a request back. A large frame goes its own way, so that no small request takes its buffer for as long as it waits: that counts.
func (d *Dissector) release(r *request) {
	if cap(r.frame) > maxFreeFrame {
		d.keepBuffer(r.frame)
		r.frame = nil
	}
	if len(d.free) < maxFree {
		d.free = append(d.free, r)
	}
}

// arena returns a buffer for the frame of a request that waits: its own, or for a large one of those that are kept.
func (d *Dissector) arena(r *request, size int) []byte {
	if size > maxFreeFrame {
		if b := d.buffer(size, 2*size); b != nil {
			return b
		}
	}
	return r.frame[:0]
}

// buffer returns the latest of the buffers that are kept with a capacity within bounds, nil where there is none.
func (d *Dissector) buffer(least, most int) []byte {
	for i, b := range slices.Backward(d.buffers) {
		if size := cap(b); least <= size && size <= most {
			d.buffers = slices.Delete(d.buffers, i, i+1)
			d.kept -= size
			return b
		}
	}
	return nil
}

func (d *Dissector) newFrame() *frame {
	if f := d.frame; f != nil {
		d.frame = nil
		return f
	}
	n := len(d.frames)
	if n == 0 {
		return &frame{listed: d.needs&NeedPackets != 0}
	}
	f := d.frames[n-1]
	d.frames = d.frames[:n-1]
	return f
}

// keepFrame takes back what newFrame returned.
func (d *Dissector) keepFrame(f *frame) {
	switch {
	case f == nil || cap(f.list) > maxKeptList || cap(f.holes) > maxKeptList:
	case d.frame == nil:
		d.frame = f
	case len(d.frames) < maxKept:
		d.frames = append(d.frames, f)
	}
}

// Bounds of how many frames and buffers are kept: as many as there are frames that came in pieces at the same time, mostly.
const (
	maxKept     = 32
	maxKeptList = 1024
)

// emptyBuffer returns a buffer for a frame that comes in pieces, of which the first bytes are there: none that is much larger than the frame.
func (h *half) emptyBuffer(data []byte) []byte {
	if h.buffer != nil {
		return h.buffer[:0]
	}
	most := maxFreeFrame
	if len(data) >= 4 {
		most = max(most, 2*int(binary.BigEndian.Uint32(data)))
	}
	return h.conn.dissector.buffer(0, most)
}

// keepBuffer takes back what emptyBuffer returned.
func (d *Dissector) keepBuffer(b []byte) {
	if size := cap(b); size > 0 && len(d.buffers) < maxKept && d.kept+size <= maxKeptBytes {
		d.kept += size
		d.buffers = append(d.buffers, b[:0])
	}
}
