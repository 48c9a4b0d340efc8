package chaos

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// guard keeps the accounts of an injector's rails.
type safeguardState struct {
	Safeguards
	invalid error // what Check says of them
	allowed []*glob.Glob
	born    time.Time
	calls   atomic.Uint64 // that a rule might have struck; counted for Share

	mu        sync.Mutex // guards what follows
	delivered uint64
	pending   uint64
	tokens    float64
	filled    time.Duration // when tokens was true
	held      [safeguardCount]uint64
}

// rail is one of the limits.
type safeguard uint8

const (
	free safeguard = iota // nothing holds the fault back
	heldInvalid
	heldKill
	heldBudget
	heldShare
	heldConcurrent
	heldRate
	safeguardCount // how many there are
)

var safeguardNames = [safeguardCount]string{heldInvalid: "invalid", heldKill: "kill", heldBudget: "budget", heldShare: "share",
	heldConcurrent: "concurrent", heldRate: "rate"}

func newSafeguardState(r *Safeguards, born time.Time) *safeguardState {
	if r == nil {
		return nil
	}
	g := &safeguardState{Safeguards: *r, invalid: r.Check(), born: born}
	if g.Targets = slices.Clone(r.Targets); g.invalid != nil {
		g.Targets = nil // each fault is then held back as invalid, and counted
	}
	for _, target := range g.Targets {
		if compiled, err := glob.Compile(target); err == nil {
			g.allowed = append(g.allowed, compiled)
		}
	}
	g.tokens = g.bucket()
	return g
}

// bucket is how many tokens there can be: one second's worth, at least one.
func (g *safeguardState) bucket() float64 { return max(g.Rate, 1) }

// killed reports whether the kill switch was thrown.
func (g *safeguardState) killed() bool {
	select {
	case <-g.Kill: // never of a nil channel
		return true
	default:
		return false
	}
}

// killSwitch is the channel that ends waits; nil: there is none.
func (in *Injector) killSwitch() <-chan struct{} {
	if in.safeguards == nil {
		return nil
	}
	return in.safeguards.Kill
}

func (in *Injector) killed() bool { return in.safeguards != nil && in.safeguards.killed() }

// resting reports whether no rule is in force any more: the injector was
// disarmed, closed or killed.
func (in *Injector) resting() bool { return in.state.Load() != 0 || in.killed() }

// resting reports whether no rule is in force for the call any more.
func (x *injection) resting() bool { return x.set.site.in.resting() || x.letGo() }

// letGo reports whether the injector was disarmed during the call, be it armed again by now.
func (x *injection) letGo() bool { return x.set.site.in.disarms.Load() != x.disarms }

// crossed counts a call that a rule might strike.
func (g *safeguardState) countCall() {
	if g.Share > 0 {
		g.calls.Add(1)
	}
}

// reserve asks whether one more fault may be at work now, and counts it until
// settle says how it went.
func (g *safeguardState) reserve() safeguard {
	g.mu.Lock()
	defer g.mu.Unlock()
	why := g.heldBy()
	if why != free {
		g.held[why]++
		return why
	}
	if g.Rate > 0 {
		g.tokens--
	}
	g.pending++
	return free
}

// limit is the first rail in the way; g.mu is held.
func (g *safeguardState) heldBy() safeguard {
	faults := g.delivered + g.pending
	switch {
	case g.invalid != nil:
		return heldInvalid
	case g.killed():
		return heldKill
	case g.Budget > 0 && faults >= uint64(g.Budget):
		return heldBudget
	case g.Share > 0 && float64(faults+1) > g.Share*float64(g.calls.Load()):
		return heldShare
	case g.Concurrent > 0 && g.pending >= uint64(g.Concurrent):
		return heldConcurrent
	case g.Rate > 0 && !g.refill():
		return heldRate
	}
	return free
}

// refill brings the bucket up to date, and reports whether it holds a token.
func (g *safeguardState) refill() bool {
	now := time.Since(g.born)
	g.tokens = min(g.bucket(), g.tokens+(now-g.filled).Seconds()*g.Rate)
	g.filled = now
	return g.tokens >= 1
}

func (g *safeguardState) settle(delivered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending--
	switch {
	case delivered:
		g.delivered++
	case g.Rate > 0:
		g.tokens++
	}
}

// kept is what the event of a call tells of rules that were drawn on it and
// did nothing.
type unusedRules struct {
	held   []heldRule
	idle   *liveRule // a failure that made no error; nil: there was none
	masked []string  // rules that it hid all the same
}

// heldRule is a rule that was not let strike.
type heldRule struct {
	name string
	by   safeguard // free: by its own limit or cool-down
}

// reserve asks for a rule that was drawn whether it may strike. One that may
// not is held back.
func (d *decision) reserve(b *siteRule) bool {
	if !b.reserve() {
		d.hold(b, free)
		return false
	}
	g := b.in.safeguards
	if g == nil {
		return true
	}
	why := g.reserve()
	if why == free {
		return true
	}
	b.release()
	d.hold(b, why)
	return false
}

// hold keeps for the event, if there will be one, that a rule was held back.
func (d *decision) hold(b *siteRule, by safeguard) {
	if d.lone {
		return
	}
	k := d.addUnused()
	k.held = append(k.held, heldRule{b.Name, by})
}

func (d *decision) addUnused() *unusedRules {
	if d.unused == nil {
		d.unused = &unusedRules{}
	}
	return d.unused
}

// tell puts on a record what was kept for it.
func (k *unusedRules) addTo(r *record) {
	if k == nil {
		return
	}
	if r.more == nil {
		r.more = &details{}
	}
	for _, h := range k.held {
		r.more.held = append(r.more.held, h.name)
		if h.by != free {
			r.note(fmt.Sprintf("rule %q was held back by the safeguards: %s", h.name, safeguardNames[h.by]))
		}
	}
	if k.idle != nil {
		r.main, r.more.masked = k.idle, k.masked
	}
}

// idles reports whether a failure made no error.
func (k *unusedRules) someIdle() bool { return k != nil && k.idle != nil }
