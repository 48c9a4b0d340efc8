package contract

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A job is what a worker does at a time: one cell, or with ShareObservations all
// cells of a scenario and trial.
type job struct {
	scenario   *compiledScenario
	trial      int
	invariants []*compiledInvariant
	known      []CellReport // of a run from which this one goes on; nil: it must be run
	// around takes the place of that of the run's options, if it is set.
	around func(chaos.ToolRegistry) chaos.ToolRegistry
}

func (j job) cell(p *compiledInvariant) Cell { return Cell{j.scenario.Name, p.Name, j.trial} }

func (j job) shared() bool { return j.scenario.source.shared() }

// mine reports whether a unit is of the shard of this run.
func (e *engine) mine(s *compiledScenario, trial int) bool {
	place := e.places[s.index]
	if !e.o.Sequential {
		place = place*e.m.trials() + trial - 1
	}
	return e.o.Shard.has(place)
}

// asks reports whether the run may call the agent.
func (e *engine) asks() bool {
	if e.resumed == nil || e.o.Sequential {
		return true
	}
	for _, s := range e.scenarios {
		for trial := 1; trial <= e.m.trials() && len(s.invariants) > 0; trial++ {
			if e.mine(s, trial) && !e.resumed.has(s.index, trial) {
				return true
			}
		}
	}
	return false
}

// jobs yields the jobs of the run in the order of [Matrix.Cells]: those of its shard, and with them
// all units that are known. Each is made when it is taken, because all of them may not fit in
// memory. An error ends them.
func (e *engine) jobs() iter.Seq2[job, error] {
	return func(yield func(job, error) bool) {
		for _, s := range e.scenarios {
			first := slices.Collect(e.firstJobs(s))
			for trial := 1; trial <= e.m.trials(); trial++ {
				if e.resumed.has(s.index, trial) {
					known, err := e.resumed.reports(s.index, trial)
					j := job{scenario: s, trial: trial, invariants: s.invariants, known: known}
					if !yield(j, err) || err != nil {
						return
					}
					continue
				}
				for _, j := range first {
					if j.trial = trial; e.mine(s, trial) && !yield(j, nil) {
						return
					}
				}
			}
		}
	}
}

// firstJobs yields the jobs of the first trial of a scenario.
func (e *engine) firstJobs(s *compiledScenario) iter.Seq[job] {
	size := 1
	if e.m.ShareObservations {
		size = max(len(s.invariants), 1)
	}
	return func(yield func(job) bool) {
		for invariants := range slices.Chunk(s.invariants, size) {
			if !yield(job{scenario: s, trial: 1, invariants: invariants}) {
				return
			}
		}
	}
}

func (e *engine) find(c Cell) (job, error) {
	var names []string
	for _, s := range e.scenarios {
		for i, p := range s.invariants {
			names = append(names, s.Name+"/"+p.Name)
			if s.Name == c.Scenario && p.Name == c.Invariant && c.Trial >= 1 && c.Trial <= e.m.trials() {
				return job{scenario: s, trial: c.Trial, invariants: s.invariants[i : i+1]}, nil
			}
		}
	}
	allowed := fmt.Sprintf("a scenario of the matrix, an invariant that applies to it, and a trial from 1 to %d",
		e.m.trials())
	if asked := c.Scenario + "/" + c.Invariant; !slices.Contains(names, asked) {
		allowed += text.Meant(asked, names)
	}
	return job{}, fields.Wrong("Cell", c.String(), allowed)
}

