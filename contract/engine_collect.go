package contract

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A collector gives the jobs to the workers, and puts the reports of their cells
// back into the order of the matrix.
type collector struct {
	engine  *engine
	report  *Report
	workers int

	mu            sync.Mutex
	moved         *sync.Cond
	queues        []*queue // the first is that of the shared world, if there is one
	next          int      // the first job whose reports are missing
	waiting       map[int]finished
	counts        map[scoring.Cell]int        // index into report.Counts
	tallies       map[*compiledScenario]tally // of report.Faults
	chaos         *chaosTally
	coverage      *coverage
	alike         sameness
	judges        judgeTally
	onCellCaller  usercode.Loop // for OnCell
	faulty        bool          // OnCell failed, and is not called again
	cancelled     bool          // before the end
	warnedOfHosts bool
	warnedOfWorld bool
	rounds        *rounds     // nil: all jobs are done
	planned       int         // jobs of the rounds so far
	places        []cellPlace // of the cells of the report, with rounds
}

type finished struct {
	job
	reports []CellReport
}

// runAll runs every job and reports. At the end l looks at what the cells showed of
// the rules.
func (e *engine) runAll(ctx context.Context, l *ruleLinter) (*Report, error) {
	c := &collector{engine: e, report: e.newReport(), workers: e.workers(), waiting: map[int]finished{},
		counts: map[scoring.Cell]int{}, judges: judgeTally{}, onCellCaller: newCaller()}
	if e.o.Sequential {
		c.rounds = e.newRounds()
		c.nextRound()
	} else {
		queues, stop := e.newQueues()
		defer stop()
		c.queues = queues
	}
	c.moved = sync.NewCond(&c.mu)
	c.tallies, c.coverage = newTallies(c.report, e.scenarios), newCoverage(e.sources)
	if c.rounds == nil { // else the score has twins that were left out
		c.chaos = newChaosTally(e.scenarios)
	}
	defer c.onCellCaller.Release()
	var g errgroup.Group
	for range c.workers {
		g.Go(func() error {
			w := e.newWorker()
			defer w.end()
			for i, j := range c.jobs(ctx) {
				c.done(i, finished{j, w.run(ctx, j)})
			}
			return nil
		})
	}
	_ = g.Wait() // the workers return none
	c.warnOfOverlaps()
	c.lintCalls(l)
	return c.finish(ctx)
}

func (e *engine) newReport() *Report {
	r := &Report{Name: text.Valid(e.m.Name), Seed: e.m.Seed, Trials: e.m.trials(),
		SharedObservations: e.m.ShareObservations,
		StateProbed:        e.probed, Sequential: e.o.Sequential, Goals: e.m.newGoals(),
		Fingerprint: e.m.fingerprint(e.scenarios), Tools: e.toolHashes(),
		AllowInconclusive: e.o.AllowInconclusive}
	for _, s := range e.scenarios {
		r.Scenarios = append(r.Scenarios, s.Name)
	}
	for i := range e.m.Invariants {
		r.Invariants = append(r.Invariants, e.m.Invariants[i].Name)
	}
	return r
}

// jobs yields numbered jobs to one of the workers, until there are no more.
func (c *collector) jobs(ctx context.Context) iter.Seq2[int, job] {
	return func(yield func(int, job) bool) {
		for {
			i, j, ok := c.takeJob(ctx)
			if !ok || !yield(i, j) {
				return
			}
		}
	}
}

// done takes the reports of job i, and adds all that are now in order.
func (c *collector) done(i int, f finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free(f.scenario)
	if i != c.next {
		c.waiting[i] = f
		return
	}
	for ok := true; ok; f, ok = c.waiting[c.next] {
		delete(c.waiting, c.next)
		c.spend(f.reports)
		for k := range f.reports {
			c.add(&f.reports[k], f.job, k)
		}
		c.next++
	}
	c.nextRound()
	c.moved.Broadcast()
}

