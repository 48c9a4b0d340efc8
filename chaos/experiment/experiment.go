package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// An Experiment is the input of [Run]. A run does not change it, so it may be run
// several times, also concurrently if its functions allow that.
type Experiment struct {
	_ struct{}

	Name        string // required
	Description string

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
// it. Exactly one of Run and Start is set. It runs on a goroutine of its own, under its Timeout.
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
	// PauseAfter is a wait after the activity.
	PauseAfter time.Duration
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

// A Tolerance decides whether an output is acceptable: [Equal], [Range], a [ToleranceFunc]. One that
// also has a method Check() error is checked by [Experiment.Validate]. Those of this package are
// immutable and safe for concurrent use.
type Tolerance interface {
	// Holds reports whether an output is acceptable. An error means that it could
	// not be judged; the activity then counts as failed.
	Holds(ctx context.Context, output any) (bool, error)
}

// A FieldError is one problem of an [Experiment] or of [Options], such as
// "Method[2].Timeout".
type FieldError = fielderror.Error

// fields makes the errors of this package.
const fields = fielderror.Package("experiment")

// Validate returns every problem of the experiment, joined, each a [*FieldError].
// [Run] calls it.
func (e *Experiment) Validate() error { return validate(e, &Options{}) }

const (
	allowedDuration = "0 or more"
	warnNoRollback  = "the method has actions, and nothing undoes them"
	warnNoState     = "the experiment has no steady-state hypothesis: a run of it can show nothing"
)

// warnings describes what is allowed but probably a mistake.
func (e *Experiment) warnings() (texts []string) {
	if e.Hypothesis == nil {
		texts = append(texts, warnNoState)
	}
	acts := slices.ContainsFunc(e.Method, func(a Activity) bool { return a.Kind != Probe })
	undoes := slices.ContainsFunc(e.Method, func(a Activity) bool { return a.Start != nil })
	if acts && !undoes && len(e.Rollbacks) == 0 {
		texts = append(texts, warnNoRollback)
	}
	return texts
}

type checker struct{ *fielderror.List }

func (c *checker) duration(field string, d time.Duration) {
	c.Demand(d >= 0, field, d, allowedDuration)
}

func validate(e *Experiment, o *Options) error {
	c := &checker{fields.List()}
	if e == nil {
		return fields.Wrong("Experiment", nil, "an experiment, not nil")
	}
	c.Demand(e.Name != "", "Name", nil, "a name")
	c.duration("MaxDuration", e.MaxDuration)
	c.duration("Quiet", e.Quiet)
	for i, g := range e.Guards {
		at := fmt.Sprintf("Guards[%d]", i)
		c.Demand(g.Name != "", at+".Name", nil, "a name")
		c.Demand(g.Check != nil, at+".Check", nil, "a function")
		c.duration(at+".Every", g.Every)
	}
	if h := e.Hypothesis; h != nil {
		c.Demand(len(h.Probes) > 0, "Hypothesis.Probes", nil, "at least one probe; no hypothesis is written nil")
		c.activities("Hypothesis.Probes", h.Probes)
	}
	c.activities("Method", e.Method)
	c.activities("Rollbacks", e.Rollbacks)
	c.duration("Options.Timeout", o.Timeout)
	c.duration("Options.RollbackTimeout", o.RollbackTimeout)
	return c.Err()
}

// activities checks a list; where is Hypothesis.Probes, Method or Rollbacks.
func (c *checker) activities(where string, list []Activity) {
	for i := range list {
		a, at := &list[i], fmt.Sprintf("%s[%d]", where, i)
		c.Demand(a.Name != "", at+".Name", nil, "a name")
		c.Demand(a.Run != nil || a.Start != nil, at, fielderror.Found("without Run and Start"), "exactly one of them")
		c.Demand(a.Run == nil || a.Start == nil, at, fielderror.Found("with Run and Start"), "exactly one of them")
		c.Demand(a.Start == nil || where == "Method", at+".Start", fielderror.Found("set"), "only in a method; use Run")
		c.Demand(!a.Background || where == "Method", at+".Background", true, "only in a method")
		c.Demand(slices.Contains([]Kind{"", Probe, Action}, a.Kind), at+".Kind", string(a.Kind), "probe, action")
		c.Demand(where != "Hypothesis.Probes" || a.Kind != Action, at+".Kind", string(a.Kind),
			"a hypothesis has probes only")
		c.duration(at+".PauseAfter", a.PauseAfter)
		c.duration(at+".Timeout", a.Timeout)
		if t, ok := a.Tolerance.(chaos.Checked); ok {
			if err := t.Check(); err != nil {
				c.Because(at+".Tolerance", nil, err, "")
			}
		}
	}
}