func (e *engine) workers() int {
	switch {
	case !slices.ContainsFunc(e.sources, func(s *worldSource) bool { return !s.shared() }):
		return 1
	case e.o.Workers > 0:
		return e.o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

const roundSize = 16

// rounds plan what a sequential run does: a round of jobs after the other, each from the
// outcomes of those before. So the jobs do not depend on the workers.
type rounds struct {
	engine *engine
	budget Budget // of the shard
	open   []*candidate
	units  units // with the cells so far
	begun  time.Time
	spent  struct {
		trials int
		cost   float64
	}
	unpriced int    // the first job whose cost is not known, from 1; 0: none
	why      string // why no further round begins; "": no limit was reached
}

// A candidate is what takes a trial at a time: a field, or with ShareObservations all fields of
// a scenario.
type candidate struct {
	job      job // its next trial
	fields   []*fieldTally
	weight   float64 // of the most severe open field; 0: none is open
	expected float64 // about how many further trials decide all fields
}

func (c *collector) newRounds() *rounds {
	e := c.engine
	r := &rounds{engine: e, budget: e.o.Budget, units: newUnits(len(e.m.Invariants)), begun: time.Now()}
	if n := e.o.Shard.Count; n > 1 && r.budget.Cost > 0 {
		r.budget.Cost /= float64(n)
		e.warn(fmt.Sprintf("Shard %v spends its share of the budget, %s ÷ %d = %s. What it leaves is lost to the others.",
			e.o.Shard, text.Cost(e.o.Budget.Cost), n, text.Cost(r.budget.Cost)))
	}
	for _, s := range e.scenarios {
		if !e.mine(s, 1) {
			continue
		}
		for j := range e.firstJobs(s) {
			u := &candidate{job: j}
			for _, p := range j.invariants {
				u.fields = append(u.fields, c.fold.scenarios[s.index].fields[p.index])
			}
			r.open = append(r.open, u)
		}
	}
	return r
}

// plan returns the jobs of the next round; none when there is none.
func (r *rounds) plan() (jobs []job) {
	r.open = slices.DeleteFunc(r.open, func(u *candidate) bool { return !u.isOpen() })
	budget := &r.budget
	most := math.MaxInt
	if budget.set() {
		most = roundSize
		if budget.Trials > 0 {
			most = min(most, budget.Trials-r.spent.trials)
		}
		if r.limit(budget); r.why != "" {
			return nil
		}
		slices.SortStableFunc(r.open, func(a, b *candidate) int { // equal ones: in the order of the matrix
			return cmp.Or(cmp.Compare(b.weight/b.expected, a.weight/a.expected),
				cmp.Compare(a.job.scenario.index, b.job.scenario.index),
				cmp.Compare(a.job.invariants[0].index, b.job.invariants[0].index))
		})
	}
	afford, wanted := r.afford(budget), 0.
	for i, u := range r.open {
		if wanted += u.expected; i > 0 && wanted > afford {
			break // what is left would decide neither this field nor those before
		}
		for range u.needed(min(roundSize, most-len(jobs))) {
			jobs = append(jobs, u.job)
			u.job.trial++
		}
	}
	return jobs
}

func (r *rounds) limit(b *Budget) {
	switch {
	case r.why != "": // the cost is not known
	case b.Trials > 0 && r.spent.trials >= b.Trials:
		r.why = "the budget of " + text.Plural(b.Trials, "trial") + " is spent"
	case b.Time > 0 && time.Since(r.begun) >= b.Time:
		r.why = fmt.Sprintf("the budget of %v is spent", b.Time)
	case b.Cost > 0 && r.spent.cost >= b.Cost:
		r.why = fmt.Sprintf("the budget of %s is spent: the cost was %s", text.Cost(b.Cost), text.Cost(r.spent.cost))
	}
}

// afford is about how many trials the budget still pays for.
func (r *rounds) afford(b *Budget) float64 {
	n := math.Inf(1)
	if b.Trials > 0 {
		n = float64(b.Trials - r.spent.trials)
	}
	if b.Cost > 0 && r.spent.cost > 0 {
		n = min(n, (b.Cost-r.spent.cost)/r.spent.cost*float64(r.spent.trials))
	}
	return n
}

// isOpen reports whether the candidate needs a trial, and weighs it.
func (u *candidate) isOpen() bool {
	u.weight, u.expected = 0, 1
	for _, f := range u.fields {
		if f.decision() == stats.Open && f.left() > 0 {
			u.weight, u.expected = max(u.weight, float64(f.Severity.Weight())), max(u.expected, f.expected())
		}
	}
	return u.weight > 0
}

// needed is a number of trials that are needed whatever their outcomes.
func (u *candidate) needed(most int) (n int) {
	for _, f := range u.fields {
		n = max(n, f.needed(most))
	}
	return n
}

// jobsOfRounds yields the jobs of one round after the other, and then what is known besides, such as
// units of other shards.
func (c *collector) jobsOfRounds() iter.Seq2[job, error] {
	return func(yield func(job, error) bool) {
		for {
			c.mu.Lock()
			var jobs []job
			if !c.cancelled {
				jobs = c.rounds.plan()
			}
			c.mu.Unlock()
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				j.known = c.engine.resumed.give(j)
				if !yield(j, nil) {
					return
				}
			}
			for range cap(c.ahead) { // until all of the round have ended; they end with the run
				c.ahead <- struct{}{}
			}
			for range cap(c.ahead) {
				<-c.ahead
			}
		}
		for j := range c.engine.leftOver() {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// leftOver yields what is known of a sequential run and was not asked for.
func (e *engine) leftOver() iter.Seq[job] {
	return func(yield func(job) bool) {
		if e.resumed == nil {
			return
		}
		for _, s := range e.scenarios {
			for j := range e.firstJobs(s) {
				for j.trial = 1; len(e.resumed.cells) > 0 && j.trial <= e.m.trials(); j.trial++ {
					if j.known = e.resumed.give(j); j.known != nil && !yield(j) {
						return
					}
				}
			}
		}
	}
}

// price asks what the runs of a job have cost. If that fails, it is not asked of later jobs, so that
// the first failure is that of the same job whoever is faster.
func (c *collector) price(number int, f *finished) {
	r := c.rounds
	if r == nil || r.budget.CostOf == nil || f.known != nil || r.unpriced > 0 && number >= r.unpriced {
		return
	}
	for i := range f.reports {
		own, cost := f.reports[i], 0.0
		if own.notes == nil || own.notes.Run == nil { // it was left out, or another cell has the run
			continue
		}
		why := callAside(&c.onCellCaller, c.engine.watchdog(), func() { cost = r.budget.CostOf(&own) })
		if why == "" && !(cost >= 0 && cost <= math.MaxFloat64) {
			why = fmt.Sprintf("it returned %v", cost)
		}
		if why != "" {
			r.unpriced = number
			f.unpriced = fmt.Sprintf("Budget.CostOf failed on %v, so no further round began: %s", own.Cell, why)
			return
		}
		own.notes.Run.Cost = cost
	}
}

// spend counts what a job has cost, in the order of the jobs.
func (c *collector) spend(f *finished) {
	r := c.rounds
	if r == nil {
		return
	}
	if slices.ContainsFunc(f.reports, func(r CellReport) bool { return r.State != NotRun || r.DoesNotApply }) {
		r.spent.trials++
	}
	for i := range f.reports {
		if notes := f.reports[i].notes; notes != nil { // else the cell was left out
			r.spent.cost += notes.cost()
		}
	}
	r.why = cmp.Or(r.why, f.unpriced)
}
