package contract

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
)

// judge asks the invariant about what it was not asked about yet, and says what
// became of the cell.
func (w *worker) judge(ctx context.Context, q *inquiry, s *sight) ruling {
	for q.asked < len(s.observations) && !q.over && !s.cancelled {
		w.ask(ctx, q, s.observations[q.asked])
	}
	r := q.ruling
	spoilt := func(state CellState, why string) {
		r.state, r.why, r.at, r.undecided = state, why, -1, false
	}
	switch {
	case r.state == Broken:
	case s.leaked != "":
		spoilt(Broken, "the agent or its world left goroutines behind: "+s.leaked)
	case s.undecided != nil:
		spoilt(Inconclusive, s.undecided.Error())
	case len(s.observations) == 0:
		spoilt(Inconclusive, "the agent was not asked")
	}
	return r
}

// evidence is a copy of the observation that decided, else of the last.
func (e *engine) evidence(r *CellReport, p *promise, found ruling, s *sight) *Observation {
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
		own.Baseline, _ = e.baseline(p, at)
	}
	return &own
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
		Violated: r.Violated, Delivered: min(r.Delivered, 1), HasRules: len(w.Rules) > 0, AllowUndelivered: w.AllowUndelivered,
	}
}
