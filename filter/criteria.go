package filter

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kdissect/kdissect/schema"
)

// Criteria say which exchanges are wanted. What is empty wants all.
type Criteria struct {
	APIs             []int16 // by key
	Connections      []int
	Hosts            []Host // either end
	CorrelationIDs   []int32
	Clients          []Pattern // client ids
	Numbers          []Range   // of the request or the response
	From, To         Time      // of the request, To included
	Slow             time.Duration
	Unanswered       bool // no answer though one was to come
	Topics           []Topic
	Groups           []Pattern
	TransactionalIDs []Pattern
	Errors           bool           // an error code anywhere in the answer
	Key              *string        // of a record
	Grep             *regexp.Regexp // in keys, values or headers of records
	Where            *Where

	RequestsOnly, ResponsesOnly bool // what is handed on of an exchange
}

// A Pattern is a name in which * stands for any characters and ? for one.
type Pattern struct{ re *regexp.Regexp }

// ParsePattern makes a Pattern of a text.
func ParsePattern(s string) Pattern {
	quoted := regexp.QuoteMeta(s)
	quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, ".*"), `\?`, ".")
	return Pattern{regexp.MustCompile(`(?s)\A` + quoted + `\z`)}
}

func (p Pattern) match(name []byte) bool { return p.re.Match(name) }

// anyMatch tells whether one of some patterns matches a name; nil is no name.
func anyMatch(patterns []Pattern, name []byte) bool {
	if name == nil {
		return false
	}
	for _, p := range patterns {
		if p.match(name) {
			return true
		}
	}
	return false
}

// A Topic is a topic, one of its partitions, or an offset in that.
type Topic struct {
	Name      Pattern // or the topic's id
	Partition int32   // -1 for all
	Offset    int64   // -1 for all
}

// ParseTopic reads NAME, NAME/PARTITION or NAME/PARTITION@OFFSET.
func ParseTopic(s string) (Topic, error) {
	t := Topic{Partition: -1, Offset: -1}
	name, rest, found := strings.Cut(s, "/")
	t.Name = ParsePattern(name)
	if !found {
		return t, nil
	}
	partition, offset, found := strings.Cut(rest, "@")
	p, err := strconv.ParseInt(partition, 10, 32)
	if err != nil || p < 0 {
		return t, fmt.Errorf("%q: what stands behind the slash is a partition, as in orders/3 or orders/3@1234", s)
	}
	t.Partition = int32(p)
	if found {
		if t.Offset, err = strconv.ParseInt(offset, 10, 64); err != nil || t.Offset < 0 {
			return t, fmt.Errorf("%q: what stands behind the @ is an offset, as in orders/3@1234", s)
		}
	}
	return t, nil
}

// A Host is an address, a network, or an address and port.
type Host struct {
	prefix netip.Prefix
	port   uint16 // 0 for any
}

// ParseHost reads 10.0.0.1, 10.0.0.0/8, 10.0.0.1:9092, [::1]:9092 or :9092.
func ParseHost(s string) (Host, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return Host{prefix: prefix.Masked()}, nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return Host{prefix: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	if end, err := netip.ParseAddrPort(s); err == nil {
		return Host{netip.PrefixFrom(end.Addr(), end.Addr().BitLen()), end.Port()}, nil
	}
	if rest, found := strings.CutPrefix(s, ":"); found {
		if port, err := strconv.ParseUint(rest, 10, 16); err == nil {
			return Host{port: uint16(port)}, nil
		}
	}
	return Host{}, fmt.Errorf("%q is no address: write 10.0.0.1, 10.0.0.0/8, 10.0.0.1:9092 or :9092", s)
}

func (h Host) match(end netip.AddrPort) bool {
	return (h.port == 0 || h.port == end.Port()) && (!h.prefix.IsValid() || h.prefix.Contains(end.Addr().Unmap()))
}

// A Range is the numbers from First to Last.
type Range struct{ First, Last int64 }

// ParseRange reads 7, 100-200, 100- or -200.
func ParseRange(s string) (Range, error) {
	r := Range{1, 1<<63 - 1}
	first, last, found := strings.Cut(s, "-")
	if !found {
		last = first
	}
	for _, part := range []struct {
		text string
		to   *int64
	}{{first, &r.First}, {last, &r.Last}} {
		if part.text == "" && found && s != "-" {
			continue
		}
		n, err := strconv.ParseInt(part.text, 10, 64)
		if err != nil || n < 1 {
			return r, fmt.Errorf("%q is no range of message numbers: write 7, 100-200, 100- or -200", s)
		}
		*part.to = n
	}
	if r.First > r.Last {
		return r, fmt.Errorf("%q ends before it begins", s)
	}
	return r, nil
}

// ParseConnection reads c26 or 26.
func ParseConnection(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "c"))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no connection: write c26 or 26", s)
	}
	return n, nil
}

// A Time is a time, or a time of day.
type Time struct {
	set   bool
	clock bool  // only the time of day counts
	nanos int64 // since the Unix epoch, or since midnight, UTC
}

// The years of which every nanosecond since the Unix epoch is an int64.
const firstYear, lastYear = 1678, 2261

// ParseTime reads 2026-11-29T20:07:50.5Z, with a space in place of the T, with or without zone (none is UTC), or a time of day, 20:07:50.
func ParseTime(s string) (Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && firstYear <= t.Year() && t.Year() <= lastYear {
			return Time{set: true, nanos: t.UnixNano()}, nil
		}
	}
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return Time{set: true, clock: true, nanos: t.Sub(t.Truncate(24 * time.Hour)).Nanoseconds()}, nil
		}
	}
	return Time{}, fmt.Errorf("%q is no time: write 2026-11-29T20:07:50.5Z, or the time of day, 20:07:50; both are UTC unless they say otherwise", s)
}

// compare returns how a capture time lies to t: negative before, positive behind.
func (t Time) compare(nanos int64) int {
	if t.clock {
		const day = int64(24 * time.Hour)
		nanos = (nanos%day + day) % day
	}
	return cmp.Compare(nanos, t.nanos)
}

// ParseAPI finds an API by its name, in any case, or by its key. A key need not be known.
func ParseAPI(catalog *schema.Catalog, s string) (int16, error) {
	if key, err := strconv.ParseInt(s, 10, 16); err == nil {
		return int16(key), nil
	}
	api, err := catalog.FindAPI(s)
	if err != nil {
		return 0, err
	}
	return api.Key, nil
}
