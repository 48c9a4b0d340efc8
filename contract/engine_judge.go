package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A ruling is the outcome of an invariant for a cell.
type ruling struct {
	state     CellState // Held, Broken or Inconclusive
	why       string
	at        int  // the observation that decided; -1: none
	undecided bool // the check itself could not tell
	abandoned bool // the check was left behind
	cancelled bool
}

// An inquiry asks one invariant about the observations of a cell, one after the
// other. The first that breaks it decides. If none does, the cell is inconclusive
// when some observation is, and else it holds.
type inquiry struct {
	invariant *compiledInvariant
	asked     int // observations so far
	ruling    ruling
	over      bool // no later observation changes the ruling
}

func newInquiry(p *compiledInvariant) *inquiry {
	return &inquiry{invariant: p, ruling: ruling{state: Held, at: -1}}
}

// watch starts the worker's watchdog.
func (w *worker) watch(limit time.Duration) {
	w.due = time.Now().Add(limit)
	w.watchdog.Reset(limit)
}

// between asks about the answer to a prompt before the next one is sent, and
// reports whether to send it. A prompt costs money, and one after the invariant
// broke decides nothing more. The time of the check does not count for the cell.
func (w *worker) between(ctx context.Context, q *inquiry, o *Observation) bool {
	if ctx.Err() != nil {
		return false
	}
	left := time.Until(w.due)
	w.ask(ctx, q, o)
	w.watch(left)
	return !q.over
}

// ask runs the check on one observation, under the watchdog.
func (w *worker) ask(ctx context.Context, q *inquiry, o *Observation) {
	limit := w.engine.watchdog()
	w.watch(limit)
	defer w.watchdog.Stop()
	own, cancel := context.WithCancel(w.engine.m.withCell(ctx, o.Cell))
	defer cancel()
	i, its := q.asked, *o // a copy: the check may be left behind with it
	q.asked++
	var found finding
	e := w.checkCaller.Call(usercode.Limits{Ctx: own, Cancel: cancel, Watchdog: w.watchdog.C}, func() error {
		found = check(own, q.invariant, i, &its)
		return nil
	})
	unknown := func(format string, args ...any) {
		q.ruling,
			q.over = ruling{state: Inconclusive, why: fmt.Sprintf(format, args...), at: i, abandoned: e.Left}, true
	}
	switch {
	case e.Cut == usercode.CutWatchdog:
		unknown("the watchdog gave up after %v of real time, while the invariant was checking", limit)
	case e.Cut != usercode.Uncut, found.state != Held && ctx.Err() != nil: // the end of ctx may be why it did not hold
		unknown("the run was cancelled, while the invariant was checking")
		q.ruling.cancelled = true
	case e.Err != nil:
		unknown("the check of the invariant failed: %v", e.Err)
	case found.state == Broken:
		q.ruling, q.over = ruling{state: Broken, why: found.why, at: i}, true
	case found.state == Inconclusive && q.ruling.state == Held:
		q.ruling = ruling{state: Inconclusive, why: found.why, at: i, undecided: found.byCheck}
	}
}

// A finding is the outcome of an invariant for one observation.
type finding struct {
	state   CellState
	why     string
	byCheck bool // the check itself said so; else something that it needs was missing
}

// check asks an invariant about one observation. It must be a copy: with
// ShareObservations other invariants judge the same one.
func check(ctx context.Context, p *compiledInvariant, i int, o *Observation) finding {
	o.Cell.Invariant = p.Name
	if errors.Is(o.Err, ErrUndecided) && !errors.Is(o.Err, chaos.ErrInjected) {
		return finding{Inconclusive, o.Err.Error(), false}
	}
	if o.Err != nil && !p.JudgesErrors {
		return finding{Broken, fmt.Errorf("the agent failed: %w", o.Err).Error(), false}
	}
	missing := o.noState
	if !p.Needs.Has(NeedState) {
		missing = nil
	}
	if missing == nil {
		o.Baseline, missing = p.baseline(i)
	}
	if missing != nil {
		return finding{Inconclusive, fmt.Errorf("%w: %w", ErrUndecided, missing).Error(), false}
	}
	err := p.Check(ctx, o)
	switch {
	case err == nil:
		return finding{state: Held, byCheck: true}
	case errors.Is(err, ErrUndecided):
		return finding{Inconclusive, err.Error(), true}
	}
	return finding{Broken, err.Error(), true}
}

// judge asks the invariant about the observations that it was not asked about
// yet, and returns the ruling on the cell.
func (w *worker) judge(ctx context.Context, q *inquiry, s *run) ruling {
	for q.asked < len(s.observations) && !q.over && !s.cancelled {
		w.ask(ctx, q, s.observations[q.asked])
	}
	r := q.ruling
	override := func(state CellState, why string) {
		r.state, r.why, r.at, r.undecided = state, why, -1, false
	}
	switch {
	case s.refused != nil && !r.cancelled: // first: whatever the agent made of it says nothing about the agent
		override(Inconclusive, s.refused.Error())
	case r.state == Broken:
	case s.leaked != "":
		override(Broken, "the agent or its world left goroutines behind: "+s.leaked)
	case s.undecided != nil:
		override(Inconclusive, s.undecided.Error())
	case len(s.observations) == 0:
		override(Inconclusive, "the agent was not asked")
	}
	return r
}

// evidence is a copy of the observation that decided; if none did, of the last one.
func evidence(r *CellReport, p *compiledInvariant, found ruling, s *run) *Observation {
	at := found.at
	if at < 0 && s.partial == nil {
		at = len(s.observations) - 1
	}
	o := s.partial
	if at >= 0 {
		o = s.observations[at]
	}
	if o == nil {
		return nil
	}
	own := *o
	own.Cell = r.Cell
	if at >= 0 {
		own.Baseline, _ = p.baseline(at)
	}
	return &own
}

// whyUndelivered says why no fault was delivered in a cell with rules.
func (s *run) whyUndelivered() string {
	calls, note := 0, ""
	for _, o := range s.observations {
		calls += len(o.Events)
		for _, e := range o.Events {
			note = cmp.Or(note, e.Note)
		}
	}
	switch {
	case s.undelivered > 0 && note != "":
		return fmt.Sprintf("%d injected and changed nothing (%s)", s.undelivered, note)
	case s.undelivered > 0:
		return fmt.Sprintf("%d injected and changed nothing", s.undelivered)
	case calls == 0:
		return "the agent made no call"
	}
	return fmt.Sprintf("the agent made %d calls, and no rule matched one", calls)
}

// scored is the cell as the score counts it. The number of delivered faults is
// cut to 1, because the score does not use it: so more cells are equal.
func (r *CellReport) scored(s *compiledScenario) scoring.Cell {
	return scoring.Cell{
		Scenario: r.Cell.Scenario, Invariant: r.Cell.Invariant, Severity: r.Severity, State: r.State,
		Violated: r.Violated, Delivered: min(r.Delivered, 1), HasRules: len(s.Rules) > 0,
		AllowUndelivered: s.AllowUndelivered,
	}
}
