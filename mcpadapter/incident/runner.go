package incident

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a [Runner]. Workspaces and Agent are required.
type Options struct {
	_            struct{}
	Workspaces   *Workspaces
	Agent        Agent
	Store        Store         // in addition to the workspaces, such as an object store; nil: none
	Notifier     Notifier      // notified of every incident that ended; nil: none
	MinSeverity  Severity      // events below are filtered; zero: Warning
	DedupeWindow time.Duration // equal events within it count as one; 0: 300 s, negative: only while the agent runs
	MaxAgents    int           // at once; 0: 5
	QueueSize    int           // events that wait; 0: 1000
	Timeout      time.Duration // of an agent, which knows it and is stopped 60 s after it; 0: 300 s
	SendTimeout  time.Duration // of one call of the Notifier; a call of the Store counts as blocked after it; 0: 60 s
	// Grace is how long Run may take once its context has ended. Agents are asked to
	// end at once, and killed after three quarters of it. The rest is for records
	// and messages. 0: 20 s; negative: agents are killed at once.
	Grace time.Duration
	Log   *slog.Logger // nil: nothing is logged
}

// A Runner makes incidents of events and has an agent investigate each. It is
// safe for concurrent use.
//
// Its state is on disk under the root of the workspaces: the queue, the keys of
// the deduplication, the incidents without an end and the messages to be sent.
// A runner that is killed, at any moment, leaves them to the next.
type Runner struct {
	o     Options
	begun atomic.Bool
	disk  *disk
	dirty chan struct{} // holds one token when the journal has to be synchronised or rewritten

	mu     sync.Mutex
	book   *ledger
	resume []*openCase // what an earlier runner left, the oldest first
	counts Counts
	closed bool
	wake   chan struct{} // holds one token when there may be work

	store, notifier *courier // nil: there is none
}

// Defaults of the options.
const (
	defaultWindow    = 300 * time.Second
	defaultTimeout   = 300 * time.Second
	defaultSend      = 60 * time.Second
	defaultMaxAgents = 5
	defaultQueue     = 1000
	defaultGrace     = 20 * time.Second
	maxQueue         = 1 << 20
)

// NewRunner locks the root of the workspaces and reads what an earlier runner
// has left there: its queue, incidents to be resumed and messages to be sent.
// Incidents under investigation that are in no journal are marked failed.
//
// Wrong options are [*FieldError]s, joined. If another runner has the root, the
// error is a [*LockedError].
//
// The root is released when Run returns, or by Close.
func NewRunner(options *Options) (*Runner, error) {
	o := *cmp.Or(options, &Options{})
	if err := o.complete(); err != nil {
		return nil, err
	}
	d, records, torn, err := openDisk(o.Workspaces)
	if err != nil {
		return nil, err
	}
	book, skipped, err := replay(records, torn > 0, o.DedupeWindow)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if torn > 0 {
		o.Log.Warn("the journal was torn or damaged", "bytes", torn, "records", len(records), "skipped", skipped)
	}
	r := &Runner{o: o, disk: d, book: book, wake: make(chan struct{}, 1), dirty: make(chan struct{}, 1)}
	if o.Store != nil {
		r.store = r.storeCourier()
	}
	if o.Notifier != nil {
		r.notifier = r.notifyCourier()
	}
	r.restore()
	return r, nil
}

// complete fills in the defaults and returns all problems, joined.
func (o *Options) complete() error {
	p := fields.List()
	p.Demand(o.Workspaces != nil, "Workspaces", nil, "one made by NewWorkspaces")
	p.Demand(o.Agent != nil, "Agent", nil, "an agent")
	p.Demand(o.MinSeverity <= Critical, "MinSeverity", o.MinSeverity, "Info, Warning, Error or Critical")
	p.Demand(o.MaxAgents >= 0, "MaxAgents", o.MaxAgents, "a number of at least 1, or 0 for 5")
	p.Demand(o.QueueSize >= 0 && o.QueueSize <= maxQueue, "QueueSize", o.QueueSize, "1 to 1048576, or 0 for 1000")
	p.Demand(o.Timeout >= 0, "Timeout", o.Timeout, "a duration of more than 0, or 0 for 300 s")
	p.Demand(o.SendTimeout >= 0, "SendTimeout", o.SendTimeout, "a duration of more than 0, or 0 for 60 s")
	o.MinSeverity = cmp.Or(o.MinSeverity, Warning)
	o.MaxAgents = cmp.Or(o.MaxAgents, defaultMaxAgents)
	o.QueueSize = cmp.Or(o.QueueSize, defaultQueue)
	o.DedupeWindow = cmp.Or(o.DedupeWindow, defaultWindow)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.SendTimeout = cmp.Or(o.SendTimeout, defaultSend)
	o.Grace = max(cmp.Or(o.Grace, defaultGrace), 0)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return p.Err()
}

