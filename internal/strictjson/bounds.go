package strictjson

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Bound is the compiled form of a field's bounds, for values that are there
// already.
type Bound struct {
	Field
	min, over, max *float64 // nil: none
	allowed        string
	inner          []Bound // of the structs that the member holds
}

// Bounds compiles the bounds of a struct's members and of the structs within them,
// without members that have none.
func Bounds(t reflect.Type) []Bound { return boundsOf(t, nil) }

// boundsOf leaves out a struct that lies within itself; path are those around t.
func boundsOf(t reflect.Type, path []reflect.Type) (bounds []Bound) {
	if slices.Contains(path, t) {
		return nil
	}
	for _, f := range Fields(t) {
		b := bound(f)
		if inner := structOf(f.Type); inner != nil {
			b.inner = boundsOf(inner, append(path, t))
		}
		if b.any() || b.inner != nil {
			bounds = append(bounds, b)
		}
	}
	return bounds
}

// Holds reports whether a struct has a member of a type, also within its lists, maps
// and structs.
func Holds(t, of reflect.Type) bool { return holds(t, of, nil) }

func holds(t, of reflect.Type, path []reflect.Type) bool {
	switch {
	case t == of:
		return true
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return holds(t.Elem(), of, path)
	case t.Kind() != reflect.Struct || slices.Contains(path, t):
		return false
	}
	return slices.ContainsFunc(Fields(t), func(f Field) bool { return holds(f.Type, of, append(path, t)) })
}

// structOf is the struct that a member holds, several in a list or map, or nil.
func structOf(t reflect.Type) reflect.Type {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			return t
		default:
			return nil
		}
	}
}

func bound(f Field) Bound {
	b := Bound{Field: f, min: f.number(f.Min), over: f.number(f.Over), max: f.number(f.Max)}
	if b.any() {
		b.allowed = cmp.Or(f.Allowed, b.phrase())
	}
	return b
}

func (b Bound) any() bool { return b.min != nil || b.over != nil || b.max != nil || b.Enum != nil }

// number is a bound as a number; durations are counted in nanoseconds.
func (f Field) number(text string) *float64 {
	if text == "" {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && elementOf(direct(f.Type)) == durationType {
		n := float64(d)
		return &n
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &n
}

// phrase describes what the bounds allow.
func (b Bound) phrase() string {
	if b.Enum != nil {
		return b.Names()
	}
	noun, of := "a number", direct(b.Type)
	switch {
	case of == durationType:
		noun = "a duration"
	case of.Kind() == reflect.String:
		return "a text that is not empty"
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64 || of.Kind() == reflect.Uint64:
		noun = "an integer"
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
		return b.saysLength()
	}
	switch {
	case b.min != nil && b.max != nil:
		return noun + " from " + b.Min + " to " + b.Max
	case b.over != nil && b.max != nil:
		return noun + " of more than " + b.Over + " and at most " + b.Max
	case b.over != nil:
		return noun + " of more than " + b.Over
	case b.min != nil:
		return noun + " of " + b.Min + " or more"
	}
	return noun + " of at most " + b.Max
}

func (b Bound) saysLength() string {
	var parts []string
	if b.min != nil {
		parts = append(parts, "at least "+b.Min)
	}
	if b.max != nil {
		parts = append(parts, "at most "+b.Max)
	}
	noun := "a list"
	if direct(b.Type).Kind() == reflect.Map {
		noun = "an object"
	}
	s := noun + " of " + strings.Join(parts, " and ")
	if len(parts) == 0 {
		s = noun
	}
	if b.over != nil {
		s += ", each more than " + b.Over
	}
	return s
}

// An Outlier is a part of a value that lies outside of its bounds.
type Outlier struct {
	Place   string // such as "calls[1].count"
	Value   reflect.Value
	Allowed string
}

// Outliers yields what of a struct lies outside of its bounds, in the order of the
// fields. NaN lies outside. An optional member that is zero counts as left out.
func Outliers(bounds []Bound, v reflect.Value) iter.Seq[Outlier] { return outliers(bounds, v, "") }

func outliers(bounds []Bound, v reflect.Value, at string) iter.Seq[Outlier] {
	return func(yield func(Outlier) bool) {
		for i := range bounds {
			b := &bounds[i]
			member, err := v.FieldByIndexErr(b.Index)
			if err != nil {
				continue // within an embedded pointer that is nil, which Bindable refuses
			}
			if b.Optional && member.IsZero() {
				continue
			}
			for o := range b.outliers(member, at+b.Name) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

func (b *Bound) outliers(v reflect.Value, at string) iter.Seq[Outlier] {
	return func(yield func(Outlier) bool) {
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if !b.holds(v) {
			yield(Outlier{at, v, b.allowed})
			return
		}
		if b.inner != nil {
			b.parts(v, at, yield)
			return
		}
		if v.Kind() != reflect.Slice || b.over == nil && b.Enum == nil {
			return
		}
		element := Bound{Field: b.Field, over: b.over}
		for i := range v.Len() {
			if !element.holds(v.Index(i)) && !yield(Outlier{fmt.Sprintf("%s[%d]", at, i), v.Index(i), b.allowed}) {
				return
			}
		}
	}
}

// parts yields the outliers of the structs in a value, and reports whether to go on.
func (b *Bound) parts(v reflect.Value, at string, yield func(Outlier) bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || b.parts(v.Elem(), at, yield)
	case reflect.Slice:
		for i := range v.Len() {
			if !b.parts(v.Index(i), fmt.Sprintf("%s[%d]", at, i), yield) {
				return false
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if !b.parts(v.MapIndex(key), at+"."+key.String(), yield) {
				return false
			}
		}
	case reflect.Struct:
		for o := range outliers(b.inner, v, at+".") {
			if !yield(o) {
				return false
			}
		}
	}
	return true
}

// holds reports whether a value is allowed; of a list, whether its length is.
func (b *Bound) holds(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return (b.Enum == nil || slices.Contains(b.Enum, v.String())) && (b.min == nil || v.Len() >= int(*b.min))
	case reflect.Int, reflect.Int64:
		return b.within(float64(v.Int()))
	case reflect.Uint64:
		return b.within(float64(v.Uint()))
	case reflect.Float64:
		return b.within(v.Float())
	case reflect.Slice, reflect.Map:
		n := float64(v.Len())
		return (b.min == nil || n >= *b.min) && (b.max == nil || n <= *b.max)
	}
	return true
}

func (b *Bound) within(n float64) bool {
	return n == n && (b.min == nil || n >= *b.min) && (b.over == nil || n > *b.over) && (b.max == nil || n <= *b.max)
}

// Says returns what is allowed, in words.
func (b Bound) Says() string { return b.allowed }
