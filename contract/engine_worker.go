package contract

import (
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
			w.conclude(ctx, r, q, j.scenario, s)
		})
	}
	return reports
}

// observe makes the run of a cell. It serves every invariant of the job that has the
// same prompts. If there is one alone, it ends when that breaks, unless AskAll is set.
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
			if scenario.calm() {
				q.invariant.list.countCalls(s)
			}
		}
	}
	r.Rerun = rerunLine(w.engine.o.Harness.Rerun, r)
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
	if scenario.injects() && d.delivered == 0 && r.State != Inconclusive {
		r.State = Undelivered
		if r.Why == "" {
			r.Why = "no fault was delivered: " + s.whyUndelivered(scenario)
		}
	}
	r.Evidence, r.observed = evidence(r, q.invariant, found, s), s.all
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
