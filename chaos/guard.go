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
type guard struct {
	Rails
	invalid error // what Check says of them
	allowed []*glob.Glob
	born    time.Time
	calls   atomic.Uint64 // that a rule might have struck; counted for Share

	mu        sync.Mutex // guards what follows
	delivered uint64
	pending   uint64
	tokens    float64
	filled    time.Duration // when tokens was true
	held      [rails]uint64
}

// rail is one of the limits.
type rail uint8

const (
	free rail = iota // nothing holds the fault back
	heldInvalid
	heldKill
	heldBudget
	heldShare
	heldConcurrent
	heldRate
	rails // how many there are
)

var railNames = [rails]string{heldInvalid: "invalid", heldKill: "kill", heldBudget: "budget", heldShare: "share",
	heldConcurrent: "concurrent", heldRate: "rate"}

func newGuard(r *Rails, born time.Time) *guard {
	if r == nil {
		return nil
	}
	g := &guard{Rails: *r, invalid: r.Check(), born: born}
	g.Targets = slices.Clone(r.Targets)
	for _, target := range g.Targets {
		if compiled, err := glob.Compile(target); err == nil {
			g.allowed = append(g.allowed, compiled)
		}
	}
	g.tokens = g.bucket()
	return g
}

// bucket is how many tokens there can be: one second's worth, at least one.
func (g *guard) bucket() float64 { return max(g.Rate, 1) }

// killed tells whether the kill switch was thrown.
func (g *guard) killed() bool {
	select {
	case <-g.Kill: // never of a nil channel
		return true
	default:
		return false
	}
}

// killSwitch is the channel that ends waits; nil: there is none.
func (in *Injector) killSwitch() <-chan struct{} {
	if in.rails == nil {
		return nil
	}
	return in.rails.Kill
}

func (in *Injector) killed() bool { return in.rails != nil && in.rails.killed() }

// resting tells whether no rule is in force any more: the injector was
// disarmed, closed or killed.
func (in *Injector) resting() bool { return in.state.Load() != 0 || in.killed() }

// crossed counts a call that a rule might strike.
func (g *guard) crossed() {
	if g.Share > 0 {
		g.calls.Add(1)
	}
}

// reserve asks whether one more fault may be at work now, and counts it until
// settle says how it went.
func (g *guard) reserve() rail {
	g.mu.Lock()
	defer g.mu.Unlock()
	why := g.limit()
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
func (g *guard) limit() rail {
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

// refill brings the bucket up to date, and tells whether it holds a token.
func (g *guard) refill() bool {
	now := time.Since(g.born)
	g.tokens = min(g.bucket(), g.tokens+(now-g.filled).Seconds()*g.Rate)
	g.filled = now
	return g.tokens >= 1
}

func (g *guard) settle(delivered bool) {
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

// kept is what the rails held back on one call.
type kept struct {
	rules []string
	rails []string
}

// reserve asks for a rule that was drawn whether it may strike. What the rails
// hold back stays with the visit, for its event.
func (v *visit) reserve(b *bound) bool {
	if !b.reserve() {
		return false
	}
	g := b.in.rails
	if g == nil {
		return true
	}
	why := g.reserve()
	if why == free {
		return true
	}
	b.release()
	if v.kept == nil {
		v.kept = &kept{}
	}
	v.kept.rules = append(v.kept.rules, b.Name)
	v.kept.rails = append(v.kept.rails, railNames[why])
	return false
}

// tell puts what was held back on a record.
func (k *kept) tell(r *record) {
	if k == nil {
		return
	}
	for i, name := range k.rules {
		r.note(fmt.Sprintf("rule %q was held back by the rails: %s", name, k.rails[i]))
	}
	r.more.masked = append(r.more.masked, k.rules...)
}
