package dissect

import "github.com/kdissect/kdissect/reassembly"

// An Ending is what a connection turned out to be, told when it has ended. It does not change.
type Ending struct {
	Cause         reassembly.EndCause
	ServerFirst   bool  // the server sent its FIN or RST before the client did
	ServerReset   bool  // the server sent the first RST
	Start, End    int64 // capture time of its first message and of its end, nanoseconds since the Unix epoch
	Requests      int64
	Responses     int64
	Unanswered    int64
	ClientID      string // the last one
	Software      string // library that the client is built on, "" when it has not said (KIP-511)
	SoftwareLevel string // its release
	Auth          *Auth  // the last answer to an authentication, nil when there was none
	Offered       int    // APIs that the broker offered, 0 when its answer is not in the capture
	Features      []Feature
	Used          []Used // in the order of their first requests, up to maxUsed
}

// Used is an API at a version that the client has called.
type Used struct {
	Key, Version int16
	Name         string // "" when it is unknown
	Count        int64
}

// A Feature is a feature of the cluster with the level in force (KIP-584).
type Feature struct {
	Name  string
	Level int16
}

// Bounds of an Ending.
const (
	maxUsed     = 100
	maxFeatures = 32
)

// newEnding returns the Ending of a connection whose first message was seen, with room for the APIs that most use: those of each would take three allocations.
func newEnding(start int64) *Ending {
	e := &struct {
		Ending
		used [4]Used
	}{}
	e.Start, e.Used = start, e.used[:0]
	return &e.Ending
}

// count takes note of a request.
func (e *Ending) count(m *Message) {
	e.Requests++
	if !m.Header.Known || m.Header.Token {
		return
	}
	for i := range e.Used {
		if u := &e.Used[i]; u.Key == m.Header.APIKey && u.Version == m.Header.Version {
			u.Count++
			return
		}
	}
	if len(e.Used) < maxUsed {
		e.Used = append(e.Used, Used{m.Header.APIKey, m.Header.Version, m.Name(), 1})
	}
}

// describe takes what a request says of the client: its library stands in ApiVersions from version 3 on.
func (e *Ending) describe(m *Message) {
	if m.Header.APIKey != keyApiVersions || m.Header.Version < 3 || m.plan == nil || e.Software != "" {
		return
	}
	f := m.Facts()
	e.Software, e.SoftwareLevel = string(f.Software), string(f.SoftwareVersion)
}

// closes takes note of a FIN or RST of one side. The capture may have packets in the wrong order.
func (c *conn) closes(side reassembly.Direction, at reassembly.Origin) {
	if first := &c.closed[side]; first.Packet == 0 || at.Before(*first) {
		*first = at
	}
}

// findCloser notes whether it was the server that closed: by FIN, or by RST, as a system sends where what the client sent was not read (RFC 2525, section 2.17).
func (c *conn) findCloser(rst reassembly.Origin) {
	client, server := c.closed[c.clientDir], c.closed[c.clientDir.Other()]
	if server.Packet != 0 && (client.Packet == 0 || server.Before(client)) {
		c.serverClosed, c.closedAt, c.serverReset = true, server.Time, server == rst
	}
}

// howClosed is the verb for what the server did.
func (c *conn) howClosed() string {
	if c.serverReset {
		return "reset"
	}
	return "closed"
}

// tellEnding completes the Ending of a connection and hands it over.
func (c *conn) tellEnding(cause reassembly.EndCause, time int64) {
	e := c.ending
	if e == nil {
		return
	}
	e.Cause, e.ServerFirst, e.End = cause, c.serverClosed, time
	e.ServerReset = cause == reassembly.Reset && c.stream.ResetBy != c.clientDir
	e.ClientID = c.clientID
	c.ending = nil
	now := c.dissector.now
	c.dissector.tell(Report{Connection: c.ends, Packet: now.Packet, Time: now.Time, File: now.File, Ending: e})
}
