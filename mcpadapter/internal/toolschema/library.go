package toolschema

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Library are the types of the library whose schema Go types do not say.
func Library() (Types, error) {
	text := func(enum ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: enum} }
	types := Types{
		reflect.TypeFor[json.RawMessage]():    {Type: "object"},
		reflect.TypeFor[policy.Error]():       envelope(),
		reflect.TypeFor[time.Time]():          {Type: "string", Format: "date-time"},
		reflect.TypeFor[timeline.Value]():     {Types: []string{"number", "null"}},
		reflect.TypeFor[timeline.Sentences](): {Type: "string"},
		reflect.TypeFor[timeline.NodeType]():  text("agent", "tool", "llm", "http", "point"),
		reflect.TypeFor[timeline.Metric]():    text(metricNames()...),
		reflect.TypeFor[trace.Kind]():         text("baseline", "scenario"),
		reflect.TypeFor[trace.State]():        text("running", "failed"),
		reflect.TypeFor[scoring.Severity]():   text("low", "medium", "high", "critical"),
		reflect.TypeFor[scoring.CellState]():  text("not run", "held", "broken", "inconclusive", "undelivered"),
		reflect.TypeFor[scoring.Verdict]():    text("inconclusive", "pass", "fail"),
		reflect.TypeFor[stats.Decision]():     text("open", "rejected", "accepted"),
		reflect.TypeFor[timeline.Bound](): {Types: []string{"integer", "string"}, Minimum: new(float64(0)),
			MaxLength:   new(40),
			Description: "a bin index from 0, or a time in RFC 3339"},
	}
	return types, errors.Join(
		change[scoring.ChaosScore](types, withoutValue),
		change[scoring.MutationScore](types, withoutValue),
		change[scoring.ReplayScore](types, withoutValue),
		change[contract.Delivery](types, func(s *jsonschema.Schema) {
			for _, name := range []string{"key", "occurrence", "ordinal"} {
				*s.Properties[name] = jsonschema.Schema{Type: "string", Description: "a decimal string"}
			}
		}))
}

// envelope is the schema of what every failed call says.
func envelope() *jsonschema.Schema {
	text := func(what string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: what} }
	return &jsonschema.Schema{
		Type: "object", Required: []string{"status", "code", "detail", "hint"},
		PropertyOrder: []string{"status", "code", "detail", "hint"},
		Properties: map[string]*jsonschema.Schema{
			"status": {Type: "integer", Description: "HTTP status that fits the failure", Minimum: new(400.0),
				Maximum: new(599.0)},
			"code":   text("stable word for the kind of failure"),
			"detail": text("what was wrong, with the value and what is allowed"),
			"hint":   text("what to do about it"),
		},
		AdditionalProperties: &jsonschema.Schema{Not: new(jsonschema.Schema)},
	}
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

func metricNames() []any {
	names := make([]any, 0, len(timeline.Metrics()))
	for _, m := range timeline.Metrics() {
		names = append(names, string(m))
	}
	return names
}
