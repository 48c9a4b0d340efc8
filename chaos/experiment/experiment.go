package experiment

import (
	"context"
	"time"
)

// An Experiment is the input of [Run]. A run does not change it, so it may be run
// several times, also concurrently if its functions allow that.
type Experiment struct {
	_ struct{}

	Name        string // required
	Description string
	Tags        []string

	// Hypothesis is the steady state. Without one a run can show nothing, and has a
	// warning.
	Hypothesis *Hypothesis
	// Method changes the system, activity by activity. It may be empty: then the
	// run only checks.
	Method []Activity
	// Rollbacks undo what the method did, whenever it was started. They run last to
	// first, after the undos that actions returned ([Activity.Start]).
	Rollbacks []Activity
	// Quiet is the wait after the rollbacks, with the faults off, before the steady
	// state is verified for the last time. 0: none.
	Quiet time.Duration
	// MaxDuration aborts the run when hypotheses and method together take
	// longer. The rollbacks still run, in their own time. 0: no limit.
	MaxDuration time.Duration
	// Guards abort the method, which is then rolled back.
	Guards []Guard

	// Config is shown in the journal.
	Config map[string]any
	// Secrets appear in no journal: each is replaced by [redacted] everywhere, in
	// outputs and errors too.
	Secrets []string
}

// A Hypothesis is a steady state: every probe meets its tolerance.
type Hypothesis struct {
	_      struct{}
	Name   string
	Probes []Activity // at least one; all are evaluated, also after a miss
}

// An Activity is a probe, which observes the system, or an action, which changes
// it. Exactly one of Run and Start is set.
//
// It runs on a goroutine of its own, under its Timeout. A panic, a runtime.Goexit
// (t.FailNow) and a hang are failures of the activity like any error. An activity
// that ignores the end of its context is abandoned after a second.
type Activity struct {
	_ struct{}

	Name string // required
	// Kind is Probe or Action. Empty: a probe in a hypothesis, an action elsewhere.
	Kind Kind
	// Run executes the activity. The output goes into the journal as JSON, and to the
	// tolerance.
	Run func(ctx context.Context) (output any, err error)
	// Start is a Run that also returns its own rollback, nil if there is nothing to
	// undo. The undo is run also if err is not nil. Only activities of a method may
	// have a Start.
	Start func(ctx context.Context) (output any, undo Undo, err error)
	// Tolerance judges the output. nil: in a hypothesis the output must be true,
	// elsewhere every output is accepted.
	Tolerance Tolerance
	// Background starts the next activity of the method at once. The method ends
	// when all background activities have ended.
	Background bool
	// PauseBefore and PauseAfter are waits before and after the activity.
	PauseBefore, PauseAfter time.Duration
	// Timeout is the longest time that the activity may take. 0: that of [Options].
	Timeout time.Duration
}

// An Undo reverts an action. It is called at most once, under a deadline of its
// own, also when the run was cancelled.
type Undo func(ctx context.Context) error

// A Kind is the kind of an activity: probe or action.
type Kind string

// The kinds of activities.
const (
	Probe  Kind = "probe"
	Action Kind = "action"
)

// A Tolerance decides whether an output is acceptable. Package
// chaos/experiment/tolerance has the ready-made ones. One that also has a method
// Check() error is checked by [Experiment.Validate].
type Tolerance interface {
	// Holds reports whether an output is acceptable. An error means that it could
	// not be judged; the activity then counts as failed.
	Holds(ctx context.Context, output any) (bool, error)
}
