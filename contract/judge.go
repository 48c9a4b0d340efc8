package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
)

// ruling is what an invariant says of a sight.
type ruling struct {
	state     CellState // Held, Broken or Inconclusive
	why       string
	evidence  *Observation // the one that decided, or the last
	abandoned bool         // the check was left behind
	cancelled bool
}

// judge asks one invariant about every observation: the first that breaks it
// decides. Else the cell is as good as its worst part.
func (w *worker) judge(ctx context.Context, p *promise, s *sight) ruling {
	r := ruling{state: Held, evidence: s.partial}
	if n := len(s.observations); n > 0 && r.evidence == nil {
		r.evidence = s.observations[n-1]
	}
	if !s.cancelled && len(s.observations) > 0 {
		r = w.askAll(ctx, p, s, r)
	}
	switch {
	case r.state == Broken:
	case s.leaked != "":
		r.state, r.why = Broken, "the agent or its world left goroutines behind: "+s.leaked
	case s.undecided != "":
		r.state, r.why = Inconclusive, s.undecided
	case len(s.observations) == 0:
		r.state, r.why = Inconclusive, "the agent was not asked"
	}
	return r
}

// askAll runs the check on a hand, under the watchdog.
func (w *worker) askAll(ctx context.Context, p *promise, s *sight, r ruling) ruling {
	w.watchdog.Reset(w.engine.watchdog())
	defer w.watchdog.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found ruling
	e := w.hands.call(limits{ctx: ctx, cancel: cancel, watchdog: w.watchdog.C}, func() error {
		found = w.engine.checkAll(ctx, p, s, r)
		return nil
	})
	unknown := ruling{state: Inconclusive, evidence: r.evidence, abandoned: e.left}
	switch {
	case e.cut == cutWatchdog:
		unknown.why = fmt.Sprintf("the watchdog gave up after %v of real time, while the invariant was checking", w.engine.watchdog())
	case e.cut != uncut:
		unknown.why, unknown.cancelled = "the run was cancelled, while the invariant was checking", true
	case e.err != nil:
		unknown.why = fmt.Sprintf("the check of the invariant failed: %v", e.err)
	default:
		return found
	}
	return unknown
}

func (e *engine) checkAll(ctx context.Context, p *promise, s *sight, r ruling) ruling {
	for i, o := range s.observations {
		own := *o // it may be shared, and with Share is
		own.Cell.Invariant = p.ID
		err := e.check(ctx, p, i, &own)
		switch {
		case err != nil && !errors.Is(err, ErrUndecided):
			return ruling{state: Broken, why: err.Error(), evidence: &own}
		case err != nil && r.state == Held:
			r = ruling{state: Inconclusive, why: err.Error(), evidence: &own}
		case r.state == Held && s.partial == nil:
			r.evidence = &own
		}
	}
	return r
}

// check asks an invariant about one observation.
func (e *engine) check(ctx context.Context, p *promise, i int, o *Observation) error {
	if o.Err != nil && !p.JudgesErrors {
		return fmt.Errorf("the agent failed: %w", o.Err)
	}
	if o.noState != nil && p.Needs.Has(NeedState) {
		return fmt.Errorf("%w: %w", ErrUndecided, o.noState)
	}
	var err error
	if o.Baseline, err = e.baseline(p, i); err != nil {
		return fmt.Errorf("%w: %w", ErrUndecided, err)
	}
	return p.Check(ctx, o)
}

// whyUndelivered says why a cell with rules saw no fault.
func (s *sight) whyUndelivered() string {
	calls, note := 0, ""
	for _, o := range s.observations {
		calls += len(o.Events)
		for _, e := range o.Events {
			note = cmp.Or(note, e.Note)
		}
	}
	switch {
	case s.undelivered > 0 && note != "":
		return fmt.Sprintf("%d struck and changed nothing (%s)", s.undelivered, note)
	case s.undelivered > 0:
		return fmt.Sprintf("%d struck and changed nothing", s.undelivered)
	case calls == 0:
		return "the agent made no call"
	}
	return fmt.Sprintf("the agent made %d calls, and no rule struck one", calls)
}

// scored is the cell as the score counts it. How many faults were delivered
// does not matter there, so that many cells are equal.
func (r *CellReport) scored(w *weather) scoring.Cell {
	return scoring.Cell{
		Scenario: r.Cell.Scenario, Invariant: r.Cell.Invariant, Severity: r.Severity, State: r.State,
		Broken: r.Broke, Delivered: min(r.Delivered, 1), HasRules: len(w.Rules) > 0, AllowUndelivered: w.AllowUndelivered,
	}
}
