package pcapfilter

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxDepth bounds how deep parentheses and negations nest.
const maxDepth = 100

// A parser reads an expression by recursive descent.
type parser struct {
	words  []string // not read yet
	last   term     // the keywords of the latest term, for values without any
	lookup func(name string) ([]netip.Addr, error)
	depth  int
}

// A term is what stands in front of a value.
type term struct {
	version  uint32 // 4 or 6; 0 for either
	protocol uint32 // 0 for any
	side     string // "src", "dst", "either", or "" where nothing is said, which means either
	kind     string // "host", "net", "port", "portrange" or "" for a protocol alone
}

func (p *parser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

// accept passes over the next word if it is this one.
func (p *parser) accept(word string) bool {
	if len(p.words) == 0 || p.words[0] != word {
		return false
	}
	p.words = p.words[1:]
	return true
}

func (p *parser) expression() (node, error) {
	left, err := p.factor()
	for err == nil {
		var right node
		switch {
		case p.accept("and"):
			if right, err = p.factor(); err == nil {
				left = both{left, right}
			}
		case p.accept("or"):
			if right, err = p.factor(); err == nil {
				left = either{left, right}
			}
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *parser) factor() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels of parentheses and negations", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case len(p.words) == 0:
		return nil, fmt.Errorf("the expression ends where a term is expected")
	case p.accept("not"):
		n, err := p.factor()
		return negation{n}, err
	case p.accept("("):
		n, err := p.expression()
		if err == nil && !p.accept(")") {
			err = fmt.Errorf("a parenthesis is not closed")
		}
		return n, err
	}
	return p.term()
}

// term reads keywords and a value.
func (p *parser) term() (node, error) {
	t, found := p.keywords()
	if !found {
		t = p.last
		if t.kind == "" {
			return nil, p.unsupported(p.peek())
		}
	}
	if t.kind == "" && t.side == "" {
		if next := p.peek(); next != "" && next != "and" && next != "or" && next != ")" {
			return nil, p.unsupported(next)
		}
		return t.protocolOnly(), nil
	}
	if t.kind == "" {
		t.kind = "host" // src 10.0.0.7
	}
	if t.protocol != 0 && (t.kind == "host" || t.kind == "net") {
		return nil, fmt.Errorf("tcp and udp go with ports; with an address write tcp and %s", t.kind)
	}
	p.last = t
	value := p.peek()
	if value == "" || value == "and" || value == "or" || value == "not" || value == "(" || value == ")" {
		return nil, fmt.Errorf("a value is expected behind %q", t.kind)
	}
	p.words = p.words[1:]
	switch t.kind {
	case "port", "portrange":
		return t.ports(value)
	case "net":
		return t.network(value)
	}
	return t.host(value, p.lookup)
}

// keywords reads the keywords of a term. It returns false if there are none.
func (p *parser) keywords() (t term, found bool) {
	for {
		switch word := p.peek(); word {
		case "ip":
			t.version = 4
		case "ip6":
			t.version = 6
		case "tcp":
			t.protocol = protoTCP
		case "udp":
			t.protocol = protoUDP
		case "src", "dst":
			t.side = word
			p.words = p.words[1:]
			found = true
			p.otherSide(&t)
			continue
		case "host", "net", "port", "portrange":
			t.kind = word
			p.words = p.words[1:]
			return t, true
		default:
			return t, found
		}
		p.words = p.words[1:]
		found = true
	}
}

// otherSide reads the rest of "src or dst", which is either.
func (p *parser) otherSide(t *term) {
	if len(p.words) < 2 || p.words[0] != "or" || t.side == "src" && p.words[1] != "dst" || t.side == "dst" && p.words[1] != "src" {
		return
	}
	if len(p.words) > 2 && p.words[2] != "host" && p.words[2] != "net" && p.words[2] != "port" && p.words[2] != "portrange" {
		return // src A or dst B, without keywords
	}
	p.words, t.side = p.words[2:], "either"
}

func (p *parser) unsupported(word string) error {
	return fmt.Errorf("%q is %w; what is: ip, ip6, tcp, udp, src, dst, host, net, port, portrange, and, or, not and parentheses", word, ErrUnsupported)
}

// protocolOnly is a term without a value.
func (t term) protocolOnly() node { return t.restrict(nil) }

// restrict adds to a condition what the keywords in front say.
func (t term) restrict(n node) node {
	if t.protocol != 0 {
		n = and(field{loadProtocol, 0, t.protocol}, n)
	}
	if t.version != 0 {
		n = and(field{loadVersion, 0, t.version}, n)
	}
	return n
}

// and joins two conditions; the second may be nil.
func and(a, b node) node {
	if b == nil {
		return a
	}
	return both{a, b}
}

// sides applies a condition to the sides that are meant.
func (t term) sides(of func(source bool) node) node {
	switch t.side {
	case "src":
		return of(true)
	case "dst":
		return of(false)
	}
	return either{of(true), of(false)}
}

func (t term) ports(value string) (node, error) {
	first, last, isRange := strings.Cut(value, "-")
	if !isRange {
		last = first
	}
	low, err := port(first)
	if err != nil {
		return nil, err
	}
	high, err := port(last)
	if err != nil {
		return nil, err
	}
	if isRange != (t.kind == "portrange") {
		return nil, fmt.Errorf("%s %s: a range of ports is written portrange 9092-9094, a single one port 9092", t.kind, value)
	}
	if low > high {
		low, high = high, low
	}
	n := t.sides(func(source bool) node {
		load := loadDestinationPort
		if source {
			load = loadSourcePort
		}
		if low == high {
			return field{load, 0, low}
		}
		return within{load, low, high}
	})
	return t.restrict(n), nil
}

func port(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no port number", text)
	}
	return uint32(n), nil
}

