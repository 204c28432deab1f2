package dissect

import (
	"fmt"
	"testing"

	"github.com/kdissect/kdissect/schema"
)

// sampled hands over messages of every API, version and kind in the real captures: the first few of each that are small,
// those with tagged fields less so.
func sampled(t *testing.T, each int, use func(where string, m *Message)) {
	seen := map[string]int{}
	for _, file := range realCaptures(t) {
		readCapture(t, file, New(schema.Embedded(), NeedMessages, onMessage(func(m *Message) {
			what := fmt.Sprintf("%s v%d %s", m.Name(), m.Header.Version, m.Kind)
			if m.plan == nil || m.cut != nil || seen[what] >= each || len(m.data) > 512 && !(len(m.data) < 2<<10 && hasTags(m)) {
				return
			}
			seen[what]++
			use(file, m)
		})))
	}
	if len(seen) < 300 {
		t.Errorf("%d kinds of messages", len(seen))
	}
}

func hasTags(m *Message) bool {
	m.findFacts()
	return m.facts.tagged
}

// Whatever byte of a message is another one, its facts are those of its tape.
func TestFactsOfChangedBytes(t *testing.T) {
	j := newFactsJudge(t)
	sampled(t, 1, func(where string, m *Message) {
		j.snapshot.Take(m, nil)
		for i, b := range j.snapshot.data[4:] {
			for _, other := range []byte{b + 1, b ^ 0x80, 0} {
				j.snapshot.data[4+i] = other
				j.compare(fmt.Sprintf("%s, byte %d is %#x", where, 4+i, other))
			}
			j.snapshot.data[4+i] = b
		}
	})
	if j.without < j.messages/4 || j.tagged < 500 || j.formed < 1000 {
		t.Errorf("%d messages, %d of them without a tape, %d with tagged fields, %d with a form that was known", j.messages, j.without, j.tagged, j.formed)
	}
}

// What is sought along the outline is what the tape has there.
func TestSeek(t *testing.T) {
	found := 0
	sampled(t, 5, func(where string, m *Message) {
		at := m.plainHeader()
		if at == 0 || m.Undecoded() != nil {
			return
		}
		for _, role := range []schema.Role{schema.Acks, schema.MaxWait, schema.RebalanceTimeout, schema.SessionTimeout} {
			got, ok := m.leading(role)
			if want, known := m.leadingOfTape(role); got != want || ok != known {
				t.Errorf("%s: %s v%d %s: role %d is %d, %t, want %d, %t", where, m.Name(), m.Header.Version, m.Kind, role, got, ok, want, known)
			}
			if ok {
				found++
			}
		}
		topics := m.Facts().Topics
		step, from, end := seek(m.plan.Outline, m.data, at, schema.TopicName, schema.TopicID)
		value := m.data[from:end]
		if step == nil || !m.plan.HasRecords {
			return
		}
		want := topics[0].Name
		if step.Role == schema.TopicID {
			want = topics[0].ID
		}
		if string(value) != string(want) {
			t.Errorf("%s: %s v%d %s: the first topic is %q, want %q", where, m.Name(), m.Header.Version, m.Kind, value, want)
		}
		found++
	})
	if found < 100 {
		t.Errorf("%d values were found", found)
	}
}
