package render

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// appendSession appends what a fetch does with its session, and what it really asks for.
func (j *JSON) appendSession(b []byte, m *dissect.Message) []byte {
	s, f := m.Session, m.Facts()
	b = append(appendName(b, "session"), '{')
	if !s.Share {
		b = appendNumber(b, "id", f.SessionID)
	}
	if m.Kind == schema.Request {
		b = appendNumber(b, "epoch", f.SessionEpoch)
	}
	b = append(append(append(appendName(b, "step"), '"'), s.Step.String()...), '"')
	b = strconv.AppendBool(appendName(b, "known"), s.Known)
	if s.Known {
		b = appendNumber(b, "partitions", int64(s.Partitions))
	}
	if m.Kind == schema.Request && s.Known && s.Step == dissect.SessionContinues {
		b = appendNumber(b, "added", int64(s.Added))
		b = appendNumber(b, "forgotten", int64(s.Forgotten))
	}
	if len(s.Asks) > 0 {
		b = append(appendName(b, "asks"), '[')
		for i := range s.Asks {
			b = j.appendAsked(b, m, &s.Asks[i])
		}
		b[len(b)-1] = ']'
	}
	return append(b, '}')
}

// appendAsked appends a partition, and a comma.
func (j *JSON) appendAsked(b []byte, m *dissect.Message, a *dissect.Asked) []byte {
	b = append(b, '{')
	if name := nameOf(m, a); name != nil {
		b = appendString(appendName(b, "name"), name)
	}
	if a.Name == "" {
		b = base64.RawURLEncoding.AppendEncode(append(appendName(b, "id"), '"'), a.ID[:])
		b = append(b, '"')
	}
	b = appendNumber(b, "partition", int64(a.Partition))
	if a.Offset >= 0 {
		b = j.appendLong(b, "fetchOffset", a.Offset)
	}
	return append(b, '}', ',')
}

// nameOf returns the name of a partition's topic, nil when it is not known.
func nameOf(m *dissect.Message, a *dissect.Asked) []byte {
	if a.Name != "" {
		return []byte(a.Name)
	}
	return m.NameOf(a.ID[:])
}

// sessionLine appends what a message does with its session, a line of its own.
func (t *Tree) sessionLine(b []byte) []byte {
	s := t.m.Session
	if s == nil {
		return b
	}
	if s.Share {
		b = append(b, "share "...)
	}
	b = append(b, "session "...)
	f := t.m.Facts()
	if !s.Share && f.SessionID != 0 {
		b = strconv.AppendInt(b, f.SessionID, 10)
		if t.m.Kind == schema.Request {
			b = strconv.AppendInt(append(b, '/'), f.SessionEpoch, 10)
		}
		b = append(b, ' ')
	} else if s.Share && t.m.Kind == schema.Request && f.SessionEpoch > 0 {
		b = append(strconv.AppendInt(b, f.SessionEpoch, 10), ' ')
	}
	b = t.appendStep(b, s)
	return append(b, '\n')
}

// appendStep appends what is done with a session, in words.
func (t *Tree) appendStep(b []byte, s *dissect.Session) []byte {
	request := t.m.Kind == schema.Request
	switch {
	case s.Step == dissect.SessionOpens && !s.Known && s.Partitions == 0:
		return append(b, "opens"...) // the list of its partitions is not in the capture
	case s.Step == dissect.SessionOpens:
		b = append(b, "opens with "...)
		return t.appendAsks(appendCount(b, int64(s.Partitions), "partition", "partitions"), s)
	case s.Step == dissect.SessionCloses:
		return append(b, "closes"...)
	case s.Step == dissect.SessionNotKept:
		return append(b, "is not kept by the broker, whose cache of sessions may be full"...)
	case s.Step == dissect.SessionLost:
		return append(b, "is lost"...)
	case s.Step == dissect.SessionOpened:
		return appendCount(append(b, "opened with "...), int64(s.Partitions), "partition", "partitions")
	case !s.Known:
		return append(b, "goes on; what it holds is not known, since not all of it is in the capture"...)
	case request:
		b = appendCount(append(b, "asks for "...), int64(s.Partitions), "partition", "partitions")
		if s.Added+s.Forgotten > 0 {
			b = fmt.Appendf(b, " (%d added, %d forgotten)", s.Added, s.Forgotten)
		}
		return t.appendAsks(b, s)
	}
	news := 0
	for i := range t.m.Facts().Topics {
		news += len(t.m.Facts().Topics[i].Partitions)
	}
	return appendCount(fmt.Appendf(b, "news of %d of ", news), int64(s.Partitions), "partition", "partitions")
}

// maxAsked is how many partitions the compact tree lists.
const maxAsked = 8

// appendAsks lists partitions with their offsets: orders/0@1200.
func (t *Tree) appendAsks(b []byte, s *dissect.Session) []byte {
	for i := range s.Asks {
		a := &s.Asks[i]
		switch {
		case i == 0:
			b = append(b, ':', ' ')
		case i == maxAsked && !t.options.Full:
			return fmt.Appendf(b, " and %d more", s.Partitions-i)
		default:
			b = append(b, ' ')
		}
		if name := nameOf(t.m, a); name != nil {
			b = appendEscaped(b, name, false)
		} else {
			b = base64.RawURLEncoding.AppendEncode(b, a.ID[:])
		}
		b = strconv.AppendInt(append(b, '/'), int64(a.Partition), 10)
		if a.Offset >= 0 {
			b = strconv.AppendInt(append(b, '@'), a.Offset, 10)
		}
	}
	if rest := s.Partitions - len(s.Asks); rest > 0 && len(s.Asks) > 0 {
		b = fmt.Appendf(b, " and %d more", rest)
	}
	return b
}
