package dissect

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kdissect/kdissect/schema"
)

// An offer is what a broker's ApiVersions answer says. Brokers of a cluster and all connections to them share one.
type offer struct {
	versions map[int16]schema.Versions // by API key
	shared   bool                      // it is one of Dissector.shared
}

// Bounds of the offers that are shared: how many, and how large. A broker of today offers less than 100 APIs.
const (
	maxShared     = 64
	maxSharedAPIs = 256
)

// of returns the versions of an API that are offered, if it is.
func (o *offer) of(key int16) (v schema.Versions, offered bool) {
	if o != nil {
		v, offered = o.versions[key]
	}
	return v, offered
}

// memory is what an offer takes of a connection's own.
func (o *offer) memory() int {
	if o == nil || o.shared {
		return 0
	}
	return 64 + 16*len(o.versions)
}

// learnOffer takes what the broker offers out of an ApiVersions answer.
func (c *conn) learnOffer(m *Message) {
	if m.Header.APIKey != keyApiVersions {
		return
	}
	a := c.dissector.announcement(m)
	if a == nil {
		return
	}
	c.ending.Features = a.features
	if a.offer == nil {
		return
	}
	first := c.offered == nil
	c.offered = a.offer
	c.ending.Offered = len(c.offered.versions)
	if first {
		c.dissector.rememberOffer(c.ends.Server, c.offered)
	}
}

// An announcement is what an ApiVersions answer says. It does not change.
type announcement struct {
	plan     *schema.Plan // of the answer
	offer    *offer       // nil when no API is offered
	features []Feature    // in force
}

// maxAnnouncement is how large an answer may be to be remembered. Up to maxShared of them are: most connections begin with one, and
// brokers say the same again and again.
const maxAnnouncement = 4 << 10

// announcement returns what an ApiVersions answer says, nil when it cannot be read.
func (d *Dissector) announcement(m *Message) *announcement {
	plan := m.plan
	if m.cut != nil || len(m.holes) > 0 || len(m.data) > maxAnnouncement || len(m.data) < 8 {
		return d.readAnnouncement(m)
	}
	said := m.data[8:] // behind size and correlation id
	if known := d.announced[string(said)]; known != nil && known.plan == plan {
		return known
	}
	a := d.readAnnouncement(m)
	if a != nil && len(d.announced) < maxShared {
		a.plan = plan
		d.announced[string(said)] = a
	}
	return a
}

func (d *Dissector) readAnnouncement(m *Message) *announcement {
	if m.Body() == 0 || m.Undecoded() != nil {
		return nil // what is not there of a list that is cut was not left out by the broker
	}
	a := &announcement{features: m.finalized()}
	var said []byte        // key, lowest and highest version of each API
	list := m.firstArray() // features have versions, too
	for i := list; i < int(m.Nodes[list].Next); i++ {
		n := &m.Nodes[i]
		if n.Kind != ValueNode || n.Op.Code != schema.OpInt16 {
			continue
		}
		switch n.Op.Name {
		case "ApiKey", "MinVersion", "MaxVersion":
			said = binary.BigEndian.AppendUint16(said, uint16(m.Int(n)))
		}
	}
	if len(said) >= offerLen {
		a.offer = d.offer(said)
	}
	return a
}

// offerLen is what readAnnouncement writes down of an API.
const offerLen = 6

// offer returns what brokers say in these bytes, the one that is shared if possible.
func (d *Dissector) offer(said []byte) *offer {
	if known := d.shared[string(said)]; known != nil {
		return known
	}
	o := &offer{versions: map[int16]schema.Versions{}}
	for b := said; len(b) >= offerLen; b = b[offerLen:] {
		o.versions[int16(binary.BigEndian.Uint16(b))] = schema.Versions{Low: int16(binary.BigEndian.Uint16(b[2:])), High: int16(binary.BigEndian.Uint16(b[4:]))}
	}
	if len(d.shared) < maxShared && len(said) <= maxSharedAPIs*offerLen {
		o.shared = true
		d.shared[string(said)] = o
	}
	return o
}

// firstArray returns the index of the first array in the body, or that of the body when it has none.
func (m *Message) firstArray() int {
	for i := m.body; i < len(m.Nodes); i++ {
		if m.Nodes[i].Kind == ArrayNode {
			return i
		}
	}
	return m.body
}

