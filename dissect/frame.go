package dissect

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/kdissect/kdissect/reassembly"
	"github.com/kdissect/kdissect/schema"
)

// skimSize is the frame size from which on record data that no output needs is dropped as it comes. Smaller
// frames are held whole: they mostly come in one or two segments, and copying 64 KiB costs about 5 µs.
const skimSize = 64 << 10

// A half is one direction of a connection: it cuts the stream into frames. A Kafka frame is an int32 size and as many bytes.
type half struct {
	conn  *conn
	dir   reassembly.Direction
	state halfState

	partial   bool // in step: a frame has begun and is not whole
	skimming  bool // buffer is unused, what came is in the decoder
	beforeGap bool // nothing comes that joins on to the window

	// searching for the first frame, or waiting
	givenUp    bool    // the next response has waited in vain
	gapped     bool    // bytes were missing since the last answer that was in order
	atEnd      bool    // nothing more comes
	window     *window // nil in step
	later      []later // what came behind a window that waits, and does not join on to it
	laterBytes int     // memory of that
	spoke      bool    // bytes came

	trials, responseTrials int32 // how often bytes were decoded to see what they are

	// in step
	total    int // its size, prefix included; 0 until the prefix is whole
	received int // bytes of it that came, captured or not
	buffer   []byte
	frame    *frame // nil between frames
	skim     *decoder
	skimBody *schema.Plan // of the body, while skim is still in the header
	head     []part       // which packets brought the first 8 bytes of the frame

	lead lead // of whole messages
}

type halfState uint8

const (
	searching halfState = iota // where frames begin is not known
	inStep                     // the next byte is inside a frame or begins one
	waiting                    // a response waits for its request, see wait.go
	foreign                    // not Kafka
)

// A frame is what is known of a frame besides its bytes.
type frame struct {
	first    reassembly.Origin // the first packet that carried it, as the capture has them
	last     reassembly.Origin // the last one
	latest   reassembly.Origin // the packet that brought its latest bytes, if there are several
	start    int64             // the earliest capture time of its packets
	count    int               // of its packets
	list     []reassembly.Origin
	cut      *cut     // bytes are missing
	missing  int      // how many
	request  *request // registered with the connection when its header came: what it is, or what it answers
	listed   bool     // the numbers of all packets are wanted
	header   bool     // the header was looked at
	waited   bool     // for its request, in vain
	holes    []hole
	findings []Finding // what was noticed before the frame was whole
}

// begin begins a frame with the packet that brings its first byte.
func (h *half) begin(from reassembly.Origin) {
	if h.frame == nil {
		h.frame = h.conn.dissector.newFrame()
	}
	h.frame.begin(from)
}

// release gives back a frame that was handed over and its buffer, unless another one has begun by then.
func (h *half) release() {
	if h.partial {
		return
	}
	d := h.conn.dissector
	d.keepFrame(h.frame)
	if h.frame = nil; h.buffer != nil {
		d.keepBuffer(h.buffer)
		h.buffer = nil
	}
}

// begin makes f a new frame, each field set: a literal would be copied.
func (f *frame) begin(from reassembly.Origin) {
	f.first, f.last, f.start, f.count = from, from, from.Time, 1
	if f.listed {
		f.list = append(f.list[:0], from)
	}
	f.cut, f.missing, f.request, f.header, f.waited = nil, 0, nil, false, false
	f.holes, f.findings = f.holes[:0], nil
}

// add notes that the next bytes of the frame came with a packet.
func (f *frame) add(from reassembly.Origin) {
	if f.count == 1 {
		f.latest = f.first
	}
	if from.Packet == f.latest.Packet && from.File == f.latest.File {
		return
	}
	f.latest = from
	f.count++
	if f.listed {
		f.list = append(f.list, from)
	}
	f.start = min(f.start, from.Time)
	if from.Before(f.first) {
		f.first = from
	}
	if f.last.Before(from) {
		f.last = from
	}
}

// bytes takes the next bytes of the stream, all of one packet.
func (h *half) bytes(data []byte, from reassembly.Origin) {
	h.take(data, from)
	h.conn.packets++
	if server := h.conn.server(); server.state == waiting {
		server.wake(from.Time)
	}
}

// take is bytes for those that were held before.
func (h *half) take(data []byte, from reassembly.Origin) {
	switch h.state {
	case searching:
		h.search(data, from)
	case inStep:
		h.frames(data, from)
	case waiting:
		h.hold(data, from)
	case foreign:
		h.conn.other += int64(len(data))
	}
}

// frames cuts off frames. A frame that lies whole in data is not copied.
func (h *half) frames(data []byte, from reassembly.Origin) {
	data = h.cutFrames(data, from)
	switch {
	case len(data) == 0:
	case h.state == searching:
		h.search(data, from)
	case h.state == waiting:
		h.hold(data, from)
	}
}

