package filter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/kdissect/kdissect/dissect"
	"github.com/kdissect/kdissect/schema"
)

// Where is an expression over an exchange, as github.com/expr-lang/expr has them.
type Where struct {
	text   string
	uses   uses
	failed atomic.Int64          // exchanges for which it could not be evaluated
	reason atomic.Pointer[error] // why not, of one of them
}

// Failures returns for how many exchanges the expression could not be evaluated, which then do not match, and why not for one of them.
func (w *Where) Failures() (n int64, why error) {
	if reason := w.reason.Load(); reason != nil {
		why = *reason
	}
	return w.failed.Load(), why
}

// uses says what an expression looks at, so that no more is made ready.
type uses struct {
	facts, payload, findings bool
	fields                   map[string]bool // named in field()
}

// exchangeEnv is what an expression can name. Times and spans are milliseconds.
type exchangeEnv struct {
	Number        int64     `expr:"number"` // of the answer, or of the request where there is none
	Time          time.Time `expr:"time"`   // of the request
	Connection    int       `expr:"connection"`
	Client        string    `expr:"client"`
	Server        string    `expr:"server"`
	API           string    `expr:"api"`
	APIKey        int       `expr:"apiKey"`
	Version       int       `expr:"version"`
	CorrelationID int       `expr:"correlationId"`
	ClientID      string    `expr:"clientId"`
	Size          int       `expr:"size"`
	ResponseSize  int       `expr:"responseSize"`
	Latency       float64   `expr:"latency"`
	Queued        float64   `expr:"queued"`
	Service       float64   `expr:"service"`
	Transfer      float64   `expr:"transfer"`
	Allowed       float64   `expr:"waitAllowed"`
	Excess        float64   `expr:"excess"`
	InFlight      int       `expr:"inFlight"`
	Answered      bool      `expr:"answered"`
	Unanswered    bool      `expr:"unanswered"`
	Closed        bool      `expr:"closed"`
	Orphan        bool      `expr:"orphan"`
	Mechanism     string    `expr:"mechanism"`
	User          string    `expr:"user"`

	Topics          []topicEnv `expr:"topics"`
	Group           string     `expr:"group"`
	Member          string     `expr:"member"`
	TransactionalID string     `expr:"transactionalId"`
	Errors          []string   `expr:"errors"` // by name
	Records         int64      `expr:"records"`
	RecordBytes     int64      `expr:"recordBytes"`
	Acks            int        `expr:"acks"`
	Replica         int64      `expr:"replica"`
	Session         int64      `expr:"session"`
	SessionEpoch    int64      `expr:"sessionEpoch"`
	ThrottleMs      int64      `expr:"throttle"`
	Software        string     `expr:"software"`
	SoftwareVersion string     `expr:"softwareVersion"`

	Findings []findingEnv   `expr:"findings"`
	Request  map[string]any `expr:"request"`  // its payload
	Response map[string]any `expr:"response"` // and that of the answer
	Payload  map[string]any `expr:"payload"`  // the answer's, else the request's
}

type topicEnv struct {
	Name       string  `expr:"name"`
	ID         string  `expr:"id"`
	Partitions []int32 `expr:"partitions"`
	Records    int64   `expr:"records"`
}

type findingEnv struct {
	Code     string `expr:"code"`
	Severity string `expr:"severity"`
	Text     string `expr:"text"`
}

// factNames are the names that decoding is needed for.
var factNames = map[string]bool{
	"topics": true, "group": true, "member": true, "transactionalId": true, "errors": true, "records": true, "recordBytes": true, "acks": true, "replica": true,
	"session": true, "sessionEpoch": true, "throttle": true, "software": true, "softwareVersion": true,
}

// ParseWhere checks an expression and the types in it. Its error shows the place.
func ParseWhere(text string, catalog *schema.Catalog) (*Where, error) {
	w := &Where{text: text}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, explain(text, err)
	}
	w.uses.fields = map[string]bool{}
	ast.Walk(&tree.Node, &w.uses)
	if err := w.checkFields(catalog); err != nil {
		return nil, err
	}
	for _, more := range [][]expr.Option{nil, leniently()} { // a name that is unknown is told by the first alone
		if _, err := w.compile(&evaluator{}, more); err != nil {
			return nil, explain(text, err)
		}
	}
	return w, nil
}

