package encode

import (
	"slices"
	"strconv"
	"strings"
)

// An object is a JSON object that is read by the names of its fields: a batch, a record. Its first error sticks.
type object struct {
	encoder *encoder // has the path
	fields  map[string]any
	used    []string
	err     error
}

// elements calls yield for each object of an array at the current path.
func (e *encoder) elements(list []any, what string, yield func(*object) error) error {
	mark := len(e.path)
	for i, v := range list {
		e.path = append(e.path[:mark], '[')
		e.path = append(strconv.AppendInt(e.path, int64(i), 10), ']')
		fields, ok := v.(map[string]any)
		if !ok {
			return e.wrong("an object, "+what+",", v)
		}
		if err := yield(&object{encoder: e, fields: fields}); err != nil {
			return err
		}
	}
	e.path = e.path[:mark]
	return nil
}

// fail notes an error unless there is one already, and returns the one that stands.
func (o *object) fail(format string, args ...any) error {
	if o.err == nil {
		o.err = o.encoder.fail(format, args...)
	}
	return o.err
}

// use says that fields are known.
func (o *object) use(names ...string) { o.used = append(o.used, names...) }

func (o *object) has(name string) bool {
	o.use(name)
	_, there := o.fields[name]
	return there
}

// integer reads a number; what is not there is def.
func (o *object) integer(name string, low, high, def int64) int64 {
	if !o.has(name) {
		return def
	}
	e := o.encoder
	mark := len(e.path)
	e.path = append(append(e.path, '.'), name...)
	n, err := e.integer(o.fields[name], low, high)
	e.path = e.path[:mark]
	if o.err == nil {
		o.err = err
	}
	return n
}

func (o *object) boolean(name string) bool {
	if !o.has(name) {
		return false
	}
	b, ok := o.fields[name].(bool)
	if !ok {
		o.fail("%s: true or false is wanted here, not %s", name, describe(o.fields[name]))
	}
	return b
}

func (o *object) array(name string) []any {
	if !o.has(name) {
		return nil
	}
	list, ok := o.fields[name].([]any)
	if !ok {
		o.fail("%s: an array is wanted here, not %s", name, describe(o.fields[name]))
	}
	return list
}

// name reads one of some names and returns its place among them, 0 when it is not there.
func (o *object) name(name string, names []string) int {
	if !o.has(name) {
		return 0
	}
	text, ok := o.fields[name].(string)
	at := slices.Index(names, text)
	if !ok || at < 0 {
		o.fail("%s: one of %s is wanted here, not %s", name, strings.Join(names, ", "), describe(o.fields[name]))
		return 0
	}
	return at
}

// finish refuses fields that nobody has asked for.
func (o *object) finish() {
	unknown := ""
	for name := range o.fields {
		if !slices.Contains(o.used, name) && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	if unknown != "" {
		slices.Sort(o.used)
		o.fail("there is no field %q here; there are %s", unknown, strings.Join(slices.Compact(o.used), ", "))
	}
}
