package dissect

import (
	"fmt"

	"github.com/kdissect/kdissect/schema"
)

// lookAhead reads out of a request what the dissector itself needs: whether an answer is expected, and how long the broker may take
// by design.
func (m *Message) lookAhead(c *conn, r *request, l *lead) {
	if m.plan == nil {
		return
	}
	switch m.Header.APIKey {
	case keyProduce:
		if l.begins(m) {
			r.noAnswer = l.noAnswer
		} else {
			r.noAnswer = m.wantsNoAnswer()
		}
	case keyEnvelope:
		m.openEnvelope()
		r.enveloped = m.enveloped
	case keyFetch, keyShareFetch:
		if wait, ok := m.leading(schema.MaxWait); ok {
			r.maxWait = max(0, wait) * 1e6
		}
	case keyJoinGroup:
		wait, ok := m.leading(schema.RebalanceTimeout)
		if !ok || wait < 0 { // version 0 has none; the session's timeout stands for it (KIP-62)
			wait, ok = m.leading(schema.SessionTimeout)
		}
		if ok {
			r.maxWait = max(0, wait) * 1e6
			c.rebalance = r.maxWait
		}
	case keySyncGroup:
		r.maxWait = c.rebalance // the leader's assignment is waited for as long as the members were
	}
}

// wantsNoAnswer tells whether the message is a Produce request with acks=0.
func (m *Message) wantsNoAnswer() bool {
	acks, ok := m.leading(schema.Acks)
	return ok && acks == 0
}

// leading returns the integer with a role that stands among the first fields of the body, without decoding the message.
func (m *Message) leading(role schema.Role) (int64, bool) {
	at := m.plainHeader()
	if at == 0 || m.plan.Outline == nil {
		return m.leadingOfTape(role)
	}
	step, from, end := seek(m.plan.Outline, m.data, at, role, role)
	if step == nil || !step.Code.IsValue() {
		return 0, false
	}
	return Int(step.Op.Code, m.data[from:end]), true
}

func (m *Message) leadingOfTape(role schema.Role) (int64, bool) {
	tape := m.Tape()
	if m.body == 0 {
		return 0, false
	}
	for i := m.body + 1; i < int(tape[m.body].Next); i = int(tape[i].Next) {
		if n := &tape[i]; n.Kind == ValueNode && n.Op.Role == role {
			return m.Int(n), true
		}
	}
	return 0, false
}

// what names a request, or says that it is a token.
func (r *request) what() string {
	if r.header.Token {
		return "a SASL token"
	}
	return requestName(r)
}

// requestName names a request for a reader: "Fetch v17 with correlation id 912".
func requestName(r *request) string {
	name := fmt.Sprintf("API %d", r.header.APIKey)
	if r.api != nil {
		name = r.api.Name
	}
	return fmt.Sprintf("%s v%d with correlation id %d", name, r.header.Version, r.header.CorrelationID)
}
