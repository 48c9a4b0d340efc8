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

// A ruling is the outcome of an invariant for a cell, or for one observation of it.
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
	w.askInvariant(ctx, q, o)
	w.watch(left)
	return !q.over
}

// askInvariant runs the check on one observation, under the watchdog.
func (w *worker) askInvariant(ctx context.Context, q *inquiry, o *Observation) {
	limit := w.engine.watchdog()
	w.watch(limit)
	defer w.watchdog.Stop()
	own, cancel := context.WithCancel(w.engine.m.withCell(ctx, o.Cell))
	defer cancel()
	own, notes := judging.Collect(own)
	defer func() { q.notes = append(q.notes, notes.All()...) }()
	i := q.asked
	q.asked++
	its := &struct { // in one piece; a copy, because the check may be left behind with it
		Observation
		found ruling
	}{Observation: *o}
	e := w.checkCaller.Call(usercode.Limits{Ctx: own, Cancel: cancel, Watchdog: w.watchdog.C}, func() error {
		its.found = check(own, q.invariant, i, &its.Observation)
		return nil
	})
	var found ruling
	if e.Cut == usercode.Uncut { // else it may still be written
		found = its.found
	}
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
		q.ruling, q.over = found, true
	case found.state == Inconclusive && q.ruling.state == Held:
		q.ruling = found
	}
}

// check asks an invariant about the i-th observation. It must be a copy: with
// ShareObservations other invariants judge the same one.
func check(ctx context.Context, p *compiledInvariant, i int, o *Observation) ruling {
	o.Cell.Invariant = p.Name
	if errors.Is(o.Err, ErrUndecided) && !errors.Is(o.Err, chaos.ErrInjected) {
		return ruling{state: Inconclusive, why: o.Err.Error(), at: i}
	}
	if o.Err != nil && !p.JudgesErrors {
		return ruling{state: Broken, why: fmt.Errorf("the agent failed: %w", o.Err).Error(), at: i}
	}
	var missing error
	if p.Needs.Has(NeedState) {
		missing = o.noState
	}
	if missing == nil {
		missing = p.addCalm(o, i)
	}
	if missing != nil {
		return ruling{state: Inconclusive, why: fmt.Errorf("%w: %w", ErrUndecided, missing).Error(), at: i}
	}
	err := usercode.Sound(p.Check(ctx, o))
	switch {
	case err == nil:
		return ruling{state: Held}
	case errors.Is(err, ErrDoesNotApply):
		return ruling{why: strings.TrimPrefix(err.Error(), ErrUndecided.Error()+": "), absent: true}
	case errors.Is(err, ErrUndecided):
		return ruling{state: Inconclusive, why: err.Error(), at: i, undecided: true}
	}
	return ruling{state: Broken, why: err.Error(), at: i}
}

