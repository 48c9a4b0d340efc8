package chaos

import (
	"cmp"
	"context"
	"errors"
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
	// makes every call an enclosing point: see [Event.Caller] and [WithReentry].
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
	// OnEvent is called with every event, in the caller's goroutine and before the
	// call returns, or by [Injector.End] for a call that is open. It must be fast and
	// safe for concurrent use. nil: it is not called. The context is the one that the
	// callee gets, or the caller's if a fault that is only an error was injected. Both
	// have the values of the call's context.
	OnEvent func(context.Context, Event)
	// OnBegin is called with every call that will leave an event, as it begins, in
	// the caller's goroutine. It must be fast and safe for concurrent use. nil: it
	// is not called. The context is that of OnEvent. The event has no end, outcome
	// and attempt yet; its Call is that of the event that follows. OnBegin is not
	// called for a call that is only an injected error, which begins and ends at
	// once.
	OnBegin func(context.Context, Event)
	// AwaitArm keeps the injector out of the way until [Injector.Arm]: calls pass as
	// if there were none. They are not counted and leave no event.
	AwaitArm bool
	// Safeguards bound what the rules may do; nil: nothing does.
	Safeguards *Safeguards
	// Virtual says that the calls are made in a testing/synctest bubble, and other
	// cells have bubbles of their own. Injection points then refuse what they would
	// share with other cells ([Injector.Refuse]), where Go ends the process.
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

	watchers atomic.Pointer[[]*func(context.Context, Event)]
	refusal  atomic.Pointer[error] // the first that Refuse was given

	mu        sync.Mutex // guards what follows
	rules     []*liveRule
	places    map[string]int // of the rules, by name; nil: not known
	groups    groupDeliveries
	waiters   map[chan struct{}]*liveRule // liveRule.first of the rule that waits; nil: of no rule
	port      string                      // of this machine: the first that was met
	requested map[string]*site            // counts of InjectNow, by name of the rule
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
	in.safeguards = newSafeguardState(in.opts.Safeguards, in.born)
	in.log.max = cmp.Or(in.opts.MaxLog, defaultMaxLog)
	return in
}

// Register adds a rule, or replaces the one of the same name in its place. The
// counting triggers, limit and memory of a replaced rule start afresh; the
// deliveries of its group do so only if the group has no other rule. Calls under way
// keep the rule that matched them. The error joins every problem, each a
// [*RuleError].
func (in *Injector) Register(r Rule) error {
	_, err := in.register(r, 0)
	return err
}

func (in *Injector) register(r Rule, life time.Duration) (*liveRule, error) {
	c, problems := compile(r, 0, nil)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if len(in.opts.Targets) > 0 {
		if err := c.checkTargets(in.opts.Targets); err != nil {
			return nil, err
		}
	}
	if err := in.checkSafeguards(c); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	i := in.place(c.Name)
	var former *liveRule
	if i >= 0 {
		former = in.rules[i]
	}
	if !in.groups.fits(c, former) {
		for _, other := range in.rules {
			if err := c.conflict(other.planRule); err != nil && other != former {
				return nil, err
			}
		}
	}
	if former != nil {
		in.groups.leave(former.planRule)
	}
	a := in.alive(c, former, life)
	if former == nil {
		in.places[c.Name] = len(in.rules)
		in.rules = append(in.rules, a)
	} else {
		in.rules[i] = a
	}
	in.eachSite(func(s *site) { s.rebind(former, a) })
	return a, nil
}

