package render

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/reassembly"
)

// An Account says what is in a capture, where each byte of TCP payload in it went, and what is known to be missing.
type Account struct {
	Files       []string
	Stats       reassembly.Stats
	Counts      dissect.Counts // when all connections have ended
	First, Last int64          // the earliest and the latest capture time, nanoseconds since the Unix epoch
	Timed       bool           // there are such times

	Dropped      uint64 // packets that the capture says it has not
	Damages      int64  // places where the file cannot be read
	DamagedBytes int64  // of the file, at these places
}

// A figure is a number of an account.
type figure struct {
	key   string // in JSON
	label string // for people; one without is not shown to them
	n     int64
	unit  string   // behind the number
	shown bool     // also where it is 0
	whole int64    // what it is a part of, where its share is of interest
	parts []figure // in place of a number
}

// A chapter is a group of figures.
type chapter struct {
	key     string
	title   string
	figures []figure // the first is that of the title, if it is called all
}

// chapters are the figures of an account in order. In the chapter of the payload all figures but the first add up to the first.
func (a *Account) chapters() []chapter {
	s, c := &a.Stats, &a.Counts
	whole := s.Packets - s.NotTCP - s.Fragments - s.Malformed - s.Unsupported
	return []chapter{
		{"packets", "packets", []figure{
			{key: "all", n: s.Packets},
			{key: "tcp", label: "TCP", n: whole, shown: true},
			{key: "notTcp", label: "not TCP", n: s.NotTCP},
			{key: "fragments", label: "IP fragments", n: s.Fragments},
			{key: "malformed", label: "with headers that are cut or wrong", n: s.Malformed},
			{key: "unsupportedLinkType", label: "of a link type that is not read", n: s.Unsupported},
		}},
		{"segments", "TCP segments", []figure{
			{key: "all", n: s.TCPPackets},
			{key: "repeated", label: "repeated", n: s.Retransmitted},
			{key: "outOfOrder", label: "out of order", n: s.OutOfOrder},
			{key: "late", label: "of connections that had ended", n: s.Late},
			{key: "incomplete", label: "IP packets that lack fragments", n: s.Incomplete},
		}},
		{"payload", "TCP payload", a.payload()},
		{"missing", "not in the capture", []figure{
			{key: "gaps", label: "gaps in streams", n: s.Gaps, shown: true},
			{key: "notCaptured", label: "not captured", n: s.GapBytes[reassembly.NotCaptured], unit: " B"},
			{key: "snaplen", label: "cut off at the snap length", n: s.GapBytes[reassembly.Snaplen], unit: " B"},
			{key: "limit", label: "not waited for, for want of memory", n: s.GapBytes[reassembly.Limit], unit: " B"},
			{key: "droppedPackets", label: "packets dropped, as the file says", n: int64(a.Dropped)},
			{key: "damages", label: "damaged places of the file", n: a.Damages},
			{key: "damagedBytes", label: "damaged bytes of the file", n: a.DamagedBytes, unit: " B"},
		}},
		{"connections", "connections", []figure{
			{key: "all", n: s.Connections},
			{key: "withPayload", label: "with payload", n: c.Connections, shown: true},
			{key: "kafka", label: "with Kafka", n: c.KafkaConnections, shown: true},
			{key: "oneDirection", label: "with payload, only one side captured", n: c.OneDirection},
			{key: "twins", label: "told once, with addresses translated", n: s.Twins},
			{key: "evicted", label: "forgotten for want of memory", n: s.Evicted},
		}},
		{"messages", "messages", []figure{
			{key: "all", n: c.Messages},
			{key: "requests", label: "requests", n: c.Requests, shown: true},
			{key: "responses", label: "responses", n: c.Responses, shown: true},
			{key: "cut", label: "that lack bytes", n: c.Cut},
			{key: "unanswered", label: "requests without their answer", n: c.Unanswered},
		}},
	}
}

