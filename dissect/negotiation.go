package dissect

import "github.com/kdissect/kdissect/schema"

// learnOffer takes the version ranges that the broker offers out of an ApiVersions answer.
func (c *conn) learnOffer(m *Message) {
	if m.Header.APIKey != keyApiVersions || m.Body() == 0 {
		return
	}
	var key int16
	var offer schema.Versions
	list := m.firstArray() // features have versions, too
	for i := list; i < int(m.Nodes[list].Next); i++ {
		n := &m.Nodes[i]
		if n.Kind != ValueNode || n.Op.Code != schema.OpInt16 {
			continue
		}
		switch n.Op.Name {
		case "ApiKey":
			key = int16(m.Int(n))
		case "MinVersion":
			offer.Low = int16(m.Int(n))
		case "MaxVersion":
			offer.High = int16(m.Int(n))
			if c.offered == nil {
				c.offered = map[int16]schema.Versions{}
			}
			c.offered[key] = offer
		}
	}
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
	offer, known := c.offered[m.Header.APIKey]
	if c.offered == nil || m.Header.APIKey == keyApiVersions || offer.Contains(m.Header.Version) && known || m.API == nil {
		return
	}
	if !known {
		m.Findings = append(m.Findings, finding(VersionNotOffered, Warn, 4, "the broker did not offer %s at all", m.API.Name))
		c.offered[m.Header.APIKey] = m.API.Versions // it has been said
		return
	}
	m.Findings = append(m.Findings, finding(VersionNotOffered, Warn, 6, "%s v%d is not among the versions that the broker offered, %s", m.API.Name, m.Header.Version, offer))
}
