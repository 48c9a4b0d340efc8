package strictjson

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Bindable reports, with a nil error, whether the reader can fill a struct type
// and its parts, and whether what their tags say has a meaning. All problems are
// joined.
func (r *Reader) Bindable(t reflect.Type) error {
	if t == nil || t.Kind() != reflect.Struct {
		return fmt.Errorf("%v is not a struct", t)
	}
	return r.bindable(t, nil)
}

// bindable checks a type; path are the structs that it lies within.
func (r *Reader) bindable(t reflect.Type, path []reflect.Type) error {
	if _, ok := r.Special[t]; ok || t == durationType || t == rawType {
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return nil
	case reflect.Map:
		if t.Key() != reflect.TypeFor[string]() {
			return fmt.Errorf("%v has keys that are no strings", t)
		}
		return r.bindable(t.Elem(), path)
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Pointer {
			return fmt.Errorf("%v is a pointer to a pointer", t)
		}
		return r.bindable(t.Elem(), path)
	case reflect.Slice:
		return r.bindable(t.Elem(), path)
	case reflect.Struct:
		if slices.Contains(path, t) {
			return fmt.Errorf("%v contains itself", t)
		}
		return r.bindableStruct(t, append(path, t))
	}
	return fmt.Errorf("%v has no JSON form here", t)
}

func (r *Reader) bindableStruct(t reflect.Type, path []reflect.Type) error {
	problems := misplaced(t)
	fields := Fields(t)
	if len(fields) == 0 && t.NumField() > 0 && len(path) > 1 {
		problems = append(problems, fmt.Errorf("%v has no exported fields", t))
	}
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		if names[f.Name] {
			problems = append(problems, fmt.Errorf("%s: two fields have this name", f.Name))
		}
		names[f.Name] = true
		if err := first(r.bindable(f.Type, path), r.meaning(f)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	return errors.Join(problems...)
}

// first is the first error. The bounds of a type that has no form say nothing.
func first(of, bounds error) error {
	if of != nil {
		return of
	}
	return bounds
}

// misplaced are fields that look like members and are none.
func misplaced(t reflect.Type) (problems []error) {
	for f := range t.Fields() {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		tagged = tagged || name != ""
		switch {
		case name == "-":
		case f.Anonymous && (f.Type.Kind() != reflect.Struct || name != ""):
			problems = append(problems, fmt.Errorf("%s: only a struct without a name in JSON can be embedded", f.Name))
		case !f.Anonymous && !f.IsExported() && tagged:
			problems = append(problems, fmt.Errorf("%s: the field is not exported", f.Name))
		case f.Type.Kind() != reflect.Uint64 && slices.Contains(strings.Split(options, ","), "string"):
			problems = append(problems, fmt.Errorf("%s: the option string has no meaning here", f.Name))
		}
	}
	return problems
}

// meaning reports, with a nil error, whether the bounds of a field can be read, apply
// to its type and leave something over.
func (r *Reader) meaning(f Field) error {
	if len(f.unknown) > 0 {
		return fmt.Errorf("bounds: %q is unknown; allowed: min=…, over=…, max=…, enum=a|b", f.unknown)
	}
	of := direct(f.Type)
	numbers := isNumber(of) || of.Kind() == reflect.Slice || of.Kind() == reflect.Map
	b := bound(f)
	for _, limit := range []struct {
		name, text string
		number     *float64
		fits       bool
	}{
		{"min", f.Min, b.min, numbers},
		{"over", f.Over, b.over, isNumber(elementOf(of))},
		{"max", f.Max, b.max, numbers},
	} {
		_, special := r.Special[of]
		switch {
		case limit.text == "":
		case special || !limit.fits:
			return fmt.Errorf("bounds: %s has no meaning for %v", limit.name, f.Type)
		case limit.number == nil:
			return fmt.Errorf("bounds: %s is %q; allowed: a number, or of a duration such as 1ms", limit.name,
				limit.text)
		}
	}
	if f.Enum != nil && elementOf(of).Kind() != reflect.String {
		return fmt.Errorf("bounds: enum has no meaning for %v", f.Type)
	}
	if b.max == nil {
		return nil
	}
	if b.min != nil && *b.min > *b.max || b.over != nil && of.Kind() != reflect.Slice && *b.over >= *b.max {
		return errors.New("bounds: no value is within them")
	}
	return nil
}

// direct is what a pointer points to, or the type itself.
func direct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// elementOf is the type that over and enum bound: of a list, that of its elements.
func elementOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		return t.Elem()
	}
	return t
}

func isNumber(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return true
	}
	return false
}