// add adds the report of the k-th cell of a job.
func (c *collector) add(r *CellReport, j job, k int) {
	rep, s := c.report, j.scenario
	c.count(r.scored(s))
	s.fields[j.at+k].add(r)
	c.chaos.add(r, s)
	notes := cmp.Or(r.notes, &cellNotes{}) // a cell that was left out has none
	r.notes = nil
	if shown := notes.run; shown != nil {
		s.runs.ran(r, shown)
		c.tallies[s].add(shown.all, c.coverage)
		c.alike.add(shown.observations, shown.dropped)
		c.tallies[s].addOverlaps(shown.cautions.overlaps, r.Cell)
		c.addHosts(shown.cautions.hosts, r.Cell)
		c.addGoals(notes.goals)
		add(&rep.Dropped, shown.dropped)
	}
	c.judges.add(rep, r.Cell, notes.judged)
	rep.Filtered = rep.Filtered || r.State == NotRun
	if r.Undecided {
		rep.Undecided++
	}
	if r.Absorbed {
		rep.Absorbed++
	}
	c.cancelled = c.cancelled || notes.cancelled
	if r.Abandoned {
		rep.Abandoned++
		if s.source.shared() && !c.warnedOfWorld {
			c.warnedOfWorld = true
			c.engine.warn(fmt.Sprintf("the agent of %v did not end and may still touch the shared world", r.Cell))
		}
	}
	for _, text := range notes.warnings {
		c.engine.warn(text)
	}
	c.notify(r)
	if c.engine.o.Keep != KeepCounts {
		r.trim(c.engine.o.Keep)
		rep.Cells = append(rep.Cells, *r)
		if c.rounds != nil {
			c.places = append(c.places, cellPlace{s.index, j.trial, j.at + k})
		}
	}
}

// count counts a cell, together with equal ones.
func (c *collector) count(cell scoring.Cell) {
	i, seen := c.counts[cell]
	if !seen {
		i = len(c.report.Counts)
		c.counts[cell] = i
		c.report.Counts = append(c.report.Counts, cell)
	}
	c.report.Counts[i].Count++
}

// trim drops the evidence that is not to be retained.
func (r *CellReport) trim(keep KeepPolicy) {
	switch keep {
	case KeepAll:
		return
	case KeepBroken:
		if r.Violated || r.State == Inconclusive {
			return
		}
	}
	r.Evidence, r.observed = nil, nil
}

// notify calls OnCell with a copy of the report. A failure of OnCell is a warning.
func (c *collector) notify(r *CellReport) {
	onCell := c.engine.o.OnCell
	if onCell == nil || c.faulty || r.State == NotRun {
		return
	}
	own := *r
	if why := callAside(&c.onCellCaller, c.engine.watchdog(), func() { onCell(&own) }); why != "" {
		c.faulty = true
		c.engine.warn(fmt.Sprintf("OnCell failed on %v and was not called again: %s", r.Cell, why))
	}
}

// lintCalls warns of rules that matched no call, if every cell ran and its log shows
// all calls.
func (c *collector) lintCalls(l *ruleLinter) {
	r := c.report
	if c.cancelled || r.Filtered || r.Dropped > 0 || c.rounds != nil {
		return
	}
	l.lintCalls(func(s *compiledScenario, rule string) bool { return c.tallies[s][rule].matched })
}

func (c *collector) finish(ctx context.Context) (*Report, error) {
	r := c.report
	c.cover()
	var left bool
	if r.CalmRuns, left = c.engine.calmRuns(); left {
		c.engine.warn("the agent of a calm run did not end and may still touch the shared world")
	}
	r.Cancelled = c.cancelled
	c.endRounds()
	if w := c.alike.warning(); w != "" && !c.cancelled {
		c.engine.warn(w)
	}
	r.Warnings = c.engine.warnings
	r.Judges = ofOneJudge(r.Judges)
	var tallies []*fieldTally
	for _, s := range c.engine.scenarios {
		tallies = append(tallies, s.fields...)
		r.Repeats = append(r.Repeats, s.runs.repeats(s.Name))
	}
	err := r.judge(tallies)
	if chaos, problem := c.chaos.score(c.report.SharedObservations); problem == nil { // the score above has it too
		r.Chaos = chaos
	}
	switch {
	case c.cancelled:
		return r, ctx.Err()
	case errors.Is(err, scoring.ErrNoDecidedCell):
		return r, nil // the verdict says so: inconclusive
	}
	return r, err
}

// tally counts the rules of one scenario by their names.
type tally map[string]*ruleTally

type ruleTally struct {
	*FaultCount         // in the report's own list
	kind        string  // that of its fault, or else its type
	matched     bool    // some call, also if no fault was injected
	overlaps    int     // runs in which calls overlapped that it counted
	overlap     overlap // of the first such run
	overlapIn   Cell
}

