package contract

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// A job is what a worker does at a time: one cell, or with ShareObservations all
// cells of a scenario and trial.
type job struct {
	scenario   *compiledScenario
	trial      int
	invariants []*compiledInvariant
}

func (j job) cell(p *compiledInvariant) Cell { return Cell{j.scenario.Name, p.Name, j.trial} }

func (j job) shared() bool { return j.scenario.source.shared() }

// jobs yields the jobs in the order of [Matrix.Cells], with their numbers. Each is made when it is
// taken, because all of them may not fit in memory.
func (e *engine) jobs() iter.Seq2[int, job] {
	return func(yield func(int, job) bool) {
		number := 0
		for _, s := range e.scenarios {
			first := slices.Collect(e.firstJobs(s))
			for trial := 1; trial <= e.m.trials(); trial++ {
				for _, j := range first {
					if j.trial = trial; !yield(number, j) {
						return
					}
					number++
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
			if !yield(job{s, 1, invariants}) {
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
				return job{s, c.Trial, s.invariants[i : i+1]}, nil
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
	open   []*candidate
	units  units // with the cells so far
	begun  time.Time
	spent  struct {
		trials int
		cost   float64
	}
	why string // why no further round begins; "": no limit was reached
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
	r := &rounds{engine: c.engine, units: newUnits(len(c.engine.m.Invariants)), begun: time.Now()}
	for _, s := range c.engine.scenarios {
		for j := range c.engine.firstJobs(s) {
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
	budget := &r.engine.o.Budget
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

// jobsOfRounds yields the jobs of one round after the other, with their numbers.
func (c *collector) jobsOfRounds() iter.Seq2[int, job] {
	return func(yield func(int, job) bool) {
		for number := 0; ; {
			c.mu.Lock()
			jobs := c.rounds.plan()
			c.mu.Unlock()
			if len(jobs) == 0 {
				return
			}
			for _, j := range jobs {
				if !yield(number, j) {
					return
				}
				number++
			}
			for range cap(c.ahead) { // until all of the round have ended; they end with the run
				c.ahead <- struct{}{}
			}
			for range cap(c.ahead) {
				<-c.ahead
			}
		}
	}
}

func (c *collector) spend(reports []CellReport) {
	if c.rounds == nil {
		return
	}
	b, r := &c.engine.o.Budget, c.rounds
	if slices.ContainsFunc(reports, func(r CellReport) bool { return r.State != NotRun || r.DoesNotApply }) {
		r.spent.trials++
	}
	for i := range reports {
		notes := reports[i].notes
		if notes == nil { // the cell was left out
			continue
		}
		for _, n := range notes.Judged {
			r.spent.cost += n.Cost
		}
		if b.CostOf == nil || notes.Run == nil || r.why != "" {
			continue
		}
		own, cost := reports[i], 0.0
		why := callAside(&c.onCellCaller, c.engine.watchdog(), func() { cost = b.CostOf(&own) })
		if why == "" && !(cost >= 0 && cost <= math.MaxFloat64) {
			why = fmt.Sprintf("it returned %v", cost)
		}
		if why != "" {
			r.why = fmt.Sprintf("Budget.CostOf failed on %v, so no further round began: %s", own.Cell, why)
			return
		}
		r.spent.cost += cost
	}
}
