package habits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/failure"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// Deadlines ends the context of a call after a time (After). If the tool returns an error then, the caller gets one that
// matches [context.DeadlineExceeded]. The name is "deadline".
func Deadlines(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "deadline", Does: "a deadline for each call",
		Assumes: "the tool returns when its context ends, and a call that takes longer is not worth the wait",
		rank:    rankDeadline, on: anyTool, start: func(o Options) handler { return o.limit },
		options: Options{After: 10 * time.Second},
	})
}

func (o Options) limit(ctx context.Context, c *call) (json.RawMessage, error) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, o.After)
	defer cancel()
	result, err := c.pass(limited)
	if err != nil && time.Since(began) >= o.After && ctx.Err() == nil { // a timer of the tool may be the first to fire
		err = fmt.Errorf("%s did not answer within %v: %w", c.tool.Name, o.After, context.DeadlineExceeded)
	}
	return result, err
}

// A ResultError is the error of a call whose result [CheckResults] refused. The tool was called, and did its work.
type ResultError struct {
	Tool   string
	Result json.RawMessage // that was refused
	Err    error           // of the schema, or of encoding/json
}

// Error says whose result does not fit, and why.
func (e *ResultError) Error() string {
	return fmt.Sprintf("%s answered, but the result does not fit its schema: %v", e.Tool, e.Err)
}

// Unwrap returns Err.
func (e *ResultError) Unwrap() error { return e.Err }

// CheckResults refuses a result that does not fit the schema that the tool declares ([chaos.Tool].OutputSchema): the
// caller gets a [*ResultError]. A result that says that the call failed passes; "format" is not checked. The name is
// "result-schema".
func CheckResults(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "result-schema", Does: "refusing a result that its schema refuses",
		Assumes: "the tool's output schema accepts all that it rightly returns",
		rank:    rankSchema,
		on: func(f *facts, t *chaos.Tool, _ []chaos.Tool) string {
			if len(t.OutputSchema) == 0 {
				return "it declares no output schema"
			}
			var s jsonschema.Schema
			err := json.Unmarshal(t.OutputSchema, &s)
			if err == nil {
				f.schema, err = s.Resolve(nil)
			}
			if err != nil {
				return fmt.Sprintf("its output schema cannot be used: %v", err)
			}
			return ""
		},
		start: func(Options) handler { return checked },
	})
}

func checked(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	if err != nil || failure.Read(result) == failure.Failed {
		return result, err
	}
	var value any
	if err = json.Unmarshal(result, &value); err == nil {
		err = c.schema.Validate(value)
	}
	if err != nil {
		return nil, &ResultError{Tool: c.tool.Name, Result: result, Err: err}
	}
	return result, nil
}

// TellFailures gives the caller the error of a call as a result in a fixed form:
//
//	{"error":{"tool":"refund","kind":"timeout","retry":"may help","done":"unknown","message":"i/o timeout"}}
//
// Kind is "timeout", "refused", "reset", "no such host", "hung up", "certificate", "turned away", "bad result",
// "permanent" or "other". Retry is "may help", "does not help" or "unknown". Done reports whether a tool that is
// not declared to change nothing did its work: "yes", "no" or "unknown". The errors of a caller that gave up, and of a
// cell that ended, stay. The name is "failures-told".
func TellFailures(o *Options) *Habit {
	return o.habit(&Habit{
		Name: "failures-told", Does: "telling a tool's failure in a fixed form",
		Assumes: "the agent gives results to a model that heeds them, and does not take every result for a success",
		rank:    rankTell, on: anyTool, start: func(Options) handler { return tell },
	})
}

type told struct {
	Tool    string `json:"tool"`
	Kind    string `json:"kind"`
	Retry   string `json:"retry"`
	Done    string `json:"done,omitempty"`
	Message string `json:"message"`
}

func tell(ctx context.Context, c *call) (json.RawMessage, error) {
	result, err := c.pass(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, chaos.ErrCellEnded) {
		return result, err
	}
	f := failureOf(nil, err)
	t := told{Tool: c.tool.Name, Kind: f.word(), Retry: "unknown", Done: "unknown", Message: f.text}
	switch {
	case f.class == retryable.Permanent, f.done && !c.changesNothing():
		t.Retry = "does not help"
	case f.class == retryable.Transient:
		t.Retry = "may help"
	}
	switch {
	case c.changesNothing():
		t.Done = "" // there is nothing to be done
	case f.done:
		t.Done = "yes"
	case f.undone:
		t.Done = "no"
	}
	return json.Marshal(map[string]told{"error": t})
}

// word says in a word how the call failed.
func (f *failed) word() string {
	switch {
	case f.done:
		return "bad result"
	case failure.IsTimeout(f.text):
		return "timeout"
	case f.kind != "":
		return string(f.kind)
	case f.class == retryable.Permanent:
		return "permanent"
	case f.undone:
		return "turned away"
	}
	return "other"
}
