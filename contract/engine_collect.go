package contract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A collector puts the reports of cells back into the order of the matrix, and folds them.
type collector struct {
	engine *engine
	ahead  *semaphore.Weighted // jobs that were begun, or that wait for a slower one
	most   int64               // of them

	mu            sync.Mutex
	next          int // the first job whose reports are missing
	waiting       map[int]finished
	fold          *fold
	onCellCaller  usercode.Loop // for OnCell
	faulty        bool          // OnCell failed, and is not called again
	cancelled     bool          // before the end
	warnedOfWorld bool
	rounds        *rounds // nil: all jobs are done
	cells         []CellReport
	places        []cellPlace // of these, with rounds
	file          *fileWriter // nil: none was asked for
}

// finished is a job that was done, or, without reports, one that a cancelled run left out.
type finished struct {
	job
	reports []CellReport
	took    time.Duration // of real time
}

// aheadOfSlowest is the number of jobs, times the number of workers, that may be ahead of
// the slowest. It bounds the reports that wait for a slow cell.
const aheadOfSlowest = 64

// runAll runs every job and reports. At the end l looks at what the cells showed of
// the rules.
func (e *engine) runAll(ctx context.Context, l *ruleLinter) (*Report, error) {
	workers := e.workers()
	c := &collector{engine: e, most: int64(aheadOfSlowest * workers), waiting: map[int]finished{},
		onCellCaller: newCaller(), fold: newFold(e.head, e.warn)}
	c.ahead = semaphore.NewWeighted(c.most)
	defer c.onCellCaller.Release()
	var err error
	if c.file, err = e.openFile(); err != nil {
		return nil, err
	}
	jobs := e.jobs()
	if e.o.Sequential {
		c.rounds = c.newRounds()
		jobs = c.jobsOfRounds()
	}
	c.work(ctx, jobs, workers)
	c.fold.warnOfOverlaps()
	c.warnOfUnmetTargets(l)
	return c.finish(ctx)
}

// work has so many workers do the jobs. A job waits in one of two lines, so that none in the
// shared world holds up the others.
func (c *collector) work(ctx context.Context, jobs iter.Seq2[int, job], workers int) {
	type numbered struct {
		number int
		job    job
	}
	shared, fresh := make(chan numbered, c.most), make(chan numbered, c.most)
	slots := semaphore.NewWeighted(int64(workers))
	var g errgroup.Group
	serve := func(line <-chan numbered) {
		g.Go(func() error {
			w := c.engine.newWorker()
			defer w.end()
			for n := range line {
				f := finished{job: n.job}
				if err := slots.Acquire(ctx, 1); err == nil {
					begun := time.Now()
					f.reports = w.run(ctx, n.job)
					f.took = time.Since(begun)
					slots.Release(1)
				}
				c.done(n.number, f)
			}
			return nil
		})
	}
	serve(shared)
	for range workers {
		serve(fresh)
	}
	for number, j := range jobs {
		if c.ahead.Acquire(ctx, 1) != nil {
			c.mu.Lock()
			c.cancelled = true
			c.mu.Unlock()
			break
		}
		if j.shared() {
			shared <- numbered{number, j}
		} else {
			fresh <- numbered{number, j}
		}
	}
	close(shared)
	close(fresh)
	_ = g.Wait() // the workers return none
}

// done takes the reports of a job, and adds all that are now in order.
func (c *collector) done(number int, f finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file.done(f)
	if number != c.next {
		c.waiting[number] = f
		return
	}
	for ok := true; ok; f, ok = c.waiting[c.next] {
		delete(c.waiting, c.next)
		c.cancelled = c.cancelled || len(f.reports) == 0
		c.spend(f.reports)
		for k := range f.reports {
			c.add(&f.reports[k], f.job, k)
		}
		c.next++
		c.ahead.Release(1)
	}
}

