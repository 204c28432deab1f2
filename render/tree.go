package render

import (
	"fmt"
	"io"
	"net/netip"

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
	limit   int // bytes shown of a value, 0 for all

	// put together once
	top               indent // of the lines right below the message's
	colors            palette
	placeOn, placeOff string // around offset and size
	unpackedOn        string // in front of those in unpacked bytes
	leaves            leafLabels
	layouts           map[*schema.Plan]*layout

	// what was printed before
	timer    timer // of messages
	stamps   clock // of records and other timestamps in messages
	stamp    stamp
	ends     ends
	seen     seen
	patterns int // bytes that the patterns of all layouts take

	// the message that is being printed
	m        *dissect.Message
	plan     *schema.Plan
	known    *pattern     // of a message that need not be decoded, nil for others
	scope                 // what of it
	unpacked []byte       // the batch whose unpacked bytes are being printed, as in 0 or 2.1; empty in the frame
	withheld bool         // its body must not be shown
	guarded  bool         // nor what of it no field accounts for
	odd      label        // the label in use when there is no layout
	indent   *indent      // of the lines that are being printed
	opened   nestedFields // the structures inside its fields
	records  recordPrinter
	topic    int // among the message's topics, the one whose id was resolved last
	hex      dump
	learning *pattern // is being made of it

	// the line of the compact tree that is being written
	line    int    // where in the buffer it begins
	mark    int    // where its last piece begins
	hang    []byte // what stands in front of the lines that continue it
	scratch []byte
}

// NewTree returns the format "tree".
func NewTree(w io.Writer, o Options) *Tree {
	t := &Tree{sink: sink{w: w}, options: o, colors: newPalette(o.Color), layouts: map[*schema.Plan]*layout{}}
	t.seen = newSeen(o.Explained, t.awaitTurn)
	t.timer = newTimer(&t.options)
	t.placeOn, t.placeOff = " "+t.colors.dim.on+"[0x", "B]"+t.colors.dim.off
	t.unpackedOn = " " + t.colors.dim.on + "[+0x"
	t.leaves = t.newLeafLabels()
	t.limit = o.valueLimit()
	t.hex.tree = t
	t.indent = &t.top
	return t
}

// valueLimit is how many bytes of a value are shown, 0 for all.
func (o *Options) valueLimit() int {
	switch {
	case o.Full:
		return 0
	case o.MaxBytes > 0:
		return o.MaxBytes
	}
	return maxValue
}

// Needs implements Format. Without record data a dump of the bytes would have holes.
func (t *Tree) Needs() dissect.Needs {
	needs := dissect.NeedMessages | dissect.NeedSessions | t.options.Records.needs()
	if t.options.Hex {
		needs |= RecordsFull.needs()
	}
	return needs
}

// Exchange implements dissect.Output.
func (t *Tree) Exchange(*dissect.Exchange) {}

// Message implements dissect.Output. An empty line ends each message, whatever comes before or behind it.
func (t *Tree) Message(m *dissect.Message) {
	t.begin(m)
	b := t.messageLine(t.openingLine(t.buf))
	b = t.authLine(b)
	b = t.sessionLine(b)
	b = t.root(b)
	if t.options.Hex {
		b = t.hex.message(b, m, t.veil())
	}
	t.buf = append(b, '\n')
	t.written()
}

// begin makes a message the one that is being printed.
func (t *Tree) begin(m *dissect.Message) {
	t.m, t.indent, t.unpacked, t.topic = m, &t.top, t.unpacked[:0], 0
	if t.recognise(m) {
		return
	}
	t.scope = scope{v: &m.View, tape: m.Tape(), inside: &t.opened, findings: t.findings}
	t.plan = m.Plan()
	t.withheld = m.Secret() && !t.options.ShowSecrets
	t.guarded = t.withheld || !t.options.ShowSecrets && m.Guarded()
	if t.showsBatches() {
		verify(m, t.tape)
	}
	t.opened.collect(m)
	t.findings.place(m.Findings, t.tape, t.withheld)
}

// root appends the tree of the message.
func (t *Tree) root(b []byte) []byte {
	b = t.noteLines(b, onTop, "")
	b = t.rootLine(b)
	if t.options.Full {
		b = t.full(b)
	} else {
		b = t.compact(b)
	}
	return t.noteLines(b, uint32(len(t.tape)), "")
}

// AppendTree appends the tree of a message alone, without the lines above it.
func AppendTree(b []byte, m *dissect.Message, o Options) []byte {
	t := NewTree(nil, o)
	t.begin(m)
	return t.root(b)
}

// Report implements dissect.Output.
func (t *Tree) Report(r *dissect.Report) {
	b := t.buf
	if r.Ending != nil {
		b = t.endingLine(b, r.Connection, r.Ending)
	}
	for i := range r.Findings {
		b = t.reportLine(b, r, &r.Findings[i])
	}
	t.buf = b
	t.written()
}

// messageLine appends what is known of a message besides its bytes.
func (t *Tree) messageLine(b []byte) []byte {
	m := t.m
	b = append(b, t.colors.title.on...)
	b = append(b, '#')
	b = appendInt(b, m.Number)
	if m.Connection != nil {
		b = append(b, ' ')
		b = t.timer.appendDate(b, m.Time)
		b = append(b, ' ')
		b = t.ends.append(b, m.Connection, m.Kind)
		b = append(b, t.colors.title.off...)
		b = t.appendPacketRange(append(b, ' ', ' '), &m.Packets)
	} else {
		b = append(b, t.colors.title.off...) // it was given by hand
	}
	b = append(b, ' ', ' ')
	b = appendInt(b, int64(m.Size))
	b = append(b, 'B')
	if m.Request > 0 {
		b = append(b, "  answers #"...)
		b = appendInt(b, m.Request)
		b = append(b, " after "...)
		b = appendLatency(b, &m.Timing)
	}
	return append(b, '\n')
}

