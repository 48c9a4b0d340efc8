package main

import (
	"context"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
)

type nothing struct{}

type byID struct {
	ID string `json:"id" jsonschema:"which one, as the list tool shows it"`
}

// A list is what list tools answer.
type list[T any] struct {
	Items []T `json:"items"`
}

// A tool is one row of what the server offers: how it is shown, and what it asks
// the cluster. In is what the model sends, Out what it gets.
type tool[In, Out any] struct {
	name, description string
	reads             bool
	call              func(in In) (Out, error)
}

func add[In, Out any](s *mcp.Server, t tool[In, Out]) {
	destructive := !t.reads
	shown := &mcp.Tool{Name: t.name, Description: t.description, InputSchema: schema[In](), OutputSchema: schema[Out](),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &destructive}}
	mcp.AddTool(s, shown, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := t.call(in)
		return nil, out, err // the gate gives errors their form
	})
}

// schema is the schema of the type, without null in place of a list: no tool
// here sends it, and some clients cannot express it.
func schema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a type of this program without a schema; the first test finds it
	}
	withoutNull(s)
	return s
}

func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	withoutNull(s.Items)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

// lists is the call of a tool that lists.
func lists[T any](all func() []T) func(nothing) (list[T], error) {
	return func(nothing) (list[T], error) { return list[T]{all()}, nil }
}

// one is the call of a tool that is about one thing.
func one[T any](of func(id string) (T, error)) func(byID) (T, error) {
	return func(in byID) (T, error) { return of(in.ID) }
}

type whichPower struct {
	IDs []string `json:"ids,omitempty" jsonschema:"components; none: all"`
}

func addTools(s *mcp.Server, c *sim.Cluster) {
	add(s, tool[nothing, sim.Summary]{"cluster.summary",
		"Counts components, nodes that are on and transitions in progress. Begin here.", true,
		func(nothing) (sim.Summary, error) { return c.Summary(), nil }})
	add(s, tool[nothing, list[sim.Component]]{"components.list", "Lists all components.", true, lists(c.Components)})
	add(s, tool[byID, sim.Component]{"components.get", "Gets one component.", true, one(c.Component)})
	add(s, tool[byID, sim.Component]{"components.delete",
		"Deletes a component that is off, and answers what it was. It cannot be undone.", false, one(c.Delete)})
	add(s, tool[whichPower, list[sim.Power]]{"power.status", "Says which components are on.", true,
		func(in whichPower) (list[sim.Power], error) { return list[sim.Power]{c.Power(in.IDs)}, nil }})
	add(s, tool[nothing, list[sim.Transition]]{"power.transitions.list", "Lists all transitions, oldest first.", true,
		lists(c.Transitions)})
	add(s, tool[byID, sim.Transition]{"power.transitions.get", "Gets one transition with the progress of each component.",
		true, one(c.Transition)})
	add(s, tool[sim.Order, sim.Transition]{"power.transitions.create",
		"Begins to change the power of components; look with power.transitions.get how far it is. On takes 20 s, Off a minute.", false,
		c.Begin})
	add(s, tool[byID, sim.Transition]{"power.transitions.abort",
		"Stops what a transition has not done yet; what it has done stays.", false, one(c.Abort)})
}
