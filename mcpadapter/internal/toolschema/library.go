package toolschema

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Library are the types of the library whose schema Go types do not say.
func Library() Types {
	text := func(enum ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: enum} }
	return Types{
		reflect.TypeFor[json.RawMessage]():    {Type: "object"},
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
		reflect.TypeFor[timeline.Bound](): {Types: []string{"integer", "string"}, Minimum: new(float64(0)),
			MaxLength:   new(40),
			Description: "a bin index from 0, or a time in RFC 3339"},
	}
}

func metricNames() []any {
	names := make([]any, 0, len(timeline.Metrics()))
	for _, m := range timeline.Metrics() {
		names = append(names, string(m))
	}
	return names
}
