package filter

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// What a regular expression wants is in everything that it matches.
func TestRequiredPart(t *testing.T) {
	texts := []string{"", "a", "nothing here", "NOTHING", "id=42", "id=7 id=42", "order-17-x", "\xff", "\ufffd", "foo\nbar", "foobar", "ab", "abab", "Straße", "x.y", "ſtop stop"}
	for _, c := range []struct{ re, part string }{
		{"nothing", "nothing"}, {"id=42", "id=42"}, {`id=\d+`, "id="}, {`^order-\d+-x$`, "order-"}, {`(?i)nothing`, ""}, {`(?i)\d+`, ""}, {"a|b", ""}, {"foo|foobar", "foo"},
		{"foo.*bar", "foo"}, {"(foo)+(ba|r)", "foo"}, {"(ab){2}", "ab"}, {"(ab){0,2}", ""}, {"(ab)*", ""}, {"a?", ""}, {`x\.y`, "x.y"}, {"[a]b", "ab"}, {"[ab]", ""},
		{`\x{fffd}`, ""}, {`a\x{fffd}`, ""}, {"ß", "ß"}, {"(?i)s(?-i)top", "top"}, {"", ""}, {`\bhere`, "here"}, {strings.Repeat("long", 50), strings.Repeat("long", 50)[:maxPart]},
	} {
		re := regexp.MustCompile(c.re)
		part := (&Criteria{Grep: re}).requiredPart()
		if string(part) != c.part {
			t.Errorf("%q wants %q, not %q", c.re, part, c.part)
		}
		for _, text := range texts {
			if re.MatchString(text) && !bytes.Contains([]byte(text), part) {
				t.Errorf("%q matches %q, which has not %q", c.re, text, part)
			}
		}
	}
	key := "k-17"
	for want, c := range map[string]*Criteria{"k-17": {Key: &key, Grep: regexp.MustCompile("abc")}, "abcde": {Key: &key, Grep: regexp.MustCompile("abcde")}} {
		if part := c.requiredPart(); string(part) != want {
			t.Errorf("%q, not %q", part, want)
		}
	}
}
