package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Versions is a range of versions of a message, both ends included. The zero value is not
// empty (it holds version 0); use [None] for no version at all.
type Versions struct{ Low, High int16 }

// None holds no version; it is written "none".
var None = Versions{0, -1}

// From returns the versions from low on, without an upper end.
func From(low int16) Versions { return Versions{low, math.MaxInt16} }

// ParseVersions reads what Kafka's schemas write: "none", "3", "0-2" or "3+".
func ParseVersions(s string) (Versions, error) {
	text := strings.TrimSpace(s)
	if text == "none" || text == "" {
		return None, nil
	}
	low, high, ranged := strings.Cut(text, "-")
	open := strings.HasSuffix(text, "+")
	first, err := parseVersion(strings.TrimSuffix(low, "+"))
	if err != nil || open && ranged {
		return None, fmt.Errorf("bad version range %q", s)
	}
	switch {
	case open:
		return From(first), nil
	case !ranged:
		return Versions{first, first}, nil
	}
	last, err := parseVersion(high)
	if err != nil || last < first {
		return None, fmt.Errorf("bad version range %q", s)
	}
	return Versions{first, last}, nil
}

func parseVersion(s string) (int16, error) {
	n, err := strconv.ParseUint(s, 10, 15)
	return int16(n), err
}

// String writes the range in the form that [ParseVersions] reads.
func (v Versions) String() string {
	switch {
	case v.Empty():
		return "none"
	case v.High == math.MaxInt16:
		return strconv.Itoa(int(v.Low)) + "+"
	case v.Low == v.High:
		return strconv.Itoa(int(v.Low))
	}
	return strconv.Itoa(int(v.Low)) + "-" + strconv.Itoa(int(v.High))
}

// Empty tells whether the range holds no version.
func (v Versions) Empty() bool { return v.High < v.Low }

// Contains tells whether the version is in the range.
func (v Versions) Contains(version int16) bool { return v.Low <= version && version <= v.High }

// Intersect returns the versions that are in both ranges.
func (v Versions) Intersect(w Versions) Versions {
	both := Versions{max(v.Low, w.Low), min(v.High, w.High)}
	if v.Empty() || w.Empty() || both.Empty() {
		return None
	}
	return both
}

// Subtract returns the versions of v that are not in w. It fails when they are not one range.
func (v Versions) Subtract(w Versions) (Versions, error) {
	common := v.Intersect(w)
	switch {
	case common.Empty():
		return v, nil
	case common == v:
		return None, nil
	case common.Low == v.Low:
		return Versions{common.High + 1, v.High}, nil
	case common.High == v.High:
		return Versions{v.Low, common.Low - 1}, nil
	}
	return None, fmt.Errorf("%s without %s is not one range", v, w)
}

// Union returns the versions that are in either range. It fails when they are not one range.
func (v Versions) Union(w Versions) (Versions, error) {
	switch {
	case v.Empty():
		return w, nil
	case w.Empty():
		return v, nil
	case int(v.High)+1 < int(w.Low) || int(w.High)+1 < int(v.Low):
		return None, fmt.Errorf("%s and %s are not one range", v, w)
	}
	return Versions{min(v.Low, w.Low), max(v.High, w.High)}, nil
}
