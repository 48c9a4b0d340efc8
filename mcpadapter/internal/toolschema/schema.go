// Package toolschema infers the schemas of the inputs and outputs of tools from Go
// types, and reads arguments by them.
package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
	"github.com/shakedown-go/shakedown/scoring/timeline"
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

// part splits a schema that allows null besides into alternatives: many clients and
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
	if len(s.Types) == 2 { // null is the first
		own := *s
		own.Type, own.Types, own.Description, own.Default = own.Types[1], nil, "", nil
		*s = jsonschema.Schema{Description: s.Description, Default: s.Default,
			AnyOf: []*jsonschema.Schema{{Type: "null"}, &own}}
	}
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
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

func tag(s *jsonschema.Schema, f reflect.StructField) error {
	one, least, most := s, &s.MinLength, &s.MaxLength // what a value is: of a list, its items
	if s.Items != nil {
		one, least, most = s.Items, &s.MinItems, &s.MaxItems
	}
	if words, ok := f.Tag.Lookup("enum"); ok {
		one.Enum = nil // of a type that has more
		for word := range strings.SplitSeq(words, ",") {
			one.Enum = append(one.Enum, word)
		}
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if !json.Valid([]byte(text)) { // left in, no client would ever get an answer to tools/list
			return fmt.Errorf("default is %q; allowed: JSON, texts in quotes", text)
		}
		s.Default = json.RawMessage(text)
	}
	return errors.Join(
		bounds(f, "range", &one.Minimum, &one.Maximum),
		bounds(f, "above", &one.ExclusiveMinimum, &one.Minimum),
		bounds(f, "each", &one.MinLength, &one.MaxLength),
		bounds(f, "len", least, most))
}

// bounds reads a tag of one number or two; the second of one is nil.
func bounds[N any](f reflect.StructField, key string, low, high **N) error {
	text, ok := f.Tag.Lookup(key)
	if !ok {
		return nil
	}
	var pair [2]*N
	err := json.Unmarshal([]byte("["+text+"]"), &pair)
	*low, *high = pair[0], pair[1]
	return err
}

// Library are the types of the library whose schema Go types do not say.
func Library() (Types, error) {
	text := func(enum ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: enum} }
	metrics := text()
	for _, m := range timeline.Metrics() {
		metrics.Enum = append(metrics.Enum, string(m))
	}
	types := Types{
		reflect.TypeFor[json.RawMessage]():   {Type: "object"},
		reflect.TypeFor[time.Time]():         {Type: "string", Format: "date-time"},
		reflect.TypeFor[timeline.Value]():    {AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "null"}}},
		reflect.TypeFor[timeline.NodeType](): text("agent", "tool", "llm", "http", "point"),
		reflect.TypeFor[timeline.Metric]():   metrics,
		reflect.TypeFor[trace.Kind]():        text("baseline", "scenario"),
		reflect.TypeFor[trace.State]():       text("running", "failed"),
		reflect.TypeFor[scoring.Severity]():  text("low", "medium", "high", "critical"),
		reflect.TypeFor[scoring.CellState](): text("not run", "held", "broken", "inconclusive", "undelivered"),
		reflect.TypeFor[scoring.Verdict]():   text("inconclusive", "pass", "fail"),
		reflect.TypeFor[stats.Decision]():    text("open", "rejected", "accepted"),
		reflect.TypeFor[timeline.Bound](): {Description: "a bin index from 0, or a time in RFC 3339",
			AnyOf: []*jsonschema.Schema{{Type: "integer", Minimum: new(0.0)}, {Type: "string", MaxLength: new(40)}}},
	}
	failed, err := For[failure](types)
	types[reflect.TypeFor[policy.Error]()] = failed
	return types, errors.Join(err,
		change[scoring.ChaosScore](types, withoutValue),
		change[scoring.MutationScore](types, withoutValue),
		change[scoring.ReplayScore](types, withoutValue),
		change[contract.Delivery](types, func(s *jsonschema.Schema) {
			for _, name := range []string{"key", "occurrence", "ordinal"} {
				*s.Properties[name] = jsonschema.Schema{Type: "string", Description: "a decimal string"}
			}
		}))
}

// A failure is what every failed call says: a [policy.Error] without its problem.
type failure struct {
	Status int    `json:"status" jsonschema:"HTTP status that fits the failure" range:"400,599"`
	Code   string `json:"code" jsonschema:"stable word for the kind of failure"`
	Detail string `json:"detail" jsonschema:"what was wrong, with the value and what is allowed"`
	Hint   string `json:"hint" jsonschema:"what to do about it"`
}

// change adds the schema of a type that writes itself in another form than Go types say.
func change[T any](types Types, to func(*jsonschema.Schema)) error {
	s, err := For[T](types)
	if err != nil {
		return err
	}
	to(s)
	types[reflect.TypeFor[T]()] = s
	return nil
}

// withoutValue is for a score that leaves out its value when nothing was decided.
func withoutValue(s *jsonschema.Schema) {
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "value" })
	s.Properties["value"].Description = "left out when nothing was decided"
}
