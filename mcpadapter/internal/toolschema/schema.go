// Package toolschema infers the schemas of the inputs and outputs of tools from Go
// types, and reads arguments by them.
package toolschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Types are the types whose schema is given.
type Types map[reflect.Type]*jsonschema.Schema

// For infers the schema of a type, with what Go types cannot say: struct
// tags give bounds and sets of values, on the field or, for a list, on its items.
//
//	range:"0,1"  minimum and maximum      above:"0"    exclusive minimum
//	len:"1,128"  length of a text or list  each:"1,64"  length of a list's texts
//	enum:"a,b"   allowed values            default:"1"  what is taken when left out
//
// Lists are never null, and a member that may be left out is not null either.
func For[T any](types Types) (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("mcpadapter: schema of %T: %w", *new(T), err)
	}
	if err := tighten(s, reflect.TypeFor[T]()); err != nil {
		return nil, err
	}
	part(s)
	return s, nil
}

// Brief is a schema as a list of tools has it, which every client reads: the members
// that are always there, with their types. The whole schema is in the manifest of the tools.
func Brief(s *jsonschema.Schema) *jsonschema.Schema {
	brief := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema)}
	for _, name := range s.Required {
		brief.Properties[name] = &jsonschema.Schema{Type: s.Properties[name].Type}
	}
	return brief
}

// part splits a schema with several types into alternatives: many clients and
// models read one type per schema.
func part(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, p := range s.Properties {
		part(p)
	}
	part(s.Items)
	part(s.AdditionalProperties)
	if len(s.Types) < 2 {
		return
	}
	own := *s
	*s = jsonschema.Schema{Description: own.Description, Default: own.Default}
	own.Description, own.Default = "", nil
	for _, kind := range own.Types {
		s.AnyOf = append(s.AnyOf, only(kind, own))
	}
}

// only returns the part of a schema that concerns one type.
func only(kind string, s jsonschema.Schema) *jsonschema.Schema {
	switch kind {
	case "null":
		return &jsonschema.Schema{Type: kind}
	case "string":
		return &jsonschema.Schema{Type: kind, Enum: s.Enum, MinLength: s.MinLength, MaxLength: s.MaxLength,
			Format: s.Format, Pattern: s.Pattern}
	case "integer", "number":
		return &jsonschema.Schema{Type: kind, Minimum: s.Minimum, Maximum: s.Maximum,
			ExclusiveMinimum: s.ExclusiveMinimum}
	}
	s.Type, s.Types = kind, nil
	return &s
}

// tighten adds what the tags of a struct say to its schema.
func tighten(s *jsonschema.Schema, t reflect.Type) error {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			s = s.Items
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || s == nil || s.Properties == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if f.Anonymous || p == nil {
			continue
		}
		if f.Type.Kind() == reflect.Slice || strings.Contains(options, "omit") {
			notNull(p)
		}
		if err := tag(p, f); err != nil {
			return fmt.Errorf("mcpadapter: field %s of %s: %w", f.Name, t, err)
		}
		if err := tighten(p, f.Type); err != nil {
			return err
		}
	}
	return nil
}

func notNull(s *jsonschema.Schema) {
	types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(types) == 1 {
		s.Type, s.Types = types[0], nil
	} else if len(types) > 1 {
		s.Types = types
	}
}

func tag(s *jsonschema.Schema, f reflect.StructField) error {
	one := s // what a value is: of a list, its items
	if s.Items != nil {
		one = s.Items
	}
	var err error
	numbers := func(key string) (low, high *float64) {
		text, ok := f.Tag.Lookup(key)
		if !ok || err != nil {
			return nil, nil
		}
		from, to, two := strings.Cut(text, ",")
		low, err = number(from)
		if two && err == nil {
			high, err = number(to)
		}
		return low, high
	}
	if low, high := numbers("range"); low != nil {
		one.Minimum, one.Maximum = low, high
	}
	if low, _ := numbers("above"); low != nil {
		one.ExclusiveMinimum, one.Minimum = low, nil
	}
	if low, high := numbers("each"); low != nil {
		one.MinLength, one.MaxLength = whole(low), whole(high)
	}
	if low, high := numbers("len"); low != nil {
		if s.Items != nil {
			s.MinItems, s.MaxItems = whole(low), whole(high)
		} else {
			s.MinLength, s.MaxLength = whole(low), whole(high)
		}
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(text, ",") {
			one.Enum = append(one.Enum, word)
		}
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if !json.Valid([]byte(text)) { // left in, no client would ever get an answer to tools/list
			return fmt.Errorf("default is %q; allowed: JSON, texts in quotes", text)
		}
		s.Default = json.RawMessage(text)
	}
	return err
}

func number(text string) (*float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	return &n, err
}

func whole(n *float64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