// answerPatience is how long a receiver may take to notice that its time is up.
func (o *Options) answerPatience() time.Duration {
	if o.Grace == 0 {
		return time.Second
	}
	return min(o.Grace/16, time.Second)
}

// restore takes over what the journal has.
func (r *Runner) restore() {
	r.settle()
	if err := r.rewrite(); err != nil { // a full disk is no reason not to start
		r.o.Log.Error("the journal cannot be written", "error", err)
		nudge(r.dirty)
	}
	for len(r.book.waiting) > r.o.QueueSize {
		r.counts.Restored++
		r.counts.Queued++
		r.drop()
	}
	r.resume = r.book.unfinished()
	waiting, interrupted := uint64(len(r.book.waiting)), uint64(len(r.resume))
	r.counts.Queued, r.counts.Interrupted = waiting, interrupted
	r.counts.Restored += waiting + interrupted
	r.failUnknown()
	if waiting+interrupted > 0 {
		r.o.Log.Info("an earlier runner left work", "queued", waiting, "interrupted", interrupted)
		nudge(r.wake)
	}
}

// settle ends the letters of an earlier runner that are not to be sent: messages that it had
// begun when it died, and those to a receiver that is not there any more.
func (r *Runner) settle() {
	if r.store == nil { // the workspaces have what it lacks
		r.book.copies.letters = nil
	}
	letters := &r.book.letters.letters
	*letters = slices.DeleteFunc(*letters, func(l *letter) bool {
		switch {
		case l.sending:
			r.counts.MaybeSent++
			r.o.Log.Warn("maybe sent: the runner died while it announced the incident", "incident", l.id)
		case r.notifier == nil:
			r.counts.NotifyLost++
			r.o.Log.Warn("incident not announced: there is no notifier any more", "incident", l.id)
		}
		return l.sending || r.notifier == nil
	})
}

// failUnknown fails the incidents that are under investigation by their records
// but not in the journal: their runner had none, or lost it.
func (r *Runner) failUnknown() {
	left, err := r.o.Workspaces.Load()
	if err != nil {
		r.o.Log.Warn("some workspaces have no readable record", "error", err)
	}
	for _, in := range left {
		if in.Status.final() || r.book.cases[in.IncidentID] != nil {
			continue
		}
		killStrays(in.IncidentID) // its agent may still be running, and its report would not be read
		in = in.abandoned(time.Now())
		r.o.Log.Warn("incident left by a runner without a journal", "incident", in.IncidentID)
		if err := r.o.Workspaces.Save(in, nil); err != nil {
			r.counts.StoreErrors++
			r.o.Log.Error("incident not stored", "incident", in.IncidentID, "error", err)
		} else if r.store != nil {
			_ = r.commit(entry{Op: opEnded, Incident: in.IncidentID, At: time.Now(), Store: true})
		}
	}
}