// judge asks the invariant about the observations that it was not asked about
// yet, and returns the ruling on the cell.
func (w *worker) judge(ctx context.Context, q *inquiry, s *run) ruling {
	for q.asked < len(s.observations) && !q.over && !s.cancelled {
		w.askInvariant(ctx, q, s.observations[q.asked])
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

// evidence is the observation that decided; if none did, the last one. It is a copy where others
// have it too, or without what is known of calm runs.
func evidence(r *CellReport, p *compiledInvariant, found ruling, s *run) *Observation {
	at := found.at
	if at < 0 && s.partial == nil {
		at = s.lastDelivered()
	}
	o := s.partial
	if at >= 0 {
		o = s.observations[at]
	}
	if o == nil || o.Cell == r.Cell && !p.gather.Has(NeedCalm) && !p.Needs.Has(NeedBaseline) {
		return o
	}
	own := *o
	own.Cell = r.Cell
	if at >= 0 {
		_ = p.addCalm(&own, at) // what is missing is the cell's Why
	}
	return &own
}

// lastDelivered is the number of the last observation in which a fault was delivered, or else of the last one.
func (s *run) lastDelivered() int {
	for i, o := range slices.Backward(s.observations) {
		if o.Original != nil || slices.ContainsFunc(o.Events, func(e chaos.Event) bool { return e.Delivered }) {
			return i
		}
	}
	return len(s.observations) - 1
}

// whyUndelivered says why no fault was delivered in a cell with faults.
func (s *run) whyUndelivered(scenario *compiledScenario) string {
	calls, note := 0, ""
	for _, o := range s.observations {
		calls += len(o.Events)
		for i := range o.Events {
			note = cmp.Or(note, o.Events[i].Note)
		}
	}
	switch {
	case len(scenario.Rules) == 0:
		return "Rewrite changed no prompt"
	case scenario.Rewrite != nil:
		return "Rewrite changed no prompt, and no rule's fault changed anything"
	case s.undelivered > 0:
		why := fmt.Sprintf("%d injected and changed nothing", s.undelivered)
		if note != "" {
			why += " (" + note + ")"
		}
		return why
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

func (t judgeTally) add(r *Report, cell Cell, judged []judging.Note) {
	for _, n := range judged {
		i := slices.IndexFunc(r.Judges, func(s scoring.JudgeScore) bool {
			return s.Invariant == cell.Invariant && s.Judge == n.Judge && s.Version == n.Version
		})
		if i < 0 {
			i = len(r.Judges)
			r.Judges = append(r.Judges,
				scoring.JudgeScore{Invariant: cell.Invariant, Judge: n.Judge, Version: n.Version, Decide: n.Decide})
		}
		s := &r.Judges[i]
		add(&s.Asked, 1)
		add(&s.Calls, n.Calls)
		add(&s.Malformed, n.Malformed)
		add(&s.Disputed, asInt(n.Dissent > 0))
		add(&s.Cached, asInt(n.Cached))
		s.Cost = min(s.Cost+n.Cost, math.MaxFloat64)
		if n.Outcome == judging.Failed { // which is no ruling
			add(&s.Failed, 1)
			continue
		}
		own, ruled := ofScenario(s, cell.Scenario), bothRulings{}
		switch n.Outcome {
		case judging.Held:
			add(&s.Held, 1)
			add(&own.Held, 1)
			ruled.held = true
		case judging.Broken:
			add(&s.Broken, 1)
			add(&own.Broken, 1)
			ruled.broken = true
		default:
			add(&s.Unsure, 1)
			add(&own.Unsure, 1)
			continue
		}
		q := judgeQuestion{i, n.Question}
		before := t[q]
		t[q] = bothRulings{before.held || ruled.held, before.broken || ruled.broken}
		add(&s.Distinct, asInt(before == bothRulings{}))
		add(&s.Contradicted, asInt(before != bothRulings{} && t[q] != before))
	}
}

func ofScenario(s *scoring.JudgeScore, scenario string) *scoring.JudgeScenario {
	// Cells come by scenario, so it is most often the last.
	for i := len(s.Scenarios) - 1; i >= 0; i-- {
		if s.Scenarios[i].Scenario == scenario {
			return &s.Scenarios[i]
		}
	}
	s.Scenarios = append(s.Scenarios, scoring.JudgeScenario{Scenario: scenario})
	return &s.Scenarios[len(s.Scenarios)-1]
}

// askGoals asks the goals of a scenario about a run. A run in which an injection point
// refused a call shows nothing of the agent.
func (w *worker) askGoals(s *compiledScenario, r *run) (found []goalNote) {
	if len(w.engine.goals) == 0 || len(r.all) == 0 || r.cancelled || r.refused != nil {
		return nil
	}
	observations := make([]Observation, len(r.observations)) // copies: a function may be left behind with them
	for i, o := range r.observations {
		observations[i] = *o
	}
	limit := w.engine.watchdog()
	for goal, g := range w.engine.goals {
		if len(g.Scenarios) > 0 && !slices.Contains(g.Scenarios, s.Name) ||
			w.engine.goalsLeft[goal].Load() { // else each run would wait as long
			continue
		}
		reached := false
		ended := w.checkCaller.Aside(limit, func() {
			for k := range observations {
				reached = reached || g.Reached(&observations[k])
			}
		})
		f := goalNote{Goal: goal, Failed: whyAside(ended, limit)}
		if ended.Left {
			w.engine.goalsLeft[goal].Store(true)
		} else {
			f.Reached = reached // else it may still be written
		}
		found = append(found, f)
	}
	return found
}

func newCaller() usercode.Loop { return usercode.Loop{Exited: ErrFailNow} }

// callAside runs user code that has no context, under a watchdog of its own. It
// returns what went wrong, or "".
func callAside(c *usercode.Loop, limit time.Duration, fn func()) (why string) {
	return whyAside(c.Aside(limit, fn), limit)
}

func whyAside(e usercode.Ending, limit time.Duration) string {
	switch {
	case e.Left:
		return fmt.Sprintf("it did not return within %v", limit)
	case e.Err != nil:
		return e.Err.Error()
	}
	return ""
}

// ofOneJudge adds failures that do not say whose they are, such as panics, to the judge that
// the invariant asked besides, if that is one.
func ofOneJudge(judges []scoring.JudgeScore) (all []scoring.JudgeScore) {
	nameless := func(s *scoring.JudgeScore) bool { return s.Judge == "" && s.Version == "" && s.Failed == s.Asked }
	named := map[string][]int{} // by invariant, in judges
	for i := range judges {
		if !nameless(&judges[i]) {
			named[judges[i].Invariant] = append(named[judges[i].Invariant], i)
		}
	}
	for i := range judges {
		if lost := &judges[i]; nameless(lost) && len(named[lost.Invariant]) == 1 {
			s := &judges[named[lost.Invariant][0]]
			add(&s.Asked, lost.Asked)
			add(&s.Failed, lost.Failed)
			s.Cost = min(s.Cost+lost.Cost, math.MaxFloat64)
		}
	}
	for i := range judges {
		if lost := &judges[i]; !nameless(lost) || len(named[lost.Invariant]) != 1 {
			all = append(all, *lost)
		}
	}
	return all
}
