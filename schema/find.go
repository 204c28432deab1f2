package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// FindAPI finds an API by its name, in any case, or by its key. The error proposes a name that is near.
func (c *Catalog) FindAPI(s string) (*API, error) {
	if key, err := strconv.ParseInt(s, 10, 16); err == nil {
		if api := c.API(int16(key)); api != nil {
			return api, nil
		}
		return nil, fmt.Errorf("unknown API key %d", key)
	}
	if api := c.APIByName(s); api != nil {
		return api, nil
	}
	var names []string
	for api := range c.AllAPIs {
		names = append(names, api.Name)
	}
	return nil, fmt.Errorf("unknown API %q%s", s, DidYouMean(s, names))
}

// FindName finds the name of a message in any case, such as OffsetCommitValue, "" where there is none.
func (c *Catalog) FindName(s string) string {
	for _, name := range c.names {
		if strings.EqualFold(name, s) {
			return name
		}
	}
	return ""
}

// FindError finds an error code by its number or by its name in any case. The error proposes a name that is near.
func FindError(s string) (*Error, error) {
	if code, err := strconv.ParseInt(s, 10, 16); err == nil {
		if e := ErrorByCode(int16(code)); e != nil {
			return e, nil
		}
		return nil, fmt.Errorf("there is no error %d in Kafka", code)
	}
	var names []string
	for _, e := range errorsByCode() {
		if strings.EqualFold(e.Name, s) {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("there is no error %q in Kafka%s", s, DidYouMean(s, names))
}

// DidYouMean proposes the name that is nearest to one that is unknown, as the end of a sentence; "" where none is near.
func DidYouMean(s string, names []string) string {
	const longest = 64 // no name is longer; to compare takes the product of the lengths
	if len(s) > longest {
		return ""
	}
	best, least := "", len(s)/2+1
	for _, name := range names {
		d := distance(strings.ToLower(s), strings.ToLower(name))
		if d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance is how many letters have to be changed, added or removed, or neighbours swapped, to make b of a.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
