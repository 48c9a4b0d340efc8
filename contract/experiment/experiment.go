package experiment

import (
	"context"
	"encoding/json"
	"time"
)

// An Experiment is what [Run] runs. It is not changed by running, so that one
// may be run several times, also at once where its functions allow that.
type Experiment struct {
	_ struct{}

	Name        string // required
	Description string
	Tags        []string

	// Hypothesis says what the steady state is. Without one a run can show
	// nothing, and says so in a warning.
	Hypothesis *Hypothesis
	// Method is what is done to the system, in order. It may be empty: then
	// the run is a check.
	Method []Activity
	// Rollbacks undo what the method did. They run last to first, after the
	// undos that actions returned ([Activity.Start]).
	Rollbacks []Activity
	// Quiet is waited after the rollbacks, with the faults off, before the
	// steady state is verified for the last time.
	Quiet time.Duration
	// MaxDuration aborts the run when hypotheses and method together take
	// longer. The rollbacks still run, in their own time. 0: no limit.
	MaxDuration time.Duration
	// Guards abort the method, which is then rolled back.
	Guards []Guard
	// Controls are called around everything.
	Controls []Control
	// Strategies say when the hypothesis is verified and when rollbacks run;
	// those of [Options] go before.
	Strategies Strategies

	// Config and Secrets are what activities find in their [Scope]. A secret
	// appears in no journal: wherever its value occurs, in outputs and errors
	// too, [redacted] stands instead.
	Config  map[string]any
	Secrets map[string]string
	// Contributions say what the experiment tells of, such as "reliability",
	// and how much.
	Contributions map[string]Contribution
	// Source is the document that the experiment was read from. The journal
	// shows it, redacted. nil: the journal shows name, description and so on.
	Source json.RawMessage
}

// A Hypothesis is a steady state: what all probes find while all is well.
type Hypothesis struct {
	_        struct{}
	Name     string
	Probes   []Activity // at least one; all of them are evaluated, also after a miss
	Controls []Control
}

// An Activity is a probe, which looks, or an action, which does. Exactly one
// of Run and Start is set.
//
// Either runs on a goroutine of its own, under its Timeout. A panic, a
// runtime.Goexit (t.FailNow) and a hang are failures of the activity like any
// error. One that ignores the end of its context is left behind after a second.
type Activity struct {
	_ struct{}

	Name string // required
	// Kind is Probe or Action. Empty: a probe in a hypothesis, an action elsewhere.
	Kind Kind
	// Run does it. The output goes into the journal as JSON, to the tolerance,
	// and to later activities ([Scope.Output]).
	Run func(ctx context.Context) (output any, err error)
	// Start is a Run that also returns its own rollback, nil if there is
	// nothing to undo. The undo counts also where err is not nil. Only in a method.
	Start func(ctx context.Context) (output any, undo Undo, err error)
	// Tolerance judges the output. nil: in a hypothesis the output has to be
	// true, elsewhere anything will do.
	Tolerance Tolerance
	// Background lets the next activity of the method begin at once. The
	// method ends when all of them have.
	Background bool
	// PauseBefore and PauseAfter are waited around it.
	PauseBefore, PauseAfter time.Duration
	// Timeout is the time it may take. 0: that of [Options].
	Timeout time.Duration
	// Undoes names the activity of the method that this rollback undoes: it
	// runs only if that was started. Empty: it runs if the method was started.
	Undoes string
	// Dry overrides [Options.Dry]: true skips the activity, false runs it.
	Dry      *bool
	Controls []Control
	// Provider is what the journal shows as the provider, redacted.
	Provider json.RawMessage
}

// An Undo takes back what an action did. It is called at most once, under a
// deadline of its own, also when the run was cancelled.
type Undo func(ctx context.Context) error

// A Kind tells probes from actions.
type Kind string

// The kinds of activities.
const (
	Probe  Kind = "probe"
	Action Kind = "action"
)

// A Tolerance says whether an output is as it should be. Package
// contract/experiment/tolerance has the ready-made ones. One that also has a
// method Check() error is checked by [Experiment.Validate].
type Tolerance interface {
	// Holds judges an output. An error means that it could not be judged: the
	// activity then counts as failed.
	Holds(ctx context.Context, output any) (bool, error)
}

// A Contribution is how much an experiment tells of something.
type Contribution string

// The contributions.
const (
	ContributionHigh   Contribution = "high"
	ContributionMedium Contribution = "medium"
	ContributionLow    Contribution = "low"
	ContributionNone   Contribution = "none"
)