// add adds the report of the k-th cell of a job.
func (c *collector) add(r *CellReport, j job, k int) {
	s := j.scenario
	c.fold.add(c.fold.scenarios[s.index], j.first+k, r)
	c.cancelled = c.cancelled || r.notes != nil && r.notes.Cancelled
	if r.Abandoned && s.source.shared() && !c.warnedOfWorld {
		c.warnedOfWorld = true
		c.engine.warn(fmt.Sprintf("the agent of %v did not end and may still touch the shared world", r.Cell))
	}
	c.notify(r)
	if c.engine.o.Keep != KeepCounts || c.rounds != nil { // rounds are put into the order of the matrix at the end
		r.trim(c.engine.o.Keep)
		c.cells = append(c.cells, *r)
		if c.rounds != nil {
			c.places = append(c.places, cellPlace{s.index, j.trial, j.first + k})
		}
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
		c.engine.warn(fmt.Sprintf("OnCell failed on %v and was not called again: %s", r.Cell, why))
	}
}

// warnOfUnmetTargets warns of rules whose target is the name of nothing, if every cell ran and
// its log shows all calls.
func (c *collector) warnOfUnmetTargets(l *ruleLinter) {
	r := c.fold.report
	if !c.cancelled && !r.Filtered && r.Dropped == 0 && c.rounds == nil {
		l.lintTargets()
	}
}

