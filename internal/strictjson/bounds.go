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
}

// Bounds compiles the bounds of a struct's members, without those that have
// none.
func Bounds(t reflect.Type) []Bound {
	var bounds []Bound
	for _, f := range Fields(t) {
		if b := bound(f); b.any() {
			bounds = append(bounds, b)
		}
	}
	return bounds
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
	if d, err := time.ParseDuration(text); err == nil && f.Type == durationType {
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
	noun, of := "a number", b.Type
	switch {
	case of == durationType:
		noun = "a duration"
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64:
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
	s := "a list of " + strings.Join(parts, " and ")
	if len(parts) == 0 {
		s = "a list"
	}
	if b.over != nil {
		s += ", each more than " + b.Over
	}
	return s
}

// Outside reports whether a value lies outside of the bounds, and what is
// allowed. NaN lies outside. An optional member that is zero counts as left out.
func (b *Bound) Outside(v reflect.Value) (allowed string, outside bool) {
	for range b.Outliers(v) {
		return b.allowed, true
	}
	return "", false
}

// Outliers yields what of a value lies outside of the bounds, and its place: ""
// for the value itself, "[1]" for the second element of a list.
func (b *Bound) Outliers(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		if b.Optional && v.IsZero() {
			return
		}
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if !b.holds(v) {
			yield("", v)
			return
		}
		if v.Kind() != reflect.Slice || b.over == nil && b.Enum == nil {
			return
		}
		element := Bound{Field: b.Field, over: b.over}
		for i := range v.Len() {
			if !element.holds(v.Index(i)) && !yield(fmt.Sprintf("[%d]", i), v.Index(i)) {
				return
			}
		}
	}
}

// holds reports whether a value is allowed; of a list, whether its length is.
func (b *Bound) holds(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return b.Enum == nil || slices.Contains(b.Enum, v.String())
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
