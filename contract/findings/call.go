package findings

import (
	"encoding/json"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/failure"
)

// A Call is one call of a tool or of a model, as the agent saw it: what it asked, and
// what it got. Package replay plays such calls, and reads them from traces. Its JSON
// members are those of a session file.
type Call struct {
	_ struct{}
	// Type is what was called; "" means a tool.
	Type Type `json:"type,omitempty"`
	// Tool is the name of the tool, or that of the model. Required.
	Tool string `json:"tool"`
	// Lane is the strand of calls to which this one belongs; "": the only one.
	Lane string `json:"lane,omitempty"`
	// Parent is the number of the call within which this one was made, the first call
	// of the list being 1; 0: none.
	Parent int `json:"parent,omitempty"`
	// Args are the arguments as a JSON document; nil: there were none, or they are
	// Missing.
	Args json.RawMessage `json:"args,omitempty"`
	// ArgsHash stands for arguments of which only a hash was recorded. Two calls of a
	// tool with equal hashes had equal arguments.
	ArgsHash string `json:"argsHash,omitempty"`
	// Result is what the call returned, as a JSON document; nil: nothing, or it failed,
	// or it is Missing.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is how the call failed; nil: it did not.
	Error *CallError `json:"error,omitempty"`
	// Effect is what is known of its work.
	Effect Effect `json:"effect,omitempty"`
	// Missing lists what was not recorded.
	Missing []Part `json:"missing,omitempty"`
	// Truncated means that Args or Result is only the beginning of what was recorded.
	Truncated bool `json:"truncated,omitempty"`
	// Suspected means that the call failed by what its result says, in words or in a
	// member such as "error". The record itself does not say that it failed.
	Suspected bool `json:"suspected,omitempty"`
	// At is when the call began, since the beginning of the session.
	At time.Duration `json:"at,omitempty"`
	// Took is how long it took; 0 with End in Missing: unknown.
	Took time.Duration `json:"took,omitempty"`

	// ofHabit: middleware made it of its own, so it is no retry of the agent. No session has it: to whom
	// plays one, such middleware is a part of the agent.
	ofHabit bool
}

// A CallError is the failure of a call.
type CallError struct {
	_ struct{}
	// Text is the error as the agent saw it.
	Text string `json:"text"`
	// Status is the HTTP status or that of the protocol; 0: none is known.
	Status int `json:"status,omitempty"`
	// RetryAfter is how long the callee asked the caller to wait; 0: it did not say.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// Failure returns how the call failed: its Error, or what its result says of it where it is
// Suspected. nil: it did not, as far as is known.
func (c *Call) Failure() *CallError {
	if c.Error != nil || !c.Suspected {
		return c.Error
	}
	text, status := failure.Report(c.Result)
	return &CallError{Text: text, Status: status}
}

// A Type is a kind of callee.
type Type string

// The types.
const (
	Tool  Type = "tool"
	Model Type = "model"
)

// An Effect is what is known of the work of a call. The zero value says nothing: the tool
// is not declared to have effects.
type Effect = chaos.Effect

// The effects.
const (
	Done    = chaos.EffectDone    // the work was done
	NotDone = chaos.EffectNone    // the work was not done
	Unknown = chaos.EffectUnknown // nobody knows whether the work was done
)

// A Part is a part of a call that a record may lack.
type Part string

// The parts.
const (
	Args   Part = "args"
	Result Part = "result"
	End    Part = "end" // when and how the call ended
	// Outcome is whether the call failed: its result has a word of a failure or of doubt, was
	// cut off or not recorded, or is empty where other calls of the tool returned something.
	Outcome Part = "outcome"
)