// Remove takes a rule away and reports whether there was one of that name. It ends
// the waits of the rule and of the rules that it replaced: those calls go through.
// Other rules that matched them act. With waiters in a testing/synctest bubble it
// must be called from that bubble.
func (in *Injector) Remove(name string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	return in.removeAt(in.place(name))
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

// setRules puts another list of rules in force at every site; in.mu is held.
func (in *Injector) setRules(rules []*liveRule) {
	in.rules, in.places = rules, nil
	in.eachSite(func(s *site) { s.bind(rules) })
}

// eachSite calls bind for all sites: those of groups first, since the others take their
// base from them. in.mu is held.
func (in *Injector) eachSite(bind func(*site)) {
	for _, groups := range []bool{true, false} {
		for s := range in.points.all() {
			if (s.kind == groupSite) == groups {
				bind(s)
			}
		}
	}
	for s := range in.asked.all() {
		bind(s)
	}
}

// alive makes a rule that lasts for life (0: without end) in place of former (nil: of
// none). in.mu is held.
func (in *Injector) alive(c *planRule, former *liveRule, life time.Duration) *liveRule {
	a := &liveRule{}
	a.init(c, in)
	if former != nil {
		a.former = former.first()
	}
	if life > 0 {
		a.until = time.Since(in.born) + life
		in.expires(a.until)
	}
	return a
}

// Arm puts the rules in force and starts the injector's clock anew. A new injector
// is armed.
func (in *Injector) Arm() {
	in.armed.Store(int64(time.Since(in.born)))
	in.state.And(^(stateDisarmed | stateAwaiting))
}

// Disarm takes the rules out of force at once. Injected waits end, and those calls go
// through without further faults, even if Arm follows at once. Calls are still
// counted. With waiters in a testing/synctest bubble it must be called
// from that bubble.
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

// Close ends the cell. Later calls get [ErrCellEnded] and do not reach their callee;
// nor do calls that an injected wait delays until then. Close cannot be undone.
//
// It only sets a flag, so it may be called from anywhere, and more than once. It ends
// no wait; [Injector.Disarm] does. It gives the calls under way no event; [Injector.End]
// does.
func (in *Injector) Close() { in.state.Or(stateClosed) }

// Virtual is [InjectorOptions].Virtual.
func (in *Injector) Virtual() bool { return in.opts.Virtual }

// Refuse notes why an injection point refused to make a call although the agent did
// nothing wrong: the world is set up in a way that cannot work. The cell cannot be
// judged then. The first reason is kept; err must not be nil. Refuse returns err, for
// the caller of the point.
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
		if s.kind == callSite {
			targets = append(targets, s.target)
		}
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
// way has none before [Injector.End]. What the events point to is shared with the log and must not be
// changed.
func (in *Injector) Events() []Event {
	events, _ := in.EventsSince(0)
	return events
}

// EventsSince returns the kept events of the calls that ended after the first n, in
// the order in which the calls began. ended is how many calls with an event have
// ended so far. Pass it as n the next time to get each event once, however calls
// overlap. Of the ended-n events, those that are not returned were dropped. What the
// events point to must not be changed.
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

// sleep waits for d on behalf of a fault and returns how long it waited. Each waiter has a channel of its own, made in
// its own bubble if it runs in one. The wait ends with the rule; nil: there is none.
func (in *Injector) sleep(ctx context.Context, d time.Duration, rule *liveRule) (spent time.Duration, err error) {
	if err := ctx.Err(); err != nil || d == 0 {
		return 0, err
	}
	stop := make(chan struct{})
	in.mu.Lock()
	if in.state.Load()&stateDisarmed != 0 || in.killed() || rule.over() {
		in.mu.Unlock()
		return 0, ErrDisarmed
	}
	if in.waiters == nil {
		in.waiters = make(map[chan struct{}]*liveRule)
	}
	expires := false
	if in.waiters[stop] = nil; rule != nil {
		in.waiters[stop] = rule.first()
		d, expires = rule.capWait(d)
	}
	in.mu.Unlock()
	start := time.Now()
	err = wait(ctx, d, stop, in.killSwitch())
	if err == nil && expires {
		err = ErrDisarmed
	}
	spent = time.Since(start)
	in.mu.Lock()
	delete(in.waiters, stop)
	in.mu.Unlock()
	return spent, err
}

// wait is the one place where a goroutine waits on behalf of a fault. An endless
// wait has no timer: in a bubble a timer would let the clock run to it. A wait that
// the context's deadline ends has none either: two timers that fire at one moment,
// which is usual in a bubble, would race.
func wait(ctx context.Context, d time.Duration, stop, kill <-chan struct{}) error {
	if err := ctx.Err(); err != nil || d == 0 {
		return err
	}
	var over <-chan time.Time
	deadline, bounded := ctx.Deadline()
	ends := bounded && ctx.Done() != nil // some contexts show a deadline and outlive it
	if d > 0 && !(ends && time.Until(deadline) <= d) {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-stop:
		return ErrDisarmed
	case <-kill:
		return ErrDisarmed
	}
}