// newTallies lists every rule of every scenario in the report, also those that
// never match a call, and returns a tally per scenario.
func newTallies(r *Report, scenarios []*compiledScenario) map[*compiledScenario]tally {
	n := 0
	for _, s := range scenarios {
		n += len(s.Rules)
	}
	r.Faults = make([]FaultCount, 0, n) // its elements are pointed to: it must not grow
	tallies := make(map[*compiledScenario]tally, len(scenarios))
	for _, s := range scenarios {
		t := make(tally, len(s.Rules))
		for _, rule := range s.plan.Rules() {
			r.Faults = append(r.Faults,
				FaultCount{Scenario: s.Name, Rule: text.Valid(rule.Name), Target: rule.Target,
					Fault: text.Valid(kindOf(rule.Fault))})
			t[rule.Name] = &ruleTally{FaultCount: &r.Faults[len(r.Faults)-1], kind: shownKind(rule.Fault)}
		}
		tallies[s] = t
	}
	return tallies
}

// kindOf is the kind that a fault declares; "" for one that declares none, whose
// events have it.
func kindOf(f chaos.Fault) string {
	said, _ := descriptionOf(f)
	return said.Kind
}

// add counts the faults of one run of the agent.
func (t tally) add(observations []*Observation, cov *coverage) {
	var events []*chaos.Event
	met := false
	for _, o := range observations {
		for i := range o.Events {
			cov.call(o.Events[i].Target)
			if len(t) > 0 {
				events = append(events, &o.Events[i])
				met = met || o.Events[i].Delivered
			}
		}
	}
	var delivered []*ruleTally
	var tried map[*chaos.Event]int
	if met {
		tried = tries(events)
	}
	for _, e := range events {
		delivered = t.event(e, tried[e], delivered, cov)
	}
	for _, c := range delivered {
		c.Cells++
	}
}

// event counts one call, and adds to the rules delivered so far.
func (t tally) event(e *chaos.Event, try int, delivered []*ruleTally, cov *coverage) []*ruleTally {
	count := func(rule string, reached bool) {
		c := t[rule]
		if c == nil { // no rule was injected
			return
		}
		c.matched = true
		switch {
		case !reached:
			add(&c.Undelivered, 1)
		default:
			add(&c.Delivered, 1)
			if !slices.Contains(delivered, c) {
				delivered = append(delivered, c)
			}
		}
	}
	count(e.Rule, e.Delivered)
	if c := t[e.Rule]; c != nil && c.Fault == "" {
		c.Fault = e.Fault
	}
	if e.Delivered {
		cov.add(e, try, e.Fault)
	}
	for _, rule := range e.Also {
		count(rule, true)
		if c := t[rule]; c != nil {
			cov.add(e, try, c.kind)
		}
	}
	for _, rule := range e.Idle {
		count(rule, false)
	}
	for _, notInjected := range [][]string{e.Masked, e.HeldBack} {
		for _, rule := range notInjected {
			if c := t[rule]; c != nil {
				c.matched = true
			}
		}
	}
	return delivered
}

// Sums of counts and of times stop at the largest value of their type. An
// int may have 32 bits, and a cell that hung counts thirty days.

// plus adds two durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// add adds to a count.
func add(count *int, n int) {
	if *count > math.MaxInt-n {
		*count = math.MaxInt
		return
	}
	*count += n
}

// toInt makes an int of a counter.
func toInt(n uint64) int { return int(min(n, math.MaxInt)) }

// reachedAgent reports whether some delivered fault is known to have reached the
// agent itself. A fault on a call that a tool made reaches it if each call around
// that one passes the outcome on. Otherwise the tool recovered, or turned it into
// something that cannot be distinguished from a result of the tool's own.
func reachedAgent(observations []*Observation) bool {
	within := map[string][]*chaos.Event{} // calls by target: those that others may be in
	var open []*chaos.Event               // delivered, on calls that other calls made
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			within[e.Target] = append(within[e.Target], e)
			switch {
			case !e.Delivered:
			case e.Caller == "":
				return true
			default:
				open = append(open, e)
			}
		}
	}
	seen := map[*chaos.Event]bool{}
	for len(open) > 0 {
		e := open[len(open)-1]
		open = open[:len(open)-1]
		for _, around := range within[e.Caller] {
			switch {
			case seen[around] || !passesOn(around, e):
			case around.Caller == "":
				return true
			default:
				seen[around] = true
				open = append(open, around)
			}
		}
	}
	return false
}

// passesOn reports whether one call lasted around another and let its outcome
// through: the injected error, the wait, or the very result.
func passesOn(around, e *chaos.Event) bool {
	switch {
	case around == e || around.Start > e.Start || around.End < e.End:
		return false
	case e.Outcome == chaos.OutcomeInjected, e.Outcome == chaos.OutcomePanicked, e.Outcome == chaos.OutcomeOpen:
		return around.Outcome == e.Outcome
	}
	return e.Spent > 0 || len(e.Result) > 0 && bytes.Equal(e.Result, around.Result)
}
