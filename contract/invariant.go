package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/enum"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// Severity is the weight of an invariant in the score; see [scoring.Severity].
type Severity = scoring.Severity

// The severities. The zero value is not a severity; Validate refuses it in an
// invariant.
const (
	Critical = scoring.Critical
	High     = scoring.High
	Medium   = scoring.Medium
	Low      = scoring.Low
)

// An Invariant is a condition that must hold in every scenario that it applies
// to. Package contract/invariant has ready-made ones.
type Invariant struct {
	_ struct{}
	// Name becomes part of a subtest's name: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Severity is required.
	Severity Severity
	// AtLeast makes the invariant a promised rate: the share of trials in which
	// it must hold, such as 0.95. Each [Field] of it is accepted, rejected, or open; see
	// [Field.Standing]. A broken trial fails no verdict then: a rejected field does if the
	// invariant is critical, and an open one makes the verdict inconclusive. From 0.00001
	// to 0.99999; 0 or 1: it must hold in every trial. See [Field.Copies] too.
	AtLeast float64
	// Poor is the rate below AtLeast that must not pass for it: at this rate a field is
	// accepted with a chance of about 5 %. Closer rates take more trials. 0: the greater of
	// 1 − 4·(1 − AtLeast) and AtLeast/2, as 0.8 for 0.95.
	Poor float64
	// Applies selects the scenarios in which the invariant is asked; zero: all.
	Applies Applies
	// Scenarios are globs of the names of the scenarios in which it is asked. Empty: all.
	Scenarios []string
	// Probes are prompts that replace the matrix's own for this invariant.
	Probes []string
	// JudgesErrors lets Check see answers that are errors. Without it an error of the agent
	// breaks the invariant, except [ErrNotTheAgent].
	JudgesErrors bool
	// Needs is the set of data that must be available before Check is called. If
	// some of it is not, the cell is inconclusive.
	Needs Needs
	// Baseline is an answer without faults to every prompt, for an invariant with NeedBaseline;
	// "" or "auto": that of [Scenario.Baselines], else of a calm run.
	Baseline string
	// Check judges one observation. It returns nil if the invariant holds, an error
	// that matches [ErrUndecided] if it cannot decide, [ErrDoesNotApply] if it is not to be
	// asked of these faults, and any other error, which says why, if the invariant is broken.
	// It must be safe for concurrent use and must not change the observation. Required.
	Check func(ctx context.Context, o *Observation) error
	// Targets are globs over the injection points whose calls Check looks for. One that
	// matches no tool and no declared point gives a warning.
	Targets []string
	// Question is the sentence that WithJudge of package contract/invariant asks a judge where
	// Check is undecided, such as "The answer refuses what the prompt asks for."
	Question string
	// Err is the problem that a constructor found in its arguments; Validate reports it.
	Err error
}

// ErrUndecided is matched by the error that a Check returns when it cannot decide, and
// by [ErrNotTheAgent].
var ErrUndecided = errors.New("contract: undecided")

// ErrDoesNotApply is matched by the error that a Check returns when the faults of an observation
// do not meet what it presupposes: see [CellReport.DoesNotApply]. It matches [ErrUndecided].
var ErrDoesNotApply = fmt.Errorf("%w: the invariant does not apply", ErrUndecided)

// ErrNotTheAgent is for an agent to return, wrapped with the reason, when it could not
// be tested: its budget is used up, or the model's provider is down. It matches
// [ErrUndecided]. The cell is then inconclusive for every invariant. An error that matches
// [chaos.ErrInjected] too is the agent's own failure. A fault that is an answer, such as a
// status of HTTP, leaves no such trace: do not take an outage for real where rules make it.
var ErrNotTheAgent = fmt.Errorf("%w: the agent could not be tested", ErrUndecided)

// Applies selects the scenarios in which an invariant is asked.
type Applies uint8

// The values of Applies, by the layers of the scenario's rules and [Scenario.Layer].
// See [chaos.Rule.Layer]. [Scenario.Rewrite] is a fault too, in neither layer.
const (
	Always     Applies = iota // in every scenario
	ToolFaults                // where some rule is for tools, or Layer is
	LLMFaults                 // where some rule is for a model, or Layer is
	AnyFault                  // where anything is broken: a rule, Layer or Rewrite
	NoFault                   // only where nothing is
)

