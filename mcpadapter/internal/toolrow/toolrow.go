// Package toolrow has the rows of a server's table of tools: what clients see of a
// tool, what the policy needs, and the function, with what happens around it.
package toolrow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/calls"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolschema"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A Row is a tool of servers of type S.
type Row[S any] struct {
	Name, Title, Description string
	Area                     string // chaos, contract or timeline: the first half of its scopes
	Kind                     Kind
	Target                   string        // argument that the audit names as what the call is about
	ReadsIf                  string        // argument that makes a call read-only, if true
	Limit                    *policy.Limit // nil: none but the host's
	Unlimited                bool          // it stops what others began: no limit and no confirmation rule applies
	Input, Output            *jsonschema.Schema
	// OnError makes the structured output of a failed call, where that is not the problem itself.
	OnError func(c *Call[S], p *failure.Problem) any

	// Read reads the arguments of a call by the schema.
	Read   func(args json.RawMessage, maxBytes int) (any, error)
	handle func(ctx context.Context, c *Call[S], in any) (any, error)
}

// A Kind describes what a tool does to the program it serves.
type Kind struct {
	Write       bool // else it only reads
	Destructive bool // it may damage a working program
	Idempotent  bool // a second time changes nothing
	OpenWorld   bool // it may reach beyond the program
}

// A Call is one call of a tool. The Server of a call that the gate refused is the
// zero value.
type Call[S any] struct {
	Server S
	Req    *mcp.CallToolRequest
}

// Define makes a row of a function with typed input and output.
func Define[S, In, Out any](t Row[S], types toolschema.Types,
	run func(context.Context, *Call[S], In) (Out, error)) (*Row[S], error) {
	var failed *jsonschema.Schema
	var wrong [3]error
	t.Input, wrong[0] = toolschema.For[In](types)
	t.Output, wrong[1] = toolschema.For[Out](types)
	failed, wrong[2] = toolschema.For[failure.Problem](types)
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, err
	}
	if t.OnError == nil {
		t.Output = either(t.Output, failed)
	}
	input := t.Input
	t.Read = func(args json.RawMessage, maxBytes int) (any, error) {
		return toolschema.Decode[In](args, input, types, maxBytes)
	}
	t.handle = func(ctx context.Context, c *Call[S], in any) (any, error) { return run(ctx, c, in.(In)) }
	return &t, nil
}

// either is the schema of an answer: what the tool gives, or the problem.
func either(out, problem *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AnyOf: []*jsonschema.Schema{out, problem}}
}

// Listed is the tool as clients see it.
func (t *Row[S]) Listed() *mcp.Tool {
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: !t.Kind.Write, DestructiveHint: new(t.Kind.Destructive),
			IdempotentHint: t.Kind.Idempotent || !t.Kind.Write, OpenWorldHint: new(t.Kind.OpenWorld),
		},
	}
}

// Rule is the tool's row in the policy's table. Its scopes are those of its area,
// such as "chaos:read" to read and "chaos:write" to write. The scope "admin", which
// the single token has, satisfies all.
func (t *Row[S]) Rule() policy.Tool {
	row := policy.Tool{Name: t.Name, Scopes: []string{t.Area + ":write"}, Target: t.Target, Limit: t.Limit}
	read := []string{t.Area + ":read"}
	if !t.Kind.Write {
		row.Capability, row.Scopes = policy.Read, read
	}
	row.Failure, row.Unlimited = t.Failure, t.Unlimited
	if t.ReadsIf != "" {
		row.Actions = []policy.Action{{Field: t.ReadsIf, Values: []any{true}, Capability: policy.Read, Scopes: read}}
	}
	return row
}

// Failure is the structured output of a call that the gate refuses, in the form
// that the tool's own failures have.
func (t *Row[S]) Failure(args json.RawMessage, e *policy.Error) any {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: t.Name, Arguments: args}}
	return t.failed(&Call[S]{Req: req},
		&failure.Problem{Status: e.Status, Code: e.Code, Detail: e.Detail, Hint: e.Hint})
}

