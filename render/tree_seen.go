package render

import (
	"sync"

	"github.com/kdissect/kdissect/schema"
)

// Explained is what compact trees have said already and need not say again: what fields and errors mean, and which APIs a broker offers. Several
// instances that write one output have it in common.
//
// Whatever is in it comes from messages in front of those that any instance is at: one that has something new to say waits for its turn to write,
// and then all before it have said theirs.
type Explained struct {
	mu     sync.Mutex
	fields map[*schema.Field]bool
	errors map[int16]bool
	offer  offer // printed last; looked at by whose turn it is to write
}

// NewExplained returns what was explained before the first message: nothing.
func NewExplained() *Explained {
	return &Explained{fields: map[*schema.Field]bool{}, errors: map[int16]bool{}}
}

// seen is what one instance knows to be explained.
type seen struct {
	fields map[*schema.Field]bool
	errors map[int16]bool
	all    *Explained
	wait   func() // until nothing in front of the message is still to be written
}

func newSeen(all *Explained, wait func()) seen {
	if all == nil {
		all = NewExplained()
	}
	return seen{map[*schema.Field]bool{}, map[int16]bool{}, all, wait}
}

// explained tells whether a field needs no explanation any more.
func (s *seen) explained(op *schema.Op) bool {
	if op.Field == nil || s.fields[op.Field] {
		return true
	}
	if op.About() == "" || isTold(s, s.all.fields, op.Field) {
		s.fields[op.Field] = true
		return true
	}
	return false
}

// explain returns the explanation of a field the first time that it is asked for.
func (s *seen) explain(l *label) string {
	if l.told {
		return ""
	}
	l.told = true
	if s.explained(l.op) {
		return ""
	}
	tell(s, s.all.fields, l.op.Field)
	return l.about
}

// explainError returns what an error code means the first time that it is asked for.
func (s *seen) explainError(code int16) string {
	e := schema.ErrorByCode(code)
	if e == nil || s.errors[code] {
		return ""
	}
	s.errors[code] = true
	if isTold(s, s.all.errors, code) {
		return ""
	}
	tell(s, s.all.errors, code)
	return e.Text
}

// isTold tells whether something was told in front of the message that is being printed.
func isTold[K comparable](s *seen, all map[K]bool, key K) bool {
	if has(s, all, key) {
		return true
	}
	s.wait()
	return has(s, all, key)
}

func has[K comparable](s *seen, all map[K]bool, key K) bool {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return all[key]
}

func tell[K comparable](s *seen, all map[K]bool, key K) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	all[key] = true
}
