package contract

import (
	"context"
	"fmt"
	"time"
)

// A worker does one job after the other.
type worker struct {
	engine   *engine
	hands    hands // for the cell
	outer    hands // for what stands around it
	checks   hands // for those of the invariants
	watchdog *time.Timer
	due      time.Time // when the watchdog expires
}

func (e *engine) newWorker() *worker {
	w := &worker{engine: e, watchdog: time.NewTimer(0)}
	w.watchdog.Stop()
	return w
}

func (w *worker) end() {
	w.watchdog.Stop()
	w.hands.letGo()
	w.outer.letGo()
	w.checks.letGo()
}

// run does one job and returns a report per cell, in order. Cells that Around
// left out are NotRun.
func (w *worker) run(ctx context.Context, j job) []CellReport {
	reports := make([]CellReport, len(j.promises))
	var seen map[int]*sight // by prompt list
	if len(j.promises) > 1 {
		seen = make(map[int]*sight)
	}
	for i, p := range j.promises {
		r := &reports[i]
		r.Cell, r.Severity = j.cell(p), p.Severity
		w.around(r, func(r *CellReport, bubble Bubble) {
			w.learnBaseline(ctx, p)
			q, s := newInquiry(p), seen[p.list]
			if s == nil {
				s = w.see(ctx, j, q, bubble)
			}
			if seen != nil {
				seen[p.list] = s
			}
			w.report(ctx, r, q, j.weather, s)
		})
	}
	return reports
}

// see makes the observations of a cell. With Share they must serve every
// invariant of the job that has the same prompts; else one that broke needs no more.
func (w *worker) see(ctx context.Context, j job, q *inquiry, bubble Bubble) *sight {
	p := q.promise
	v := &visit{engine: w.engine, weather: j.weather, cell: j.cell(p), prompts: w.engine.lists[p.list]}
	if !w.engine.m.ShareObservations && !w.engine.m.AskAll && len(v.prompts) > 1 {
		v.inquiry = q
	}
	for _, other := range j.promises {
		if other.list == p.list {
			v.needs |= other.Needs
		}
	}
	return w.look(ctx, v, bubble)
}

// report judges a cell and writes down what became of it.
func (w *worker) report(ctx context.Context, r *CellReport, q *inquiry, weather *weather, s *sight) {
	v := w.judge(ctx, q, s)
	r.State, r.Why, r.Violated, r.Undecided = v.state, v.why, v.state == Broken, v.undecided
	d := s.upTo(v)
	r.Delivered, r.Undelivered, r.Absorbed = d.delivered, d.undelivered, d.absorbed
	r.LateCalls, r.Abandoned = s.late, s.abandoned || v.abandoned
	r.dropped, r.cancelled = s.dropped, s.cancelled || v.cancelled
	r.Elapsed = s.elapsed()
	r.warn(s.warning)
	if len(weather.Rules) > 0 {
		r.events = s.uncounted
	}
	s.warning, s.uncounted = "", nil // once, however many share it
	if len(weather.Rules) > 0 && d.delivered == 0 && r.State != Inconclusive {
		r.State = Undelivered
		if r.Why == "" {
			r.Why = "no fault was delivered: " + s.whyUndelivered()
		}
	}
	r.Evidence = w.engine.evidence(r, q.promise, v, s)
	w.addRerun(r)
}

// addRerun asks for the line that repeats the cell. It is no part of the cell's
// outcome, so a failure to make it is only worth a warning.
func (w *worker) addRerun(r *CellReport) {
	o := &w.engine.o
	if o.Rerun == nil || r.State == Held && o.Keep != KeepAll {
		return
	}
	var line string
	c := r.Cell
	if why := aside(&w.hands, w.engine.watchdog(), func() { line = o.Rerun(c) }); why != "" {
		r.warn(fmt.Sprintf("Rerun failed on %v: %s", c, why))
		return
	}
	r.Rerun = line
}

// aside runs user code that has no context, under a watchdog of its own, and
// says what went wrong, if anything.
func aside(s *hands, limit time.Duration, fn func()) (why string) {
	t := time.NewTimer(limit)
	defer t.Stop()
	ended := s.start(func() error {
		fn()
		return nil
	})
	select {
	case err := <-ended:
		if err = s.over(err); err != nil {
			return err.Error()
		}
		return ""
	case <-t.C:
		s.letGo()
		return fmt.Sprintf("it did not return within %v", limit)
	}
}
