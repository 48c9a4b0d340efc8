package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A ruling is the outcome of an invariant for a cell.
type ruling struct {
	state     CellState // Held, Broken or Inconclusive
	why       string
	at        int  // the observation that decided; -1: none
	undecided bool // the check itself could not tell
	absent    bool // the invariant does not apply to what was observed
	abandoned bool // the check was left behind
	cancelled bool
}

// An inquiry asks one invariant about the observations of a cell, one after the
// other. The first that breaks it decides. If none does, the cell is inconclusive
// when some observation is, and else it holds.
type inquiry struct {
	invariant *compiledInvariant
	asked     int            // observations so far
	absent    bool           // the invariant does not apply to one of them
	why       string         // it does not
	notes     []judging.Note // what judges ruled
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
	own, notes := judging.Collect(own)
	defer func() { q.notes = append(q.notes, notes.All()...) }()
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
	case found.absent:
		q.absent, q.why = true, found.why
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
	absent  bool // the invariant does not apply
}

// check asks an invariant about one observation. It must be a copy: with
// ShareObservations other invariants judge the same one.
func check(ctx context.Context, p *compiledInvariant, i int, o *Observation) finding {
	o.Cell.Invariant = p.Name
	if errors.Is(o.Err, ErrUndecided) && !errors.Is(o.Err, chaos.ErrInjected) {
		return finding{state: Inconclusive, why: o.Err.Error()}
	}
	if o.Err != nil && !p.JudgesErrors {
		return finding{state: Broken, why: fmt.Errorf("the agent failed: %w", o.Err).Error()}
	}
	var missing error
	if p.Needs.Has(NeedState) {
		missing = o.stateMissing()
	}
	if missing == nil {
		missing = p.addCalm(o, i)
	}
	if missing != nil {
		return finding{state: Inconclusive, why: fmt.Errorf("%w: %w", ErrUndecided, missing).Error()}
	}
	err := usercode.Sound(p.Check(ctx, o))
	switch {
	case err == nil:
		return finding{state: Held, byCheck: true}
	case errors.Is(err, ErrDoesNotApply):
		return finding{why: strings.TrimPrefix(err.Error(), ErrUndecided.Error()+": "), byCheck: true, absent: true}
	case errors.Is(err, ErrUndecided):
		return finding{state: Inconclusive, why: err.Error(), byCheck: true}
	}
	return finding{state: Broken, why: err.Error(), byCheck: true}
}

// judge asks the invariant about the observations that it was not asked about
// yet, and returns the ruling on the cell.
func (w *worker) judge(ctx context.Context, q *inquiry, s *run) ruling {
	for q.asked < len(s.observations) && !q.over && !s.cancelled {
		w.ask(ctx, q, s.observations[q.asked])
	}
	r := q.ruling
	if q.absent && !q.over { // what else was undecided may follow from the faults that are not asked about
		r = ruling{state: NotRun, why: q.why, at: -1, absent: true}
	}
	override := func(state CellState, why string) {
		r.state, r.why, r.at, r.undecided, r.absent = state, why, -1, false, false
	}
	switch {
	case s.refused != nil && !r.cancelled: // first: whatever the agent made of it says nothing about the agent
		override(Inconclusive, s.refused.Error())
	case r.state == Broken:
	case s.leaked != "" && !s.unsound: // an agent that got no sound world may not clean up
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
		_ = p.addCalm(&own, at) // what is missing is the cell's Why
	}
	return &own
}

// whyUndelivered says why no fault was delivered in a cell with faults.
func (s *run) whyUndelivered(scenario *compiledScenario) string {
	calls, note := 0, ""
	for _, o := range s.observations {
		calls += len(o.Events)
		for _, e := range o.Events {
			note = cmp.Or(note, e.Note)
		}
	}
	switch {
	case len(scenario.Rules) == 0:
		return "Rewrite changed no prompt"
	case scenario.Rewrite != nil:
		return "Rewrite changed no prompt, and no rule's fault changed anything"
	case s.undelivered > 0 && note != "":
		return fmt.Sprintf("%d injected and changed nothing (%s)", s.undelivered, note)
	case s.undelivered > 0:
		return fmt.Sprintf("%d injected and changed nothing", s.undelivered)
	case calls == 0:
		return "the agent made no call"
	}
	return fmt.Sprintf("the agent made %s, and no rule matched one", text.Plural(calls, "call"))
}

