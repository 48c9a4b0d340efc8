package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A collector gives the jobs to the workers, and puts the reports of their cells
// back into the order of the matrix.
type collector struct {
	engine  *engine
	workers int

	mu            sync.Mutex
	moved         *sync.Cond
	queues        []*queue // the first is that of the shared world, if there is one
	next          int      // the first job whose reports are missing
	waiting       map[int]finished
	fold          *fold
	alike         sameness
	onCellCaller  usercode.Loop // for OnCell
	faulty        bool          // OnCell failed, and is not called again
	cancelled     bool          // before the end
	warnedOfWorld bool
	rounds        *rounds // nil: all jobs are done
	planned       int     // jobs of the rounds so far
	cells         []CellReport
	places        []cellPlace // of these, with rounds
	file          *fileWriter // nil: none was asked for
}

type finished struct {
	job
	reports []CellReport
	took    time.Duration // of real time
}

// runAll runs every job and reports. At the end l looks at what the cells showed of
// the rules.
func (e *engine) runAll(ctx context.Context, l *ruleLinter) (*Report, error) {
	c := &collector{engine: e, workers: e.workers(), waiting: map[int]finished{}, onCellCaller: newCaller(),
		fold: newFold(e.head, e.warn)}
	file, err := e.openFile()
	if err != nil {
		return nil, err
	}
	c.file = file
	if e.o.Sequential {
		c.rounds = c.newRounds()
		c.nextRound()
	} else {
		queues, stop := e.newQueues()
		defer stop()
		c.queues = queues
	}
	c.moved = sync.NewCond(&c.mu)
	defer c.onCellCaller.Release()
	var g errgroup.Group
	for range c.workers {
		g.Go(func() error {
			w := e.newWorker()
			defer w.end()
			for i, j := range c.jobs(ctx) {
				begun := time.Now()
				reports := w.run(ctx, j)
				c.done(i, finished{j, reports, time.Since(begun)})
			}
			return nil
		})
	}
	_ = g.Wait() // the workers return none
	c.fold.warnOfOverlaps()
	c.lintCalls(l)
	return c.finish(ctx)
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

// done takes the reports of job i, and adds all that are now in order.
func (c *collector) done(i int, f finished) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free(f.scenario)
	c.file.done(f)
	if i != c.next {
		c.waiting[i] = f
		return
	}
	for ok := true; ok; f, ok = c.waiting[c.next] {
		delete(c.waiting, c.next)
		c.spend(f.reports)
		for k := range f.reports {
			c.add(&f.reports[k], f.job, k)
		}
		c.next++
	}
	c.nextRound()
	c.moved.Broadcast()
}

// add adds the report of the k-th cell of a job.
func (c *collector) add(r *CellReport, j job, k int) {
	s := j.scenario
	c.fold.add(c.fold.scenarios[s.index], j.at+k, r)
	if r.notes != nil && r.notes.Run != nil {
		shown := r.notes.Run
		c.alike.add(shown.observations, shown.Dropped)
		shown.observations = nil
	}
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
			c.places = append(c.places, cellPlace{s.index, j.trial, j.at + k})
		}
	}
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

// lintCalls warns of rules that matched no call, if every cell ran and its log shows
// all calls.
func (c *collector) lintCalls(l *ruleLinter) {
	r := c.fold.report
	if c.cancelled || r.Filtered || r.Dropped > 0 || c.rounds != nil {
		return
	}
	l.lintCalls(func(s *compiledScenario, rule string) bool {
		return c.fold.scenarios[s.index].rules[s.rules[rule].at].matched
	})
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
	if w := c.alike.warning(); w != "" && !c.cancelled {
		c.engine.warn(w)
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

// Sums of counts and of times stop at the largest value of their type. An
// int may have 32 bits, and a cell that hung counts thirty days.

// plus adds two durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// add adds to a count.
func add(count *int, n int) {
	if *count > math.MaxInt-n {
		*count = math.MaxInt
		return
	}
	*count += n
}

// toInt makes an int of a counter.
func toInt(n uint64) int { return int(min(n, math.MaxInt)) }

// reachedAgent reports whether some delivered fault is known to have reached the
// agent itself. A fault on a call that a tool made reaches it if each call around
// that one passes the outcome on. Otherwise the tool recovered, or turned it into
// something that cannot be distinguished from a result of the tool's own.
func reachedAgent(observations []*Observation) bool {
	within := map[string][]*chaos.Event{} // calls by target: those that others may be in
	var open []*chaos.Event               // delivered, on calls that other calls made
	for _, o := range observations {
		for i := range o.Events {
			e := &o.Events[i]
			within[e.Target] = append(within[e.Target], e)
			switch {
			case !e.Delivered:
			case e.Caller == "":
				return true
			default:
				open = append(open, e)
			}
		}
	}
	seen := map[*chaos.Event]bool{}
	for len(open) > 0 {
		e := open[len(open)-1]
		open = open[:len(open)-1]
		for _, around := range within[e.Caller] {
			switch {
			case seen[around] || !passesOn(around, e):
			case around.Caller == "":
				return true
			default:
				seen[around] = true
				open = append(open, around)
			}
		}
	}
	return false
}

// passesOn reports whether one call lasted around another and let its outcome
// through: the injected error, the wait, or the very result.
func passesOn(around, e *chaos.Event) bool {
	switch {
	case around == e || around.Start > e.Start || around.End < e.End:
		return false
	case e.Outcome == chaos.OutcomeInjected, e.Outcome == chaos.OutcomePanicked, e.Outcome == chaos.OutcomeOpen:
		return around.Outcome == e.Outcome
	}
	return e.Spent > 0 || len(e.Result) > 0 && bytes.Equal(e.Result, around.Result)
}