// Visit implements ast.Visitor.
func (u *uses) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		all := n.Value == "$env" // the language's word for all names together
		u.facts = u.facts || all || factNames[n.Value]
		u.payload = u.payload || all || n.Value == "request" || n.Value == "response" || n.Value == "payload"
		u.findings = u.findings || all || n.Value == "findings"
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value == "field" && len(n.Arguments) == 1 {
			if name, ok := n.Arguments[0].(*ast.StringNode); ok {
				u.fields[name.Value] = true
			}
		}
	}
}

// checkFields looks whether there are fields of the names given to field().
func (w *Where) checkFields(catalog *schema.Catalog) error {
	if len(w.uses.fields) == 0 {
		return nil
	}
	known := fieldNames(catalog)
	for name := range w.uses.fields {
		if !known[name] {
			return fmt.Errorf("no message has a field %q%s", name, schema.DidYouMean(name, slices.Collect(maps.Keys(known))))
		}
	}
	return nil
}

// fieldNames are the names of all fields of requests and responses, as Kafka's JSON has them.
func fieldNames(catalog *schema.Catalog) map[string]bool {
	names := map[string]bool{}
	for api := range catalog.APIs {
		for _, kind := range []schema.Kind{schema.Request, schema.Response} {
			for v := api.Versions.Low; v <= api.Versions.High; v++ {
				plan := catalog.Plan(api.Key, v, kind)
				if plan == nil {
					continue
				}
				for i := range plan.Ops {
					names[plan.Ops[i].JSON] = true
				}
			}
		}
	}
	return names
}

// explain puts the place of an error below the expression.
func explain(text string, err error) error {
	at := (*file.Error)(nil)
	if !errors.As(err, &at) {
		return fmt.Errorf("--where %q: %w", text, err)
	}
	message := at.Message
	if strings.HasPrefix(message, "unknown name ") {
		message += schema.DidYouMean(strings.TrimPrefix(message, "unknown name "), envNames)
	}
	return fmt.Errorf("--where: %s\n  %s\n  %s^", message, strings.ReplaceAll(text, "\n", " "), strings.Repeat(" ", max(0, at.Column)))
}

func (w *Where) compile(e *evaluator, more []expr.Option) (*vm.Program, error) {
	options := append([]expr.Option{expr.Env(exchangeEnv{}), expr.AsBool(), expr.Function("field", e.field, new(func(string) []any))}, more...)
	return expr.Compile(w.text, options...)
}

// An evaluator evaluates an expression for one exchange after the other. It is for one goroutine.
type evaluator struct {
	where    *Where
	uses     uses
	program  *vm.Program
	machine  vm.VM
	env      exchangeEnv
	exchange *dissect.Exchange
}

func (w *Where) evaluator() *evaluator {
	e := &evaluator{where: w, uses: w.uses}
	program, err := w.compile(e, leniently())
	if err != nil {
		panic(err) // it was compiled before
	}
	e.program = program
	return e
}

// match tells whether an exchange is as the expression wants it. Where a field is looked at that is not there it is not.
func (e *evaluator) match(x *dissect.Exchange) bool {
	e.exchange = x
	e.fill(x)
	got, err := e.machine.Run(e.program, &e.env)
	if err != nil {
		e.where.failed.Add(1)
		e.where.reason.CompareAndSwap(nil, &err)
	}
	yes, _ := got.(bool)
	return err == nil && yes
}

// field returns the values of all fields of a name, of the request and then of the answer.
func (e *evaluator) field(args ...any) (any, error) {
	values := []any{}
	if e.exchange == nil {
		return values, nil
	}
	name, _ := args[0].(string)
	for _, m := range []*dissect.Message{e.exchange.Request, e.exchange.Response} {
		if m != nil {
			values = appendField(values, m, name)
		}
	}
	return values, nil
}

