package search

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/judging"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A runRequest is a run that a question needs.
type runRequest struct {
	Cell  contract.Cell // its invariant stands for all with the same prompts
	Rules []chaos.Rule
	// Key names the run: requests of one key are answered by one run. Runs of a random
	// agent are told apart by a number in it.
	Key string
	// Detail says how much the digest keeps of the run.
	Detail int
}

// An askFunc makes a run, or looks it up. ok is false if the search was cut: no later run is
// made either, and the task that asked winds up.
type askFunc[A any] func(runRequest) (answer A, ok bool)

// A runSet makes a run of a set of faults, or looks it up, and answers a question about it. Runs
// of one set are told apart by a number. ok is false if the search was cut.
type runSet[A any] func(set []int, number int) (answer A, ok bool)

// A task is one question of a search, in code that asks for one run at a time.
type task[A any] func(askFunc[A])

// bounds say how many runs are made at once, and when no more are made.
type bounds struct {
	// Workers is the number of runs at once; 0: GOMAXPROCS.
	Workers int
	// Runs, Time and Cost are the most that is spent; 0: no bound.
	Runs int
	Time time.Duration
	Cost float64
	// CostOf returns what a run has cost; nil: what its judges cost is all.
	CostOf func(*contract.Result) float64
	// OnRound is called after each round; nil: not called.
	OnRound func(Progress)
}

type runFunc func(context.Context, contract.Cell, []chaos.Rule) (*contract.Result, error)

// A lockstep makes the runs of many tasks at once. In a round it collects the open
// request of every task in order, makes each different one once, in parallel, and
// hands out the answers. So neither the answers nor the number of runs depend on the
// number of workers.
type lockstep[A any] struct {
	makes runFunc
	// digest is what is kept of a run. It is called once for each, by several goroutines.
	digest func(runRequest, *contract.Result) A

	b     bounds
	known map[string]A
	Begun time.Time
	Spent Progress
	Cut   string // why no more runs are made; "": they are
	err   error
}

// newLockstep returns one without answers. The budget of time begins now.
func newLockstep[A any](run runFunc, b bounds, digest func(runRequest, *contract.Result) A) *lockstep[A] {
	return &lockstep[A]{makes: run, digest: digest, b: b, known: make(map[string]A), Begun: time.Now()}
}

// An openTask waits for the answer to its request.
type openTask[A any] struct {
	next    func() (runRequest, bool)
	stop    func()
	request runRequest
	answer  *A // nil: the search was cut
}

// Run asks all the tasks until each has ended. Later calls go on with the answers and
// the budget of the former ones. The error is that of ctx or of a run that could not be
// made at all; the tasks have ended all the same.
func (l *lockstep[A]) Run(ctx context.Context, tasks ...task[A]) error {
	open := make([]*openTask[A], len(tasks))
	for i, t := range tasks {
		open[i] = l.open(t)
		defer open[i].stop()
	}
	for len(open) > 0 {
		left := open[:0]
		for _, t := range open {
			if l.advance(t) {
				left = append(left, t)
			}
		}
		if open = left; len(open) > 0 {
			l.round(ctx, open)
		}
	}
	return l.err
}

// open makes a coroutine of a task.
func (l *lockstep[A]) open(t task[A]) *openTask[A] {
	o := &openTask[A]{}
	o.next, o.stop = iter.Pull(func(yield func(runRequest) bool) {
		t(func(r runRequest) (a A, ok bool) {
			o.answer = nil
			if !yield(r) || o.answer == nil {
				return a, false
			}
			return *o.answer, true
		})
	})
	return o
}

// advance goes on with a task until it needs a run that was not made. It reports whether
// the task has not ended.
func (l *lockstep[A]) advance(t *openTask[A]) bool {
	for {
		var more bool
		if t.request, more = t.next(); !more {
			return false
		}
		answer, known := l.known[t.request.Key]
		if known {
			t.answer = &answer
		} else if l.Cut == "" {
			return true
		}
	}
}

