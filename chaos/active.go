package chaos

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// active is a rule at work in one injector.
type active struct {
	*compiled
	in     *Injector
	fault  Fault  // the injector's own, where the rule's is stateful
	failer Failer // the fault, if that is all it is
	gate   *gate
	own    gate        // what gate points to, for rules without a group
	fired  atomic.Bool // it was delivered
	barred bool        // the rails allow none of its targets
}

func (a *active) init(c *compiled, in *Injector) {
	a.compiled, a.in, a.fault, a.gate = c, in, c.Fault, &a.own
	if c.stateful {
		a.fault = c.Fault.(Stateful).Fresh()
	}
	if c.phase == PhaseInstead {
		a.failer, _ = a.fault.(Failer)
	}
	a.barred = in.bars(c)
	if c.Group != "" {
		a.gate = in.groups.of(c.Group)
	}
}

// reserve asks whether the rule may strike now, and counts the strike until
// settle says how it went: so "at most n" holds also among concurrent calls.
func (a *active) reserve() bool {
	return !a.gated || a.gate.reserve(a.Limit, a.CoolDown, a.in)
}

// rests tells whether the rule's limit is used up, or it cools down.
func (a *active) rests() bool {
	if !a.gated {
		return false
	}
	a.gate.mu.Lock()
	defer a.gate.mu.Unlock()
	return !a.gate.open(a.Limit, a.CoolDown, a.in)
}

// settle ends what reserve began. Only a delivered fault uses up the limit.
func (a *active) settle(delivered bool) {
	if delivered && !a.fired.Load() {
		a.fired.Store(true)
	}
	if a.in.rails != nil {
		a.in.rails.settle(delivered)
	}
	if a.gated {
		a.gate.settle(delivered, a.CoolDown, a.in)
	}
}

// release ends what reserve began where the rails forbid the strike.
func (a *active) release() {
	if a.gated {
		a.gate.settle(false, a.CoolDown, a.in)
	}
}

// gate holds what depends on earlier deliveries. The rules of a group share one.
type gate struct {
	mu        sync.Mutex
	delivered int
	pending   int
	last      time.Duration // of the last delivery, since the injector was made: arming does not move it
	struck    bool          // last is set
}

func (g *gate) reserve(limit int, coolDown time.Duration, in *Injector) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open(limit, coolDown, in) {
		return false
	}
	g.pending++
	return true
}

// open tells whether one more strike is allowed; g.mu is held.
func (g *gate) open(limit int, coolDown time.Duration, in *Injector) bool {
	if limit > 0 && g.delivered+g.pending >= limit {
		return false
	}
	return coolDown <= 0 || g.pending == 0 && (!g.struck || time.Since(in.born)-g.last >= coolDown)
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
		g.last, g.struck = time.Since(in.born), true
	}
}

// groupGates finds the gate that the rules of a group share; the zero value is
// ready, and costs nothing while there are no groups.
type groupGates struct{ byName map[string]*gate }

func (g *groupGates) of(name string) *gate {
	if gate := g.byName[name]; gate != nil {
		return gate
	}
	if g.byName == nil {
		g.byName = make(map[string]*gate)
	}
	gate := &gate{}
	g.byName[name] = gate
	return gate
}

// forget drops the gates of groups that have no rule any more, so that one
// which comes back begins afresh.
func (g *groupGates) forget(rules []*active) {
	maps.DeleteFunc(g.byName, func(name string, _ *gate) bool {
		return !slices.ContainsFunc(rules, func(a *active) bool { return a.Group == name })
	})
}
