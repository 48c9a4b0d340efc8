package planjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A field is one member of a parameter struct.
type field struct {
	name     string
	index    []int
	is       reflect.Type
	optional bool // json:",omitempty"
	tag      tag
}

// A tag is what a field says in addition to its name: `doc:"…"
// bounds:"min=1,enum=a|b"`. The bounds are for the schema. The decoder asks the
// fault itself, which knows more, and a test compares the two.
type tag struct {
	doc  string
	min  string // the least value; of a list, the least number of elements
	over string // the value must be more
	max  string
	enum []string
}

// fieldsOf lists the members of a struct, with those of embedded structs.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		fields = append(fields, field{name: name, index: f.Index, is: f.Type,
			optional: strings.Contains(options, "omit"), tag: tagOf(f.Tag)})
	}
	return fields
}

func tagOf(text reflect.StructTag) tag {
	t := tag{doc: text.Get("doc")}
	for setting := range strings.SplitSeq(text.Get("bounds"), ",") {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "min":
			t.min = value
		case "over":
			t.over = value
		case "max":
			t.max = value
		case "enum":
			t.enum = strings.Split(value, "|")
		}
	}
	return t
}

// names lists what is allowed; the empty text stands for a member that is left
// out.
func (t tag) names() string {
	return "one of " + strings.TrimPrefix(strings.Join(t.enum, ", "), ", ")
}

// shape describes what the field accepts.
func (f field) shape() string {
	if f.tag.enum != nil && f.is.Kind() == reflect.String {
		return f.tag.names()
	}
	return shapeOf(f.is)
}

func shapeOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return `a duration such as "1.5s"`
	case reflect.TypeFor[json.RawMessage]():
		return "any JSON"
	case reflect.TypeFor[chaos.When]():
		return `a trigger, {"kind": …, "params": {…}}`
	case reflect.TypeFor[chaos.Fault](), reflect.TypeFor[Part]():
		return `a fault, {"kind": …, "params": {…}}`
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Uint64:
		return "a decimal string"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return shapeOf(t.Elem())
	}
	return "an object"
}

// meant proposes the nearest name, if one is near; a name is near to those it
// begins with.
func meant(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, other := range names {
		d := distance(name, other)
		if len(other) > 2 && strings.HasPrefix(name, other) {
			d = min(d, least-1)
		}
		if d < least {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of bytes to insert, delete or replace to change one
// name into the other (Levenshtein 1966), without regard to case. Long texts
// are far from everything.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// bindable reports, with a nil error, whether the binder can fill a type and
// its parts.
func bindable(t reflect.Type) error { return bindableWithin(t, 0) }

func bindableWithin(t reflect.Type, depth int) error {
	switch t {
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[chaos.When](), reflect.TypeFor[chaos.Fault]():
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%v contains itself", t)
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		if depth == 0 {
			return fmt.Errorf("%v is not a struct", t)
		}
		return nil
	case reflect.Map:
		if t.Key() != reflect.TypeFor[string]() {
			return fmt.Errorf("%v has keys that are no strings", t)
		}
		return bindableWithin(t.Elem(), depth+1)
	case reflect.Slice, reflect.Pointer:
		return bindableWithin(t.Elem(), depth+1)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if err := bindableWithin(f.is, depth+1); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("%v has no JSON form here", t)
}
