package schema

import (
	"strings"
	"testing"
)

// Every field of every message must be explained in our own words, and every message have a purpose.
func TestEveryFieldIsExplained(t *testing.T) {
	fields := 0
	var walk func(m *Message, list []*Field)
	walk = func(m *Message, list []*Field) {
		for _, f := range list {
			fields++
			if len(strings.Fields(f.About(m))) < 2 {
				t.Errorf("%s.%s has no explanation", m.Name, f.Name)
			}
			walk(m, f.Fields)
		}
	}
	for _, name := range Embedded().Names() {
		m, err := Embedded().Message(name)
		if err != nil {
			t.Fatal(err)
		}
		walk(m, m.Fields)
		for _, s := range m.CommonStructs {
			walk(m, s.Fields)
		}
		if PurposeOf(m.APIName()).Text == "" {
			t.Errorf("%s has no purpose", m.APIName())
		}
	}
	if fields < 1900 {
		t.Errorf("only %d fields", fields)
	}
}

func TestErrorTexts(t *testing.T) {
	for code := int16(-1); code <= 136; code++ {
		if e := ErrorByCode(code); e == nil || e.Name == "" || len(e.Text) < 10 {
			t.Errorf("error %d: %+v", code, e)
		}
	}
	// Facts of Kafka's protocol, from its public list of error codes.
	for code, want := range map[int16]Error{
		0:  {Name: "NONE"},
		3:  {Name: "UNKNOWN_TOPIC_OR_PARTITION", Retriable: true},
		19: {Name: "NOT_ENOUGH_REPLICAS", Retriable: true},
		35: {Name: "UNSUPPORTED_VERSION"},
		58: {Name: "SASL_AUTHENTICATION_FAILED"},
	} {
		if e := ErrorByCode(code); e.Name != want.Name || e.Retriable != want.Retriable {
			t.Errorf("error %d is %s, retriable %t; want %s, %t", code, e.Name, e.Retriable, want.Name, want.Retriable)
		}
	}
	for name, p := range purposes() {
		for _, related := range p.Related {
			if !strings.Contains(errorTexts, "\t"+related+"\t") {
				t.Errorf("%s names an unknown error %s", name, related)
			}
		}
	}
}
