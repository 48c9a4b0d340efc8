package mcpadapter

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolrow"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
)

// A tool is a row of the table, and a call is one call of it.
type (
	tool = toolrow.Row[*Server]
	call = toolrow.Call[*Server]
)

// define makes a row. Library functions take typed inputs and return typed
// outputs; so do rows.
func define[In, Out any](t tool, run func(ctx context.Context, c *call, in In) (Out, error)) (*tool, error) {
	types, err := knownTypes()
	if err != nil {
		return nil, err
	}
	return toolrow.Define(t, types, run)
}

// table has a row for every tool that the host supports: the one place where
// tools are added. Its order is that of the documentation; clients get the
// tools sorted by name.
func table(h Host) ([]*tool, error) {
	return toolrow.Offered(
		toolrow.If(h.Injector != nil, injectFault),
		toolrow.If(h.Injector != nil, applyPlan),
		toolrow.If(h.Injector != nil, disarm),
		toolrow.If(h.Experiments != nil, runExperiment),
		toolrow.If(h.Injector != nil || h.Experiments != nil, chaosStatus),
		toolrow.If(len(h.Matrices) > 0, contractList),
		toolrow.If(len(h.Matrices) > 0, contractRun),
		toolrow.If(len(h.Matrices) > 0, contractReport),
		toolrow.If(len(h.Matrices) > 0, resilienceScore),
		toolrow.If(h.Runs != nil, getRuns),
		toolrow.If(h.Runs != nil, getGraph),
		toolrow.If(h.Runs != nil, getStateWindow),
		toolrow.If(h.Runs != nil, detectOutages),
		toolrow.If(h.Runs != nil, computeRecoveryTime),
		toolrow.If(h.Runs != nil, getImpact),
		toolrow.If(h.Runs != nil, compareRuns),
		toolrow.If(h.Runs != nil && h.Workload, runScenario),
		toolrow.If(h.Events != nil, eventsSubscribe),
		toolrow.If(h.Events != nil, eventsUnsubscribe),
		toolrow.If(h.Events != nil, eventsListSubscriptions),
	)
}

// knownTypes are the types whose schema Go types do not say.
func knownTypes() (toolschema.Types, error) {
	types, err := toolschema.Library()
	if err != nil {
		return nil, err
	}
	definition, err := toolschema.For[recoveryObject](types)
	if err != nil {
		return nil, err
	}
	word := &jsonschema.Schema{Type: "string", Enum: definition.Properties["type"].Enum}
	types[reflect.TypeFor[recoveryDefinition]()] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, definition}}
	return types, nil
}

// recoveryDefinition is a recoveryObject, or its type alone.
type recoveryDefinition recoveryObject

type recoveryObject struct {
	Type           string        `json:"type" jsonschema:"zero: at most tolerance; baseline: as before the outage, within tolerance" enum:"zero,baseline"`
	Tolerance      *float64      `json:"tolerance,omitempty" jsonschema:"for zero a value of the metric, 0 if left out; for baseline a share of the baseline, 0.1 if left out" range:"0"`
	BaselineWindow *baselineInfo `json:"baselineWindow,omitempty" jsonschema:"window whose mean is the baseline; from the first bin to the outage if left out"`
}

// UnmarshalJSON reads both forms.
func (d *recoveryDefinition) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &d.Type)
	}
	return json.Unmarshal(text, (*recoveryObject)(d))
}
