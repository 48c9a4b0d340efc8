package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A NodeType is the kind of a node of the call graph.
type NodeType string

// The node types. If samples of one target disagree, the first type of this list
// counts, so the answer does not depend on the order of the samples.
const (
	NodeAgent NodeType = "agent"
	NodeTool  NodeType = "tool"
	NodeLLM   NodeType = "llm"
	NodeHTTP  NodeType = "http"
	NodePoint NodeType = "point"
)

var nodeTypes = [...]NodeType{NodeAgent, NodeTool, NodeLLM, NodeHTTP, NodePoint}

const lowestRank = len(nodeTypes) - 1

// rank returns the index in the list above, or -1.
func (t NodeType) rank() int { return slices.Index(nodeTypes[:], cmp.Or(t, NodePoint)) }

// defaultCaller is the caller of samples that name none.
const defaultCaller = "agent"

// A Sample is one call that has ended: one attempt of an operation.
//
// An operation is a task of the caller; its attempts are the calls made for it.
// Attempt 1 begins an operation. Attempt n > 1 continues the operation of the same
// Caller, Target, Class, Lane and Key whose previous attempt failed. An operation
// ends with its last attempt. See [Run.Add] for how samples are joined and when
// that is approximate.
//
// A Sample is a plain value. The zero value has no Target and is invalid.
type Sample struct {
	// Caller is the node that made the call; "" means "agent".
	Caller string `json:"caller,omitempty"`
	// Target is the node that was called. Required. The part before its first
	// dot is its subsystem.
	Target string `json:"target"`
	// Class groups calls of one kind: a lane, or a label of the caller's.
	Class string `json:"class,omitempty"`
	// Lane names the strand of sequential work that made the call, if Class does
	// not. Two operations of one lane with the same Key never overlap.
	Lane string `json:"lane,omitempty"`
	// Key identifies the arguments of the call; 0 where there is none.
	Key uint64 `json:"key,string,omitempty"`
	// Type is the type of Target; "" means point.
	Type NodeType `json:"type,omitempty"`
	// Start and End are measured from the epoch of the run: 0 ≤ Start ≤ End.
	Start time.Duration `json:"startNs"`
	End   time.Duration `json:"endNs"`
	// Failed reports whether this attempt failed. It counts as the end of its operation until a
	// retry is added.
	Failed bool `json:"failed,omitempty"`
	// Attempt counts from 1; 0 means 1.
	Attempt int `json:"attempt,omitempty"`
}

// A FieldError is the FieldError of package scoring. Its Field has the spelling of the JSON
// inputs: "target", "nodeId", …
type FieldError = fielderror.Error

// fields makes the errors of this package.
const fields = fielderror.Package("timeline")

// check returns every problem of s, joined.
func (s *Sample) check() error {
	errs := fields.List()
	errs.Demand(s.Target != "", "target", nil, "the name of the node that was called")
	errs.Demand(s.Type.rank() >= 0, "type", string(s.Type), "agent, tool, llm, http or point")
	errs.Demand(s.Start >= 0, "start", s.Start, "0 or more: not before the epoch of the run")
	errs.Demand(s.End >= s.Start, "end", s.End, fmt.Sprintf("%v or more, where it starts", s.Start))
	errs.Demand(s.Attempt >= 0, "attempt", s.Attempt, "1 or more, or 0 for 1")
	return errs.Err()
}

// valid reports whether check finds nothing. It builds no errors, for the hot path.
func (s *Sample) valid() bool {
	return s.Target != "" && s.Start >= 0 && s.End >= s.Start && s.Attempt >= 0 && s.Type.rank() >= 0
}
