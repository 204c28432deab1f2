package dissect

import (
	"strings"

	"github.com/kdissect/kdissect/reassembly"
)

// An Ending is what a connection turned out to be, told when it has ended. It does not change.
type Ending struct {
	Cause         reassembly.EndCause
	ServerFirst   bool  // the server sent its FIN before the client did
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

// tellEnding completes the Ending of a connection and hands it over.
func (c *conn) tellEnding(cause reassembly.EndCause, time int64) {
	e := c.ending
	if e == nil {
		return
	}
	e.Cause, e.ServerFirst, e.End = cause, c.serverClosed, time
	e.ClientID = strings.Clone(c.clientID)
	c.ending = nil
	now := c.dissector.now
	c.dissector.out.Report(&Report{Connection: c.ends, Packet: now.Packet, Time: now.Time, File: now.File, Ending: e})
}
