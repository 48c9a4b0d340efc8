package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// DeadlineOptions are the settings of [Deadlines]; nil and the zero value work.
type DeadlineOptions struct {
	_ struct{}
	// Tools is a glob of the tools on which it may act; "": all.
	Tools string
	// After is the time that a call may take, above 0; 0: 10 s.
	After time.Duration
}

// Deadlines ends the context of a call after a time. What the tool returns then is the caller's, with an error of
// the tool as an error that matches [context.DeadlineExceeded].
//
// Name: deadline.
func Deadlines(o *DeadlineOptions) *Habit {
	h := &Habit{
		Name: "deadline", Does: "a deadline for each call",
		Assumes:  "the tool returns when its context ends, and a call that takes longer is not worth the wait",
		rank:     rankDeadline,
		abstains: func(*chaos.Tool, []chaos.Tool) string { return "" },
	}
	after := 10 * time.Second
	if o != nil {
		after, h.tools = cmp.Or(o.After, after), o.Tools
		h.demand(after > 0, "After", o.After, "more than 0, or 0 for 10s")
	}
	h.start = func(*Habit) handler {
		return func(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
			if !c.acts {
				return c.pass(ctx, next)
			}
			limited, cancel := context.WithTimeout(ctx, after)
			defer cancel()
			result, err := c.pass(limited, next)
			if err != nil && limited.Err() != nil && ctx.Err() == nil {
				err = &lateError{c.tool.Name, after, err}
			}
			return result, err
		}
	}
	h.overHTTP = func() exchange { return deadline(after).exchange }
	return h
}

// A lateError is the error of a call that did not end by its deadline.
type lateError struct {
	tool  string
	after time.Duration
	err   error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%s gave no answer within %v: deadline exceeded", e.tool, e.after)
}
func (e *lateError) Unwrap() []error { return []error{context.DeadlineExceeded, e.err} }
func (e *lateError) Timeout() bool   { return true }

// A ResultError is the error of a call whose result [CheckResults] refused. The tool was called, and did what it does.
type ResultError struct {
	Tool   string
	Result json.RawMessage // that was refused
	Err    error           // of the schema, or of encoding/json
}

// Error says which result does not fit, and where.
func (e *ResultError) Error() string {
	return fmt.Sprintf("%s answered, but its result does not fit its schema: %v", e.Tool, e.Err)
}

// Unwrap returns Err.
func (e *ResultError) Unwrap() error { return e.Err }

// CheckResults refuses a result that does not fit the schema that the tool declares ([chaos.Tool].OutputSchema): the
// caller gets a [*ResultError]. A result that says that the call failed passes. So does "format", which is not checked.
//
// Name: result-schema.
func CheckResults(o *Options) *Habit {
	var compiled sync.Map // a schema: *resolved, so that it is read once
	return &Habit{
		Name: "result-schema", Does: "refusing a result that its schema refuses",
		Assumes: "the tool's output schema accepts all that it rightly returns",
		rank:    rankSchema, tools: o.glob(),
		abstains: func(t *chaos.Tool, _ []chaos.Tool) string {
			if len(t.OutputSchema) == 0 {
				return "no output schema is declared"
			}
			if _, err := schemaOf(&compiled, t.OutputSchema); err != nil {
				return fmt.Sprintf("its output schema cannot be used: %v", err)
			}
			return ""
		},
		start: func(*Habit) handler {
			return func(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
				result, err := c.pass(ctx, next)
				if !c.acts || err != nil || failure.Read(result) == failure.Failed {
					return result, err
				}
				schema, err := schemaOf(&compiled, c.tool.OutputSchema)
				var value any
				if err == nil {
					err = json.Unmarshal(result, &value)
				}
				if err == nil {
					err = schema.Validate(value)
				}
				if err != nil {
					return nil, &ResultError{Tool: c.tool.Name, Result: result, Err: err}
				}
				return result, nil
			}
		},
	}
}

type compiledSchema struct {
	*jsonschema.Resolved
	err error
}

func schemaOf(compiled *sync.Map, doc json.RawMessage) (*jsonschema.Resolved, error) {
	known, ok := compiled.Load(string(doc))
	if !ok {
		var c compiledSchema
		var s jsonschema.Schema
		if c.err = json.Unmarshal(doc, &s); c.err == nil {
			c.Resolved, c.err = s.Resolve(nil)
		}
		known = c
		compiled.Store(string(doc), c)
	}
	c := known.(compiledSchema)
	return c.Resolved, c.err
}

// TellFailures gives the caller the failure of a tool as a result in a fixed form, and no error:
//
//	{"error":{"tool":"refund","kind":"timeout","retry":"may help","done":"unknown","message":"i/o timeout"}}
//
// Kind is "timeout", "refused", "reset", "no such host", "hung up", "certificate", "too many requests", "bad result",
// "permanent" or "failure". Retry is "may help", "does not help" or "unknown"; done, of a tool that is not declared to
// change nothing, is "no", "yes" or "unknown". The errors of a caller that gave up, and of a cell that ended, stay.
//
// Name: failures-told.
func TellFailures(o *Options) *Habit {
	return &Habit{
		Name: "failures-told", Does: "telling the model of failures in a fixed form",
		Assumes: "the agent gives results to a model that heeds them, and does not take a result for a success",
		rank:    rankTold, tools: o.glob(),
		abstains: func(*chaos.Tool, []chaos.Tool) string { return "" },
		start:    func(*Habit) handler { return tell },
	}
}

type told struct {
	Tool    string `json:"tool"`
	Kind    string `json:"kind"`
	Retry   string `json:"retry"`
	Done    string `json:"done,omitempty"`
	Message string `json:"message"`
}

func tell(ctx context.Context, c *call, next caller) (json.RawMessage, error) {
	result, err := c.pass(ctx, next)
	if err == nil || !c.acts || ctx.Err() != nil || errors.Is(err, chaos.ErrCellEnded) {
		return result, err
	}
	f := failureOf(nil, err)
	t := told{Tool: c.tool.Name, Kind: f.kind(), Message: f.text,
		Retry: map[retryable.Class]string{retryable.Transient: "may help", retryable.Permanent: "does not help"}[f.class]}
	t.Retry = cmp.Or(t.Retry, "unknown")
	switch {
	case c.reads():
	case f.done:
		t.Done, t.Retry = "yes", "does not help"
	case f.before, errors.Is(err, chaos.ErrUnknownTool):
		t.Done = "no"
	default:
		t.Done = "unknown"
	}
	return json.Marshal(map[string]told{"error": t})
}

func (f *failed) kind() string {
	kind := failure.KindOf(f.text)
	switch {
	case f.done:
		return "bad result"
	case failure.IsTimeout(f.text):
		return "timeout"
	case kind != "":
		return string(kind)
	case f.before:
		return "too many requests"
	case f.class == retryable.Permanent:
		return "permanent"
	}
	return "failure"
}
