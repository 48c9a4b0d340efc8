package incident

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a [Runner]. Workspaces and Agent are required.
type Options struct {
	_            struct{}
	Workspaces   *Workspaces
	Agent        Agent
	Store        Store         // besides the workspaces, such as an object store; nil: none
	Notifier     Notifier      // told of every incident that ended; nil: nobody
	MinSeverity  Severity      // events below are filtered; zero: Warning
	DedupeWindow time.Duration // like events within it are one; 0: 300 s, negative: only while the agent runs
	MaxAgents    int           // at once; 0: 5
	QueueSize    int           // events that wait; 0: 1000
	Timeout      time.Duration // an agent is told it, and is stopped 60 s after it; 0: 300 s
	Grace        time.Duration // for running agents at a shutdown; 0: 30 s, negative: none
	Log          *slog.Logger  // nil: nothing is logged
}

// A Runner makes incidents of events and has an agent investigate each. It is
// safe for concurrent use.
type Runner struct {
	o     Options
	begun atomic.Bool

	mu      sync.Mutex
	seen    *dedupe
	waiting *queue
	counts  Counts
	closed  bool
	wake    chan struct{} // holds one token when there may be work
}

// Defaults of the options.
const (
	defaultWindow    = 300 * time.Second
	defaultTimeout   = 300 * time.Second
	defaultMaxAgents = 5
	defaultQueue     = 1000
	defaultGrace     = 30 * time.Second
	maxQueue         = 1 << 20
)

// NewRunner checks the options, all of them, and marks the incidents that a
// runner before this one left under investigation as failed.
func NewRunner(o Options) (*Runner, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	r := &Runner{o: o, seen: newDedupe(o.DedupeWindow), waiting: newQueue(o.QueueSize), wake: make(chan struct{}, 1)}
	r.recover()
	return r, nil
}

// complete fills in the defaults and names everything that is wrong.
func (o *Options) complete() error {
	var problems []error
	wrong := func(is bool, field string, value any, allowed string) {
		if is {
			problems = append(problems, &FieldError{field, value, allowed})
		}
	}
	wrong(o.Workspaces == nil, "Workspaces", nil, "one made by NewWorkspaces")
	wrong(o.Agent == nil, "Agent", nil, "an agent")
	wrong(o.MinSeverity > Critical, "MinSeverity", o.MinSeverity, "Info, Warning, Error or Critical")
	wrong(o.MaxAgents < 0, "MaxAgents", o.MaxAgents, "a number of at least 1, or 0 for 5")
	wrong(o.QueueSize < 0 || o.QueueSize > maxQueue, "QueueSize", o.QueueSize, "1 to 1048576, or 0 for 1000")
	o.MinSeverity = cmp.Or(o.MinSeverity, Warning)
	o.MaxAgents = cmp.Or(o.MaxAgents, defaultMaxAgents)
	o.QueueSize = cmp.Or(o.QueueSize, defaultQueue)
	o.DedupeWindow = cmp.Or(o.DedupeWindow, defaultWindow)
	wrong(o.Timeout < 0, "Timeout", o.Timeout, "a duration of more than 0, or 0 for 300 s")
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Grace = max(cmp.Or(o.Grace, defaultGrace), 0)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return errors.Join(problems...)
}

// Offer takes the data of a notification. It never blocks. The error says why a
// payload was malformed; every other fate is counted, see [Runner.Counts].
func (r *Runner) Offer(logger string, data json.RawMessage) error {
	now := time.Now()
	e, err := ParseEvent(logger, data, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Received++
	if err != nil {
		r.counts.Malformed++
		r.o.Log.Warn("malformed event", "logger", logger, "error", err)
		return err
	}
	e.raw = nil // an incident has no use for it, and a queue of them could be a gigabyte
	r.admit(e, now)
	return nil
}

// admit puts an event in the queue unless it is filtered, a duplicate, or late.
func (r *Runner) admit(e Event, now time.Time) {
	switch {
	case r.closed:
		r.counts.Refused++
	case e.Severity() < r.o.MinSeverity:
		r.counts.Filtered++
	case !r.seen.admit(e.Key(), now):
		r.counts.Duplicate++
	default:
		r.counts.Queued++
		if oldest, full := r.waiting.push(e); full {
			r.drop(oldest)
		}
		r.signal()
	}
}

func (r *Runner) drop(e Event) {
	r.counts.Queued--
	r.counts.Dropped++
	r.seen.forget(e.Key())
	r.o.Log.Warn("event dropped", "event", e.ID(), "key", e.Key())
}

func (r *Runner) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Counts say what became of the events so far.
func (r *Runner) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Run has agents investigate until the context ends. Then no event is taken
// any more, those that wait are dropped and counted, and running agents have
// the grace to finish before their contexts end. Run returns when the last of
// them has; it is called once.
func (r *Runner) Run(ctx context.Context) error {
	if !r.begun.CompareAndSwap(false, true) {
		return errors.New("incident: the runner was run before")
	}
	working, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	var agents sync.WaitGroup
	for range r.o.MaxAgents {
		agents.Go(func() { r.work(ctx, working) })
	}
	<-ctx.Done()
	r.close()
	grace := time.AfterFunc(r.o.Grace, func() { kill(errShutdown) })
	defer grace.Stop()
	agents.Wait()
	return nil
}

// close refuses what comes from now on and drops what waits.
func (r *Runner) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for {
		e, ok := r.waiting.pop()
		if !ok {
			return
		}
		r.drop(e)
	}
}

// work takes one event after the other until the run ends.
func (r *Runner) work(ctx, working context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for {
			e, ok := r.next()
			if !ok {
				break
			}
			r.handle(working, e)
		}
	}
}

// next takes an event out of the queue, and wakes another worker if there are more.
func (r *Runner) next() (Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Event{}, false
	}
	e, ok := r.waiting.pop()
	if ok {
		r.counts.Queued--
		r.counts.Running++
	}
	if r.waiting.n > 0 {
		r.signal()
	}
	return e, ok
}
