package main

import (
	"context"
	"net/http"
	"net/url"
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
// the API. In is what the model sends, Out what it gets.
type tool[In, Out any] struct {
	name, description string
	reads             bool
	call              func(ctx context.Context, c *client, in In) (Out, error)
}

func add[In, Out any](s *mcp.Server, c *client, t tool[In, Out]) {
	destructive := !t.reads
	shown := &mcp.Tool{Name: t.name, Description: t.description, InputSchema: schema[In](), OutputSchema: schema[Out](),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &destructive}}
	mcp.AddTool(s, shown, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := t.call(ctx, c, in)
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

// fetch is the call of a tool that asks for a path.
func fetch[In, Out any](path string) func(context.Context, *client, In) (Out, error) {
	return func(ctx context.Context, c *client, _ In) (out Out, err error) {
		err = c.do(ctx, http.MethodGet, path, nil, &out)
		return out, err
	}
}

// fetchAll is the call of a tool that lists a path.
func fetchAll[T any](path string) func(context.Context, *client, nothing) (list[T], error) {
	return func(ctx context.Context, c *client, _ nothing) (list[T], error) {
		items, err := fetch[nothing, []T](path)(ctx, c, nothing{})
		return list[T]{items}, err
	}
}

// fetchOne is the call of a tool that asks for one thing of a collection, or
// does something else to it.
func fetchOne[T any](method, path string) func(context.Context, *client, byID) (T, error) {
	return func(ctx context.Context, c *client, in byID) (out T, err error) {
		one, err := below(path, in.ID)
		if err == nil {
			err = c.do(ctx, method, one, nil, &out)
		}
		return out, err
	}
}

func addTools(s *mcp.Server, c *client) {
	add(s, c,
		tool[nothing, sim.Summary]{"cluster.summary",
			"Counts components, nodes that are on and transitions in progress. Begin here.", true,
			fetch[nothing, sim.Summary]("/summary")})
	const path = "/components"
	add(s, c,
		tool[nothing, list[sim.Component]]{"components.list", "Lists all components.", true, fetchAll[sim.Component](path)})
	add(s, c,
		tool[byID, sim.Component]{"components.get", "Gets one component.", true, fetchOne[sim.Component](http.MethodGet, path)})
	add(s, c, tool[byID, sim.Component]{"components.delete",
		"Deletes a component that is off, and answers what it was. It cannot be undone.", false,
		fetchOne[sim.Component](http.MethodDelete, path)})
	addPower(s, c)
}

type whichPower struct {
	IDs []string `json:"ids,omitempty" jsonschema:"components; none: all"`
}

type transitionOrder struct {
	Operation string   `json:"operation" jsonschema:"On, Off, GracefulShutdown, GracefulRestart, ForceOff, ForceRestart or Nmi, in any case"`
	Targets   []string `json:"targets" jsonschema:"ids of components"`
}

func addPower(s *mcp.Server, c *client) {
	const transitions = "/power/transitions"
	add(s, c, tool[whichPower, list[sim.Power]]{"power.status", "Says which components are on.", true,
		func(ctx context.Context, c *client, in whichPower) (list[sim.Power], error) {
			return fetchAll[sim.Power]("/power/status?"+url.Values{"id": in.IDs}.Encode())(ctx, c, nothing{})
		}})
	add(s, c,
		tool[nothing, list[sim.Transition]]{"power.transitions.list", "Lists all transitions, oldest first.", true,
			fetchAll[sim.Transition](transitions)})
	add(s, c,
		tool[byID, sim.Transition]{"power.transitions.get", "Gets one transition with the progress of each component.",
			true, fetchOne[sim.Transition](http.MethodGet, transitions)})
	add(s, c,
		tool[transitionOrder, sim.Transition]{"power.transitions.create",
			"Begins to change the power of components; look with power.transitions.get how far it is. On takes 20 s, Off a minute.", false,
			func(ctx context.Context, c *client, in transitionOrder) (out sim.Transition, err error) {
				err = c.do(ctx, http.MethodPost, transitions, in, &out)
				return out, err
			}})
	add(s, c,
		tool[byID, sim.Transition]{"power.transitions.abort",
			"Stops what a transition has not done yet; what it has done stays.", false,
			fetchOne[sim.Transition](http.MethodDelete, transitions)})
}
