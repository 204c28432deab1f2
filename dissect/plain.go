package dissect

import "github.com/kdissect/kdissect/schema"

// maxPlain is how large a plain message may be. Its tape would stay below what a tape may have.
const maxPlain = maxNodes / 8

// Plain returns the plan of a message that can be read straight along it, without a tape, its frame, and the offset of the body. Such a message is whole
// and fits the plan to the last byte; it has no tagged fields, no error, nothing that is withheld and no structure inside a bytes field. Whether its text
// is valid has not been looked at. The plan is nil for all other messages.
func (m *Message) Plain() (plan *schema.Plan, frame []byte, body int) {
	if m.decoded || m.plan == nil || m.plan.Message.HasConfigs() || len(m.data) > maxPlain || m.mayNest() || m.Secret() {
		return nil, nil, 0
	}
	if m.findFacts(); m.decoded {
		return nil, nil, 0
	}
	return m.plan, m.data, m.plainHeader()
}