func (t *Row[S]) failed(c *Call[S], p *failure.Problem) any {
	if t.OnError == nil {
		return p
	}
	return t.OnError(c, p)
}

// An Engine runs the calls of a server.
type Engine struct {
	Active        *calls.Active
	Life          context.Context // of the server; its end ends all calls
	CallTime      time.Duration   // how long a call may take
	ArgumentBytes int             // size of the largest arguments
	Log           *slog.Logger
}

// Serve returns the handler of the tool for a server. Everything that happens in
// it becomes a result.
func (t *Row[S]) Serve(e *Engine, server S) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := &Call[S]{Server: server, Req: req}
		out, err := t.call(ctx, e, c)
		if err != nil {
			return t.refused(c, failure.Of(err)), nil
		}
		text, err := json.Marshal(out)
		if err != nil {
			return t.refused(c, failure.Of(fmt.Errorf("mcpadapter: answer of %s: %w", t.Name, err))), nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: json.RawMessage(text)}, nil
	}
}

// refused is the result of a failed call. The gate makes its text of the error; the
// structured output says the same.
func (t *Row[S]) refused(c *Call[S], p *failure.Problem) *mcp.CallToolResult {
	res := new(mcp.CallToolResult)
	res.SetError(&policy.Error{Status: p.Status, Code: p.Code, Detail: p.Detail, Hint: p.Hint})
	res.StructuredContent = t.failed(c, p)
	return res
}

// Patience is how long a tool may take to end after its context did.
const Patience = 5 * time.Second

// call calls the function within the call's time, the client's Patience and the
// server's life, on a goroutine of its own: a Goexit cannot be stopped, and a
// function of the host that ignores its context must not block the client. Active
// counts functions that were left behind until they end.
func (t *Row[S]) call(ctx context.Context, e *Engine, c *Call[S]) (any, error) {
	if err := e.Active.UntilAnswered(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.CallTime)
	defer cancel()
	defer context.AfterFunc(e.Life, cancel)()
	done, err := e.Active.Begin()
	if err != nil {
		return nil, err
	}
	o := usercode.Options[any]{
		Exited: t.broke(policy.CodeToolError, "ended its goroutine (t.FailNow or runtime.Goexit)"),
		Grace:  usercode.Patient(Patience),
		Late:   func(any) { e.Log.Warn("a tool that was left behind has ended", "tool", t.Name) },
	}
	out, err, left := usercode.Do(ctx, o, func(ctx context.Context) (any, error) {
		defer done()
		in, err := t.Read(c.Req.Params.Arguments, e.ArgumentBytes)
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
		e.Log.Error("panic in a tool", "tool", t.Name, "panic", value, "stack", panicked.Stack)
		return nil, t.broke(policy.CodePanic, "panicked: "+text.Clip(value, 500))
	}
	return out, err
}

func (t *Row[S]) broke(code, how string) error {
	return &failure.Problem{Status: http.StatusInternalServerError, Code: code, Detail: t.Name + " " + how,
		Hint: "A function of the host did that; look at the host's log."}
}

// An Offer is a row that a server has if it is wanted.
type Offer[S any] struct {
	wanted bool
	make   func() (*Row[S], error)
}

// If offers a row.
func If[S any](wanted bool, row func() (*Row[S], error)) Offer[S] { return Offer[S]{wanted, row} }

// Offered makes the rows that are wanted. The error joins those of all.
func Offered[S any](offers ...Offer[S]) (rows []*Row[S], err error) {
	var problems []error
	for _, o := range offers {
		if !o.wanted {
			continue
		}
		row, err := o.make()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		rows = append(rows, row)
	}
	return rows, errors.Join(problems...)
}

// Version is that of this module in the program that serves.
func Version() string {
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
