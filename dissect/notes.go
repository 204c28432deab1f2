package dissect

import "github.com/kdissect/kdissect/reassembly"

// Note implements reassembly.Noter: what the assembler noticed about a connection becomes a finding.
func (d *Dissector) Note(sc *reassembly.Connection, dir reassembly.Direction, n reassembly.Note) {
	d.packet, d.time = n.Packet, n.Time
	switch n.Kind {
	case reassembly.RetransmissionConflict:
		c := d.connection(sc)
		c.report(0, finding(RetransmissionConflict, Warn, -1,
			"%d bytes %s came again and differ from those in packet %d, which count", n.Length, c.halves[dir].whence(), n.First))
	case reassembly.DuplicatePackets:
		if !d.duplicates {
			d.duplicates = true
			d.Report(finding(DuplicatePackets, Info, -1, "packets were captured twice, as on more than one interface; each is read once"), false)
		}
	case reassembly.NATTwin:
		d.Report(finding(NATTwin, Info, -1, "connection %d (%s to %s) is connection %d with its addresses translated; it is told once",
			sc.ID, sc.Ends[0], sc.Ends[1], n.Twin.ID), false)
	}
}
