package chaos

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// InjectorOptions are the settings of an [Injector]; the zero value works.
type InjectorOptions struct {
	_ struct{}
	// Targets are the known injection points. Where there are any,
	// [Injector.Register] refuses a rule whose target matches none of them.
	Targets []string
	// RecordAll keeps an event for every call, also where no rule matched. It also
	// makes every call an enclosing point: see [Event.Caller].
	RecordAll bool
	// KeepValues keeps the arguments and results of the calls that leave an event,
	// as JSON, and what calls of models say: see [Exchange].
	KeepValues bool
	// KeepExchanges keeps also what calls of models said, redacted: [Event].Exchange.
	// It needs KeepValues. Redacting takes milliseconds an event of long bodies.
	KeepExchanges bool
	// MaxLog is the number of events kept, the newest; older ones are dropped
	// and counted. 0: 4096. Negative: none is kept.
	MaxLog int
	// OnEvent, if it is not nil, is called with every event, in the caller's goroutine and
	// before the call returns, or by [Injector.End] for a call that is open. It must be
	// fast and safe for concurrent use. The context has the values of the call's context.
	OnEvent func(context.Context, Event)
	// OnBegin is called as OnEvent, when a call begins that will leave an event and is not
	// only an injected error. The event has no end and outcome yet; its Call is that of the
	// event that follows.
	OnBegin func(context.Context, Event)
	// AwaitArm has calls pass as without an injector, uncounted, until [Injector.Arm].
	AwaitArm bool
	// Safeguards bound what the rules may do; nil: nothing does.
	Safeguards *Safeguards
	// Virtual says that the calls are made in a testing/synctest bubble. Injection points
	// then refuse what they would share with other bubbles ([Injector.Refuse]), where Go
	// ends the process.
	Virtual bool
}

const defaultMaxLog = 4096

// An Injector decides which rules are injected into the calls of one cell or one
// live process, and keeps what happened. It is made by [Plan.Injector] or
// [NewInjector] and reaches wrapped calls through their context ([NewContext]) or by
// binding. All methods are safe for concurrent use.
type Injector struct {
	seed  uint64
	cell  string
	scope uint64 // hash of seed and cell
	opts  InjectorOptions
	born  time.Time // times are measured from here
	armed atomic.Int64
	state atomic.Uint32 // stateClosed, stateDisarmed, stateAwaiting
	// disarms counts the calls of Disarm: a call that rules matched before it gets no
	// fault after it, even if the injector is armed again.
	disarms    atomic.Uint32
	late       atomic.Uint64
	begun      atomic.Uint64 // numbers the calls that leave an event, in steps of two
	points     table
	open       openCalls
	log        log
	safeguards *safeguardState // nil: none

	asked table // the names that MayAffect and MayAffectPrefix were asked about

	watchers atomic.Pointer[[]watcher]
	refusal  atomic.Pointer[error] // the first that Refuse was given
	counts   sync.Map              // of Count: an *atomic.Uint64 by name

	mu        sync.Mutex // guards what follows
	rules     []*liveRule
	places    map[string]int              // of the rules, by name; nil: not known
	groups    map[string]*ruleGroup       // by name; nil: there are none
	waiters   map[chan struct{}]*liveRule // the first of the rule that waits; nil: of no rule
	port      string                      // of this machine: the first that was met
	requested table                       // counts of InjectNow, by name of the rule
	soonest   time.Duration               // the earliest expiry, since born; 0: no rule expires
}

const (
	stateClosed uint32 = 1 << iota
	stateDisarmed
	stateAwaiting // of AwaitArm, with stateDisarmed
)

// NewInjector makes a live injector: armed, and without rules, which are registered
// and removed at run time. o may be nil. For bubbles see [Plan.Injector].
func NewInjector(seed uint64, o *InjectorOptions) *Injector {
	return newInjector(seed, "", o)
}

func newInjector(seed uint64, cell string, o *InjectorOptions) *Injector {
	in := &Injector{seed: seed, cell: cell, scope: cellHash(seed, cell), born: time.Now()}
	if o != nil {
		in.opts = *o
		in.opts.Targets = slices.Clone(o.Targets)
	}
	if in.opts.AwaitArm {
		in.state.Store(stateAwaiting | stateDisarmed)
	}
	in.safeguards = newSafeguardState(in.opts.Safeguards)
	in.log.max = cmp.Or(in.opts.MaxLog, defaultMaxLog)
	if in.opts.OnEvent != nil {
		in.Watch(in.opts.OnEvent)
	}
	return in
}

// place is the index of a rule in the list; -1: there is none of that name. in.mu is
// held.
func (in *Injector) place(name string) int {
	if in.places == nil {
		in.places = make(map[string]int, len(in.rules))
		for i, a := range in.rules {
			in.places[a.Name] = i
		}
	}
	if i, ok := in.places[name]; ok {
		return i
	}
	return -1
}