// Offer takes the data of a notification. It waits only for the disk: for one
// write, and seldom for the journal to be rewritten. After a nil error the
// event is in the journal: it survives the death of the process at once, and
// that of the machine a tenth of a second later.
//
// The error says why a payload was malformed, or why the event is only in
// memory for now. What becomes of other events is counted: see [Runner.Counts].
func (r *Runner) Offer(logger string, data json.RawMessage) error {
	now := time.Now()
	e, err := parseEvent(logger, data, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Received++
	if err != nil {
		r.counts.Malformed++
		r.o.Log.Warn("malformed event", "logger", logger, "error", err)
		return err
	}
	return r.admit(e, now)
}

// admit puts an event in the queue unless it is filtered, a duplicate, or late.
func (r *Runner) admit(e event, now time.Time) error {
	switch {
	case r.closed:
		r.counts.Refused++
		return nil
	case e.Severity < r.o.MinSeverity:
		r.counts.Filtered++
		return nil
	case !r.book.seen.admit(e.key(), now):
		r.counts.Duplicate++
		return nil
	}
	if len(r.book.waiting) == r.o.QueueSize {
		r.drop()
	}
	r.counts.Queued++
	err := r.commit(entry{Op: opQueued, Event: &e, At: now.Add(r.o.DedupeWindow)})
	nudge(r.wake)
	if err != nil {
		return fmt.Errorf("incident: the event is in memory alone: %w", err)
	}
	return nil
}

// drop makes room for an event. The caller holds mu.
func (r *Runner) drop() {
	e := r.book.waiting[0]
	r.counts.Queued--
	r.counts.Dropped++
	_ = r.commit(entry{Op: opDropped, EventID: e.ID}) // counted there
	r.o.Log.Warn("event dropped", "event", e.ID, "key", e.key())
}

// Counts returns what became of the events so far.
func (r *Runner) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Unsent = uint64(len(r.book.letters.letters))
	return c
}

// Run has agents investigate until the context ends. Then it accepts no more
// events, events that wait stay on disk for the next runner, and the agents'
// contexts end. Run returns within the grace, when the records of all ended
// incidents are written. An incident without an end is interrupted, and resumed
// by the next runner. A store or notifier that does not answer is left behind.
// Call Run once.
func (r *Runner) Run(ctx context.Context) error {
	if !r.begun.CompareAndSwap(false, true) {
		return errors.New("incident: the runner was run before")
	}
	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	tending, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var agents, couriers, tenders sync.WaitGroup
	drain := make(chan struct{})
	for range r.o.MaxAgents {
		agents.Go(func() { r.work(working) })
	}
	for _, c := range []*courier{r.store, r.notifier} {
		if c != nil {
			couriers.Go(func() { r.carry(tending, c, drain) })
		}
	}
	tenders.Go(func() { r.tend(tending) })
	<-ctx.Done()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	stop(errShutdown)
	// Without a grace agents are killed at once; records and messages still get some time.
	last := time.AfterFunc(cmp.Or(r.o.Grace/16*15, abandonAfter), rest)
	defer last.Stop()
	agents.Wait()
	close(drain)
	couriers.Wait()
	rest()
	tenders.Wait()
	return r.end()
}

// end releases the root. A journal that cannot be written is no error of the
// run: the next runner reads what there is.
func (r *Runner) end() error {
	if r.disk.journal.Err() != nil {
		if err := r.rewrite(); err != nil {
			r.o.Log.Error("the journal cannot be written", "error", err)
		}
	}
	if err := r.disk.close(); err != nil {
		r.o.Log.Error("the runner's directory could not be closed", "error", err)
	}
	return nil
}

// Close releases the root of a runner that is not going to run. After Run it
// does nothing.
func (r *Runner) Close() error {
	if !r.begun.CompareAndSwap(false, true) {
		return nil
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.end()
}

// work handles one incident after the other until the run ends.
func (r *Runner) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for {
			c, ok := r.next()
			if !ok {
				break
			}
			r.handle(ctx, c)
		}
	}
}

// next takes a case of an earlier runner, or else the oldest event, and wakes
// another worker if there is more.
func (r *Runner) next() (c *openCase, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, false
	case len(r.resume) > 0:
		c, r.resume = r.resume[0], r.resume[1:]
		r.counts.Interrupted--
	case len(r.book.waiting) > 0:
		e := r.book.waiting[0]
		id, now := newUUID(), time.Now()
		_ = r.commit(entry{Op: opBegun, Incident: id, EventID: e.ID, Created: now, At: now}) // insisted on below
		c = r.book.cases[id]
		r.counts.Queued--
	default:
		return nil, false
	}
	r.counts.Running++
	if len(r.resume) > 0 || len(r.book.waiting) > 0 {
		nudge(r.wake)
	}
	return c, true
}

// putBack returns a case that has no end, to be resumed.
func (r *Runner) putBack(c *openCase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Running--
	r.counts.Interrupted++
	if !r.closed {
		r.resume = append(r.resume, c)
		nudge(r.wake)
	}
}
