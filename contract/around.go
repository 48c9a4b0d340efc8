package contract

import (
	"fmt"
	"sync"
	"time"
)

// around runs a cell within [Harness.Around]. That is user code too: it may fail
// before the cell or after it. Once the worker has given up on Around, the cell
// must not start.
func (w *worker) around(r *CellReport, cell func(*CellReport, Bubble)) {
	if w.engine.o.Harness.Around == nil {
		cell(r, nil)
		return
	}
	a := &aroundCall{cell: cell, report: *r, moves: make(chan struct{}, 2)}
	*r = w.waitAround(a)
}

// waitAround calls Around and waits for it and for the cell within it.
func (w *worker) waitAround(a *aroundCall) CellReport {
	c := a.report.Cell
	ended := w.aroundCaller.Start(func() error {
		w.engine.o.Harness.Around(c, a.enter)
		return nil
	})
	limit := w.engine.watchdog()
	watchdog := time.NewTimer(limit)
	defer watchdog.Stop()
	var err error
	why := ""
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
		case <-watchdog.C:
			w.aroundCaller.Release()
			why = fmt.Sprintf("the watchdog gave up after %v of real time in Around", limit)
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