// scored is the cell as the score counts it. The number of delivered faults is
// cut to 1, because the score does not use it: so more cells are equal.
func (r *CellReport) scored(s *foldScenario) scoring.Cell {
	return scoring.Cell{
		Scenario: r.Cell.Scenario, Invariant: r.Cell.Invariant, Severity: r.Severity, State: r.State,
		Violated: r.Violated, Delivered: min(r.Delivered, 1), HasRules: s.injects(),
		AllowUndelivered: s.AllowUndelivered,
	}
}

// A judgeTally has the questions seen so far, by their place in [Report.Judges], with what
// was ruled on them: a report counts equal ones, and those that were ruled both ways.
type judgeTally map[judgeQuestion]bothRulings

type bothRulings struct{ held, broken bool }

type judgeQuestion struct {
	at       int
	question uint64
}

// add counts what judges ruled in a cell.
func (t judgeTally) add(rep *Report, cell Cell, judged []judging.Note) {
	invariant := cell.Invariant
	for _, n := range judged {
		i := slices.IndexFunc(rep.Judges, func(s scoring.JudgeScore) bool {
			return s.Invariant == invariant && s.Judge == n.Judge && s.Version == n.Version
		})
		if i < 0 {
			i = len(rep.Judges)
			rep.Judges = append(rep.Judges,
				scoring.JudgeScore{Invariant: invariant, Judge: n.Judge, Version: n.Version, Decide: n.Decide})
		}
		s := &rep.Judges[i]
		add(&s.Asked, 1)
		own := ofScenario(s, cell.Scenario, n.Outcome)
		switch n.Outcome {
		case judging.Held:
			add(&s.Held, 1)
			add(&own.Held, 1)
		case judging.Broken:
			add(&s.Broken, 1)
			add(&own.Broken, 1)
		case judging.Unsure:
			add(&s.Unsure, 1)
			add(&own.Unsure, 1)
		case judging.Failed:
			add(&s.Failed, 1)
		}
		if q := (judgeQuestion{i, n.Question}); n.Outcome == judging.Held || n.Outcome == judging.Broken {
			before := t[q]
			after := bothRulings{before.held || n.Outcome == judging.Held, before.broken || n.Outcome == judging.Broken}
			t[q] = after
			switch {
			case before == bothRulings{}:
				add(&s.Distinct, 1)
			case after != before:
				add(&s.Contradicted, 1)
			}
		}
		add(&s.Calls, n.Calls)
		add(&s.Malformed, n.Malformed)
		if n.Dissent > 0 {
			add(&s.Disputed, 1)
		}
		if n.Cached {
			add(&s.Cached, 1)
		}
		s.Cost = min(s.Cost+n.Cost, math.MaxFloat64)
	}
}

// ofScenario is what the judge ruled in a scenario. A failure is no ruling.
func ofScenario(s *scoring.JudgeScore, scenario string, o judging.Outcome) *scoring.JudgeScenario {
	if o == judging.Failed {
		return nil
	}
	// Cells come by scenario, so it is most often the last.
	for i := len(s.Scenarios) - 1; i >= 0; i-- {
		if s.Scenarios[i].Scenario == scenario {
			return &s.Scenarios[i]
		}
	}
	s.Scenarios = append(s.Scenarios, scoring.JudgeScenario{Scenario: scenario})
	return &s.Scenarios[len(s.Scenarios)-1]
}

// ofOneJudge adds failures that do not say whose they are, such as panics, to the judge that
// the invariant asked besides, if that is one.
func ofOneJudge(judges []scoring.JudgeScore) []scoring.JudgeScore {
	for i := 0; i < len(judges); i++ {
		lost := judges[i]
		if lost.Judge != "" || lost.Version != "" || lost.Failed < lost.Asked {
			continue
		}
		of, n := -1, 0
		for k := range judges {
			if k != i && judges[k].Invariant == lost.Invariant {
				of, n = k, n+1
			}
		}
		if n != 1 {
			continue
		}
		s := &judges[of]
		for _, count := range [][2]*int{{&s.Asked, &lost.Asked}, {&s.Failed, &lost.Failed}, {&s.Calls, &lost.Calls},
			{&s.Malformed, &lost.Malformed}, {&s.Disputed, &lost.Disputed}, {&s.Cached, &lost.Cached}} {
			add(count[0], *count[1])
		}
		s.Cost = min(s.Cost+lost.Cost, math.MaxFloat64)
		judges = slices.Delete(judges, i, i+1)
		i--
	}
	return judges
}