func (c *collector) finish(ctx context.Context) (*Report, error) {
	c.endRounds()
	r, err := c.fold.finish(c.cancelled, nil)
	if c.fold.coverage.full {
		c.engine.warn(fmt.Sprintf("The coverage has the first %d combinations of target, fault and try. Names with numbers in them make many targets.", maxCover))
	}
	var left bool
	if r.CalmRuns, left = c.engine.calmRuns(); left {
		c.engine.warn("the agent of a calm run did not end and may still touch the shared world")
	}
	if c.rounds != nil && c.rounds.why != "" {
		c.engine.warn(c.rounds.why)
	}
	r.Warnings = c.engine.warnings
	if c.engine.o.Keep != KeepCounts {
		r.Cells = c.cells
	}
	if c.cancelled {
		err = ctx.Err()
	}
	return r, errors.Join(err, c.file.finish(r, c.cells))
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

// A worker does one job after the other.
type worker struct {
	engine       *engine
	caller       usercode.Loop // of the user code of the cell
	aroundCaller usercode.Loop // of Harness.Around
	checkCaller  usercode.Loop // of the checks of the invariants
	watchdog     *time.Timer
	due          time.Time // when the watchdog expires
}

func (e *engine) newWorker() *worker {
	w := &worker{engine: e, watchdog: time.NewTimer(0), caller: newCaller(), aroundCaller: newCaller(),
		checkCaller: newCaller()}
	w.watchdog.Stop()
	return w
}

func (w *worker) end() {
	w.watchdog.Stop()
	w.caller.Release()
	w.aroundCaller.Release()
	w.checkCaller.Release()
}

// run does one job and returns a report per cell, in order. Cells that Around
// left out are NotRun.
func (w *worker) run(ctx context.Context, j job) []CellReport {
	reports := make([]CellReport, len(j.invariants))
	var runs map[*promptList]*run
	if len(j.invariants) > 1 {
		runs = make(map[*promptList]*run)
	}
	for i, p := range j.invariants {
		r := &reports[i]
		r.Cell, r.Severity, r.Layer = j.cell(p), p.Severity, j.scenario.Layer
		w.around(ctx, r, j.scenario.source, func(r *CellReport, bubble Bubble) {
			w.learnCalm(ctx, p)
			// Of its own: a check that hangs still reads it when the next cell begins.
			q, s := &inquiry{invariant: p, ruling: ruling{state: Held, at: -1}}, runs[p.list]
			if s == nil {
				s = w.observe(ctx, j, q, bubble)
				own := &struct { // in one piece, as each cell has both
					cellNotes
					runNotes
				}{cellNotes{Of: p.index}, w.engine.notesOf(j.scenario, s)}
				own.Run, r.notes = &own.runNotes, &own.cellNotes
			} else {
				r.notes = &cellNotes{Of: p.index}
			}
			if runs != nil {
				runs[p.list] = s
			}
			w.conclude(ctx, r, q, j.scenario, s)
		})
	}
	return reports
}

// observe makes the run of a cell. It serves every invariant of the job that has the
// same prompts. If there is one alone, it ends when that breaks, unless other invariants may judge it.
func (w *worker) observe(ctx context.Context, j job, q *inquiry, bubble Bubble) *run {
	p := q.invariant
	live := &liveRun{engine: w.engine, source: j.scenario.source, scenario: j.scenario, cell: j.cell(p),
		prompts: p.list.prompts}
	if !w.engine.asksAll() && len(live.prompts) > 1 {
		live.inquiry = q
	}
	for _, other := range j.invariants {
		if other.list == p.list {
			live.needs |= other.gather
		}
	}
	return w.execute(ctx, live, bubble)
}

// conclude judges a cell and fills in its report, with what the report of the matrix needs.
func (w *worker) conclude(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	w.decide(ctx, r, q, scenario, s)
	if r.notes.Run != nil {
		if s.warning != "" {
			r.notes.Warnings = append(r.notes.Warnings, s.warning)
		}
		r.notes.Run.Goals = w.askGoals(scenario, s)
		if scenario.source.linted {
			scenario.source.points.meet(s.all)
		}
	}
	r.Rerun = rerunLine(w.engine.o.Harness.Rerun, r)
}

// decide judges a cell and fills in its outcome.
func (w *worker) decide(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	found := w.judge(ctx, q, s)
	r.State, r.Why, r.Violated, r.Undecided = found.state, found.why, found.state == Broken, found.undecided
	d := s.upTo(found)
	r.Delivered, r.Undelivered, r.Rewritten = d.delivered, d.undelivered, d.rewritten
	r.LateCalls, r.Abandoned = s.late, s.abandoned || found.abandoned
	r.notes.Judged, r.notes.Cancelled = q.notes, s.cancelled || found.cancelled
	r.Elapsed, r.Copy = s.elapsed(), d.copy
	r.DoesNotApply = found.absent
	if scenario.injects() && d.delivered == 0 && r.State != Inconclusive && !r.DoesNotApply {
		r.State = Undelivered
		if r.Why == "" {
			r.Why = "no fault was delivered: " + s.whyUndelivered(scenario)
		}
	}
	r.Evidence, r.observed = evidence(r, q.invariant, found, s), s.all
	w.engine.withoutSecrets(r)
}

// around runs a cell within [Harness.Around], once: when Around has returned, the cell must not
// start any more. Around may fail before the cell or after it. The run of a Runner is in the
// bubble of calm runs.
func (w *worker) around(ctx context.Context, r *CellReport, source *worldSource, cell func(*CellReport, Bubble)) {
	switch e := w.engine; {
	case e.forRunner:
		cell(r, w.calmBubble(source))
		return
	case e.o.Harness.Around == nil:
		cell(r, nil)
		return
	}
	var mu sync.Mutex // held while the cell runs, which may be on a goroutine of Around's own
	over := false
	own := *r
	run := func(bubble Bubble) *CellReport {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			over = true
			cell(&own, bubble)
		}
		shown := own
		return &shown
	}
	err := w.aroundCaller.Received(<-w.aroundCaller.Start(func() error {
		w.engine.o.Harness.Around(own.Cell, run)
		return nil
	}))
	mu.Lock()
	defer mu.Unlock()
	over = true
	if *r = own; err != nil && !r.Violated {
		r.State, r.Why, r.Undecided = Inconclusive, fmt.Sprintf("Around failed: %v", err), false
	}
}
