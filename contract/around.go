package contract

import (
	"fmt"
	"sync"
	"time"
)

// around runs a cell in the surroundings that the host wants. Those are user
// code too: they may fail before the cell or after it, but a cell that was left
// for good is not begun any more.
func (w *worker) around(r *CellReport, cell func(*CellReport, Bubble)) {
	if w.engine.o.Around == nil {
		cell(r, nil)
		return
	}
	p := &passage{cell: cell, report: *r, moves: make(chan struct{}, 2)}
	*r = w.pass(p)
}

// pass waits for Around and the cell within it.
func (w *worker) pass(p *passage) CellReport {
	c := p.report.Cell
	ended := w.outer.start(func() error {
		w.engine.o.Around(c, p.enter)
		return nil
	})
	limit := w.engine.watchdog()
	watchdog := time.NewTimer(limit)
	defer watchdog.Stop()
	var err error
	why := ""
	for returned := false; ; {
		if (returned || why != "") && p.close() { // else the cell is still running, on a goroutine of Around's own
			return p.result(err, why)
		}
		select {
		case err = <-ended:
			err, returned = w.outer.over(err), true
		case <-p.moves: // into the cell, which has its own watchdog, or out of it
			if p.inside() {
				watchdog.Stop()
			} else {
				watchdog.Reset(limit)
			}
		case <-watchdog.C:
			w.outer.letGo()
			why = fmt.Sprintf("the watchdog gave up after %v of real time in Around", limit)
		}
	}
}

// passage is the way through Around into a cell, taken at most once.
type passage struct {
	cell  func(*CellReport, Bubble)
	moves chan struct{} // one in, one out
	once  sync.Once

	mu     sync.Mutex
	in     bool
	closed bool
	report CellReport
}

// enter runs the cell. Around gets a report of its own, since it may be left
// behind with it.
func (p *passage) enter(bubble Bubble) *CellReport {
	p.once.Do(func() {
		if !p.move(true) {
			return
		}
		r := p.report // which is not written before this
		p.cell(&r, bubble)
		p.mu.Lock()
		p.report = r
		p.mu.Unlock()
		p.move(false)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report
	return &r
}

func (p *passage) move(in bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.in = in
	p.moves <- struct{}{}
	return true
}

func (p *passage) inside() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in
}

// close bars the way, unless somebody is on it.
func (p *passage) close() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = !p.in
	return p.closed
}

// result is the cell's report. What was broken stays broken; anything else is
// in doubt when Around failed.
func (p *passage) result(err error, why string) CellReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report
	r.Abandoned = r.Abandoned || why != ""
	if err != nil {
		why = fmt.Sprintf("Around failed: %v", err)
	}
	if why != "" && !r.Violated {
		r.State, r.Why, r.Undecided = Inconclusive, why, false
	}
	return r
}
