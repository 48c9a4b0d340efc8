package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A FieldError is one problem of an [Experiment] or of [Options].
type FieldError struct {
	Field   string // such as "Method[2].Timeout"
	Value   any    // the wrong value; nil: none
	Allowed string // what is allowed
	Err     error  // the cause, if any
}

// Error names the field, the value and what is allowed.
func (e *FieldError) Error() string {
	s := "experiment: " + e.Field
	if e.Value != nil {
		s += fmt.Sprintf(" is %#v", e.Value)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *FieldError) Unwrap() error { return e.Err }

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
	acts := slices.ContainsFunc(e.Method, func(a Activity) bool { return first(a.Kind, Action) == Action })
	undoes := slices.ContainsFunc(e.Method, func(a Activity) bool { return a.Start != nil })
	if acts && !undoes && len(e.Rollbacks) == 0 {
		texts = append(texts, warnNoRollback)
	}
	return texts
}

// checker collects problems.
type checker struct{ problems []error }

func (c *checker) that(ok bool, field string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &FieldError{Field: field, Value: value, Allowed: allowed})
	}
}

func (c *checker) duration(field string, d time.Duration) {
	c.that(d >= 0, field, d.String(), allowedDuration)
}

func validate(e *Experiment, o *Options) error {
	c := &checker{}
	if e == nil {
		return &FieldError{Field: "Experiment", Allowed: "an experiment, not nil"}
	}
	c.that(e.Name != "", "Name", nil, "a name")
	c.duration("MaxDuration", e.MaxDuration)
	c.duration("Quiet", e.Quiet)
	c.strategies("Strategies", e.Strategies)
	c.guards("Guards", e.Guards)
	c.controls("Controls", e.Controls)
	for _, name := range slices.Sorted(maps.Keys(e.Contributions)) {
		value := e.Contributions[name]
		c.that(oneOf(value, ContributionHigh, ContributionMedium, ContributionLow, ContributionNone),
			"Contributions["+strconv.Quote(name)+"]", string(value), "high, medium, low, none")
	}
	if h := e.Hypothesis; h != nil {
		c.that(len(h.Probes) > 0, "Hypothesis.Probes", nil, "at least one probe; no hypothesis is written nil")
		c.controls("Hypothesis.Controls", h.Controls)
		c.activities("Hypothesis.Probes", h.Probes, e)
	}
	c.activities("Method", e.Method, e)
	c.activities("Rollbacks", e.Rollbacks, e)
	c.options(o)
	return errors.Join(c.problems...)
}

func (c *checker) options(o *Options) {
	c.strategies("Options.Strategies", o.Strategies)
	c.duration("Options.Timeout", o.Timeout)
	c.duration("Options.RollbackTimeout", o.RollbackTimeout)
	c.guards("Options.Guards", o.Guards)
	c.controls("Options.Controls", o.Controls)
	c.that(o.Dry <= DryAll, "Options.Dry", o.Dry, "a sum of DryProbes, DryActions, DryPauses, DryControls")
}

func (c *checker) strategies(field string, s Strategies) {
	c.that(oneOf(s.Rollbacks, "", RollbackDefault, RollbackAlways, RollbackNever, RollbackDeviated),
		field+".Rollbacks", string(s.Rollbacks), "default, always, never, deviated")
	c.that(oneOf(s.Hypothesis, "", BeforeAndAfter, BeforeOnly, AfterOnly, DuringOnly, Continuously, Skip), field+".Hypothesis",
		string(s.Hypothesis), "default, before-method-only, after-method-only, during-method-only, continuously, skip")
	c.duration(field+".Frequency", s.Frequency)
	c.that(s.FailFastRatio >= 0 && s.FailFastRatio <= 1, field+".FailFastRatio", s.FailFastRatio, "0 to 1")
}

func (c *checker) guards(field string, guards []Guard) {
	for i, g := range guards {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.that(g.Name != "", at+".Name", nil, "a name")
		c.that(g.Check != nil, at+".Check", nil, "a function")
		c.duration(at+".Every", g.Every)
	}
}

func (c *checker) controls(field string, controls []Control) {
	for i, ctl := range controls {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.that(ctl.Name != "", at+".Name", nil, "a name")
		c.that(ctl.Before != nil || ctl.After != nil, at, nil, "Before, After, or both")
	}
}

// activities checks a list; where is Hypothesis.Probes, Method or Rollbacks.
func (c *checker) activities(where string, list []Activity, e *Experiment) {
	for i := range list {
		a, at := &list[i], fmt.Sprintf("%s[%d]", where, i)
		c.that(a.Name != "", at+".Name", nil, "a name")
		c.that((a.Run == nil) != (a.Start == nil), at, nil, "exactly one of Run and Start")
		c.that(a.Start == nil || where == "Method", at+".Start", "set", "only in a method; use Run")
		c.that(!a.Background || where == "Method", at+".Background", true, "only in a method")
		c.that(oneOf(a.Kind, "", Probe, Action), at+".Kind", string(a.Kind), "probe, action")
		c.that(where != "Hypothesis.Probes" || a.Kind != Action, at+".Kind", string(a.Kind), "a hypothesis has probes only")
		c.duration(at+".PauseBefore", a.PauseBefore)
		c.duration(at+".PauseAfter", a.PauseAfter)
		c.duration(at+".Timeout", a.Timeout)
		c.controls(at+".Controls", a.Controls)
		if a.Undoes != "" {
			known := where == "Rollbacks" && slices.ContainsFunc(e.Method, func(m Activity) bool { return m.Name == a.Undoes })
			c.that(known, at+".Undoes", a.Undoes, "in a rollback, the name of an activity of the method")
		}
		if t, ok := a.Tolerance.(chaos.Checked); ok {
			if err := t.Check(); err != nil {
				c.problems = append(c.problems, &FieldError{Field: at + ".Tolerance", Err: err})
			}
		}
	}
}

func oneOf[T comparable](v T, allowed ...T) bool { return slices.Contains(allowed, v) }
