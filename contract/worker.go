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
	watchdog *time.Timer
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
			s := seen[p.list]
			if s == nil {
				s = w.see(ctx, j, p, bubble)
			}
			if seen != nil {
				seen[p.list] = s
			}
			w.report(ctx, r, p, j.weather, s)
		})
	}
	return reports
}

// see makes the observations of a cell. With Share they must serve every
// invariant of the job that has the same prompts.
func (w *worker) see(ctx context.Context, j job, p *promise, bubble Bubble) *sight {
	v := &visit{engine: w.engine, weather: j.weather, cell: j.cell(p), prompts: w.engine.lists[p.list]}
	for _, other := range j.promises {
		if other.list == p.list {
			v.needs |= other.Needs
		}
	}
	return w.look(ctx, v, bubble)
}

// report judges a cell and writes down what became of it.
func (w *worker) report(ctx context.Context, r *CellReport, p *promise, weather *weather, s *sight) {
	w.learnBaseline(ctx, p)
	v := w.judge(ctx, p, s)
	r.State, r.Why, r.Broke = v.state, v.why, v.state == Broken
	r.Delivered, r.Undelivered = s.delivered, s.undelivered
	r.LateCalls, r.Abandoned = s.late, s.abandoned || v.abandoned
	r.dropped, r.cancelled = s.dropped, s.cancelled || v.cancelled
	r.Elapsed = s.elapsed()
	r.warn(s.warning)
	if len(weather.Rules) > 0 {
		r.events = s.uncounted
	}
	s.warning, s.uncounted = "", nil // once, however many share it
	if len(weather.Rules) > 0 && s.delivered == 0 && r.State != Inconclusive {
		r.State = Undelivered
		if r.Why == "" {
			r.Why = "no fault was delivered: " + s.whyUndelivered()
		}
	}
	if r.Evidence = v.evidence; r.Evidence != nil && r.Evidence.Cell != r.Cell {
		own := *v.evidence
		own.Cell = r.Cell
		r.Evidence = &own
	}
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
