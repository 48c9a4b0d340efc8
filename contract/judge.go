package contract

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/scoring"
)

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
		Violated: r.Violated, Delivered: min(r.Delivered, 1), HasRules: len(s.Rules) > 0, AllowUndelivered: s.AllowUndelivered,
	}
}
