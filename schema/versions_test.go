package schema

import (
	"math"
	"testing"
)

func TestParseVersions(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    Versions
		written string // "" where it is written as it was read
	}{
		{"none", None, ""},
		{"", None, "none"},
		{" 3 ", Versions{3, 3}, "3"},
		{"0", Versions{0, 0}, ""},
		{"0-0", Versions{0, 0}, "0"},
		{"0-2", Versions{0, 2}, ""},
		{"7-17", Versions{7, 17}, ""},
		{"0+", Versions{0, math.MaxInt16}, ""},
		{"12+", Versions{12, math.MaxInt16}, ""},
		{"32767", Versions{math.MaxInt16, math.MaxInt16}, "32767+"},
		{"5-32767", Versions{5, math.MaxInt16}, "5+"},
	} {
		got, err := ParseVersions(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: %v, %v", c.text, got, err)
			continue
		}
		if c.written == "" {
			c.written = c.text
		}
		if got.String() != c.written {
			t.Errorf("%q is written %q, want %q", c.text, got, c.written)
		}
		if again, err := ParseVersions(got.String()); err != nil || again != got {
			t.Errorf("%q: read again %v, %v", c.text, again, err)
		}
	}
	for _, text := range []string{"-", "+", "-1", "1-", "-2-3", "2-1", "1-2-3", "1-2+", "1+2", "++", "1++", "x", "0x1", "32768", "1-32768", "1 - 2", "1,2", "None", "0-none", "1.0"} {
		if v, err := ParseVersions(text); err == nil {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

// A set is versions by the simplest model there is.
type set uint16

func setOf(v Versions) (s set) {
	for version := range int16(16) {
		if v.Contains(version) {
			s |= 1 << version
		}
	}
	return s
}

// isRange tells whether a set is one range, or empty.
func (s set) isRange() bool {
	for s > 0 && s&1 == 0 {
		s >>= 1
	}
	return s&(s+1) == 0
}

// All pairs of small ranges, none and open ones among them, must do what sets do. An open range has every version of the model, whose highest
// one stands for all above it.
func TestVersionsAreSets(t *testing.T) {
	all := []Versions{None, {3, 1}, {5, -1}} // the last two are empty, too
	for low := range int16(7) {
		all = append(all, From(low))
		for high := low; high < 7; high++ {
			all = append(all, Versions{low, high})
		}
	}
	for _, v := range all {
		if v.Empty() != (setOf(v) == 0) {
			t.Errorf("%v: empty %t", v, v.Empty())
		}
		for _, w := range all {
			a, b := setOf(v), setOf(w)
			if got := v.Intersect(w); setOf(got) != a&b {
				t.Errorf("%v and %v have %v in common", v, w, got)
			}
			union, err := v.Union(w)
			if want := a | b; (err == nil) != want.isRange() || err == nil && setOf(union) != want {
				t.Errorf("%v or %v is %v, %v", v, w, union, err)
			}
			rest, err := v.Subtract(w)
			if want := a &^ b; (err == nil) != want.isRange() || err == nil && setOf(rest) != want {
				t.Errorf("%v without %v is %v, %v", v, w, rest, err)
			}
		}
	}
}

// The ends of the range of versions are ordinary versions.
func TestVersionsAtTheEnds(t *testing.T) {
	last := Versions{math.MaxInt16, math.MaxInt16}
	if v, err := From(0).Subtract(From(1)); err != nil || v != (Versions{0, 0}) {
		t.Error(v, err)
	}
	if v, err := From(0).Subtract(last); err != nil || v != (Versions{0, math.MaxInt16 - 1}) {
		t.Error(v, err)
	}
	if v, err := (Versions{0, math.MaxInt16 - 1}).Union(last); err != nil || v != From(0) {
		t.Error(v, err)
	}
	if v, err := last.Union(Versions{0, 0}); err == nil {
		t.Error(v)
	}
}
