package strictjson

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds are the [Fields] of a struct that have bounds, or hold structs whose fields do. A struct that lies within
// itself is left out; path are those around t.
func Bounds(t reflect.Type, path ...reflect.Type) (bounds []Field) {
	if slices.Contains(path, t) {
		return nil
	}
	for _, f := range Fields(t) {
		if inner := innermost(f.Type); inner.Kind() == reflect.Struct {
			f.inner = Bounds(inner, append(path, t)...)
		}
		if f.bounded() || f.inner != nil {
			bounds = append(bounds, f)
		}
	}
	return bounds
}

// innermost is the type of what pointers, lists and maps hold.
func innermost(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// Holds reports whether a struct has a member of a type, also within its lists, maps
// and structs; path are those around t.
func Holds(t, of reflect.Type, path ...reflect.Type) bool {
	t = innermost(t)
	if t.Kind() != reflect.Struct || slices.Contains(path, t) {
		return t == of
	}
	path = append(path, t)
	return t == of || slices.ContainsFunc(Fields(t), func(f Field) bool { return Holds(f.Type, of, path...) })
}

func (f *Field) bounded() bool { return f.min != nil || f.over != nil || f.max != nil || f.Enum != nil }

// number is a bound as a number; durations are counted in nanoseconds.
func (f *Field) number(text string) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	of := direct(f.Type)
	if of == durationType || of.Kind() == reflect.Slice && of.Elem() == durationType {
		if d, bad := time.ParseDuration(text); bad == nil {
			n, err = float64(d), nil
		}
	}
	if err != nil {
		return nil
	}
	return &n
}

// phrase describes what the bounds allow.
func (f *Field) phrase() string {
	if f.Enum != nil {
		return f.Names()
	}
	noun, of := "a number", direct(f.Type)
	switch {
	case of == durationType:
		noun = "a duration"
	case of.Kind() == reflect.String:
		return "a text that is not empty"
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64 || of.Kind() == reflect.Uint64:
		noun = "an integer"
	case of.Kind() == reflect.Slice:
		return f.saysLength("a list")
	case of.Kind() == reflect.Map:
		return f.saysLength("an object")
	}
	switch {
	case f.min != nil && f.max != nil:
		return noun + " from " + f.Min + " to " + f.Max
	case f.over != nil && f.max != nil:
		return noun + " of more than " + f.Over + " and at most " + f.Max
	case f.over != nil:
		return noun + " of more than " + f.Over
	case f.min != nil:
		return noun + " of " + f.Min + " or more"
	}
	return noun + " of at most " + f.Max
}

func (f *Field) saysLength(noun string) string {
	var parts []string
	if f.min != nil {
		parts = append(parts, "at least "+f.Min)
	}
	if f.max != nil {
		parts = append(parts, "at most "+f.Max)
	}
	if len(parts) > 0 {
		noun += " of " + strings.Join(parts, " and ")
	}
	if f.over != nil {
		noun += ", each more than " + f.Over
	}
	return noun
}

// An Outlier is a part of a value that lies outside of its bounds.
type Outlier struct {
	Place   string // such as "calls[1].count"
	Value   reflect.Value
	Allowed string
}

// Outliers are what of a struct lies outside of its [Bounds], in the order of the
// fields. NaN lies outside. An optional member that is zero counts as left out.
func Outliers(bounds []Field, v reflect.Value) []Outlier { return outliers(nil, bounds, v, "") }

func outliers(list []Outlier, bounds []Field, v reflect.Value, at string) []Outlier {
	for i := range bounds {
		f := &bounds[i]
		member, err := v.FieldByIndexErr(f.Index)
		if err != nil || f.Optional && member.IsZero() {
			continue // err: within an embedded pointer that is nil, which Bindable refuses
		}
		list = f.outliers(list, member, at+f.Name)
	}
	return list
}

// outliers adds what lies outside of a member: itself, or what it holds.
func (f *Field) outliers(list []Outlier, v reflect.Value, at string) []Outlier {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return list
		}
		return f.outliers(list, v.Elem(), at)
	}
	if !f.holds(v) {
		return append(list, Outlier{at, v, f.Allowed})
	}
	element := *f
	element.min, element.max = nil, nil // those of the length
	switch v.Kind() {
	case reflect.Slice:
		for i := 0; i < v.Len() && (f.over != nil || f.Enum != nil || f.inner != nil); i++ {
			list = element.outliers(list, v.Index(i), fmt.Sprintf("%s[%d]", at, i))
		}
	case reflect.Map:
		parts := make(map[string]reflect.Value, v.Len())
		for key, part := range v.Seq2() {
			parts[key.String()] = part
		}
		for _, key := range slices.Sorted(maps.Keys(parts)) {
			list = element.outliers(list, parts[key], at+"."+key)
		}
	case reflect.Struct:
		return outliers(list, f.inner, v, at+".")
	}
	return list
}

// holds reports whether a value is allowed; of a list, whether its length is.
func (f *Field) holds(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return (f.Enum == nil || slices.Contains(f.Enum, v.String())) && (f.min == nil || v.Len() >= int(*f.min))
	case reflect.Int, reflect.Int64:
		return f.within(float64(v.Int()))
	case reflect.Uint64:
		return f.within(float64(v.Uint()))
	case reflect.Float64:
		return f.within(v.Float())
	case reflect.Slice, reflect.Map:
		n := float64(v.Len())
		return (f.min == nil || n >= *f.min) && (f.max == nil || n <= *f.max)
	}
	return true
}

func (f *Field) within(n float64) bool {
	return n == n && (f.min == nil || n >= *f.min) && (f.over == nil || n > *f.over) && (f.max == nil || n <= *f.max)
}