// Needs is a set of data that an invariant's Check relies on.
type Needs uint8

// The bits of Needs.
const (
	NeedBaseline Needs = 1 << iota // Observation.Baseline
	NeedState                      // Observation.Before and After
	NeedResults                    // Args and Result of the events
	NeedCalm                       // Observation.Calm
)

// Has reports whether all bits of want are set.
func (n Needs) Has(want Needs) bool { return n&want == want }

// An Observation is what an invariant judges: one answer of the agent, and the
// calls that led to it. Several invariants may read one at the same time, so a
// Check must not change it.
type Observation struct {
	Cell Cell `json:"cell"`
	// Prompt is what the agent was sent.
	Prompt string `json:"prompt"`
	// Original is the prompt before [Scenario.Rewrite] changed it; nil: it did not.
	Original *string `json:"original,omitempty"`
	Response string  `json:"response"`
	// Err is the agent's error. If the agent did not return, it matches
	// [ErrTimeout], [ErrHung], [*PanicError] or [ErrFailNow].
	Err error `json:"-"`
	// Elapsed is how long the answer took, in the cell's own time: virtual in a bubble.
	Elapsed time.Duration `json:"elapsedNs"`
	// Events are the calls that ended since the previous prompt's observation, in
	// the order in which they began; the last observation has those until the end of the cell.
	// A call that had not ended by then ([chaos.OutcomeOpen]) is in the one in which it began.
	// Dropped counts the events that did not fit the log; if there are any, an invariant
	// that counts calls is undecided.
	Events  []chaos.Event `json:"events"`
	Dropped int           `json:"dropped,omitempty"`
	// Before and After are the state of the world around the prompt, with NeedState.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Baseline is a calm answer to the same prompt, with NeedBaseline.
	Baseline string `json:"baseline,omitempty"`
	// Calm is the same prompt's observation in a calm run, with NeedCalm: its answer, its
	// events, and its state if the world has one. If the agent failed in it, or with NeedState
	// its state is missing, the cell is inconclusive.
	Calm *Observation `json:"-"`
	// Tools are the tools that the first world listed, with what they declare.
	Tools []chaos.Tool `json:"-"`

	began   time.Duration // since the injector was armed
	noState error         // why Before or After is missing; nil: neither is
}

// A Goal is something that must be reached in at least one cell, such as that a retry
// works under faults. A matrix in which every invariant holds says little if the
// agent never got that far. Package contract/goal has ready-made ones. A goal that no cell
// reached, or whose function fails, makes the verdict inconclusive, unless it is Fail.
type Goal struct {
	_ struct{}
	// Name appears in reports: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Scenarios are those in whose cells the goal may be reached; none: all.
	Scenarios []string
	// Reached reports whether an answer reached the goal. The observation has neither Baseline
	// nor Calm. It must be safe for concurrent use, and must not change the observation. Required.
	Reached func(o *Observation) bool
	// Err is the problem that a constructor found in its arguments; Validate reports it.
	Err error
}

// The errors of an agent that does not return, which [Observation.Err] matches.
// Each breaks the invariants without [Invariant.JudgesErrors].
var (
	// ErrTimeout: the agent had not answered one second after [Matrix.Timeout], or
	// when the watchdog's time was over.
	ErrTimeout = errors.New("contract: the agent did not answer in time")
	// ErrHung: without a [Matrix.Timeout], the agent had not answered after thirty days
	// of virtual time. In real time the watchdog ends such a wait.
	ErrHung = errors.New("contract: the agent hangs")
	// ErrFailNow: the agent ended its goroutine, as t.FailNow does.
	ErrFailNow = errors.New("contract: it ended its goroutine (t.FailNow or runtime.Goexit)")
)

// A FieldError is one problem of a [Matrix], such as "Invariants[2].Severity".
// [Matrix.Validate] and [Matrix.Run] join all they find.
type FieldError = scoring.FieldError

// A PanicError is a panic of user code: of the agent in [Observation.Err], of
// other functions in [CellReport.Why].
type PanicError = usercode.PanicError

var appliesNames = enum.Names[Applies]{Package: fields, Field: "Applies", Of: []string{Always: "Always",
	ToolFaults: "ToolFaults", LLMFaults: "LLMFaults", AnyFault: "AnyFault", NoFault: "NoFault"}}

// String is the name of the constant.
func (a Applies) String() string { return appliesNames.String(a) }
