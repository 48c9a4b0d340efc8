package mcpadapter

import (
	"context"
	"errors"
	"reflect"
	"runtime/debug"

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
	rows := []struct {
		wanted bool
		make   func() (*tool, error)
	}{
		{h.Injector != nil, injectFault},
		{h.Injector != nil, applyPlan},
		{h.Injector != nil, disarm},
		{h.Experiments != nil, runExperiment},
		{h.Injector != nil || h.Experiments != nil, chaosStatus},
		{len(h.Matrices) > 0, contractList},
		{len(h.Matrices) > 0, contractRun},
		{len(h.Matrices) > 0, contractReport},
		{len(h.Matrices) > 0, resilienceScore},
		{h.Runs != nil, getRuns},
		{h.Runs != nil, getGraph},
		{h.Runs != nil, getStateWindow},
		{h.Runs != nil, detectOutages},
		{h.Runs != nil, computeRecoveryTime},
		{h.Runs != nil, getImpact},
		{h.Runs != nil, compareRuns},
		{h.Runs != nil && h.Workload, runScenario},
		{h.Events != nil, eventsSubscribe},
		{h.Events != nil, eventsUnsubscribe},
		{h.Events != nil, eventsListSubscriptions},
	}
	var tools []*tool
	var problems []error
	for _, row := range rows {
		if !row.wanted {
			continue
		}
		t, err := row.make()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		tools = append(tools, t)
	}
	return tools, errors.Join(problems...)
}

// version is that of this module in the program that serves.
func version() string {
	const module = "github.com/shakedown-go/shakedown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module && d.Version != "" && d.Version != "(devel)" {
				return d.Version
			}
		}
	}
	return "development"
}

// knownTypes are the types whose schema Go types do not say.
func knownTypes() (toolschema.Types, error) {
	types := toolschema.Library()
	definition, err := toolschema.For[recoveryObject](types)
	if err != nil {
		return nil, err
	}
	word := &jsonschema.Schema{Type: "string", Enum: definition.Properties["type"].Enum}
	types[reflect.TypeFor[recoveryDefinition]()] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, definition}}
	return types, nil
}