const millisecond = 1e6

func (e *evaluator) fill(x *dissect.Exchange) {
	m := x.Request
	if m == nil {
		m = x.Response
	}
	env := exchangeEnv{
		Number: m.Number, Time: time.Unix(0, m.Time).UTC(), Connection: m.Connection.ID, Client: m.Connection.ClientName, Server: m.Connection.ServerName,
		API: m.Name(), APIKey: int(m.Header.APIKey), Version: int(m.Header.Version), CorrelationID: int(m.Header.CorrelationID), ClientID: m.Header.ClientID,
		Answered: x.Response != nil, Closed: x.Closed, Orphan: x.Request == nil,
		Unanswered: x.Response == nil && !x.NoAnswer && !x.OneWay, Acks: -1, Replica: -1,
	}
	if x.Request != nil {
		env.Size = x.Request.Size
	}
	if r := x.Response; r != nil {
		t := &r.Timing
		env.Number, env.ResponseSize, env.InFlight = r.Number, r.Size, int(t.InFlight)
		env.Latency, env.Queued, env.Service = float64(t.Latency)/millisecond, float64(t.Queued)/millisecond, float64(t.Service)/millisecond
		env.Transfer, env.Allowed, env.Excess = float64(t.Transfer)/millisecond, float64(t.Allowed)/millisecond, float64(t.Excess)/millisecond
	}
	if m.Auth != nil {
		env.Mechanism, env.User = m.Auth.Mechanism, m.Auth.User
	}
	e.env = env
	if e.uses.facts {
		e.fillFacts(x)
	}
	if e.uses.payload {
		e.env.Request, e.env.Response = payloadOf(x.Request), payloadOf(x.Response)
		if e.env.Payload = e.env.Response; e.env.Payload == nil {
			e.env.Payload = e.env.Request
		}
	}
	if e.uses.findings {
		e.fillFindings(x)
	}
}

func (e *evaluator) fillFacts(x *dissect.Exchange) {
	env := &e.env
	seen := map[string]bool{}
	for _, m := range []*dissect.Message{x.Request, x.Response} {
		if m == nil || m.Secret() {
			continue
		}
		f := m.Facts()
		for i := range f.Topics {
			t := &f.Topics[i]
			key := string(t.Name) + "\x00" + string(t.ID)
			if m == x.Response && seen[key] && t.Records == 0 {
				continue // the request has named it
			}
			seen[key] = true
			env.Topics = append(env.Topics, topicEnv{string(t.Name), uuid(t.ID), t.Partitions, t.Records})
		}
		for _, one := range []struct {
			to   *string
			text []byte
		}{{&env.Group, f.Group}, {&env.Member, f.Member}, {&env.TransactionalID, f.TransactionalID}, {&env.Software, f.Software}, {&env.SoftwareVersion, f.SoftwareVersion}} {
			if *one.to == "" {
				*one.to = string(one.text)
			}
		}
		for _, fault := range f.Errors {
			env.Errors = append(env.Errors, schema.ErrorName(fault.Code))
		}
		env.Records += f.Records
		env.RecordBytes += f.RecordBytes
		env.ThrottleMs = max(env.ThrottleMs, f.ThrottleMs)
		if m == x.Request {
			if f.HasAcks {
				env.Acks = int(f.Acks)
			}
			env.Replica, env.Session, env.SessionEpoch = f.Replica, f.SessionID, f.SessionEpoch
		}
	}
}

func (e *evaluator) fillFindings(x *dissect.Exchange) {
	add := func(findings []dissect.Finding) {
		for i := range findings {
			f := &findings[i]
			e.env.Findings = append(e.env.Findings, findingEnv{string(f.Code), f.Severity.String(), f.Text})
		}
	}
	for _, m := range []*dissect.Message{x.Request, x.Response} {
		if m != nil {
			m.Tape()
			add(m.Findings)
		}
	}
	add(x.Findings)
}