// network is a term with a range of addresses: 10.0.0.0/8, 10.1, 2001:db8::/32.
func (t term) network(value string) (node, error) {
	text, bits := value, -1
	if address, length, ok := strings.Cut(value, "/"); ok {
		n, err := strconv.Atoi(length)
		if err != nil {
			return nil, fmt.Errorf("%q is no network", value)
		}
		text, bits = address, n
	}
	if parts := strings.Count(text, ".") + 1; !strings.Contains(text, ":") && parts < 4 {
		if bits < 0 {
			bits = 8 * parts
		}
		text += strings.Repeat(".0", 4-parts)
	}
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" || bits > address.BitLen() {
		return nil, fmt.Errorf("%q is no network", value)
	}
	if bits < 0 {
		bits = address.BitLen()
	}
	prefix := netip.PrefixFrom(address, bits)
	if prefix.Masked() != prefix {
		return nil, fmt.Errorf("%q: bits of the address lie behind its first %d", value, bits)
	}
	return t.addresses([]netip.Prefix{prefix})
}

// host is a term with an address, or with a name that stands for some.
func (t term) host(value string, lookup func(string) ([]netip.Addr, error)) (node, error) {
	address, err := netip.ParseAddr(value)
	addresses := []netip.Addr{address}
	switch {
	case err == nil && address.Zone() != "":
		return nil, fmt.Errorf("%q: leave the zone out", value)
	case err != nil:
		if addresses, err = lookup(value); err != nil {
			return nil, fmt.Errorf("host %s: %w", value, err)
		}
	}
	var prefixes []netip.Prefix
	for _, a := range addresses {
		a = a.Unmap().WithZone("")
		prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
	}
	return t.addresses(prefixes)
}

// addresses is a term with ranges of addresses, any of which will do.
func (t term) addresses(prefixes []netip.Prefix) (node, error) {
	var n node
	for _, prefix := range prefixes {
		if t.version != 0 && (t.version == 4) != prefix.Addr().Is4() {
			continue
		}
		one := t.sides(func(source bool) node { return inPrefix(prefix, source) })
		if n == nil {
			n = one
		} else {
			n = either{n, one}
		}
	}
	if n == nil {
		return nil, fmt.Errorf("no address of the version of IP that is named in front")
	}
	return t.restrict(n), nil
}
