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
