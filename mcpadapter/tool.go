package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A tool is a row of the table: what clients see of it, what the policy needs, and
// the function.
type tool struct {
	Name, Title, Description string
	Area                     string // chaos, contract or timeline: the first half of its scopes
	Kind                     kind
	Target                   string        // argument that the audit names as what the call is about
	ReadsIf                  string        // argument that makes a call read-only, if true
	Limit                    *policy.Limit // nil: none but the host's
	Unlimited                bool          // it stops what others began: no limit and no confirmation rule applies
	Input, Output            *jsonschema.Schema
	brief                    *jsonschema.Schema // of the output, for the list of tools
	// OnError makes the structured output of a failed call, where that is not the problem itself.
	OnError func(args json.RawMessage, p *policy.Error) any

	read   func(args json.RawMessage) (any, error)
	handle func(ctx context.Context, c *call, in any) (any, error)
}

// A kind describes what a tool does to the program it serves.
type kind struct {
	Write       bool // else it only reads
	Destructive bool // it may damage a working program
	Idempotent  bool // a second time changes nothing
	OpenWorld   bool // it may reach beyond the program
}

// A call is one call of a tool.
type call struct {
	Server *Server
	Req    *mcp.CallToolRequest
}

// define makes a row of a function with typed input and output.
func define[In, Out any](t tool, run func(ctx context.Context, c *call, in In) (Out, error)) (*tool, error) {
	types, err := knownTypes()
	if err != nil {
		return nil, err
	}
	var wrong [3]error
	t.Input, wrong[0] = toolschema.For[In](types)
	t.Output, wrong[1] = toolschema.For[Out](types)
	failed, err := toolschema.For[policy.Error](types)
	wrong[2] = err
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, err
	}
	t.brief = toolschema.Brief(t.Output)
	if t.OnError == nil {
		t.Output = &jsonschema.Schema{Type: "object", AnyOf: []*jsonschema.Schema{t.Output, failed}}
	}
	input, err := t.Input.Resolve(nil)
	t.read = func(args json.RawMessage) (any, error) { return toolschema.Decode[In](args, input) }
	t.handle = func(ctx context.Context, c *call, in any) (any, error) { return run(ctx, c, in.(In)) }
	return &t, err
}

// table has a row for every tool that the host supports: the one place where
// tools are added. Its order is that of the documentation; clients get the
// tools sorted by name.
func table(h Host) (rows []*tool, err error) {
	injects, matrices, runs := h.Injector != nil, len(h.Matrices) > 0 || h.Suite != nil, h.Runs != nil
	var problems []error
	for _, offer := range []struct {
		wanted bool
		make   func() (*tool, error)
	}{
		{injects, injectFault},
		{injects, applyPlan},
		{injects, disarm},
		{h.Experiments != nil, runExperiment},
		{injects || h.Experiments != nil, chaosStatus},
		{matrices, contractList},
		{matrices, contractRun},
		{matrices, contractReport},
		{matrices, explain},
		{matrices, resilienceScore},
		{runs, getRuns},
		{runs, getGraph},
		{runs, getStateWindow},
		{runs, detectOutages},
		{runs, computeRecoveryTime},
		{runs, getImpact},
		{runs, compareRuns},
		{runs && h.Workload, runScenario},
		{injects, eventsSubscribe},
		{injects, eventsUnsubscribe},
		{injects, eventsListSubscriptions},
	} {
		if !offer.wanted {
			continue
		}
		row, err := offer.make()
		rows, problems = append(rows, row), append(problems, err)
	}
	return rows, errors.Join(problems...)
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

// listed is the tool as clients see it.
func (t *tool) listed() *mcp.Tool {
	a := &mcp.ToolAnnotations{ReadOnlyHint: !t.Kind.Write, OpenWorldHint: new(t.Kind.OpenWorld)}
	if t.Kind.Write { // of no meaning for others
		a.DestructiveHint, a.IdempotentHint = new(t.Kind.Destructive), t.Kind.Idempotent
	}
	return &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
		OutputSchema: t.brief, Annotations: a}
}

// rule is the tool's row in the policy's table. Its scopes are those of its area,
// such as "chaos:read" to read and "chaos:write" to write. The scope "admin", which
// the single token has, satisfies all.
func (t *tool) rule() policy.Tool {
	row := policy.Tool{Name: t.Name, Scopes: []string{t.Area + ":write"}, Target: t.Target, Limit: t.Limit,
		Failure: t.failed, Unlimited: t.Unlimited}
	read := []string{t.Area + ":read"}
	if !t.Kind.Write {
		row.Capability, row.Scopes = policy.Read, read
	}
	if t.ReadsIf != "" {
		row.Actions = []policy.Action{{Field: t.ReadsIf, Values: []any{true}, Capability: policy.Read, Scopes: read}}
	}
	return row
}

// failed is the structured output of a call that failed, or that the gate refuses.
func (t *tool) failed(args json.RawMessage, p *policy.Error) any {
	bare := *p
	bare.Problem = nil // the output schema does not have it
	if t.OnError == nil {
		return &bare
	}
	return t.OnError(args, &bare)
}

// serve returns the handler of the tool. Everything that happens in it becomes a
// result.
func (t *tool) serve(s *Server) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := t.call(ctx, &call{Server: s, Req: req})
		var text []byte
		if err == nil {
			if text, err = json.Marshal(out); err != nil {
				err = fmt.Errorf("mcpadapter: answer of %s: %w", t.Name, err)
			}
		}
		if err != nil {
			p := problemOf(err)
			res := &mcp.CallToolResult{StructuredContent: t.failed(req.Params.Arguments, p)}
			res.SetError(p) // the gate makes its text of the error
			return res, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: json.RawMessage(text)}, nil
	}
}

// patience is how long a tool may take to end after its context did.
const patience = 5 * time.Second

// call calls the function within the call's time, the client's patience and the
// server's life, on a goroutine of its own: a Goexit cannot be stopped, and a
// function of the host that ignores its context must not block the client. The
// server counts functions that were left behind until they end.
func (t *tool) call(ctx context.Context, c *call) (any, error) {
	s := c.Server
	if err := s.active.untilAnswered(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.CallTime)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	done, err := s.active.begin()
	if err != nil {
		return nil, err
	}
	o := usercode.Options[any]{
		Exited: t.broke(policy.CodeToolError, "ended its goroutine (t.FailNow or runtime.Goexit)"),
		Grace:  usercode.Patient(patience),
		Late:   func(any) { s.log.Warn("a tool that was left behind has ended", "tool", t.Name) },
	}
	out, err, left := usercode.Do(ctx, o, func(ctx context.Context) (any, error) {
		defer done()
		in, err := t.read(c.Req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return t.handle(ctx, c, in)
	})
	var panicked *usercode.PanicError
	switch {
	case left:
		return nil, ctx.Err()
	case errors.As(err, &panicked):
		value := fmt.Sprint(panicked.Value)
		s.log.Error("panic in a tool", "tool", t.Name, "panic", value, "stack", panicked.Stack)
		return nil, t.broke(policy.CodePanic, "panicked: "+text.Clip(value, 500))
	}
	return out, err
}

func (t *tool) broke(code, how string) error {
	return problem(http.StatusInternalServerError, code, t.Name+" "+how,
		"A function of the host did that; look at the host's log.")
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