// cutFrames cuts off frames as long as they are in step, and returns what is behind them.
func (h *half) cutFrames(data []byte, from reassembly.Origin) []byte {
	for len(data) > 0 && h.state == inStep {
		if h.partial {
			data = h.fill(data, from)
			continue
		}
		h.begin(from)
		h.frame.waited, h.givenUp = h.givenUp, false
		if len(data) >= 4 {
			size := int32(binary.BigEndian.Uint32(data))
			if !h.plausibleSize(size) {
				h.loseStep(data, from, finding(InvalidLength, Error, -1, "a frame of %d bytes is announced", size))
				return nil
			}
			if !h.frame.waited && h.mustWait(data) {
				h.wait(data, from)
				return nil
			}
			if total := 4 + int(size); len(data) >= total {
				h.conn.deliver(h, data[:total], nil, total)
				h.release()
				if len(data) == total {
					return nil
				}
				data = data[total:]
				continue
			}
		}
		h.partial, h.total, h.received, h.buffer, h.skimming, h.head = true, 0, 0, h.emptyBuffer(data), false, h.head[:0]
	}
	return data
}

// plausibleSize tells whether a frame can be so large. Once frames are in step a frame may have any legal size; below
// the smallest header nothing but an empty SASL token exists.
func (h *half) plausibleSize(size int32) bool {
	return size >= 4 && int64(size) <= math.MaxInt-4 || size >= 0 && size < 4 && h.conn.tokens()
}

// fill adds bytes to the frame that has begun, and returns those that are behind it.
func (h *half) fill(data []byte, from reassembly.Origin) []byte {
	h.frame.add(from)
	if len(h.buffer) < 8 && h.frame.cut == nil && !h.skimming {
		h.head = append(h.head, part{at: len(h.buffer), Origin: from})
	}
	if h.total == 0 {
		n := min(4-len(h.buffer), len(data))
		h.buffer = append(h.buffer, data[:n]...)
		h.received += n
		data = data[n:]
		if len(h.buffer) < 4 {
			return nil
		}
		size := int32(binary.BigEndian.Uint32(h.buffer))
		if !h.plausibleSize(size) {
			h.loseStep(append(h.buffer, data...), from, finding(InvalidLength, Error, -1, "a frame of %d bytes is announced", size))
			return nil
		}
		h.total = 4 + int(size)
	}
	n := min(h.total-h.received, len(data))
	h.keep(data[:n])
	h.received += n
	if h.state == inStep && h.received == h.total {
		h.finish()
	}
	return data[n:]
}

// keep holds the bytes of a frame that is not whole yet, as far as anybody needs them.
func (h *half) keep(b []byte) {
	switch {
	case h.frame.cut != nil:
		return // what comes behind missing bytes cannot be decoded
	case h.skimming:
		h.skim.feed(b)
		h.runSkim()
	default:
		h.buffer = append(h.buffer, b...)
		if !h.frame.header && !h.frame.waited && h.mustWait(h.buffer) {
			h.waitInside()
			return
		}
		if !h.frame.header {
			h.lookAtHeader()
		}
		if h.frame.header && h.total > skimSize && h.conn.dissector.needs&NeedRecords == 0 && len(h.buffer) >= firstTopicEnd {
			h.startSkimming()
		}
	}
}

// lookAtHeader registers a request, or finds the one that is answered, as soon as the header is there: whatever happens to the
// body, pairing is kept.
func (h *half) lookAtHeader() {
	if h.conn.kindOf(h.dir) == schema.Request {
		if h.conn.tokens() {
			return // whether it has a header is plain when it is whole
		}
		var header Header
		if api, ok := h.conn.parseHeader(&header, h.buffer, h.total); ok {
			r := h.conn.dissector.newRequest()
			r.header, r.api = header, api
			h.frame.header, h.frame.request = true, r
			h.conn.register(r, h.frame)
			h.conn.pending.count(r)
		}
		return
	}
	if len(h.buffer) >= 8 {
		h.frame.header = true
		h.conn.match(h, correlationID(h.buffer))
	}
}

// startSkimming hands a large frame over to a decoder that keeps all but record data.
func (h *half) startSkimming() {
	plan := h.plan()
	if plan == nil || plan.Header == nil || h.conn.dissector.keepsNames(plan, h.buffer, h.total) {
		return
	}
	h.skimming = true
	h.skim = h.conn.dissector.skimmer()
	h.skim.reset(append(h.skim.data[:0], h.buffer...), h.skim.holes[:0], h.total)
	h.buffer = h.buffer[:0]
	h.skim.complete, h.skim.passOver, h.skim.sumBatches = false, true, h.conn.dissector.needs&NeedBatches != 0
	h.skim.leaf(SizeNode, nil, 4)
	h.skim.start(plan.Header, 4)
	h.skimBody = plan
	h.runSkim()
}

