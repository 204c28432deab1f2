package dissect

import "github.com/kdissect/kdissect/schema"

// maxPlain is how large a plain message may be. Its tape would stay below what a tape may have.
const maxPlain = maxNodes / 8

// Plain returns the plan of a message that may be read straight along it, without a tape, its frame, and the offset of the body. Such a message is whole,
// has no tagged fields in its header, nothing that is withheld and no structure inside a bytes field. Whether it fits the plan to the last byte, has no unknown tagged
// fields, errors or nulls out of place, and whether its text is valid, is for the reader to look at. The plan is nil for all other messages.
func (m *Message) Plain() (plan *schema.Plan, frame []byte, body int) {
	if m.decoded || !m.straight() || m.plan.Message.HasConfigs() || len(m.data) > maxPlain || m.mayNest() || m.Secret() {
		return nil, nil, 0
	}
	if body = m.plainHeader(); body == 0 {
		return nil, nil, 0
	}
	return m.plan, m.data, body
}

// straight tells whether the bytes of a request or response are all there, and known.
func (m *Message) straight() bool {
	return m.plan != nil && m.wrapping == inFrame && m.cut == nil && len(m.holes) == 0 && !m.Header.Token
}
