package contract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
	"github.com/shakedown-go/shakedown/scoring"
)

// A collector puts the reports of cells back into the order of the matrix, and folds them.
type collector struct {
	engine *engine
	ahead  chan struct{} // one for each job that was begun, or that waits for a slower one

	mu            sync.Mutex
	next          int // the first job whose reports are missing, from 1
	waiting       map[int]finished
	fold          *fold
	onCellCaller  usercode.Loop // for OnCell
	faulty        bool          // OnCell failed, and is not called again
	cancelled     bool          // before the end
	warnedOfWorld bool
	rounds        *rounds   // nil: all jobs are done
	progress      *progress // nil: nobody is told
	cells         []CellReport
	file          *fileWriter // nil: none was asked for
	err           error       // of the file from which the run goes on
}

// finished is a job that was done, or, without reports, one that a cancelled run left out.
type finished struct {
	job
	reports  []CellReport
	took     time.Duration // of real time
	unpriced string        // why its cost is not known; "": it is
}

// aheadOfSlowest is the number of jobs, times the number of workers, that may be ahead of
// the slowest. It bounds the reports that wait for a slow cell.
const aheadOfSlowest = 64

// runAll runs every job and reports.
func (e *engine) runAll(ctx context.Context) (*Report, error) {
	workers := e.workers()
	c := &collector{engine: e, ahead: make(chan struct{}, aheadOfSlowest*workers), waiting: map[int]finished{}, next: 1,
		onCellCaller: newCaller(), fold: newFold(e.head), progress: e.newProgress()}
	defer c.onCellCaller.Release()
	if e.writer == nil { // that of [Units] has lines
		var err error
		if e.writer, err = e.newFileWriter(c.fold); err != nil {
			return nil, err
		}
	}
	c.file = e.writer
	jobs := e.jobs()
	if e.o.Sequential {
		c.rounds = c.newRounds()
		jobs = c.jobsOfRounds()
	}
	c.work(ctx, jobs, workers)
	e.close()
	return c.finish(ctx)
}

// work does the jobs, so many at a time. Those in the shared world wait for each other, and hold
// up no others. A goroutine does many jobs: its stack has to grow once.
func (c *collector) work(ctx context.Context, jobs iter.Seq2[job, error], workers int) {
	type numbered struct {
		number int
		job    job
	}
	shared, fresh := make(chan numbered, cap(c.ahead)), make(chan numbered, cap(c.ahead))
	slots := make(chan struct{}, workers)
	var all sync.WaitGroup
	serve := func(line <-chan numbered) {
		all.Go(func() {
			w := c.engine.newWorker()
			defer w.end()
			for n := range line {
				slots <- struct{}{}
				f := finished{job: n.job}
				switch begun := time.Now(); {
				case n.job.known != nil:
					f.reports = w.show(n.job)
				case ctx.Err() == nil:
					f.reports = w.run(ctx, n.job)
					f.took = time.Since(begun)
				}
				c.done(n.number, f)
				<-slots // last, so that one worker alone waits for OnCell
			}
		})
	}
	serve(shared)
	for range workers {
		serve(fresh)
	}
	number := 1
	for j, err := range jobs {
		if err != nil {
			c.err = err
			break
		}
		if !c.begin(ctx, j) {
			c.mu.Lock()
			c.cancelled = true
			c.mu.Unlock()
			if c.engine.resumed == nil {
				break
			}
			continue // to what is known: the file has it
		}
		if j.shared() {
			shared <- numbered{number, j}
		} else {
			fresh <- numbered{number, j}
		}
		number++
	}
	close(shared)
	close(fresh)
	all.Wait()
}

// begin waits until a job may begin; false: the run was cancelled before. What is known begins then too.
func (c *collector) begin(ctx context.Context, j job) bool {
	done := ctx.Done()
	if j.known != nil {
		done = nil
	}
	select {
	case c.ahead <- struct{}{}: // no semaphore: a wait for one makes garbage
		if j.known != nil || ctx.Err() == nil {
			return true
		}
		<-c.ahead
	case <-done:
	}
	return false
}