// runSkim decodes what has come of a large frame: the header, then the body.
func (h *half) runSkim() {
	for h.skim.run() == done && h.skimBody != nil {
		h.skim.start(h.skimBody, h.skim.pos)
		h.skimBody = nil
	}
}

// plan is the layout of the frame that has begun, nil when it is not known.
func (h *half) plan() *schema.Plan {
	r := h.frame.request
	if r == nil || r.header.Token {
		return nil
	}
	return h.conn.dissector.catalog.Plan(r.header.APIKey, r.header.Version, h.conn.kindOf(h.dir))
}

// finish hands over the frame that has become whole.
func (h *half) finish() {
	h.partial = false
	if h.skimming {
		h.frame.holes = append(h.frame.holes[:0], h.skim.holes...)
		h.whole(h.skim.data, h.frame.holes)
		h.conn.dissector.spare, h.skim = h.skim, nil
		h.release()
		return
	}
	h.whole(h.buffer, nil)
	h.release()
}

// whole hands over a frame. total is its size where data lacks some of it.
func (h *half) whole(data []byte, holes []hole) {
	size := len(data)
	if h.total > 0 {
		size = h.total
	}
	h.total = 0
	h.conn.deliver(h, data, holes, size)
}

// gap takes note that bytes of the stream are missing. Where the frame ends is known when its size is, so frames
// stay in step if the gap ends inside the frame that it hits.
func (h *half) gap(g reassembly.Gap) {
	if h.state == searching {
		h.searchCut()
	}
	switch h.state {
	case waiting:
		h.gapLater(g)
		return
	case foreign:
		h.gapped = true
		return
	}
	h.gapped = true
	code := Gapped
	if g.Cause == reassembly.Snaplen {
		code = SnaplenCut
	}
	switch {
	case code == SnaplenCut:
		h.conn.dissector.tellSnaplen()
	case h.conn.stream.Opened || h.conn.kafka():
		h.conn.report(0, finding(code, Warn, -1, "%d bytes %s are not in the capture", g.Length, h.whence()))
	}
	if h.state == searching {
		h.window.clear()
		h.window.skipped += g.Length
		h.window.missing += g.Length
		h.window.lost = h.window.lost || h.conn.stream.Opened
		return
	}
	if h.partial && h.total > 0 && int64(h.received)+g.Length <= int64(h.total) {
		h.miss(int(g.Length), code)
		return
	}
	switch {
	case h.partial && h.total > 0:
		h.miss(h.total-h.received, code)
	case h.partial:
		h.giveUpFrame()
	}
	h.partial = false
	h.startSearching()
}

// miss counts bytes of the frame that will never come.
func (h *half) miss(n int, code Code) {
	if h.frame.cut == nil {
		h.frame.cut = &cut{offset: h.received, code: code}
	}
	h.received += n
	h.frame.missing += n
	if h.received == h.total {
		h.finish()
	}
}

func (h *half) whence() string {
	if h.conn.kindOf(h.dir) == schema.Request {
		return fmt.Sprintf("from client %s", h.conn.ends.Client)
	}
	return fmt.Sprintf("from server %s", h.conn.ends.Server)
}

// loseStep gives up where frames begin and searches from these bytes on, the first of which is no frame.
func (h *half) loseStep(data []byte, from reassembly.Origin, f Finding) {
	h.partial = false
	h.conn.report(0, f)
	h.conn.dissector.Counts.Bytes.PassedOver++
	h.startSearching()
	h.search(data[1:], from)
}

func (h *half) startSearching() {
	h.state, h.partial, h.total = searching, false, 0
	h.window = h.conn.dissector.newWindow()
	h.window.lost = true
}

// end is called when nothing more comes.
func (h *half) end() {
	h.atEnd = true
	switch h.state {
	case waiting:
		h.wake(h.conn.dissector.now.Time)
	case searching:
		h.searchEnded()
	}
	h.endFrame()
}

// endFrame gives up on a frame that is not whole: it is a message if its header is there.
func (h *half) endFrame() {
	switch {
	case h.partial && h.total > 0 && h.frame.header:
		if h.frame.cut == nil {
			h.frame.cut = &cut{offset: h.received, code: MissingBytes}
		}
		h.frame.missing += h.total - h.received
		h.finish()
	case h.partial && h.received > 0:
		h.giveUpFrame()
		h.conn.report(0, finding(MissingBytes, Warn, -1, "the stream %s ends %d bytes into a frame", h.whence(), h.received))
	}
	h.partial = false
}
