package dissect

import (
	"fmt"
	"strconv"

	"github.com/kdissect/kdissect/reassembly"
)

// Note implements reassembly.Noter: what the assembler noticed about a connection becomes a finding.
func (d *Dissector) Note(sc *reassembly.Connection, dir reassembly.Direction, n reassembly.Note) {
	d.now = n.Origin
	switch n.Kind {
	case reassembly.RetransmissionConflict:
		c := d.connection(sc)
		first := fmt.Sprintf("packet %d", n.First.Packet)
		if int(n.First.File) < len(d.Files) && n.First.File != n.File {
			first += " of " + d.Files[n.First.File]
		}
		c.report(0, finding(RetransmissionConflict, Warn, -1,
			"%d bytes %s came again and differ from those in %s, which count", n.Length, c.halves[dir].whence(), first))
	case reassembly.DuplicatePackets:
		if !d.duplicates {
			d.duplicates = true
			d.Report(n.File, finding(DuplicatePackets, Info, -1, "packets were captured twice, as on more than one interface; each is read once"), false)
		}
	case reassembly.NATTwin:
		d.Report(n.File, Finding{NATTwin, Info, -1, twinText(sc, n.Twin)}, false)
	}
}

// twinText says that a connection is another one. Most connections that containers make are, and to format it costs four times as much.
func twinText(sc, twin *reassembly.Connection) string {
	b := append(make([]byte, 0, 160), "connection "...)
	b = strconv.AppendInt(b, int64(sc.ID), 10)
	b = sc.Ends[0].AppendTo(append(b, " ("...))
	b = sc.Ends[1].AppendTo(append(b, " to "...))
	b = strconv.AppendInt(append(b, ") is connection "...), int64(twin.ID), 10)
	return string(append(b, " with its addresses translated; it is told once"...))
}

// tellSnaplen says once that packets were cut. Whoever sets a snap length wants that, and each message that lacks bytes says so.
func (d *Dissector) tellSnaplen() {
	if !d.snaplen {
		d.snaplen = true
		d.Report(d.now.File, finding(SnaplenCut, Info, -1, "packets were cut at the snap length; messages that lack bytes say so"), false)
	}
}
