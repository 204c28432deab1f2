package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/kdissect/kdissect/filter"
	"github.com/kdissect/kdissect/render"
	"github.com/kdissect/kdissect/schema"
)

// filterFlags are the flags that say which exchanges are wanted.
type filterFlags struct {
	apis, topics, groups, clients, transactionalIDs, connections, hosts, correlationIDs, numbers []string

	from, to, key, grep, where string
	errors, unanswered         bool
	requests, responses        bool
	slow                       time.Duration
	count                      int64

	flags    *pflag.FlagSet
	catalog  *schema.Catalog
	criteria *filter.Criteria // nil when all are wanted
	matched  *atomic.Int64
}

func (f *filterFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringSliceVar(&f.apis, "api", nil, "only these APIs, by `name` or key")
	flags.StringSliceVar(&f.topics, "topic", nil, "only this `topic`: orders, orders/3, orders/3@1234; * and ? as in file names, also below")
	flags.StringSliceVar(&f.groups, "group", nil, "only this `group`")
	flags.StringSliceVar(&f.clients, "client", nil, "only this client `id`")
	flags.StringSliceVar(&f.transactionalIDs, "transactional-id", nil, "only this transactional `id`")
	flags.StringSliceVar(&f.connections, "connection", nil, "only these `connections`: c26")
	flags.StringSliceVar(&f.hosts, "host", nil, "only this client or broker `address`: 10.0.0.7, 10.0.0.0/8, 10.0.0.7:9092, :9092")
	flags.StringSliceVar(&f.correlationIDs, "correlation-id", nil, "only these correlation `ids`")
	flags.StringSliceVar(&f.numbers, "number", nil, "only messages of these `numbers`: 7, 100-200, 100-")
	flags.StringVar(&f.from, "from", "", "only from this `time` on: 2026-11-29T20:07:50.5Z, 20:07:50")
	flags.StringVar(&f.to, "to", "", "only up to this `time`")
	flags.BoolVar(&f.errors, "errors", false, "only answers with an error")
	flags.BoolVar(&f.unanswered, "unanswered", false, "only requests that got no answer")
	flags.DurationVar(&f.slow, "slow", 0, "only answers that took so much longer than they may by design: 100ms")
	flags.StringVar(&f.key, "key", "", "only what carries a record with this `key`")
	flags.StringVar(&f.grep, "grep", "", "only what carries a record whose key, value or headers match this `regexp`")
	flags.StringVar(&f.where, "where", "", "only what this `expression` is true of: 'api == \"Fetch\" && excess > 100'")
	flags.BoolVar(&f.requests, "request", false, "of what is selected only the requests")
	flags.BoolVar(&f.responses, "response", false, "of what is selected only the responses")
	flags.Int64VarP(&f.count, "count", "c", 0, "stop after so many exchanges")
}

// filterNames are the flags that select.
var filterNames = []string{"api", "topic", "group", "client", "transactional-id", "connection", "host", "correlation-id", "number", "from", "to",
	"errors", "unanswered", "slow", "key", "grep", "where", "request", "response", "count"}

// settle reads what the flags say.
func (f *filterFlags) settle(catalog *schema.Catalog) error {
	f.catalog = catalog
	used := false
	for _, name := range filterNames {
		used = used || f.flags.Changed(name)
	}
	if !used {
		return nil
	}
	switch {
	case f.count < 0 || f.flags.Changed("count") && f.count == 0:
		return fmt.Errorf("--count wants at least 1, not %d", f.count)
	case f.slow < 0:
		return fmt.Errorf("--slow wants a time such as 100ms, not %s", f.slow)
	case f.requests && f.responses:
		return fmt.Errorf("--request and --response exclude each other; without them both are shown")
	}
	f.matched = &atomic.Int64{}
	c := &filter.Criteria{Errors: f.errors, Unanswered: f.unanswered, Slow: f.slow, RequestsOnly: f.requests, ResponsesOnly: f.responses}
	f.criteria = c
	for _, parse := range []func(*filter.Criteria) error{f.settleNames, f.settleNumbers, f.settleTimes, f.settleRecords} {
		if err := parse(c); err != nil {
			return err
		}
	}
	return nil
}

func (f *filterFlags) settleNames(c *filter.Criteria) (err error) {
	if c.APIs, err = parseAll("api", f.apis, func(s string) (int16, error) { return filter.ParseAPI(f.catalog, s) }); err != nil {
		return err
	}
	if c.Topics, err = parseAll("topic", f.topics, filter.ParseTopic); err != nil {
		return err
	}
	if c.Hosts, err = parseAll("host", f.hosts, filter.ParseHost); err != nil {
		return err
	}
	for _, names := range []struct {
		from []string
		to   *[]filter.Pattern
	}{{f.groups, &c.Groups}, {f.clients, &c.Clients}, {f.transactionalIDs, &c.TransactionalIDs}} {
		for _, name := range names.from {
			*names.to = append(*names.to, filter.ParsePattern(name))
		}
	}
	return nil
}

func (f *filterFlags) settleNumbers(c *filter.Criteria) (err error) {
	if c.Connections, err = parseAll("connection", f.connections, filter.ParseConnection); err != nil {
		return err
	}
	if c.Numbers, err = parseAll("number", f.numbers, filter.ParseRange); err != nil {
		return err
	}
	c.CorrelationIDs, err = parseAll("correlation-id", f.correlationIDs, func(s string) (int32, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is no correlation id, which is a number of 32 bits", s)
		}
		return int32(n), nil
	})
	return err
}

func (f *filterFlags) settleTimes(c *filter.Criteria) (err error) {
	if f.from != "" {
		if c.From, err = filter.ParseTime(f.from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	if f.to != "" {
		if c.To, err = filter.ParseTime(f.to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	return nil
}

func (f *filterFlags) settleRecords(c *filter.Criteria) (err error) {
	if f.flags.Changed("key") {
		c.Key = &f.key
	}
	if f.grep != "" {
		if c.Grep, err = regexp.Compile(f.grep); err != nil {
			return fmt.Errorf("--grep: %w", err)
		}
	}
	if f.where != "" {
		c.Where, err = filter.ParseWhere(f.where, f.catalog)
	}
	return err
}

// parseAll parses the values of a flag.
func parseAll[T any](flag string, values []string, parse func(string) (T, error)) (list []T, err error) {
	for _, value := range values {
		one, err := parse(value)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// heads puts what can be decided without decoding in front of a format.
func (f *filterFlags) heads(out render.Format) render.Format {
	if f.criteria == nil {
		return out
	}
	return filter.Heads(f.criteria, out)
}

// exchanges puts the rest in front of one instance of a format.
func (f *filterFlags) exchanges(out render.Format) render.Format {
	if f.criteria == nil {
		return out
	}
	return filter.Exchanges(f.criteria, out, f.matched, f.count)
}

// enough tells whether no more is wanted.
func (f *filterFlags) enough() bool { return f.count > 0 && f.matched.Load() >= f.count }

// nothing tells whether a filter has let nothing through.
func (f *filterFlags) nothing() bool { return f.criteria != nil && f.matched.Load() == 0 }

// whyNothing says that nothing was let through, and whether that is for an expression that could not be evaluated.
func (f *filterFlags) whyNothing() error {
	if w := f.criteria.Where; w != nil {
		if n, why := w.Failures(); n > 0 {
			reason, _, _ := strings.Cut(why.Error(), "\n")
			return fmt.Errorf("nothing matches; --where could not be evaluated for %d exchanges: %s", n, reason)
		}
	}
	return errors.New("nothing matches")
}
