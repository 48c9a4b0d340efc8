package experiment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A FieldError is one problem of an [Experiment] or of [Options], such as
// "Method[2].Timeout".
type FieldError = fielderror.Error

// fields makes the errors of this package.
const fields = fielderror.Package("experiment")

// Validate returns every problem of the experiment, joined, each a [*FieldError].
// [Run] calls it.
func (e *Experiment) Validate() error { return validate(e, &Options{}) }

// ValidateSimple is [Experiment.Validate] for [RunSimple], which needs a hypothesis.
func (e *Experiment) ValidateSimple() error {
	err := e.Validate()
	if e != nil && e.Hypothesis == nil {
		none := fields.Wrong("Hypothesis", nil, "a hypothesis: without one there is no success to speak of")
		err = errors.Join(err, none)
	}
	return err
}

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

// checker collects problems.
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
	c.guards("Guards", e.Guards)
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

func (c *checker) guards(field string, guards []Guard) {
	for i, g := range guards {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.Demand(g.Name != "", at+".Name", nil, "a name")
		c.Demand(g.Check != nil, at+".Check", nil, "a function")
		c.duration(at+".Every", g.Every)
	}
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
		c.Demand(oneOf(a.Kind, "", Probe, Action), at+".Kind", string(a.Kind), "probe, action")
		c.Demand(where != "Hypothesis.Probes" || a.Kind != Action, at+".Kind", string(a.Kind),
			"a hypothesis has probes only")
		c.duration(at+".PauseBefore", a.PauseBefore)
		c.duration(at+".PauseAfter", a.PauseAfter)
		c.duration(at+".Timeout", a.Timeout)
		if t, ok := a.Tolerance.(chaos.Checked); ok {
			if err := t.Check(); err != nil {
				c.Because(at+".Tolerance", nil, err, "")
			}
		}
	}
}

func oneOf[T comparable](v T, allowed ...T) bool { return slices.Contains(allowed, v) }
