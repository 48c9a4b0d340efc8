package chaos

import (
	"cmp"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// liveRule is a rule in one injector.
type liveRule struct {
	*planRule
	in         *Injector
	fault      Fault          // that of the rule, or this injector's copy if it is stateful
	failer     Failer         // the fault, if it is only an error; else nil
	deliveries *deliveryState // nil: the rule is neither limited nor in a group
	former     *liveRule      // the first of those that it replaced, whose end is its own; nil: it replaced none
	until      time.Duration  // when it expires, since the injector was made; 0: never
	ended      atomic.Bool    // it, or what replaced it, was removed
	delivered  atomic.Bool    // to some call
	barred     bool           // the safeguards allow none of its targets
}

func (a *liveRule) init(c *planRule, in *Injector) {
	a.planRule, a.in, a.fault, a.failer = c, in, c.Fault, c.failer
	if c.stateful {
		a.fault = c.Fault.(Stateful).Fresh()
		a.failer = failerOf(a.fault, c.phase)
	}
	a.barred = in.bars(c)
	switch {
	case c.Group != "":
		a.deliveries = in.groups.join(c)
	case c.limited:
		a.deliveries = &deliveryState{}
	}
}

// failerOf is the fault if it is only an error; else nil.
func failerOf(f Fault, p Phase) (only Failer) {
	if p == PhaseInstead {
		only, _ = f.(Failer)
	}
	return only
}

// first is the rule whose end is that of all that replaced it.
func (a *liveRule) first() *liveRule { return cmp.Or(a.former, a) }

// reserve reports whether the rule may be injected now, and counts the injection as
// pending until settle. So "at most n" also holds among concurrent calls.
func (a *liveRule) reserve() bool {
	return a.inForce() && (!a.limited || a.deliveries.reserve(a.Limit, a.CoolDown, a.in))
}

// heldBack reports whether the rule's limit is used up or it cools down, and
// reserves nothing.
func (a *liveRule) heldBack() bool {
	if !a.limited {
		return false
	}
	a.deliveries.mu.Lock()
	defer a.deliveries.mu.Unlock()
	return a.deliveries.heldBack(a.Limit, a.CoolDown, a.in)
}

// settle ends what reserve began. Only a delivered fault uses up the limit.
func (a *liveRule) settle(delivered bool) {
	if delivered && !a.delivered.Load() {
		a.delivered.Store(true)
	}
	if a.in.safeguards != nil {
		a.in.safeguards.settle(delivered)
	}
	if a.limited {
		a.deliveries.settle(delivered, a.CoolDown, a.in)
	}
}

// release ends what reserve began if the safeguards forbid the injection.
func (a *liveRule) release() {
	if a.limited {
		a.deliveries.settle(false, a.CoolDown, a.in)
	}
}

// deliveryState is what [Rule.Limit] and [Rule.CoolDown] depend on. The rules of a
// group share one.
type deliveryState struct {
	mu        sync.Mutex
	delivered uint64
	pending   uint64
	coolUntil time.Duration // since the injector was made, which Arm does not change; 0: there was no cool-down
}

func (g *deliveryState) reserve(limit int, coolDown time.Duration, in *Injector) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.heldBack(limit, coolDown, in) {
		return false
	}
	g.pending++
	return true
}

// heldBack reports whether the limit is used up or the cool-down lasts; g.mu is
// held.
func (g *deliveryState) heldBack(limit int, coolDown time.Duration, in *Injector) bool {
	return limit > 0 && g.delivered+g.pending >= uint64(limit) ||
		coolDown > 0 && (g.pending > 0 || time.Since(in.born) < g.coolUntil)
}

func (g *deliveryState) settle(delivered bool, coolDown time.Duration, in *Injector) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending--
	if !delivered {
		return
	}
	g.delivered++
	if coolDown > 0 {
		now := time.Since(in.born)
		g.coolUntil = now + min(coolDown, math.MaxInt64-now)
	}
}

// groupDeliveries finds the state that the rules of a group share. The zero value is
// ready to use, and costs nothing while there are no groups.
type groupDeliveries struct{ byName map[string]*sharedDeliveries }

// sharedDeliveries is dropped with the last rule of its group, so that a group which comes
// back starts afresh.
type sharedDeliveries struct {
	deliveryState
	rules int
	first *planRule // whose limit and cool-down are those of all
}

func (g *groupDeliveries) join(c *planRule) *deliveryState {
	shared := g.byName[c.Group]
	if shared == nil {
		if g.byName == nil {
			g.byName = make(map[string]*sharedDeliveries)
		}
		shared = &sharedDeliveries{first: c}
		g.byName[c.Group] = shared
	}
	shared.rules++
	return &shared.deliveryState
}

func (g *groupDeliveries) leave(c *planRule) {
	shared := g.byName[c.Group]
	if shared == nil {
		return
	}
	if shared.rules--; shared.rules == 0 {
		delete(g.byName, c.Group)
	}
}

// fits reports whether a rule states the same limit and cool-down as its group, in
// which it replaces former, if that is not nil.
func (g *groupDeliveries) fits(c *planRule, former *liveRule) bool {
	shared := g.byName[c.Group]
	return shared == nil || c.conflict(shared.first) == nil ||
		shared.rules == 1 && former != nil && former.Group == c.Group
}

// streaks counts, by caller and key, the failed calls directly before the next one.
// Most sites fail for one caller and key at a time, which needs no map. The lock of
// the injector's log guards it.
type streaks struct {
	last  streak
	n     int
	other map[streak]int
}

// streak names calls that may be attempts at the same thing.
type streak struct {
	caller string
	key    uint64
}

// maxStreaks bounds the failing keys remembered per site; past it all but the last
// are forgotten.
const maxStreaks = 1 << 12

func (f *streaks) count(k streak) int {
	if f.n > 0 && f.last == k {
		return f.n
	}
	return f.other[k]
}

func (f *streaks) fail(k streak) {
	switch {
	case f.n > 0 && f.last == k:
		f.n++
		return
	case f.n > 0:
		if f.other == nil || len(f.other) >= maxStreaks {
			f.other = make(map[streak]int)
		}
		f.other[f.last] = f.n
	}
	f.last, f.n = k, f.other[k]+1
	delete(f.other, k)
}

func (f *streaks) succeed(k streak) {
	if f.n > 0 && f.last == k {
		f.n = 0
		return
	}
	delete(f.other, k)
}

func (f *streaks) empty() bool { return f.n == 0 && len(f.other) == 0 }

// passed counts whether a call without an event failed, for the attempt of the next
// one.
func (s *site) passed(f *frame, key uint64, err error) {
	if err != nil || s.failing.Load() {
		s.ended(f, key, err != nil)
	}
}

func (s *site) ended(f *frame, key uint64, failed bool) {
	s.in.log.mu.Lock()
	defer s.in.log.mu.Unlock()
	s.streak(streak{f.caller(), key}, failed)
}

// streak counts one more call that ended; the log is locked.
func (s *site) streak(k streak, failed bool) {
	if !failed && !s.failing.Load() {
		return
	}
	if failed {
		s.fails.fail(k)
	} else {
		s.fails.succeed(k)
	}
	s.failing.Store(!s.fails.empty())
}

// attempt is the number of the attempt that begins now.
func (s *site) attempt(k streak) int {
	if !s.failing.Load() {
		return 1
	}
	s.in.log.mu.Lock()
	defer s.in.log.mu.Unlock()
	return 1 + s.fails.count(k)
}
