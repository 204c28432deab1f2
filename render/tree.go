package render

import (
	"io"
	"strconv"
	"time"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Tree writes each message as a tree, a node a line:
//
//	name type = value (encoding) [offset, size] explanation
//
// In full every node of the message's tape has its line. In the compact form what repeats is folded into fewer lines and long
// arrays and values are cut.
type Tree struct {
	sink
	options Options
	colors  palette
	marks   marks
	layouts map[*schema.Plan]*layout
	seen    seen
	offer   offer
	begun   bool // something was printed
	spaced  bool // the last line printed belongs to a message, so that an empty line follows it

	// the message that is being printed
	m        *dissect.Message
	tape     []dissect.Node
	layout   *layout // of the header or body that is being printed, nil when it is unknown
	odd      label   // the label in use when there is no layout
	prefix   []byte  // what stands in front of each line: the branches of the tree that go on
	findings placement
	withheld bool   // its body must not be shown
	line     int    // where in the buffer the line begins that is being written (compact)
	hang     []byte // what stands in front of the lines that continue it
	scratch  []byte
	hex      dump
}

// marks are the pieces of every line.
type marks struct {
	placeOn, placeOff string // around offset and size
	dimOn, dimOff     string
}

// NewTree returns the format "tree".
func NewTree(w io.Writer, o Options) *Tree {
	t := &Tree{sink: sink{w: w}, options: o, colors: newPalette(o.Color), layouts: map[*schema.Plan]*layout{}, seen: newSeen()}
	dim := t.colors.dim
	t.marks = marks{placeOn: " " + dim.on + "[0x", placeOff: "B]" + dim.off, dimOn: dim.on, dimOff: dim.off}
	t.hex.colors = &t.colors
	return t
}

// Needs implements Format. Without record data a dump of the bytes would have holes.
func (t *Tree) Needs() dissect.Needs {
	if t.options.Hex {
		return dissect.NeedMessages | dissect.NeedRecords
	}
	return dissect.NeedMessages
}

// Exchange implements dissect.Output.
func (t *Tree) Exchange(*dissect.Exchange) {}

// Message implements dissect.Output.
func (t *Tree) Message(m *dissect.Message) {
	t.m, t.tape, t.prefix = m, m.Tape(), t.prefix[:0]
	t.withheld = m.Secret() && !t.options.ShowSecrets
	t.findings.place(m.Findings, t.tape, t.withheld)
	b := t.buf
	if t.begun {
		b = append(b, '\n')
	}
	b = t.messageLine(b)
	b = t.noteLines(b, onTop, "")
	b = t.rootLine(b)
	if t.options.Full {
		b = t.full(b)
	} else {
		b = t.compact(b)
	}
	b = t.noteLines(b, uint32(len(t.tape)), "")
	if t.options.Hex {
		b = t.hex.message(b, m, t.withheld)
	}
	t.buf, t.begun, t.spaced = b, true, true
	t.written()
}

// Report implements dissect.Output.
func (t *Tree) Report(r *dissect.Report) {
	b := t.buf
	if t.spaced {
		b = append(b, '\n')
	}
	for i := range r.Findings {
		b = t.reportLine(b, r, &r.Findings[i])
	}
	t.buf, t.begun, t.spaced = b, true, false
	t.written()
}

// messageLine appends what is known of a message besides its bytes.
func (t *Tree) messageLine(b []byte) []byte {
	m := t.m
	b = append(b, t.colors.title.on...)
	b = append(b, '#')
	b = strconv.AppendInt(b, m.Number, 10)
	b = append(b, ' ')
	b = appendClock(b, m.Time)
	b = append(b, ' ')
	b = appendEnds(b, m.Connection, m.Kind)
	b = append(b, t.colors.title.off...)
	b = appendPacketRange(append(b, ' ', ' '), &m.Packets)
	b = append(b, ' ', ' ')
	b = strconv.AppendInt(b, int64(m.Size), 10)
	b = append(b, 'B')
	if m.Request > 0 {
		b = append(b, "  answers #"...)
		b = strconv.AppendInt(b, m.Request, 10)
		b = append(b, " after "...)
		b = appendLatency(b, &m.Timing)
	}
	return append(b, '\n')
}

// appendClock appends a time in UTC with microseconds, or with nanoseconds where the capture has them.
func appendClock(b []byte, ns int64) []byte {
	layout := "2006-01-02 15:04:05.000000"
	if ns%1000 != 0 {
		layout = "2006-01-02 15:04:05.000000000"
	}
	return time.Unix(0, ns).UTC().AppendFormat(b, layout)
}

// appendEnds appends a connection, client first, with an arrow in the direction of the message.
func appendEnds(b []byte, c *dissect.Connection, kind schema.Kind) []byte {
	b = append(b, 'c')
	b = strconv.AppendInt(b, int64(c.ID), 10)
	b = append(b, ' ')
	b = c.Client.AppendTo(b)
	if kind == schema.Response {
		b = append(b, " < "...)
	} else {
		b = append(b, " > "...)
	}
	return c.Server.AppendTo(b)
}

// appendPacketRange appends the first and last packet of a message, and how many there are where others stand between them.
func appendPacketRange(b []byte, p *dissect.Packets) []byte {
	if p.First == p.Last {
		return strconv.AppendInt(append(b, "packet "...), p.First, 10)
	}
	b = strconv.AppendInt(append(b, "packets "...), p.First, 10)
	b = strconv.AppendInt(append(b, '-'), p.Last, 10)
	if int64(p.Count) != p.Last-p.First+1 {
		b = strconv.AppendInt(append(b, '/'), int64(p.Count), 10)
	}
	return b
}

// appendLatency appends how long an answer took, and what of it is no fault of the broker.
func appendLatency(b []byte, t *dissect.Timing) []byte {
	b = appendMicros(b, t.Latency)
	if t.Queued > 0 {
		b = appendMicros(append(b, ", "...), t.Queued)
		b = append(b, " of it queued"...)
	}
	if t.Allowed > 0 {
		b = appendMicros(append(b, ", may wait "...), t.Allowed)
	}
	return b
}

// appendMicros appends nanoseconds as milliseconds with three decimals, fewer where they are zero for whole milliseconds.
func appendMicros(b []byte, ns int64) []byte {
	if ns%1e6 == 0 {
		b = strconv.AppendInt(b, ns/1e6, 10)
	} else {
		b = strconv.AppendFloat(b, float64(ns)/1e6, 'f', 3, 64)
	}
	return append(b, " ms"...)
}

// rootLine appends the root of the tree: the message's name, version and size.
func (t *Tree) rootLine(b []byte) []byte {
	b = append(b, t.colors.name.on...)
	b = t.appendTitle(b)
	b = append(b, t.colors.name.off...)
	b = append(b, " message"...)
	switch plan := t.m.Plan(); {
	case plan != nil:
		b = strconv.AppendInt(append(b, " v"...), int64(plan.Version), 10)
	case t.m.Header.Known && !t.m.Header.Token:
		b = strconv.AppendInt(append(b, " v"...), int64(t.m.Header.Version), 10)
	}
	b = t.place(b, 0, uint32(t.m.Size))
	return append(b, '\n')
}

// appendTitle appends the message's name, as far as it is known.
func (t *Tree) appendTitle(b []byte) []byte {
	if plan := t.m.Plan(); plan != nil {
		return append(b, plan.Message.Name...)
	}
	if t.m.Header.Token {
		return append(b, "SaslToken"...)
	}
	if t.m.Header.Known && t.m.API != nil {
		b = append(b, t.m.API.Name...)
	} else {
		b = append(b, "Unknown"...)
	}
	if t.m.Kind == schema.Response {
		return append(b, "Response"...)
	}
	return append(b, "Request"...)
}

// place appends where bytes stand in the frame: [0x0004, 11B].
func (t *Tree) place(b []byte, offset, size uint32) []byte {
	b = append(b, t.marks.placeOn...)
	b = appendOffset(b, offset)
	b = append(b, ',', ' ')
	b = strconv.AppendUint(b, uint64(size), 10)
	return append(b, t.marks.placeOff...)
}

// appendOffset appends an offset in hex, four digits or as many as it takes.
func appendOffset(b []byte, offset uint32) []byte {
	for shift := 28; shift > 12; shift -= 4 {
		if offset>>shift != 0 {
			b = append(b, hexDigits[offset>>shift&15])
		}
	}
	return append(b, hexDigits[offset>>12&15], hexDigits[offset>>8&15], hexDigits[offset>>4&15], hexDigits[offset&15])
}

// branch appends what stands in front of a node that is a child of the one whose children are being printed.
func (t *Tree) branch(b []byte) []byte {
	b = append(b, t.prefix...)
	return append(b, "+-- "...)
}

// enter begins the children of a node. last says that no sibling follows it.
func (t *Tree) enter(last bool) {
	if last {
		t.prefix = append(t.prefix, "    "...)
	} else {
		t.prefix = append(t.prefix, "|   "...)
	}
}

func (t *Tree) leave() { t.prefix = t.prefix[:len(t.prefix)-4] }

// dim appends an explanation in our own words and ends the line.
func (t *Tree) dim(b []byte, text string) []byte {
	b = append(b, ' ')
	b = append(b, t.marks.dimOn...)
	b = append(b, text...)
	b = append(b, t.marks.dimOff...)
	return append(b, '\n')
}
