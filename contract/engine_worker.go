package contract

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

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
			r.notes = &cellNotes{Of: p.index}
			q, s := newInquiry(p), runs[p.list]
			if s == nil {
				s = w.observe(ctx, j, q, bubble)
				r.notes.Run = w.engine.notesOf(j.scenario, s)
			}
			if runs != nil {
				runs[p.list] = s
			}
			w.report(ctx, r, q, j.scenario, s)
		})
	}
	return reports
}

// observe makes the run of a cell. It serves every invariant of the job that has the
// same prompts. If there is one alone, it ends when that breaks, unless AskAll is set.
func (w *worker) observe(ctx context.Context, j job, q *inquiry, bubble Bubble) *run {
	p := q.invariant
	r := &liveRun{engine: w.engine, source: j.scenario.source, scenario: j.scenario, cell: j.cell(p),
		prompts: p.list.prompts}
	if !w.engine.asksAll() && len(r.prompts) > 1 {
		r.inquiry = q
	}
	for _, other := range j.invariants {
		if other.list == p.list {
			r.needs |= other.gather
		}
	}
	return w.execute(ctx, r, bubble)
}

// report judges a cell and fills in its report, with what the report of the matrix needs.
func (w *worker) report(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	w.decide(ctx, r, q, scenario, s)
	if r.notes.Run != nil {
		if s.warning != "" {
			r.notes.Warnings = append(r.notes.Warnings, s.warning)
		}
		r.notes.Run.Goals = w.askGoals(scenario, s)
		if scenario.source.linted {
			scenario.source.points.meet(s.all)
			if scenario.calm() {
				q.invariant.list.countCalls(s)
			}
		}
	}
	w.addRerun(r)
}

// decide judges a cell and fills in its outcome.
func (w *worker) decide(ctx context.Context, r *CellReport, q *inquiry, scenario *compiledScenario, s *run) {
	found := w.judge(ctx, q, s)
	r.State, r.Why, r.Violated, r.Undecided = found.state, found.why, found.state == Broken, found.undecided
	d := s.upTo(found)
	r.Delivered, r.Undelivered, r.Rewritten, r.Absorbed = d.delivered, d.undelivered, d.rewritten, d.absorbed
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

// addRerun adds the line that repeats the cell. The line is not part of the
// cell's outcome, so a failure to make it is a warning.
func (w *worker) addRerun(r *CellReport) {
	o := &w.engine.o
	if o.Harness.Rerun == nil || r.State == Held && o.Keep != KeepAll {
		return
	}
	var line string
	c := r.Cell
	if why := callAside(&w.caller, w.engine.watchdog(), func() { line = o.Harness.Rerun(c) }); why != "" {
		r.notes.Warnings = append(r.notes.Warnings, fmt.Sprintf("Rerun failed on %v: %s", c, why))
		return
	}
	r.Rerun = line
}

// around runs a cell within [Harness.Around]. That is user code too: it may fail
// before the cell or after it. Once the worker has given up on Around, the cell
// must not start. The run of a Runner is in the bubble of calm runs.
func (w *worker) around(ctx context.Context, r *CellReport, source *worldSource, cell func(*CellReport, Bubble)) {
	switch e := w.engine; {
	case e.forRunner:
		cell(r, w.calmBubble(source))
	case e.o.Harness.Around == nil:
		cell(r, nil)
	default:
		a := &aroundCall{cell: cell, report: *r, moves: make(chan struct{}, 2)}
		*r = w.waitAround(ctx, a)
	}
}

// waitAround calls Around and waits for it and for the cell within it. When ctx ends, the
// cell notices by itself, and Around outside of the cell has a grace.
func (w *worker) waitAround(ctx context.Context, a *aroundCall) CellReport {
	c := a.report.Cell
	ended := w.aroundCaller.Start(func() error {
		w.engine.o.Harness.Around(c, a.enter)
		return nil
	})
	limit := w.engine.watchdog()
	watchdog := time.NewTimer(limit)
	defer watchdog.Stop()
	var err error
	why, cancelled := "", ctx.Done()
	for returned := false; ; {
		if (returned || why != "") && a.close() { // else the cell is still running, on a goroutine of Around's own
			return a.result(err, why)
		}
		select {
		case err = <-ended:
			err, returned = w.aroundCaller.Received(err), true
		case <-a.moves: // the cell began, which has its own watchdog, or it ended
			if a.inside() {
				watchdog.Stop()
			} else {
				watchdog.Reset(limit)
			}
		case <-cancelled:
			cancelled, limit = nil, usercode.Grace
			if !a.inside() {
				watchdog.Reset(limit)
			}
		case <-watchdog.C:
			w.aroundCaller.Release()
			why = fmt.Sprintf("the watchdog gave up after %v of real time in Around", limit)
			if ctx.Err() != nil {
				why = "the run was cancelled, in Around"
				a.cancel()
			}
		}
	}
}

// aroundCall is one call of Around, which runs its cell at most once.
type aroundCall struct {
	cell  func(*CellReport, Bubble)
	moves chan struct{} // one when the cell begins, one when it ends
	once  sync.Once

	mu     sync.Mutex
	in     bool // the cell is running
	closed bool // the cell must not start any more
	report CellReport
}

// enter runs the cell. It returns a copy of the report, because Around may be
// left behind while it holds the copy.
func (a *aroundCall) enter(bubble Bubble) *CellReport {
	a.once.Do(func() {
		if !a.move(true) {
			return
		}
		r := a.report // which is not written before this
		a.cell(&r, bubble)
		a.mu.Lock()
		a.report = r
		a.mu.Unlock()
		a.move(false)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.report
	return &r
}

// move notes that the cell begins or ends. It returns false if the call is closed.
func (a *aroundCall) move(in bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.in = in
	a.moves <- struct{}{}
	return true
}

func (a *aroundCall) inside() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.in
}

// close keeps the cell from starting and returns true, unless the cell is running.
func (a *aroundCall) close() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = !a.in
	return a.closed
}

// cancel notes that the run was cancelled.
func (a *aroundCall) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.notes = cmp.Or(a.report.notes, &cellNotes{})
	a.report.notes.Cancelled = true
}

// result is the cell's report. A broken invariant stays broken; any other
// outcome is inconclusive when Around failed.
func (a *aroundCall) result(err error, why string) CellReport {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.report
	r.Abandoned = r.Abandoned || why != ""
	if err != nil {
		why = fmt.Sprintf("Around failed: %v", err)
	}
	if why != "" && !r.Violated {
		r.State, r.Why, r.Undecided = Inconclusive, why, false
	}
	return r
}
