package filter

import (
	"slices"
	"sync/atomic"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/render"
)

// exchanges hands on to a format what matches.
type exchanges struct {
	render.Format
	criteria *Criteria
	where    *evaluator // nil for none
	part     []byte     // that every record has in it that is wanted
	needs    dissect.Needs
	matched  *atomic.Int64
	limit    int64
}

// Exchanges stands in front of a format. matched counts what it hands on, for all instances together; behind limit exchanges, if that is not 0, nothing more is
// handed on, which is exact where there is one instance.
func Exchanges(c *Criteria, out render.Format, matched *atomic.Int64, limit int64) render.Format {
	e := &exchanges{Format: out, criteria: c, part: c.requiredPart(), needs: out.Needs(), matched: matched, limit: limit}
	if c.Where != nil {
		e.where = c.Where.evaluator()
	}
	return e
}

// Needs implements render.Format.
func (e *exchanges) Needs() dissect.Needs {
	return e.needs&^dissect.NeedMessages | dissect.NeedExchanges | e.criteria.needs()
}

// needs is what has to be there to be looked at.
func (c *Criteria) needs() (n dissect.Needs) {
	if c.readsRecords() {
		n |= dissect.NeedBatches | dissect.NeedRecords
	}
	if len(c.Topics) > 0 {
		n |= dissect.NeedSessions
	}
	return n
}

// Message implements dissect.Output.
func (e *exchanges) Message(*dissect.Message) {}

// Exchange implements dissect.Output.
func (e *exchanges) Exchange(x *dissect.Exchange) {
	if !e.take(x) {
		return
	}
	if e.needs&dissect.NeedMessages != 0 {
		e.messages(x)
	}
	if e.needs&dissect.NeedExchanges != 0 {
		e.Format.Exchange(x)
	}
}

// messages hands on the messages of an exchange, and what was said at its end.
func (e *exchanges) messages(x *dissect.Exchange) {
	if x.Request != nil && !e.criteria.ResponsesOnly {
		e.Format.Message(x.Request)
	}
	if x.Response != nil && !e.criteria.RequestsOnly {
		e.Format.Message(x.Response)
	}
	if len(x.Findings) > 0 {
		e.Format.Report(&dissect.Report{Connection: x.Request.Connection, Message: x.Request.Number, Findings: x.Findings})
	}
}

// take tells whether an exchange matches, and counts it.
func (e *exchanges) take(x *dissect.Exchange) bool {
	switch {
	case e.limit > 0 && e.matched.Load() >= e.limit,
		!e.criteria.matchBody(x),
		e.criteria.readsRecords() && !(mayCarry(x, e.part, true) && e.criteria.matchRecords(x)),
		e.where != nil && !e.where.match(x):
		return false
	}
	if !x.Open { // it comes again when it has ended
		e.matched.Add(1)
	}
	return true
}

// matchBody looks at what has to be decoded, but for records.
func (c *Criteria) matchBody(x *dissect.Exchange) bool {
	switch {
	case len(c.Groups) > 0 && !anyFact(x, func(f *dissect.Facts) bool { return anyMatch(c.Groups, f.Group) }) && !looksUp(x, groupKey, c.Groups):
		return false
	case len(c.TransactionalIDs) > 0 && !anyFact(x, func(f *dissect.Facts) bool { return anyMatch(c.TransactionalIDs, f.TransactionalID) }) &&
		!looksUp(x, transactionKey, c.TransactionalIDs):
		return false
	case c.Errors && (x.Response == nil || len(x.Response.Facts().Errors) == 0):
		return false
	case len(c.Topics) > 0 && !slices.ContainsFunc(c.Topics, func(t Topic) bool { return t.matchExchange(x) }):
		return false
	}
	return true
}

// What a FindCoordinator request looks for: its field KeyType.
const (
	groupKey       = 0
	transactionKey = 1
)

// looksUp tells whether the coordinator is asked for of a group or transactional id that matches. Version 0 knows groups only.
func looksUp(x *dissect.Exchange, keyType int64, patterns []Pattern) bool {
	if x.Request == nil || !anyMatch(patterns, x.Request.Facts().LookupKey) {
		return false
	}
	asked := int64(groupKey)
	for i := range x.Request.Tape() {
		if n := &x.Request.Nodes[i]; n.Kind == dissect.ValueNode && n.Op.Name == "KeyType" && len(x.Request.Bytes(n)) == 1 {
			asked = x.Request.Int(n)
		}
	}
	return asked == keyType
}

// anyFact tells whether the facts of the request or of the response are as wanted.
func anyFact(x *dissect.Exchange, as func(*dissect.Facts) bool) bool {
	return x.Request != nil && as(x.Request.Facts()) || x.Response != nil && as(x.Response.Facts())
}
