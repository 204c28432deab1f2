package dissect

import (
	"net/netip"

	"github.com/kdissect/kdissect/reassembly"
)

// A connection on which no byte came is no message and no stream, but where a broker was to be expected it is the answer to "why does nothing work":
// nobody listens, or a firewall drops. Such attempts are counted by endpoint and told at the end, once for each.

// maxSilent is of how many endpoints attempts are counted one by one.
const maxSilent = 64

// attempts is how often somebody tried to connect to an endpoint and failed.
type attempts struct {
	endpoint            netip.AddrPort
	refused, unanswered int
}

// silent counts the attempts to connect to brokers that failed.
type silent struct {
	endpoints []*attempts // in the order of the first attempt
	others    attempts    // to further endpoints
}

func (s *silent) of(endpoint netip.AddrPort) *attempts {
	for _, a := range s.endpoints {
		if a.endpoint == endpoint {
			return a
		}
	}
	if len(s.endpoints) == maxSilent {
		return &s.others
	}
	a := &attempts{endpoint: endpoint}
	s.endpoints = append(s.endpoints, a)
	return a
}

// silentEnd takes note of a connection that ended without a byte.
func (d *Dissector) silentEnd(sc *reassembly.Connection, cause reassembly.EndCause) {
	server := sc.Ends[1]
	if !sc.Opened || sc.Accepted || !sc.Seen[0] || !d.isBroker(server) {
		return
	}
	switch {
	case !sc.Seen[1]:
		d.silent.of(server).unanswered++
	case cause == reassembly.Reset:
		d.silent.of(server).refused++
	}
}

// reportSilent tells of the attempts, at the end of the capture.
func (d *Dissector) reportSilent() {
	for _, a := range d.silent.endpoints {
		d.reportAttempts(a, a.endpoint.String())
	}
	d.reportAttempts(&d.silent.others, "further endpoints")
}

func (d *Dissector) reportAttempts(a *attempts, to string) {
	if a.refused > 0 {
		were := "s to %s were"
		if a.refused == 1 {
			were = " to %s was"
		}
		d.Report(d.now.File, finding(Refused, Warn, -1, "%d connection"+were+" refused (SYN answered by RST)", a.refused, to), false)
	}
	if a.unanswered > 0 {
		plural := "s"
		if a.unanswered == 1 {
			plural = ""
		}
		d.Report(d.now.File, finding(NoAnswer, Warn, -1, "no answer to %d connection attempt%s to %s", a.unanswered, plural, to), false)
	}
}
