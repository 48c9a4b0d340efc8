package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/text"
)

// Progress is how far a run is; see [RunOptions.OnProgress].
type Progress struct {
	// Done are the cells that have ended, Total those of the run: of its shard, with what it goes on
	// from; with Sequential the most. Known are those of Done that an earlier run made.
	Done, Total, Known int
	// States counts the cells of Done by their state.
	States map[CellState]int
	// Cost is what judges and runs have cost, as far as [Budget.CostOf] and the judges say.
	Cost float64
	// Elapsed is the real time since the first cell began. Left is about how long the rest takes at the
	// rate so far; 0: nothing is left, or no rate is known yet.
	Elapsed, Left time.Duration
	// Broken are the first cells that broke, at most five, in the order in which they ended.
	Broken []Cell
}

// Rate is the number of cells a second, without those of an earlier run.
func (p *Progress) Rate() float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Done-p.Known) / p.Elapsed.Seconds()
}

// String is one line, such as "120 of 3,000 cells: 117 held, 3 broken; 41 a second, 1m10s left; broken: calm/one-refund/1".
func (p Progress) String() string {
	var states []string
	for _, s := range [...]CellState{Held, Broken, Inconclusive, Undelivered, NotRun} {
		if n := p.States[s]; n > 0 {
			states = append(states, text.Number(n)+" "+s.String())
		}
	}
	line := text.Number(p.Done) + " of " + text.Plural(p.Total, "cell")
	if len(states) > 0 {
		line += ": " + strings.Join(states, ", ")
	}
	if rate := p.Rate(); rate >= 100 {
		line += "; " + text.Number(int(rate)) + " a second"
	} else if rate > 0 {
		line += fmt.Sprintf("; %.3g a second", rate)
	}
	if p.Left > 0 {
		line += fmt.Sprintf(", %v left", p.Left.Round(time.Second))
	}
	if p.Cost > 0 {
		line += "; cost " + text.Cost(p.Cost)
	}
	for i, c := range p.Broken {
		line += [...]string{"; broken: ", ", "}[min(i, 1)] + c.String()
	}
	return line
}

// progress counts what ends, whatever the order. A nil one counts nothing.
type progress struct {
	Progress
	begun, told time.Time
	onProgress  func(Progress)
}

// progressEvery is the least time between two calls of OnProgress.
const progressEvery = 100 * time.Millisecond

func (e *engine) newProgress() *progress {
	if e.o.OnProgress == nil {
		return nil
	}
	p := &progress{onProgress: e.o.OnProgress, begun: time.Now(), Progress: Progress{States: map[CellState]int{}}}
	for _, s := range e.scenarios {
		for trial := 1; trial <= e.m.trials() && len(s.invariants) > 0; trial++ {
			if e.mine(s, trial) || e.resumed.has(s.index, trial) {
				p.Total += len(s.invariants)
			}
		}
	}
	return p
}

// add counts the cells of a job, and reports whether it is time to tell of them.
func (p *progress) add(f *finished) bool {
	if p == nil {
		return false
	}
	p.Done += len(f.reports)
	if f.known != nil {
		p.Known += len(f.reports)
	}
	for i := range f.reports {
		c := &f.reports[i]
		p.States[c.State]++
		if c.Violated && len(p.Broken) < 5 {
			p.Broken = append(p.Broken, c.Cell)
		}
		if c.notes != nil {
			p.Cost += c.notes.cost()
		}
	}
	return time.Since(p.told) >= progressEvery
}

// now is a copy that is told.
func (p *progress) now() Progress {
	p.told = time.Now()
	p.Elapsed, p.Left = time.Since(p.begun), 0
	if rate := p.Rate(); rate > 0 {
		p.Left = time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
	}
	own := p.Progress
	own.Broken, own.States = slices.Clone(p.Broken), maps.Clone(p.States)
	return own
}

// tellProgress calls OnProgress; c.mu is held. over: nothing is left, also of a sequential run that took fewer trials.
func (c *collector) tellProgress(over bool) {
	if c.progress == nil {
		return
	}
	now, on := c.progress.now(), c.progress.onProgress // on may hang, and be left to itself
	if over {
		now.Left = 0
	}
	if why := callAside(&c.onCellCaller, c.engine.watchdog(), func() { on(now) }); why != "" {
		c.progress = nil
		c.engine.warn("OnProgress failed and was not called again: " + why)
	}
}

// cost is what a run and its judges cost.
func (n *cellNotes) cost() (cost float64) {
	for _, judged := range n.Judged {
		cost += judged.Cost
	}
	if n.Run != nil {
		cost += n.Run.Cost
	}
	return cost
}