// done takes the reports of a job, and adds all that are now in order.
func (c *collector) done(number int, f finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.price(number, &f)
	c.file.done(f)
	if c.progress.add(&f) {
		c.tellProgress(false)
	}
	if number != c.next {
		c.waiting[number] = f
		return
	}
	for ok := true; ok; f, ok = c.waiting[c.next] {
		delete(c.waiting, c.next)
		c.cancelled = c.cancelled || len(f.reports) == 0
		c.spend(&f)
		for k := range f.reports {
			c.add(&f.reports[k], f.job, k)
		}
		c.next++
		<-c.ahead
	}
}

func (c *collector) add(r *CellReport, j job, k int) {
	s := j.scenario
	c.fold.add(c.fold.scenarios[s.index], j.invariants[k].index, r)
	c.cancelled = c.cancelled || r.notes != nil && r.notes.Cancelled
	if r.Abandoned && s.source.shared() && !c.warnedOfWorld {
		c.warnedOfWorld = true
		c.engine.warn(fmt.Sprintf("the agent of %v did not end and may still touch the shared world", r.Cell))
	}
	c.notify(r)
	switch r.trim(c.engine.o.Keep); {
	case c.rounds != nil: // they are put into the order of the matrix at the end
		c.rounds.units.of(s.index, j.trial).cells[j.invariants[k].index] = r
	case c.engine.o.Keep != KeepCounts:
		if len(c.cells) == cap(c.cells) { // append alone grows by a quarter, and copies 10^5 cells five times over
			c.cells = slices.Grow(c.cells, len(c.cells)+16)
		}
		c.cells = append(c.cells, *r)
	}
}

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

func (c *collector) finish(ctx context.Context) (*Report, error) {
	c.tellProgress(true)
	if c.rounds != nil { // the cells are counted again, in the order of the matrix
		c.fold = newFold(c.fold.head)
		c.cells = c.fold.addAll(c.rounds.units.inOrder())
	}
	r, err := c.fold.finish(c.cancelled, nil)
	if r.CalmRuns = int(c.engine.calm.asked.Load()); c.engine.calm.left.Load() {
		c.engine.warn("the agent of a calm run did not end and may still touch the shared world")
	}
	if c.rounds != nil && c.rounds.why != "" {
		c.engine.warn(c.rounds.why)
	}
	c.fold.giveWarnings(c.engine.warnings)
	if c.engine.o.Keep != KeepCounts {
		r.Cells = c.cells
	}
	if c.cancelled {
		err = ctx.Err()
	} else if errors.Is(err, scoring.ErrNoneRan) && !r.Filtered && r.Shard.Count > 0 {
		err = nil // there are more shards than units
	}
	return r, errors.Join(err, c.err, c.file.finish(r, c.rounds))
}

func (r *CellReport) trim(keep KeepPolicy) {
	switch keep {
	case KeepAll:
		return
	case KeepBroken:
		if !r.Violated && r.State != Inconclusive {
			r.Evidence, r.observed = nil, nil
		}
		return
	}
	r.Evidence, r.Calm, r.observed = nil, nil, nil
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

// A workerPool keeps workers between their jobs. The zero value with an engine is ready.
type workerPool struct {
	engine *engine
	mu     sync.Mutex // guards what follows
	idle   []*worker
	busy   int
	closed bool
}

// take returns a worker; nil: the pool was closed.
func (p *workerPool) take() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	switch {
	case p.closed:
		return nil
	case last < 0:
		p.busy++
		return p.engine.newWorker()
	}
	w := p.idle[last]
	p.idle = p.idle[:last]
	p.busy++
	return w
}

func (p *workerPool) give(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.closed {
		w.end()
		p.end()
		return
	}
	p.idle = append(p.idle, w)
}

func (p *workerPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		w.end()
	}
	p.idle = nil
	p.end()
}

// end closes what the runs share when none is under way any more. p.mu is held.
func (p *workerPool) end() {
	if p.busy == 0 {
		p.engine.close()
	}
}

// show shows the cells of a job that are known to the host, and returns them.
func (w *worker) show(j job) []CellReport {
	for i := range j.known {
		own := j.known[i]
		w.around(context.Background(), &own, j.scenario.source, func(*CellReport, Bubble) {})
	}
	return j.known
}