// round makes the runs that the tasks wait for, as far as the budget goes, and hands out
// the answers.
func (l *lockstep[A]) round(ctx context.Context, open []*openTask[A]) {
	var wanted []runRequest
	seen := make(map[string]bool, len(open))
	for _, t := range open {
		if !seen[t.request.Key] {
			seen[t.request.Key] = true
			wanted = append(wanted, t.request)
		}
	}
	for len(wanted) > 0 && l.Cut == "" {
		n := l.affordable(len(wanted))
		l.make(ctx, wanted[:n])
		wanted = wanted[n:]
	}
	for _, t := range open {
		if answer, made := l.known[t.request.Key]; made {
			t.answer = &answer
		}
	}
	if err := l.tell(len(open)); err != nil && l.Cut == "" {
		l.err, l.Cut = err, err.Error()
	}
	if b := l.b.Time; l.Cut == "" && b > 0 && time.Since(l.Begun) >= b {
		l.Cut = fmt.Sprintf("the time of %v was over", b)
	}
}

// tell calls OnRound. Where it panics, the search ends with that error.
func (l *lockstep[A]) tell(open int) (err error) {
	if l.b.OnRound == nil {
		return nil
	}
	defer usercode.Recover(&err, "search: OnProgress")
	now := l.Spent
	now.Open = open
	l.b.OnRound(now)
	return nil
}

// affordable is how many of so many runs may begin at once. If none may, it cuts the search.
func (l *lockstep[A]) affordable(n int) int {
	b := &l.b
	if b.Runs > 0 {
		if n = min(n, b.Runs-l.Spent.Runs); n == 0 {
			l.Cut = fmt.Sprintf("the %s of the budget %s made", text.Plural(b.Runs, "run"),
				text.Noun(b.Runs, "was", "were"))
		}
	}
	if b.Cost > 0 && n > 0 {
		if l.Spent.Runs == 0 {
			return 1 // what a run costs is not known yet
		}
		mean := l.Spent.Cost / float64(l.Spent.Runs)
		if mean > 0 && float64(n)*mean > b.Cost-l.Spent.Cost {
			n = max(0, int((b.Cost-l.Spent.Cost)/mean))
		}
		if n == 0 {
			l.Cut = "a run more would have exceeded the cost of " + text.Cost(b.Cost)
		}
	}
	return n
}

type madeRun[A any] struct {
	answer A
	cost   float64
	err    error
}

// make makes runs in parallel, and keeps the answers in the order of the requests.
func (l *lockstep[A]) make(ctx context.Context, requests []runRequest) {
	results := make([]madeRun[A], len(requests))
	var next atomic.Int64
	var workers sync.WaitGroup
	var asking sync.Mutex // Cost is called once at a time
	for range min(l.workers(), len(requests)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(requests); i = next.Add(1) - 1 {
				results[i] = l.makeOne(ctx, requests[i], &asking)
			}
		})
	}
	workers.Wait()
	for i, r := range results {
		if r.err != nil {
			l.err, l.Cut = r.err, r.err.Error()
			return // the answers before it stand
		}
		l.known[requests[i].Key] = r.answer
		l.Spent.Runs++
		l.Spent.Cost += r.cost
	}
}

func (l *lockstep[A]) workers() int { return max(1, cmp.Or(l.b.Workers, runtime.GOMAXPROCS(0))) }

// makeOne makes a run, and counts what it and its judges cost. A run that could not begin is
// an error; one that user code spoilt is an answer.
func (l *lockstep[A]) makeOne(ctx context.Context, r runRequest, asking *sync.Mutex) (m madeRun[A]) {
	judged, judges := judging.Collect(ctx)
	result, err := l.makes(judged, r.Cell, r.Rules)
	if err != nil {
		return madeRun[A]{err: fmt.Errorf("search: %w", err)}
	}
	m.answer = l.digest(r, result)
	if l.b.CostOf != nil {
		asking.Lock()
		defer asking.Unlock()
		m.cost, m.err = costOf(l.b.CostOf, result)
	}
	m.cost += judges.Cost()
	return m
}

func costOf(f func(*contract.Result) float64, r *contract.Result) (cost float64, err error) {
	defer usercode.Recover(&err, "search: Cost")
	if cost = f(r); !(cost >= 0) || math.IsInf(cost, 1) {
		return 0, fields.Wrong("Cost", fmt.Sprint(cost), "a function that returns a number of 0 or more")
	}
	return cost, nil
}