// checkOffer notes a request of a version that the broker did not offer. ApiVersions itself is asked for before the offer is known.
func (c *conn) checkOffer(m *Message) {
	if c.offered == nil || m.Header.APIKey == keyApiVersions || m.API == nil {
		return
	}
	offered, known := c.offered.of(m.Header.APIKey)
	switch {
	case !known && slices.Contains(c.notOffered, m.Header.APIKey): // it has been said
	case !known:
		m.Findings = append(m.Findings, finding(VersionNotOffered, Warn, 4, "the broker did not offer %s at all", m.API.Name))
		c.notOffered = append(c.notOffered, m.Header.APIKey)
	case !offered.Contains(m.Header.Version):
		m.Findings = append(m.Findings, finding(VersionNotOffered, Warn, 6, "%s v%d is not among the versions that the broker offered, %s", m.API.Name, m.Header.Version, offered))
	}
}

// finalized returns the features that an ApiVersions answer says are in force.
func (m *Message) finalized() (features []Feature) {
	inside := uint32(0) // the end of the array
	for i := m.body; i < len(m.Nodes); i++ {
		n := &m.Nodes[i]
		switch {
		case n.Kind == ArrayNode && n.Op.Name == "FinalizedFeatures":
			inside = n.Next
		case uint32(i) >= inside || n.Kind != ValueNode:
		case n.Op.Name == "Name" && len(features) < maxFeatures:
			features = append(features, Feature{Name: string(m.Bytes(n))})
		case n.Op.Name == "MaxVersionLevel" && len(features) > 0:
			features[len(features)-1].Level = int16(m.Int(n))
		}
	}
	return features
}

// lowestSince4 is the lowest version that brokers from Kafka 4.0 on take of the APIs that lost some then (KIP-896).
var lowestSince4 = map[string]int16{
	"Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "CreateTopics": 2, "DeleteTopics": 1,
	"OffsetForLeaderEpoch": 2, "WriteTxnMarkers": 1, "DescribeAcls": 1, "CreateAcls": 1, "DeleteAcls": 1, "DescribeConfigs": 1,
	"AlterReplicaLogDirs": 1, "DescribeLogDirs": 1, "CreateDelegationToken": 1, "RenewDelegationToken": 1, "ExpireDelegationToken": 1,
	"DescribeDelegationToken": 1,
}

// whyRefused says what speaks for a reason that the server closed the connection instead of answering a request, "" when nothing does.
func (c *conn) whyRefused(r *request) string {
	key, version := r.header.APIKey, r.header.Version
	offer, offered := c.offered.of(key)
	fetch, _ := c.offered.of(keyFetch)
	var lowest int16
	if r.api != nil {
		lowest = lowestSince4[r.api.Name]
	}
	switch {
	case r.header.Token || r.header.APIKey == keySaslAuthenticate || r.header.APIKey == keySaslHandshake:
		return "; a broker that refuses a login may close, without a word or after a delay (connection.failed.authentication.delay.ms)"
	case r.api == nil:
		return "; brokers close at an API that they do not have"
	case offered && !offer.Contains(version):
		return fmt.Sprintf("; it offers v%s of this API", offer)
	case c.offered != nil && !offered:
		return "; it does not offer this API"
	case key == keyProduce && version < lowest && fetch.Low >= lowestSince4["Fetch"]:
		return "; brokers from 4.0 on offer Produce from v0 on, for the sake of old clients, but take none below v3 (KIP-896)"
	case version < lowest && c.offered == nil:
		return fmt.Sprintf("; brokers from 4.0 on take none of this API below v%d (KIP-896)", lowest)
	case c.auth.mechanism == "" && c.dissector.logins[c.ends.Server] && key != keyApiVersions:
		return "; other connections to it begin with a login, which this one did not"
	case c.ending.Responses == 0 && c.ending.Requests == 1:
		return "; it may expect TLS, or a login first"
	}
	return ""
}

// explainClosing tells of a request that wants no answer when the server has closed the connection behind it: that is the only way in
// which it can say that it failed.
func (c *conn) explainClosing() {
	if !c.serverClosed || c.lastSilent == 0 || c.closedAt < c.lastSilentAt {
		return
	}
	c.report(c.lastSilent, finding(ClosedWithoutAnswer, Warn, -1,
		"the server %s the connection %.1f ms after this request with acks=0: it may have failed, which a broker cannot say otherwise", c.howClosed(), float64(c.closedAt-c.lastSilentAt)/1e6))
}
