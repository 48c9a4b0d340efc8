package contract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A collector gives the jobs to the workers, and puts the reports of their cells
// back into the order of the matrix.
type collector struct {
	engine *engine
	report *Report
	take   func() (job, bool) // the next job

	mu            sync.Mutex
	moved         *sync.Cond
	taken         int // number of jobs given to workers
	next          int // the first job whose reports are missing
	waiting       map[int]finished
	counts        map[scoring.Cell]int        // index into report.Counts
	tallies       map[*compiledScenario]tally // of report.Faults
	onCellCaller  usercode.Loop               // for OnCell
	faulty        bool                        // OnCell failed, and is not called again
	cancelled     bool                        // before the end
	warnedOfHosts bool
}

type finished struct {
	scenario *compiledScenario
	reports  []CellReport
}

// runAll runs every job and reports. At the end l looks at what the cells showed of
// the rules.
func (e *engine) runAll(ctx context.Context, l *ruleLinter) (*Report, error) {
	take, stop := iter.Pull(e.jobs())
	defer stop()
	c := &collector{engine: e, report: e.newReport(), take: take, waiting: map[int]finished{}, counts: map[scoring.Cell]int{}, onCellCaller: newCaller()}
	c.moved = sync.NewCond(&c.mu)
	c.tallies = newTallies(c.report, e.scenarios)
	defer c.onCellCaller.Release()
	var g errgroup.Group
	for range e.workers() {
		g.Go(func() error {
			w := e.newWorker()
			defer w.end()
			for i, j := range c.jobs(ctx) {
				c.done(i, finished{j.scenario, w.run(ctx, j)})
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
	r := &Report{Name: e.m.Name, Seed: e.m.Seed, Trials: e.m.trials(), SharedObservations: e.m.ShareObservations, StateProbed: e.probed,
		AllowInconclusive: e.o.AllowInconclusive, Warnings: e.warnings}
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

// window is the number of jobs, times the number of workers, that may be ahead of
// the slowest. It bounds the reports that wait for a slow cell.
const window = 64

func (c *collector) takeJob(ctx context.Context) (int, job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.taken >= c.next+window*c.engine.workers() {
		c.moved.Wait()
	}
	j, ok := c.take()
	if ok && ctx.Err() != nil {
		c.cancelled, ok = true, false
	}
	i := c.taken
	if ok {
		c.taken++
	}
	return i, j, ok
}

// done takes the reports of job i, and adds all that are now in order.
func (c *collector) done(i int, f finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i != c.next {
		c.waiting[i] = f
		return
	}
	for ok := true; ok; f, ok = c.waiting[c.next] {
		delete(c.waiting, c.next)
		for k := range f.reports {
			c.add(&f.reports[k], f.scenario)
		}
		c.next++
	}
	c.moved.Broadcast()
}

func (c *collector) add(r *CellReport, s *compiledScenario) {
	rep := c.report
	c.count(r.scored(s))
	c.tallies[s].add(r.events)
	c.tallies[s].addOverlaps(r.overlaps, r.Cell)
	c.addHosts(r.hosts, r.Cell)
	r.events, r.overlaps, r.hosts = nil, nil, nil
	rep.Filtered = rep.Filtered || r.State == NotRun
	add(&rep.Dropped, r.dropped)
	if r.Undecided {
		rep.Undecided++
	}
	if r.Absorbed {
		rep.Absorbed++
	}
	c.cancelled = c.cancelled || r.cancelled
	if r.Abandoned {
		rep.Abandoned++
		if rep.Abandoned == 1 && c.engine.m.NewWorld == nil {
			c.warn(fmt.Sprintf("the agent of %v did not end and may still touch the shared world", r.Cell))
		}
	}
	for _, text := range r.warnings {
		c.warn(text)
	}
	c.notify(r)
	if c.engine.o.Keep != KeepCounts {
		r.trim(c.engine.o.Keep)
		rep.Cells = append(rep.Cells, *r)
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
	r.Evidence = nil
}

// maxWarnings bounds the warnings of a run of many cells.
const maxWarnings = 100

func (c *collector) warn(text string) {
	if len(c.report.Warnings) < maxWarnings {
		c.report.Warnings = append(c.report.Warnings, text)
	}
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
		c.warn(fmt.Sprintf("OnCell failed on %v and was not called again: %s", r.Cell, why))
	}
}

// lintCalls warns of rules that matched no call, if every cell ran and its log shows
// all calls.
func (c *collector) lintCalls(l *ruleLinter) {
	r := c.report
	if c.cancelled || r.Filtered || r.Dropped > 0 {
		return
	}
	l.warn = c.warn
	l.lintCalls(func(s *compiledScenario, rule string) bool { return c.tallies[s][rule].matched })
}

func (c *collector) finish(ctx context.Context) (*Report, error) {
	r := c.report
	r.CalmRuns = c.engine.calmRuns()
	score, err := scoring.ContractWith(r.Counts, &scoring.ContractOptions{AllowInconclusive: c.engine.o.AllowInconclusive})
	r.Score = score
	switch {
	case c.cancelled:
		r.Cancelled = true
		if score.Verdict != scoring.Fail {
			r.Score.Verdict, r.Score.Why = scoring.Inconclusive, "the run was cancelled"
		}
		return r, ctx.Err()
	case errors.Is(err, scoring.ErrNoDecidedCell):
		return r, nil // the verdict says so: inconclusive
	}
	return r, err
}
