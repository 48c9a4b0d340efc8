package contract

import (
	"context"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/scoring"
)

// Severity says how much an invariant weighs; see [scoring.Severity].
type Severity = scoring.Severity

// The severities. The zero value is none of them, and an error in an invariant.
const (
	Critical = scoring.Critical
	High     = scoring.High
	Medium   = scoring.Medium
	Low      = scoring.Low
)

// An Invariant is a promise that the agent keeps in every weather it applies
// to. Package contract/invariant has ready-made ones.
type Invariant struct {
	_ struct{}
	// ID becomes part of a subtest's name: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Severity is required.
	Severity Severity
	// Applies says in which scenarios the invariant is asked; zero: in all.
	Applies Applies
	// Probes are prompts that replace the matrix's own for this invariant.
	Probes []string
	// JudgesErrors lets Check see answers that are errors. Without it an error
	// of the agent breaks the invariant before Check is called.
	JudgesErrors bool
	// Needs says what must be at hand before Check is called; what cannot be
	// had makes the cell inconclusive.
	Needs Needs
	// Baseline is what a calm answer looks like, for an invariant that needs
	// one: "" or "auto" for one calm run per prompt, anything else is the text.
	Baseline string
	// Check judges one answer. nil: it holds. An error that matches
	// [ErrUndecided]: it cannot tell. Any other error: it is broken, and the
	// error says why. It must be safe for concurrent use. Required.
	Check func(ctx context.Context, o *Observation) error
	// Targets are globs over the injection points whose calls Check looks for.
	// A glob that matches no tool and no declared point is worth a warning:
	// what is looked for in vain is never found broken.
	Targets []string
	// Problem is what a constructor found wrong with its arguments; Validate reports it.
	Err error
}

// ErrUndecided is matched by what a Check returns when it cannot tell.
var ErrUndecided = errors.New("contract: undecided")

// Applies says in which scenarios an invariant is asked.
type Applies uint8

// The values of Applies, by the layer of the scenario's rules. See [chaos.Rule.Layer].
const (
	Always     Applies = iota // in every scenario
	ToolFaults                // where a rule strikes tools
	LLMFaults                 // where a rule strikes a model
	AnyFault                  // where there is any rule
	NoFault                   // in calm weather only
)

// Needs is a set of things an invariant's Check relies on.
type Needs uint8

// The bits of Needs.
const (
	NeedBaseline Needs = 1 << iota // Observation.Baseline
	NeedState                      // Observation.Before and After
	NeedResults                    // Args and Result of the events
)

// Has reports whether all bits of want are set.
func (n Needs) Has(want Needs) bool { return n&want == want }

// An Observation is one answer of the agent and all that led to it: what an
// invariant judges. Several invariants may read one at the same time, so a
// Check must not change it.
type Observation struct {
	Cell     Cell   `json:"cell"`
	Prompt   string `json:"prompt"`
	Response string `json:"response"`
	// Err is the agent's error; one of [ErrTimeout], [ErrHung], [*PanicError]
	// and [ErrFailNow] may be matched where it did not return.
	Err error `json:"-"`
	// Elapsed is how long the answer took, in the cell's own time: virtual in a bubble.
	Elapsed time.Duration `json:"elapsedNs"`
	// Events are the calls that ended since the prompt before, in the order in
	// which they began: a call that outlives its prompt is in the observation in
	// which it ended, and only there. The last observation has those too that
	// ended after its answer, before the cell did. Dropped counts those that did
	// not fit the log: an invariant that counts calls is undecided when there
	// are any.
	Events  []chaos.Event `json:"events"`
	Dropped int           `json:"dropped,omitempty"`
	// Before and After are the state of the world around the prompt, with NeedState.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Baseline is a calm answer to the same prompt, with NeedBaseline.
	Baseline string `json:"baseline,omitempty"`
	// Tools are the tools that the world listed, for what they declare.
	Tools []chaos.Tool `json:"-"`

	noState error // why Before or After could not be had
}
