package strictjson

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Bindable reports, with a nil error, whether the reader can fill a struct type
// and its parts, and read the bounds in their tags. All problems are joined.
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
	if _, ok := formsOf[t.Kind()]; !ok {
		return fmt.Errorf("%v has no JSON form here", t)
	}
	return nil
}

func (r *Reader) bindableStruct(t reflect.Type, path []reflect.Type) error {
	var problems []error
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() != reflect.Struct { // a nil one has no place for members
			problems = append(problems, fmt.Errorf("%s: only a struct can be embedded", f.Name))
		}
	}
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
		if err := cmp.Or(r.bindable(f.Type, path), f.readable()); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	return errors.Join(problems...)
}

// readable reports, with a nil error, whether the bounds of a field can be read.
func (f Field) readable() error {
	if len(f.unknown) > 0 {
		return fmt.Errorf("bounds: %q is unknown; allowed: min=…, over=…, max=…, enum=a|b", f.unknown)
	}
	for _, text := range []string{f.Min, f.Over, f.Max} {
		if text != "" && f.number(text) == nil {
			return fmt.Errorf("bounds: %q is no number; allowed: a number, or of a duration such as 1ms", text)
		}
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
