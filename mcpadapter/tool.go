package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// A tool is a row of the table: what clients see, what the policy needs, and
// the function.
type tool struct {
	name, title, description string
	area                     string // chaos, contract or timeline: the first half of its scopes
	kind                     kind
	target                   string        // argument that the audit names as what the call is about
	readsIf                  string        // argument that makes a call read-only, if true
	limit                    *policy.Limit // nil: none but the host's
	unlimited                bool          // it stops what others began: no limit and no confirmation rule applies
	input, output            *jsonschema.Schema
	read                     func(args json.RawMessage, maxBytes int) (any, error)
	handle                   func(ctx context.Context, c *call, in any) (any, error)
	// onError makes the structured output of a failed call, where that is not the problem itself.
	onError func(c *call, p *problem) any
}

// A kind describes what a tool does to the program it serves.
type kind struct {
	write       bool // else it only reads
	destructive bool // it may damage a working program
	idempotent  bool // a second time changes nothing
	openWorld   bool // it may reach beyond the program
}

// A call is one call of a tool.
type call struct {
	server *Server
	tool   *tool
	req    *mcp.CallToolRequest
}

// define makes a row. Library functions take typed inputs and return typed
// outputs; so do rows.
func define[In, Out any](t tool, run func(ctx context.Context, c *call, in In) (Out, error)) (*tool, error) {
	types, err := knownTypes()
	if err != nil {
		return nil, err
	}
	var failed *jsonschema.Schema
	var wrong [3]error
	t.input, wrong[0] = toolschema.For[In](types)
	t.output, wrong[1] = toolschema.For[Out](types)
	failed, wrong[2] = toolschema.For[problem](types)
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, err
	}
	if t.onError == nil {
		t.output = either(t.output, failed)
	}
	input := t.input
	t.read = func(args json.RawMessage, maxBytes int) (any, error) {
		return toolschema.Decode[In](args, input, types, maxBytes)
	}
	t.handle = func(ctx context.Context, c *call, in any) (any, error) { return run(ctx, c, in.(In)) }
	return &t, nil
}

// listed is the tool as clients see it.
func (t *tool) listed() *mcp.Tool {
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.input, OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: !t.kind.write, DestructiveHint: new(t.kind.destructive),
			IdempotentHint: t.kind.idempotent || !t.kind.write, OpenWorldHint: new(t.kind.openWorld),
		},
	}
}

// serve returns the handler of the tool. Everything that happens in it becomes
// a result.
func (t *tool) serve(s *Server) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := &call{server: s, tool: t, req: req}
		if err := s.untilAnswered(ctx); err != nil {
			return c.failed(err), nil
		}
		ctx, cancel := s.during(ctx)
		defer cancel()
		out, err := c.run(ctx)
		if err != nil {
			return c.failed(err), nil
		}
		text, err := json.Marshal(out)
		if err != nil {
			return c.failed(fmt.Errorf("mcpadapter: answer of %s: %w", t.name, err)), nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text)}, nil
	}
}

// outcome is the result of a tool's function.
type outcome struct {
	out any
	err error
}

// patience is how long a tool may take to end after its context did.
const patience = 5 * time.Second

// run calls the tool on a goroutine of its own: a Goexit cannot be stopped, and
// a function of the host that ignores its context must not block the client.
// Shutdown waits for functions that were left behind.
func (c *call) run(ctx context.Context) (any, error) {
	done, err := c.server.begin()
	if err != nil {
		return nil, err
	}
	ended := make(chan outcome, 1)
	go func() {
		defer done()
		o := outcome{err: c.broke(policy.CodeToolError, "ended its goroutine (t.FailNow or runtime.Goexit)")}
		defer func() {
			if v := recover(); v != nil {
				stack := make([]byte, 16<<10)
				c.server.log.Error("panic in a tool", "tool", c.tool.name, "panic", fmt.Sprint(v), "stack", string(stack[:runtime.Stack(stack, false)]))
				o.err = c.broke(policy.CodePanic, "panicked: "+text.Clip(fmt.Sprint(v), 500))
			}
			ended <- o
		}()
		in, err := c.tool.read(c.req.Params.Arguments, c.server.limits.ArgumentBytes)
		if err != nil {
			o.err = err
			return
		}
		o.out, o.err = c.tool.handle(ctx, c, in)
	}()
	select {
	case o := <-ended:
		return o.out, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case o := <-ended:
		return o.out, o.err
	case <-late.C:
		return nil, ctx.Err()
	}
}

func (c *call) broke(code, how string) error {
	return &problem{http.StatusInternalServerError, code, c.tool.name + " " + how, "A function of the host did that; look at the host's log."}
}

// failed is the result of a failed call. The gate makes its text of the error;
// the structured output says the same.
func (c *call) failed(err error) *mcp.CallToolResult {
	p := problemOf(err)
	res := new(mcp.CallToolResult)
	res.SetError(&policy.Error{Status: p.Status, Code: p.Code, Detail: p.Detail, Hint: p.Hint})
	res.StructuredContent = c.output(p)
	return res
}

// output is the structured output of a failed call.
func (c *call) output(p *problem) any {
	if c.tool.onError != nil {
		return c.tool.onError(c, p)
	}
	return p
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
	text := func(enum ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: enum} }
	types := toolschema.Types{
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
		reflect.TypeFor[timeline.Bound](): {Types: []string{"integer", "string"}, Minimum: new(float64(0)), MaxLength: new(40),
			Description: "a bin index from 0, or a time in RFC 3339"},
	}
	definition, err := toolschema.For[recoveryObject](types)
	if err != nil {
		return nil, err
	}
	word := &jsonschema.Schema{Type: "string", Enum: definition.Properties["type"].Enum}
	types[reflect.TypeFor[recoveryDefinition]()] = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, definition}}
	return types, nil
}

func metricNames() []any {
	names := make([]any, 0, len(timeline.Metrics()))
	for _, m := range timeline.Metrics() {
		names = append(names, string(m))
	}
	return names
}

// either is the schema of an answer: what the tool gives, or the problem.
func either(out, problem *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AnyOf: []*jsonschema.Schema{out, problem}}
}