// run does one job and returns a report per cell, in order. Cells that Around
// left out are NotRun.
func (w *worker) run(ctx context.Context, j job) []CellReport {
	reports := make([]CellReport, len(j.invariants))
	runs := j.newRuns()
	for i, p := range j.invariants {
		r := &reports[i]
		r.Cell, r.Severity, r.Layer = j.cell(p), p.Severity, j.scenario.Layer
		w.around(ctx, r, j.scenario.source, func(r *CellReport, bubble Bubble) {
			w.learnCalm(ctx, p)
			// Of its own: a check that hangs still reads it when the next cell begins.
			q, s := &inquiry{invariant: p, ruling: ruling{state: Held, at: -1}}, runs[p.list]
			r.notes = &cellNotes{Of: p.index}
			if s == nil {
				s = w.observe(ctx, j, q, bubble)
				r.notes.own = w.engine.notesOf(j.scenario, s)
				r.notes.Run = &r.notes.own
			}
			if runs != nil {
				runs[p.list] = s
			}
			w.conclude(ctx, r, q, j.scenario, s)
		})
	}
	return reports
}

// newRuns is where the cells of a job find the run of their prompts; nil: one alone has no other to ask.
func (j job) newRuns() map[*promptList]*run {
	if len(j.invariants) == 1 {
		return nil
	}
	return make(map[*promptList]*run)
}

// observe makes the run of a cell. It serves every invariant of the job that has the
// same prompts. If there is one alone, it ends when that breaks, unless other invariants may judge it.
func (w *worker) observe(ctx context.Context, j job, q *inquiry, bubble Bubble) *run {
	p := q.invariant
	live := &liveRun{engine: w.engine, source: j.scenario.source, scenario: j.scenario, cell: j.cell(p),
		prompts: p.list.prompts, around: w.engine.o.Around}
	if j.around != nil {
		live.around = j.around
	}
	if !w.engine.asksAll() && len(live.prompts) > 1 {
		live.inquiry = q
	}
	for _, other := range j.invariants {
		if other.list == p.list {
			live.needs |= other.gather
		}
	}
	return w.execute(w.contextOf(ctx, live), live, bubble)
}

// contextOf is the context of a run, made outside of its bubble.
func (w *worker) contextOf(ctx context.Context, r *liveRun) context.Context {
	onRun := w.engine.o.OnRun
	if onRun == nil {
		return ctx
	}
	own := ctx
	why := callAside(&w.checkCaller, w.engine.watchdog(), func() { own = onRun(ctx, r.cell) })
	if why == "" && own == nil {
		why = "it returned no context"
	}
	if why != "" {
		r.result.undecided = errors.New("OnRun failed: " + why)
		return ctx
	}
	return own
}

// conclude judges a cell and fills in its report, with what the report of the matrix needs.
func (w *worker) conclude(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	w.decide(ctx, r, q, scenario, s)
	if r.notes.Run != nil {
		if s.warning != "" {
			r.notes.Warnings = append(r.notes.Warnings, s.warning)
		}
		r.notes.Run.Goals = w.askGoals(scenario, s)
		r.notes.Run.Points = scenario.source.pointsOf(q.invariant.calmly(), s.all)
	}
	r.Rerun = rerunLine(w.engine.o.Harness.Rerun, r)
}

func (w *worker) decide(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	found := w.judge(ctx, q, s)
	r.State, r.Why, r.Violated, r.Undecided = found.state, found.why, found.state == Broken, found.undecided
	d := s.upTo(found)
	r.Delivered, r.Undelivered, r.Rewritten = d.delivered, d.undelivered, d.rewritten
	r.LateCalls, r.Abandoned = s.late, s.abandoned || found.abandoned
	r.notes.Judged, r.notes.Cancelled = q.notes, s.cancelled || found.cancelled
	r.notes.Calm = q.invariant.calmCopy()
	r.Copy, r.DoesNotApply = d.copy, found.absent
	for _, o := range s.all {
		r.Elapsed += o.Elapsed
	}
	if scenario.injects() && d.delivered == 0 && r.State != Inconclusive && !r.DoesNotApply {
		r.State = Undelivered
		if r.Why == "" {
			r.Why = "no fault was delivered: " + s.whyUndelivered(scenario)
		}
	}
	r.Evidence, r.observed = evidence(r, q.invariant, found, s), s.all
	if scenario.calm() && r.Cell.Trial == 1 && scenario.asksFirst(q.invariant) {
		r.Calm = calmAnswers(s.all)
	}
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