// payload says where the bytes of payload went.
func (a *Account) payload() []figure {
	s, b := &a.Stats, &a.Counts.Bytes
	part := func(key, label string, n int64) figure {
		return figure{key: key, label: label, n: n, unit: " B", whole: s.PayloadBytes}
	}
	other := figure{key: "other"}
	for _, name := range slices.Sorted(maps.Keys(b.Other)) {
		if name != "" {
			other.parts = append(other.parts, part(name, name, b.Other[name]))
		}
	}
	if n := b.Other[""]; n > 0 {
		other.parts = append(other.parts, part("unknown", "unknown protocols", n))
	}
	requests, responses := part("requests", "Kafka requests", b.Requests), part("responses", "Kafka responses", b.Responses)
	requests.shown, responses.shown = true, true
	return []figure{
		{key: "all", n: s.PayloadBytes, unit: " B", whole: s.PayloadBytes},
		requests,
		responses,
		part("midStream", "in front of a stream's first message", b.MidStream),
		part("passedOver", "passed over behind a loss", b.PassedOver),
		part("cutFrames", "messages cut short in their header", b.CutFrames),
		other,
		part("repeated", "repeated, or too late", s.Repeated),
		part("beforeStart", "in front of a stream's first byte", s.BeforeStart),
		part("behindFin", "behind a stream's last byte", s.BehindFin),
		part("reset", "in packets with RST", s.InReset),
		part("ended", "of connections that had ended", s.OfEnded),
		part("twins", "with addresses translated", s.OfTwins),
	}
}

// labelWidth is where the numbers of an account begin.
const labelWidth = 42

// AppendText appends the account as aligned text. Figures that are 0 are left out unless they are of general interest.
func (a *Account) AppendText(b []byte) []byte {
	for _, file := range a.Files {
		b = append(appendEscaped(fmt.Appendf(b, "%-14s", "capture"), file, false), '\n')
	}
	if a.Timed {
		var at clock
		b = at.appendWhen(fmt.Appendf(b, "%-14s", "first packet"), a.First)
		b = at.appendWhen(fmt.Appendf(b, "\n%-14s", "last packet"), a.Last)
		b = fmt.Appendf(b, ", %.3f s later\n", float64(a.Last-a.First)/1e9)
	}
	for _, c := range a.chapters() {
		b = c.appendText(append(b, '\n'))
	}
	return b
}

func (c *chapter) appendText(b []byte) []byte {
	figures := c.figures
	if figures[0].key == "all" {
		b = figures[0].appendText(b, c.title)
		figures = figures[1:]
	} else {
		b = append(append(b, c.title...), '\n')
	}
	for i := range figures {
		for _, f := range append(figures[i].parts, figures[i]) {
			if f.label != "" && (f.n != 0 || f.shown) {
				b = f.appendText(b, "  "+f.label)
			}
		}
	}
	return b
}

func (f *figure) appendText(b []byte, label string) []byte {
	b = fmt.Appendf(b, "%-*s%14d%s", labelWidth, label, f.n, f.unit)
	if f.whole > 0 {
		b = fmt.Appendf(b, " %6.2f %%", float64(f.n)*100/float64(f.whole))
	}
	return append(b, '\n')
}

// AppendJSON appends the account as an object on a line of its own.
func (a *Account) AppendJSON(b []byte) []byte {
	b = append(b, `{"kind":"account","v":1,"captures":[`...)
	for i, file := range a.Files {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, file)
	}
	b = append(b, `],"time":`...)
	if a.Timed {
		var at clock
		b = at.appendTime(append(b, `{"first":"`...), a.First)
		b = at.appendTime(append(b, `","last":"`...), a.Last)
		b = appendMillis(append(b, `","durationMs":`...), a.Last-a.First)
		b = append(b, '}')
	} else {
		b = append(b, "null"...)
	}
	for _, c := range a.chapters() {
		b = append(append(b, `,"`...), c.key...)
		b = appendFigures(append(b, `":`...), c.figures)
	}
	return append(b, '}', '\n')
}

func appendFigures(b []byte, figures []figure) []byte {
	b = append(b, '{')
	for i := range figures {
		f := &figures[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, f.key), ':')
		if f.label == "" && f.key != "all" {
			b = appendFigures(b, f.parts)
		} else {
			b = appendInt(b, f.n)
		}
	}
	return append(b, '}')
}
