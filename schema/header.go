package schema

// API keys with a rule of their own.
const (
	keyControlledShutdown = 7
	keyApiVersions        = 18
)

// headerVersion returns the version of the header in front of a request or response, -1 for other messages.
// What the schema itself says goes first. Otherwise (KIP-482): requests have header 1, or 2 when
// flexible; ControlledShutdown v0 alone has header 0. Responses have header 0, or 1 when flexible, but an
// ApiVersions response always has 0: its reader does not know yet what the broker speaks (KIP-511).
func (m *Message) headerVersion(version int16) int16 {
	for _, rule := range m.HeaderVersions {
		if rule.Versions.Contains(version) {
			return rule.Header
		}
	}
	flexible := m.Flexible.Contains(version)
	switch m.Kind {
	case Request:
		return requestHeader(m.APIKey, version, flexible)
	case Response:
		if flexible && m.APIKey != keyApiVersions {
			return 1
		}
		return 0
	}
	return -1
}

func requestHeader(key, version int16, flexible bool) int16 {
	switch {
	case key == keyControlledShutdown && version == 0:
		return 0
	case flexible:
		return 2
	}
	return 1
}
