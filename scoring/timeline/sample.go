package timeline

import (
	"errors"
	"fmt"
	"time"
)

// NodeType says what kind of thing a node of the call graph is.
type NodeType string

// The node types. Where samples of one target disagree, the first of this list
// wins, so that the answer does not depend on the order of the samples.
const (
	NodeAgent NodeType = "agent"
	NodeTool  NodeType = "tool"
	NodeLLM   NodeType = "llm"
	NodeHTTP  NodeType = "http"
	NodePoint NodeType = "point"
)

const lowestRank = 4

// rank is the place in the list above, or -1.
func (t NodeType) rank() int {
	switch t {
	case NodeAgent:
		return 0
	case NodeTool:
		return 1
	case NodeLLM:
		return 2
	case NodeHTTP:
		return 3
	case NodePoint, "":
		return lowestRank
	default:
		return -1
	}
}

func typeOfRank(rank int) NodeType {
	return [...]NodeType{NodeAgent, NodeTool, NodeLLM, NodeHTTP, NodePoint}[rank]
}

// defaultCaller is the node that makes the calls of which nobody said who made them.
const defaultCaller = "agent"

// A Sample is one call that has ended: one attempt of an operation.
//
// An operation is what the caller wanted done; its attempts are the calls it
// took. Attempt 1 begins an operation; attempt n > 1 continues the operation of
// the same Caller, Target, Class, Lane and Key whose attempt before it failed;
// an operation ends with its last attempt, well or badly. See [Run.Add] for how
// samples are joined and when that is approximate.
//
// A Sample is a value; its zero value lacks a Target and is refused.
type Sample struct {
	// Caller is the node that made the call; "" means "agent".
	Caller string `json:"caller,omitempty"`
	// Target is the node that was called. Required. The part before its first
	// dot is its subsystem.
	Target string `json:"target"`
	// Class groups calls of one kind: a lane, or a label of the caller's.
	Class string `json:"class,omitempty"`
	// Lane names the strand of sequential work that made the call, where Class
	// does not; two operations of one lane with the same Key never overlap.
	Lane string `json:"lane,omitempty"`
	// Key tells calls with different arguments apart; 0 where there is none.
	Key uint64 `json:"key,string,omitempty"`
	// Type is the type of Target; "" means point.
	Type NodeType `json:"type,omitempty"`
	// Start and End are measured from the epoch of the run: 0 ≤ Start ≤ End.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
	// Failed says that this attempt failed.
	Failed bool `json:"failed,omitempty"`
	// Attempt counts from 1; 0 means 1.
	Attempt int `json:"attempt,omitempty"`
	// Final says that the caller is known not to try again. Where it is unset,
	// a failed attempt counts as the end of its operation until a retry is added.
	Final bool `json:"final,omitempty"`
	// Fault and Rule name the fault that this call saw, and the rule that
	// delivered it; both "" when it saw none.
	Fault string `json:"fault,omitempty"`
	Rule  string `json:"rule,omitempty"`
}

// InputError says which input is wrong, what it was and what is allowed.
type InputError struct {
	Field   string // in the spelling of the JSON inputs: "target", "nodeId", …
	Value   any
	Allowed string
}

// Error gives all three parts, after the name of the package.
func (e *InputError) Error() string {
	if s, ok := e.Value.(string); ok {
		return fmt.Sprintf("timeline: %s %q: %s", e.Field, s, e.Allowed)
	}
	return fmt.Sprintf("timeline: %s %v: %s", e.Field, e.Value, e.Allowed)
}

// Validate returns every problem of the sample, joined, each an [*InputError];
// nil where [Run.Add] would count it.
func (s Sample) Validate() error { return s.check() }

// check returns every problem of s, joined.
func (s *Sample) check() error {
	var errs []error
	bad := func(field string, value any, allowed string) {
		errs = append(errs, &InputError{Field: field, Value: value, Allowed: allowed})
	}
	if s.Target == "" {
		bad("target", "", "a sample needs the name of the node that was called")
	}
	if s.Type.rank() < 0 {
		bad("type", string(s.Type), "must be agent, tool, llm, http or point")
	}
	if s.Start < 0 {
		bad("start", s.Start, "must not be before the epoch of the run")
	}
	if s.End < s.Start {
		bad("end", s.End, fmt.Sprintf("must not be before start %v", s.Start))
	}
	if s.Attempt < 0 {
		bad("attempt", s.Attempt, "attempts count from 1 (0 means 1)")
	}
	return errors.Join(errs...)
}

// valid is check without building errors, for the hot path.
func (s *Sample) valid() bool {
	return s.Target != "" && s.Start >= 0 && s.End >= s.Start && s.Attempt >= 0 && s.Type.rank() >= 0
}