// eachSite calls bind for all sites: those of groups first, since the others take their
// base from them. in.mu is held.
func (in *Injector) eachSite(bind func(*site)) {
	for _, g := range in.groups {
		for _, s := range g.lanes {
			bind(s)
		}
	}
	for _, t := range []*table{&in.points, &in.asked} {
		for s := range t.all() {
			bind(s)
		}
	}
}

// Arm puts the rules in force and starts the injector's clock anew. A new injector
// is armed.
func (in *Injector) Arm() {
	in.armed.Store(int64(time.Since(in.born)))
	in.state.And(^(stateDisarmed | stateAwaiting))
}

// Disarm takes the rules out of force at once. Injected waits end, and those calls go
// through without further faults, even if Arm follows at once. Calls are still counted.
// With waiters in a testing/synctest bubble it must be called from that bubble.
func (in *Injector) Disarm() {
	in.state.Or(stateDisarmed)
	in.disarms.Add(1)
	in.mu.Lock()
	defer in.mu.Unlock()
	for w := range in.waiters {
		close(w)
		delete(in.waiters, w)
	}
}

// Close ends the cell, for good. Later calls get [ErrCellEnded] and do not reach their
// callee; nor do calls that an injected wait delays until then. It ends no wait, as
// [Injector.Disarm] does, and gives calls under way no event, as [Injector.End] does.
func (in *Injector) Close() { in.state.Or(stateClosed) }

// Closed reports whether the cell has ended.
func (in *Injector) Closed() bool { return in.state.Load()&stateClosed != 0 }

// Virtual is [InjectorOptions].Virtual.
func (in *Injector) Virtual() bool { return in.opts.Virtual }

// Count returns how often it was called with a name, this time included. From it, the lane, the
// cell and the seed, middleware draws names that are the same in each run of a cell, such as keys.
func (in *Injector) Count(name string) uint64 {
	n, _ := in.counts.LoadOrStore(name, new(atomic.Uint64))
	return n.(*atomic.Uint64).Add(1)
}

// Refuse notes why an injection point refused a call because the world is set up in a way
// that cannot work, so that the cell cannot be judged. The first reason is kept; err must
// not be nil. Refuse returns err, for the caller of the point.
func (in *Injector) Refuse(err error) error {
	in.refusal.CompareAndSwap(nil, &err)
	return err
}

// Refusal is the first reason that [Injector.Refuse] was given; nil: none was.
func (in *Injector) Refusal() error {
	if err := in.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// LateCalls is the number of calls that were refused because the injector was closed.
func (in *Injector) LateCalls() uint64 { return in.late.Load() }

// Cell is the name of the cell, which the draws depend on too; "" for [NewInjector].
func (in *Injector) Cell() string { return in.cell }

// Seed is the seed of the draws.
func (in *Injector) Seed() uint64 { return in.seed }

// Armed reports whether rules may act: neither [Injector.Disarm] nor [Injector.Close] was called last, nor a
// safeguard's kill switch, and Arm was where the injector awaits it.
func (in *Injector) Armed() bool { return in.state.Load() == 0 && !in.killed() }

// Rules returns the rules in force, in order, names filled in.
func (in *Injector) Rules() []Rule {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	rules := make([]Rule, len(in.rules))
	for i, a := range in.rules {
		rules[i] = a.Rule
	}
	return rules
}

// Targets returns the injection points known so far, sorted: those of
// [InjectorOptions] and those that had a call.
func (in *Injector) Targets() []string {
	targets := slices.Clone(in.opts.Targets)
	for s := range in.points.all() {
		targets = append(targets, s.target)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// Undelivered returns the names of the rules that were not delivered to any call, in
// order. A test that means to inject every rule asserts that there are none.
func (in *Injector) Undelivered() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var names []string
	for _, a := range in.rules {
		if !a.delivered.Load() {
			names = append(names, a.Name)
		}
	}
	return names
}

// Events returns the kept events in the order in which the calls began. A call under
// way has none before [Injector.End]. What the events point to must not be changed.
func (in *Injector) Events() []Event {
	events, _ := in.EventsSince(0)
	return events
}

// EventsSince returns those of the calls that ended after the first n. ended is how many
// have ended so far: pass it as n the next time to get each event once, however calls
// overlap. Of the ended-n events, those that are not returned were dropped.
func (in *Injector) EventsSince(n uint64) (events []Event, ended uint64) {
	records, ended := in.log.since(n)
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.begun, b.begun) })
	events = make([]Event, len(records))
	for i := range records {
		events[i] = records[i].event()
	}
	return events, ended
}

// Dropped is the number of events that were not kept because the log was full.
func (in *Injector) Dropped() uint64 { return in.log.drops() }

func (in *Injector) ruleNames() []string {
	names := make([]string, len(in.rules))
	for i, a := range in.rules {
		names[i] = a.Name
	}
	return names
}

// Elapsed is the time since the injector was armed. The times of its events count
// from then: an event began at time.Now less Elapsed plus its Start.
func (in *Injector) Elapsed() time.Duration {
	return time.Since(in.born) - time.Duration(in.armed.Load())
}
