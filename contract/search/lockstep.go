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

	"golang.org/x/sync/errgroup"

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
	// Around wraps the agent's tools; nil: nothing does.
	Around func(chaos.ToolRegistry) chaos.ToolRegistry
	// Habits are those that Around puts around the tools for the search.
	Habits habitSet
	// Passed counts the calls that pass what the agent is given; nil: nothing does.
	Passed *atomic.Int64
	// Next are requests that probably follow. They are made in the same round.
	Next []runRequest
}

// numbered is the n-th run of a request.
func (r runRequest) numbered(n int) runRequest {
	if n > 0 {
		r.Key = fmt.Sprintf("%s #%d", r.Key, n)
	}
	return r
}

// An askFunc makes a run, or looks it up. nil: the search was cut. Then no later run is made
// either, and the task that asked winds up.
type askFunc func(runRequest) *runDigest

// A task is one question of a search, in code that asks for one run at a time.
type task func(askFunc)

// A lockstep makes the runs of many tasks at once. In a round it collects the open
// request of every task in order, makes each different one once, in parallel, and
// hands out the answers. So neither the answers nor the number of runs depend on the
// number of workers.
type lockstep struct {
	makes func(context.Context, runRequest) (*contract.Result, error)
	// digest is what is kept of a run. It is called once for each, by several goroutines.
	digest func(runRequest, *contract.Result) *runDigest

	o     *Options // its budget, its workers, and the functions that it calls
	known map[string]*runDigest
	Begun time.Time
	Spent Progress
	Cut   string // why no more runs are made; "": they are
	err   error
}

// newLockstep returns one that has made no run of the runner. The budget of time begins now.
func newLockstep(r *contract.Runner, o *Options, digest func(runRequest, *contract.Result) *runDigest) *lockstep {
	makes := func(ctx context.Context, q runRequest) (*contract.Result, error) {
		return r.RunAround(ctx, q.Cell, q.Rules, q.Around)
	}
	return &lockstep{makes: makes, digest: digest, o: o, known: map[string]*runDigest{}, Begun: time.Now()}
}

// An openTask waits for the answer to its request.
type openTask struct {
	next    func() (runRequest, bool)
	stop    func()
	request runRequest
	answer  *runDigest // nil: the search was cut
}

// Run asks all the tasks until each has ended. Later calls go on with the answers and
// the budget of the former ones. The error is that of ctx or of a run that could not be
// made at all; the tasks have ended all the same.
func (l *lockstep) Run(ctx context.Context, tasks ...task) error {
	open := make([]*openTask, len(tasks))
	for i, t := range tasks {
		o := &openTask{}
		o.next, o.stop = iter.Pull(func(yield func(runRequest) bool) {
			t(func(r runRequest) *runDigest {
				o.answer = nil
				yield(r)
				return o.answer
			})
		})
		defer o.stop()
		open[i] = o
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

// advance goes on with a task until it needs a run that was not made. It reports whether
// the task has not ended.
func (l *lockstep) advance(t *openTask) bool {
	for {
		var more bool
		if t.request, more = t.next(); !more {
			return false
		}
		if t.answer = l.known[t.request.Key]; t.answer == nil && l.Cut == "" {
			return true
		}
	}
}

// round makes the runs that the tasks wait for, as far as the budget goes, and hands out
// the answers.
func (l *lockstep) round(ctx context.Context, open []*openTask) {
	var wanted []runRequest
	seen := make(map[string]bool, len(open))
	want := func(r *runRequest) {
		if !seen[r.Key] && l.known[r.Key] == nil {
			seen[r.Key] = true
			wanted = append(wanted, *r)
		}
	}
	for _, t := range open {
		want(&t.request)
		for i := range t.request.Next {
			want(&t.request.Next[i])
		}
	}
	for len(wanted) > 0 && l.Cut == "" {
		n := l.affordable(len(wanted))
		l.make(ctx, wanted[:n])
		wanted = wanted[n:]
	}
	for _, t := range open {
		t.answer = l.known[t.request.Key]
	}
	if err := l.tell(len(open)); err != nil && l.Cut == "" {
		l.err, l.Cut = err, err.Error()
	}
	if b := l.o.Budget.Time; l.Cut == "" && b > 0 && time.Since(l.Begun) >= b {
		l.Cut = fmt.Sprintf("the time of %v was over", b)
	}
}

// tell calls OnProgress. Where it panics, the search ends with that error.
func (l *lockstep) tell(open int) (err error) {
	if l.o.OnProgress == nil {
		return nil
	}
	defer usercode.Recover(&err, "search: OnProgress")
	now := l.Spent
	now.Open = open
	l.o.OnProgress(now)
	return nil
}

// affordable is how many of so many runs may begin at once. If none may, it cuts the search.
func (l *lockstep) affordable(n int) int {
	b := &l.o.Budget
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

// make makes runs in parallel, and keeps the answers in the order of the requests.
func (l *lockstep) make(ctx context.Context, requests []runRequest) {
	type made struct {
		answer *runDigest
		cost   float64
		err    error
	}
	results := make([]made, len(requests))
	var workers errgroup.Group
	workers.SetLimit(max(1, cmp.Or(l.o.Run.Workers, runtime.GOMAXPROCS(0))))
	var asking sync.Mutex // Cost is called once at a time
	for i := range requests {
		workers.Go(func() error {
			r := &results[i]
			r.answer, r.cost, r.err = l.makeOne(ctx, requests[i], &asking)
			return nil // the first in order counts, and not the first in time
		})
	}
	_ = workers.Wait()
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

// makeOne makes a run, and counts what it and its judges cost. A run that could not begin is
// an error; one that user code spoilt is an answer.
func (l *lockstep) makeOne(ctx context.Context, r runRequest,
	asking *sync.Mutex) (answer *runDigest, cost float64, err error) {
	judged, judges := judging.Collect(ctx)
	result, err := l.makes(judged, r)
	if err != nil {
		return nil, 0, fmt.Errorf("search: %w", err)
	}
	answer = l.digest(r, result)
	if l.o.Cost != nil {
		asking.Lock()
		defer asking.Unlock()
		cost, err = l.o.costOf(result)
	}
	return answer, cost + judges.Cost(), err
}

func (o *Options) costOf(r *contract.Result) (cost float64, err error) {
	defer usercode.Recover(&err, "search: Cost")
	if cost = o.Cost(r); !(cost >= 0) || math.IsInf(cost, 1) {
		return 0, fields.Wrong("Cost", fmt.Sprint(cost), "a function that returns a number of 0 or more")
	}
	return cost, nil
}