// authLine appends what an authentication message says, without its secrets.
func (t *Tree) authLine(b []byte) []byte {
	a := t.m.Auth
	if a == nil {
		return b
	}
	return append(appendAuthWords(b, a), '\n')
}

func appendAuthWords(b []byte, a *dissect.Auth) []byte {
	b = append(b, "auth"...)
	for _, word := range [...]string{a.Mechanism, a.Step} {
		if word != "" {
			b = appendEscaped(append(b, ' '), word, false)
		}
	}
	if a.User != "" {
		b = appendEscaped(append(b, " user="...), a.User, false)
	}
	if a.Result != "" {
		b = append(append(b, ' '), a.Result...)
	}
	if a.Again {
		b = append(b, " again"...)
	}
	if a.Lifetime > 0 {
		b = fmt.Appendf(b, " for %d ms", a.Lifetime)
	}
	return b
}

// ends is the text of the two ends of a connection, kept because the next message is likely to be of the same one.
type ends struct {
	of             *dissect.Connection
	client, server netip.AddrPort
	text           []byte
	arrow          int // where in text the arrow is
}

// append appends a connection, client first, with an arrow in the direction of the message.
func (e *ends) append(b []byte, c *dissect.Connection, kind schema.Kind) []byte {
	if e.of != c || e.client != c.Client || e.server != c.Server {
		e.of, e.client, e.server = c, c.Client, c.Server
		e.text = appendInt(append(e.text[:0], 'c'), int64(c.ID))
		e.text = c.Client.AppendTo(append(e.text, ' '))
		e.arrow = len(e.text) + 1
		e.text = c.Server.AppendTo(append(e.text, " > "...))
	}
	b = append(b, e.text...)
	if kind == schema.Response {
		b[len(b)-len(e.text)+e.arrow] = '<'
	}
	return b
}

// appendPacketRange appends the first and last packet of a message, and how many there are where others stand between them.
func (t *Tree) appendPacketRange(b []byte, p *dissect.Packets) []byte {
	if p.FirstFile != p.LastFile {
		return t.appendPacketsOfFiles(b, p)
	}
	if p.First == p.Last {
		b = appendInt(append(b, "packet "...), p.First)
		return appendFile(b, &t.options, p.LastFile)
	}
	b = appendInt(append(b, "packets "...), p.First)
	b = appendInt(append(b, '-'), p.Last)
	if int64(p.Count) != p.Last-p.First+1 {
		b = appendInt(append(b, '/'), int64(p.Count))
	}
	return appendFile(b, &t.options, p.LastFile)
}

// appendPacketsOfFiles is appendPacketRange for a message that begins in one file and ends in another.
func (t *Tree) appendPacketsOfFiles(b []byte, p *dissect.Packets) []byte {
	b = appendInt(append(b, "packets "...), p.First)
	b = appendFile(b, &t.options, p.FirstFile)
	b = appendInt(append(b, " to "...), p.Last)
	b = appendFile(b, &t.options, p.LastFile)
	if p.Count > 2 {
		b = append(appendInt(append(b, ", "...), int64(p.Count)), " in all"...)
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
	if t.InFlight > 1 {
		b = append(appendInt(append(b, ", "...), int64(t.InFlight)), " in flight"...)
	}
	return b
}

// appendMicros appends nanoseconds as milliseconds, with three decimals unless they are zero.
func appendMicros(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	micros := (ns + 500) / 1000
	b = appendInt(b, micros/1000)
	if rest := micros % 1000; rest > 0 {
		b = appendDigits(append(b, '.'), uint64(rest), 3)
	}
	return append(b, " ms"...)
}

// rootLine appends the root of the tree: the message's name, version and size.
func (t *Tree) rootLine(b []byte) []byte {
	b = append(b, t.colors.name.on...)
	b = t.appendTitle(b)
	inferred := t.m.Inferred
	if inferred != nil && inferred.Clear {
		b = append(b, '?')
	}
	b = append(b, t.colors.name.off...)
	b = append(b, " message"...)
	switch plan := t.plan; {
	case inferred != nil && inferred.Clear:
		b = append(append(b, " v"...), inferred.Taken.Versions.String()...)
	case plan != nil:
		b = appendInt(append(b, " v"...), int64(plan.Version))
	case t.m.Header.Known && !t.m.Header.Token:
		b = appendInt(append(b, " v"...), int64(t.m.Header.Version))
	}
	b = append(appendSpan(append(b, t.placeOn...), 0, uint32(t.m.Size)), t.placeOff...)
	if inferred != nil && !inferred.Clear {
		return t.dim(b, "orphan: "+inferred.String())
	}
	return append(b, '\n')
}

// appendTitle appends the message's name, as far as it is known.
func (t *Tree) appendTitle(b []byte) []byte {
	if plan := t.plan; plan != nil {
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

// branch appends what stands in front of a node that is a child of the one whose children are being printed.
func (t *Tree) branch(b []byte) []byte {
	b = append(b, t.indent.text...)
	return append(b, "+-- "...)
}

// enter begins the children of a node. last says that no sibling follows it.
func (t *Tree) enter(last bool) { t.indent = t.indent.below(last) }

func (t *Tree) leave() { t.indent = t.indent.outer }

// dim appends an explanation in our own words and ends the line.
func (t *Tree) dim(b []byte, text string) []byte {
	b = append(b, ' ')
	b = append(b, t.colors.dim.on...)
	b = append(b, text...)
	b = append(b, t.colors.dim.off...)
	return append(b, '\n')
}
