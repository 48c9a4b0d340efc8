package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A Field is one member of a struct.
type Field struct {
	Name     string // in JSON
	Index    []int  // for reflect.Value.FieldByIndex
	Type     reflect.Type
	Optional bool // json:",omitempty"
	Tag
}

// A Tag is what a field says in addition to its name: `doc:"…"
// bounds:"min=1,enum=a|b" allowed:"…"`. A bound of a duration is one, such as
// min=1ms. Those of a list bound its length, except over, which bounds its
// elements as enum does.
type Tag struct {
	Doc     string
	Min     string   // the least value; of a list, the least number of elements
	Over    string   // the value must be more
	Max     string   // the most
	Enum    []string // the texts that are allowed; an empty one stands for a member that is left out
	Allowed string   // what an error says is allowed; empty: it is made of the bounds
}

// Fields lists the members of a struct, with those of embedded structs.
func Fields(t reflect.Type) []Field {
	var fields []Field
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
		fields = append(fields, Field{Name: name, Index: f.Index, Type: f.Type,
			Optional: strings.Contains(options, "omit"), Tag: tagOf(f.Tag)})
	}
	return fields
}

func tagOf(text reflect.StructTag) Tag {
	t := Tag{Doc: text.Get("doc"), Allowed: text.Get("allowed")}
	for setting := range strings.SplitSeq(text.Get("bounds"), ",") {
		key, value, _ := strings.Cut(setting, "=")
		switch key {
		case "min":
			t.Min = value
		case "over":
			t.Over = value
		case "max":
			t.Max = value
		case "enum":
			t.Enum = strings.Split(value, "|")
		}
	}
	return t
}

// Names lists what is allowed; the empty text stands for a member that is left
// out.
func (t Tag) Names() string {
	return "one of " + strings.TrimPrefix(strings.Join(t.Enum, ", "), ", ")
}

// Bindable reports, with a nil error, whether the reader can fill a struct type
// and its parts.
func (r *Reader) Bindable(t reflect.Type) error { return r.bindable(t, 0) }

func (r *Reader) bindable(t reflect.Type, depth int) error {
	if _, ok := r.Special[t]; ok || t == durationType || t == rawType {
		return nil
	}
	if depth > MaxDepth {
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
		return r.bindable(t.Elem(), depth+1)
	case reflect.Slice, reflect.Pointer:
		return r.bindable(t.Elem(), depth+1)
	case reflect.Struct:
		for _, f := range Fields(t) {
			if err := r.bindable(f.Type, depth+1); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("%v has no JSON form here", t)
}

// Shape describes the type that a member accepts, in words.
func (r *Reader) Shape(f Field) string {
	if f.Enum != nil && f.Type.Kind() == reflect.String {
		return f.Names()
	}
	return r.shapeOf(f.Type)
}

func (r *Reader) shapeOf(t reflect.Type) string {
	if special, ok := r.Special[t]; ok {
		return special.Shape
	}
	switch t {
	case durationType:
		return `a duration such as "1.5s"`
	case rawType:
		return "any JSON"
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
		return r.shapeOf(t.Elem())
	}
	return "an object"
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)
