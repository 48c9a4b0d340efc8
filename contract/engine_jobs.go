package contract

import (
	"cmp"
	"context"
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
	at         int // of the first invariant among those of the scenario
}

func (j job) cell(p *compiledInvariant) Cell { return Cell{j.scenario.Name, p.Name, j.trial} }

func (j job) shared() bool { return j.scenario.source.shared() }

// jobs yields the jobs of the sources that of selects, in the order of [Matrix.Cells],
// each with its number among the jobs of all. Each is made when it is taken, because all
// of them may not fit in memory.
func (e *engine) jobs(of func(*worldSource) bool) iter.Seq2[int, job] {
	return func(yield func(int, job) bool) {
		number := 0
		for _, s := range e.scenarios {
			first := slices.Collect(e.firstJobs(s))
			if !of(s.source) {
				number += e.m.trials() * len(first)
				continue
			}
			for trial := 1; trial <= e.m.trials(); trial++ {
				for _, j := range first {
					j.trial = trial
					if !yield(number, j) {
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
		at := 0
		for invariants := range slices.Chunk(s.invariants, size) {
			if !yield(job{s, 1, invariants, at}) {
				return
			}
			at += len(invariants)
		}
	}
}

// find makes the job of a single cell.
func (e *engine) find(c Cell) (job, error) {
	var names []string
	for _, s := range e.scenarios {
		for i, p := range s.invariants {
			names = append(names, s.Name+"/"+p.Name)
			if s.Name == c.Scenario && p.Name == c.Invariant && c.Trial >= 1 && c.Trial <= e.m.trials() {
				return job{s, c.Trial, s.invariants[i : i+1], i}, nil
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

// A queue has the jobs in the shared world, which run one at a time, or the others.
type queue struct {
	take   func() (int, job, bool)
	number int // of the first job, which is next
	next   job
	more   bool // there is such a job
	busy   bool // a job in the shared world runs
}

// newQueues returns the queues of a matrix. stop ends them.
func (e *engine) newQueues() (queues []*queue, stop func()) {
	var stops []func()
	for _, shared := range []bool{true, false} {
		of := func(s *worldSource) bool { return s.shared() == shared }
		if !slices.ContainsFunc(e.sources, of) {
			continue
		}
		take, end := iter.Pull2(e.jobs(of))
		q := &queue{take: take}
		q.advance()
		queues, stops = append(queues, q), append(stops, end)
	}
	return queues, func() {
		for _, end := range stops {
			end()
		}
	}
}

func (q *queue) advance() { q.number, q.next, q.more = q.take() }

// window is the number of jobs, times the number of workers, that may be ahead of
// the slowest. It bounds the reports that wait for a slow cell.
const window = 64

// takeJob returns the first job that may run now. ok is false if the worker has nothing
// more to do: of the jobs in the shared world the worker that does one does all others.
func (c *collector) takeJob(ctx context.Context) (number int, j job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var first *queue
		for _, q := range c.queues {
			if q.more && !q.busy && (first == nil || q.number < first.number) {
				first = q
			}
		}
		switch {
		case first == nil && c.rounds != nil && !c.rounds.over && !c.cancelled:
			c.moved.Wait() // for the last jobs of the round
			continue
		case first == nil:
			return 0, job{}, false
		case first.number >= c.next+window*c.workers:
			c.moved.Wait()
			continue
		case ctx.Err() != nil:
			c.cancelled = true
			c.moved.Broadcast()
			return 0, job{}, false
		}
		number, j = first.number, first.next
		first.busy = j.shared()
		first.advance()
		return number, j, true
	}
}

// free lets the next job in the shared world begin; c.mu is held.
func (c *collector) free(s *compiledScenario) {
	if s.source.shared() {
		c.queues[0].busy = false
	}
}

// roundSize is the number of trials of a round with a budget.
const roundSize = 16

// rounds plan what a sequential run does: a round of jobs after the other, each from the
// outcomes of those before. So the jobs do not depend on the workers.
type rounds struct {
	engine *engine
	open   []*unit
	begun  time.Time
	spent  struct {
		trials int
		cost   float64
	}
	why  string // why no further round begins; "": no limit was reached
	over bool   // no further round begins
}

// A unit is what takes a trial at a time: a field, or with ShareObservations all fields of
// a scenario.
type unit struct {
	job    job // its next trial
	fields []*fieldTally
	weight int // of the most severe open field
}

func (c *collector) newRounds() *rounds {
	r := &rounds{engine: c.engine, begun: time.Now()}
	for _, s := range c.engine.scenarios {
		for j := range c.engine.firstJobs(s) {
			all := c.fold.scenarios[s.index].fields
			r.open = append(r.open, &unit{job: j, fields: all[j.at : j.at+len(j.invariants)]})
		}
	}
	return r
}

// plan returns the jobs of the next round; none when there is none.
func (r *rounds) plan() (jobs []job) {
	r.open = slices.DeleteFunc(r.open, func(u *unit) bool { return !u.isOpen() })
	budget := &r.engine.o.Budget
	most := math.MaxInt
	if budget.set() {
		most = roundSize
		if budget.Trials > 0 {
			most = min(most, budget.Trials-r.spent.trials)
		}
		r.limit(budget)
		if r.over {
			return nil
		}
		r.prioritise()
	}
	afford, wanted := r.afford(budget), 0.0
	for i, u := range r.open {
		if wanted += u.expected(); i > 0 && wanted > afford {
			break // what is left would decide neither this field nor those before
		}
		for range u.needed(min(roundSize, most-len(jobs))) {
			jobs = append(jobs, u.job)
			u.job.trial++
		}
		if len(jobs) == most {
			break
		}
	}
	r.over = len(jobs) == 0
	return jobs
}

// limit ends the rounds when a limit is reached.
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
	r.over = r.why != "" || len(r.open) == 0
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

// prioritise sorts the units by weight ÷ expected further trials, the greatest first, and
// equal ones in the order of the matrix.
func (r *rounds) prioritise() {
	worth := make(map[*unit]float64, len(r.open))
	for _, u := range r.open {
		worth[u] = float64(u.weight) / u.expected()
	}
	slices.SortStableFunc(r.open, func(a, b *unit) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a.job.scenario.index, b.job.scenario.index),
			cmp.Compare(a.job.at, b.job.at))
	})
}

// isOpen reports whether the unit needs a trial, and finds its weight.
func (u *unit) isOpen() bool {
	u.weight = 0
	for _, f := range u.fields {
		if f.decision() == stats.Open && f.left() > 0 {
			u.weight = max(u.weight, f.Severity.Weight())
		}
	}
	return u.weight > 0
}

// needed is a number of trials that are needed whatever their outcomes.
func (u *unit) needed(most int) (n int) {
	for _, f := range u.fields {
		n = max(n, f.needed(most))
	}
	return n
}

// expected is about how many further trials decide all fields.
func (u *unit) expected() (n float64) {
	for _, f := range u.fields {
		if f.decision() == stats.Open {
			n = max(n, f.expected())
		}
	}
	return max(1, n)
}

// nextRound begins a round if the one before has ended; c.mu is held.
func (c *collector) nextRound() {
	if c.rounds == nil || c.rounds.over || c.next < c.planned {
		return
	}
	jobs := c.rounds.plan()
	c.queues = nil
	for _, shared := range []bool{true, false} {
		i, first := 0, c.planned
		q := &queue{take: func() (int, job, bool) {
			for ; i < len(jobs); i++ {
				if jobs[i].shared() == shared {
					i++
					return first + i - 1, jobs[i-1], true
				}
			}
			return 0, job{}, false
		}}
		if q.advance(); q.more {
			c.queues = append(c.queues, q)
		}
	}
	c.planned += len(jobs)
}

// spend counts what a job cost; c.mu is held.
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

// endRounds puts the cells into the order of the matrix, and counts them again in it.
func (c *collector) endRounds() {
	if c.rounds == nil {
		return
	}
	order := make([]int, len(c.cells))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return c.places[a].compare(c.places[b]) })
	cells := make([]CellReport, len(order))
	c.fold = newFold(c.fold.head, func(string) {}) // all warnings were given
	for i, from := range order {
		cells[i] = c.cells[from]
		at := c.places[from]
		c.fold.add(c.fold.scenarios[at.scenario], at.invariant, &cells[i])
	}
	c.cells = cells
}

// A cellPlace is where a cell stands in the matrix.
type cellPlace struct{ scenario, trial, invariant int }

func (p cellPlace) compare(q cellPlace) int {
	return cmp.Or(cmp.Compare(p.scenario, q.scenario), cmp.Compare(p.trial, q.trial),
		cmp.Compare(p.invariant, q.invariant))
}
