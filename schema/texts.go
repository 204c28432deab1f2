package schema

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// The texts are this project's own. Fields are explained once by name, with overrides for a
// message or structure in which the name means something else.

//go:embed texts/fields.tsv
var fieldTexts string

//go:embed texts/apis.tsv
var apiTexts string

//go:embed texts/errors.tsv
var errorTexts string

// rows calls yield with the columns of each line of a table.
func rows(table string, yield func(columns []string)) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			yield(strings.Split(line, "\t"))
		}
	}
}

var glossary = sync.OnceValue(func() map[string]string {
	texts := make(map[string]string, 2048)
	rows(fieldTexts, func(columns []string) { texts[columns[0]] = columns[1] })
	return texts
})

// About explains the field in a few words, "" for what belongs to no field. What a loaded schema itself says goes first.
func (op *Op) About() string {
	if op.Field == nil || op.Element {
		return ""
	}
	return op.Field.About(op.Message())
}

// About explains a field of a message in a few words.
func (f *Field) About(m *Message) string {
	if f.about != "" {
		return f.about
	}
	texts := glossary()
	for _, key := range [...]string{
		m.Name + "." + f.owner + "." + f.Name,
		f.owner + "." + f.Name, // of the message itself, or of the structure
		f.Name,
	} {
		if text, ok := texts[key]; ok {
			return text
		}
	}
	return ""
}

// A Purpose says what a message is for.
type Purpose struct {
	Text    string
	Related []string // names of the errors that its answers often carry
}

var purposes = sync.OnceValue(func() map[string]Purpose {
	all := make(map[string]Purpose, 256)
	rows(apiTexts, func(columns []string) {
		p := Purpose{Text: columns[1]}
		if len(columns) > 2 && columns[2] != "" {
			p.Related = strings.Split(columns[2], ",")
		}
		all[columns[0]] = p
	})
	return all
})

// PurposeOf returns what an API, by its name ("Fetch"), or another message is for.
func PurposeOf(name string) Purpose { return purposes()[name] }

// An Error is one of Kafka's error codes.
type Error struct {
	Code      int16
	Name      string // NOT_ENOUGH_REPLICAS
	Retriable bool   // a client may try again
	Text      string
}

var errorsByCode = sync.OnceValue(func() map[int16]*Error {
	all := make(map[int16]*Error, 160)
	rows(errorTexts, func(columns []string) {
		code, _ := strconv.ParseInt(columns[0], 10, 16) // a test reads every line
		all[int16(code)] = &Error{int16(code), columns[1], columns[2] == "retriable", columns[3]}
	})
	return all
})

// ErrorByCode returns the error with a code, nil when Kafka has none.
func ErrorByCode(code int16) *Error { return errorsByCode()[code] }

// ErrorName is the name of an error code, or its number when Kafka has none.
func ErrorName(code int16) string {
	if e := ErrorByCode(code); e != nil {
		return e.Name
	}
	return fmt.Sprintf("ERROR_%d", code)
}
