package chaos

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// liveRule is a rule in one injector.
type liveRule struct {
	*planRule
	in        *Injector
	fault     Fault  // the injector's own, where the rule's is stateful
	failer    Failer // the fault, if that is all it is
	gate      *gate
	own       gate // what gate points to, for rules without a group
	life      *life
	until     time.Duration // when it expires, since the injector was made; 0: never
	new       life          // what life points to, for rules that replaced none
	delivered atomic.Bool   // it was delivered
	barred    bool          // the safeguards allow none of its targets
}

func (a *liveRule) init(c *planRule, in *Injector) {
	a.planRule, a.in, a.fault, a.gate, a.life = c, in, c.Fault, &a.own, &a.new
	if c.stateful {
		a.fault = c.Fault.(Stateful).Fresh()
	}
	if c.phase == PhaseInstead {
		a.failer, _ = a.fault.(Failer)
	}
	a.barred = in.bars(c)
	if c.Group != "" {
		a.gate = in.groups.join(c)
	}
}

// reserve reports whether the rule may be injected now, and counts the injection as
// pending until settle. So "at most n" also holds among concurrent calls.
func (a *liveRule) reserve() bool {
	return a.met() && (!a.gated || a.gate.reserve(a.Limit, a.CoolDown, a.in))
}

// heldBack reports whether the rule's limit is used up or it cools down, and
// reserves nothing.
func (a *liveRule) heldBack() bool {
	if !a.gated {
		return false
	}
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	return a.gate.closed(a.Limit, a.CoolDown, a.in)
}

// settle ends what reserve began. Only a delivered fault uses up the limit.
func (a *liveRule) settle(delivered bool) {
	if delivered && !a.delivered.Load() {
		a.delivered.Store(true)
	}
	if a.in.safeguards != nil {
		a.in.safeguards.settle(delivered)
	}
	if a.gated {
		a.gate.settle(delivered, a.CoolDown, a.in)
	}
}

// release ends what reserve began if the safeguards forbid the injection.
func (a *liveRule) release() {
	if a.gated {
		a.gate.settle(false, a.CoolDown, a.in)
	}
}

// gate holds the state that depends on earlier deliveries. The rules of a group
// share one.
type gate struct {
	mu        sync.Mutex
	delivered uint64
	pending   uint64
	rests     time.Duration // when the cool-down ends, since the injector was made: arming does not move it; 0: there was none
}

func (g *gate) reserve(limit int, coolDown time.Duration, in *Injector) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed(limit, coolDown, in) {
		return false
	}
	g.pending++
	return true
}

// closed reports whether the gate holds every rule back now; g.mu is held.
func (g *gate) closed(limit int, coolDown time.Duration, in *Injector) bool {
	return limit > 0 && g.delivered+g.pending >= uint64(limit) ||
		coolDown > 0 && (g.pending > 0 || time.Since(in.born) < g.rests)
}

func (g *gate) settle(delivered bool, coolDown time.Duration, in *Injector) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending--
	if !delivered {
		return
	}
	g.delivered++
	if coolDown > 0 {
		now := time.Since(in.born)
		g.rests = now + min(coolDown, math.MaxInt64-now)
	}
}

// groupGates finds the gate that the rules of a group share. The zero value is
// ready, and costs nothing while there are no groups.
type groupGates struct{ byName map[string]*sharedGate }

// sharedGate is dropped with the last rule of its group, so that a group which comes
// back starts afresh.
type sharedGate struct {
	gate
	rules int
	first *planRule // whose limit and cool-down are those of all
}

func (g *groupGates) join(c *planRule) *gate {
	shared := g.byName[c.Group]
	if shared == nil {
		if g.byName == nil {
			g.byName = make(map[string]*sharedGate)
		}
		shared = &sharedGate{first: c}
		g.byName[c.Group] = shared
	}
	shared.rules++
	return &shared.gate
}

func (g *groupGates) leave(c *planRule) {
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
func (g *groupGates) fits(c *planRule, former *liveRule) bool {
	shared := g.byName[c.Group]
	return shared == nil || c.conflict(shared.first) == nil || shared.rules == 1 && former != nil && former.Group == c.Group
}
