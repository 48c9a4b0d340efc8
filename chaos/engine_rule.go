package chaos

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

type liveRule struct {
	*planRule
	in        *Injector
	fault     Fault         // that of the rule, or this injector's copy if it is stateful
	failer    Failer        // the fault, if it is only an error; else nil
	quota     *quota        // nil: it has no limit and no cool-down
	first     *liveRule     // the first of those that it replaced, else itself: whose end is that of all
	until     time.Duration // when it expires, since the injector was made; 0: never
	ended     atomic.Bool   // it, or what replaced it, was removed
	delivered atomic.Bool   // to some call
	barred    bool          // the safeguards allow none of its targets
}

func (a *liveRule) init(c *planRule, in *Injector) {
	a.planRule, a.in, a.fault, a.failer, a.first = c, in, c.Fault, c.failer, a
	if c.stateful {
		a.fault = c.Fault.(Stateful).Fresh()
		a.failer = failerOf(a.fault, c.phase)
	}
	a.barred = in.bars(c)
	if c.Group != "" {
		a.quota = in.joinGroup(c).quota
	} else {
		a.quota = in.newQuota(c)
	}
}

func failerOf(f Fault, p Phase) (only Failer) {
	if p == PhaseInstead {
		only, _ = f.(Failer)
	}
	return only
}

// reserve reports whether the rule may be injected now, and counts the injection as
// pending until settle. So "at most n" also holds among concurrent calls.
func (a *liveRule) reserve() bool { return a.inForce() && a.quota.reserve() }

// settle ends what reserve began. Only a delivered fault uses up the limit.
func (a *liveRule) settle(delivered bool) {
	if delivered && !a.delivered.Load() {
		a.delivered.Store(true)
	}
	if a.in.safeguards != nil {
		a.in.safeguards.quota.settle(delivered)
	}
	a.quota.settle(delivered)
}

// A quota holds injections back by the deliveries so far: those of a rule, of a group, or of
// all rules ([Safeguards].Budget). nil holds nothing back.
type quota struct {
	limit    int           // of deliveries; 0: none
	coolDown time.Duration // after each; 0: none
	born     time.Time     // of the injector

	mu        sync.Mutex // guards what follows
	delivered uint64
	pending   uint64
	coolUntil time.Duration // since born, which Arm does not change; 0: there was no cool-down
}

// newQuota is nil for a rule without a limit and a cool-down.
func (in *Injector) newQuota(c *planRule) *quota {
	if c.Limit == 0 && c.CoolDown == 0 {
		return nil
	}
	return &quota{limit: c.Limit, coolDown: c.CoolDown, born: in.born}
}

func (q *quota) reserve() bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.exhausted(q.pending) || q.cools() {
		return false
	}
	q.pending++
	return true
}

// exhausted reports whether the limit is used up once so many more are delivered; q.mu is held.
func (q *quota) exhausted(more uint64) bool {
	return q.limit > 0 && q.delivered+more >= uint64(q.limit)
}

func (q *quota) cools() bool {
	return q.coolDown > 0 && (q.pending > 0 || time.Since(q.born) < q.coolUntil)
}

func (q *quota) heldBack() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.exhausted(q.pending) || q.cools()
}

// usedUp reports whether the limit is, for good.
func (q *quota) usedUp() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.exhausted(0)
}

func (q *quota) settle(delivered bool) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending--
	if !delivered {
		return
	}
	q.delivered++
	if q.coolDown > 0 {
		now := time.Since(q.born)
		q.coolUntil = now + min(q.coolDown, math.MaxInt64-now)
	}
}

// ruleGroup is what the rules of a [Rule.Group] share. The injector's lock guards it.
type ruleGroup struct {
	quota *quota
	rules int              // how many there are
	first *planRule        // whose limit and cool-down are those of all
	lanes map[string]*site // counts the calls of a lane to all its targets
}

// joinGroup returns the group of a rule, one more in it from now on. It is dropped with the
// last of them, so that a group which comes back starts afresh.
func (in *Injector) joinGroup(c *planRule) *ruleGroup {
	g := in.groups[c.Group]
	if g == nil {
		if in.groups == nil {
			in.groups = make(map[string]*ruleGroup)
		}
		g = &ruleGroup{quota: in.newQuota(c), first: c, lanes: make(map[string]*site)}
		in.groups[c.Group] = g
	}
	g.rules++
	return g
}

func (in *Injector) leaveGroup(c *planRule) {
	if g := in.groups[c.Group]; g != nil {
		if g.rules--; g.rules == 0 {
			delete(in.groups, c.Group)
		}
	}
}

// streaks counts the failed calls directly before the next one, by caller and key. The
// latest key stands outside the map, since most sites fail for one at a time. The lock of
// the injector's log guards it.
type streaks struct {
	last  streak
	n     int // of last
	other map[streak]int
}

type streak struct {
	caller string
	key    uint64
}

// maxStreaks bounds the failing keys remembered per site; past it all but the last
// are forgotten.
const maxStreaks = 1 << 12

func (f *streaks) count(k streak) int {
	if f.last == k {
		return f.n
	}
	return f.other[k]
}

func (f *streaks) set(k streak, n int) {
	if f.last != k {
		if f.n > 0 {
			if f.other == nil || len(f.other) >= maxStreaks {
				f.other = make(map[streak]int)
			}
			f.other[f.last] = f.n
		}
		delete(f.other, k)
	}
	f.last, f.n = k, n
}

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

// streak counts a call that has ended; the lock of the injector's log is held.
func (s *site) streak(k streak, failed bool) {
	n := 0
	if failed {
		n = s.fails.count(k) + 1
	} else if !s.failing.Load() {
		return
	}
	s.fails.set(k, n)
	s.failing.Store(s.fails.n > 0 || len(s.fails.other) > 0)
}

func (s *site) attempt(k streak) int {
	if !s.failing.Load() {
		return 1
	}
	s.in.log.mu.Lock()
	defer s.in.log.mu.Unlock()
	return 1 + s.fails.count(k)
}
