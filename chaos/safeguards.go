package chaos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// Safeguards bound what an injector may do to a running process, whatever its rules
// say. The zero value bounds nothing. Each injector counts for itself. A rule that
// is injected into a call is one fault; an undelivered fault counts for nothing.
//
// If a safeguard holds a fault back, the call goes on as if the rule had not
// matched. [Injector.HeldBack] counts it. If the call leaves an event,
// [Event].HeldBack names the rule and [Event].Note the safeguard.
//
// Safeguards cost nothing on calls that no rule matches. The exception is Share,
// which counts the calls to targets that have rules.
type Safeguards struct {
	_ struct{}
	// Kill is the kill switch. Once it is closed, nothing is injected from the next
	// call on, and injected waits end as with [Injector.Disarm]. It cannot be
	// undone. Any number of injectors may share it; the Done channel of a context is
	// one. nil: no switch. For calls in a testing/synctest bubble it is made in that
	// bubble.
	Kill <-chan struct{}
	// Budget is the number of faults that may be delivered in all; 0: no limit.
	Budget int
	// Share is the largest fraction of the eligible calls that may get a fault, from
	// 0 to 1: at 0.1 the tenth eligible call is the first that may. Calls to targets
	// that have a rule are eligible, and so are the requests of
	// [Injector.InjectNow]. 0: no limit.
	Share float64
	// Rate is the number of faults a second, by the injector's clock. It is a token
	// bucket that holds one second's worth, at least one fault, and is full at
	// first. 0: no limit.
	Rate float64
	// Concurrent is the number of faults that may be acting on calls under way at
	// one time; 0: no limit.
	Concurrent int
	// Targets are globs over the injection points that may get faults, by either of
	// their names if they have two ([WrapOptions]); empty: all. [Injector.Register]
	// refuses a rule that could reach none of them. A rule that reaches others too
	// is injected only at these.
	Targets []string
}

// Check reports what is wrong with the safeguards, each a [*ParamError], joined.
// [Injector.Register] reports the same, and an injector with such safeguards injects
// nothing. nil is valid and bounds nothing.
func (s *Safeguards) Check() error {
	if s == nil {
		return nil
	}
	var problems []error
	refuse := func(ok bool, field string, value any, allowed string) {
		if !ok {
			problems = append(problems, &ParamError{Kind: "safeguards", Param: field, Value: value, Allowed: allowed})
		}
	}
	refuse(s.Budget >= 0, "Budget", s.Budget, "a number of faults, or 0 for no limit")
	refuse(s.Share >= 0 && s.Share <= 1, "Share", s.Share, "a share from 0 to 1; 0: no limit")
	refuse(s.Rate >= 0 && !math.IsInf(s.Rate, 1), "Rate", s.Rate, "a number of faults a second, or 0 for no limit")
	refuse(s.Concurrent >= 0, "Concurrent", s.Concurrent, "a number of faults, or 0 for no limit")
	for i, target := range s.Targets {
		_, err := glob.Compile(target)
		refuse(err == nil, fmt.Sprintf("Targets[%d]", i), fmt.Sprintf("%q", target),
			"a glob over names of injection points, such as \"orders.*\"")
	}
	return errors.Join(problems...)
}

// HeldBack counts the faults that [Safeguards] held back, by the name of the
// safeguard in lower case, such as "budget". "invalid" counts those held back
// because Check refuses the safeguards. The map is empty without safeguards.
func (in *Injector) HeldBack() map[string]uint64 {
	held := make(map[string]uint64)
	if in.safeguards == nil {
		return held
	}
	in.safeguards.mu.Lock()
	defer in.safeguards.mu.Unlock()
	for by, n := range in.safeguards.held {
		if n > 0 {
			held[safeguardNames[by]] = n
		}
	}
	return held
}

// allows reports whether the safeguards allow faults at a target.
func (in *Injector) allows(target string) bool {
	return in.safeguards == nil || len(in.safeguards.Targets) == 0 ||
		slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return g.Match(target) })
}

// bars reports whether a rule could reach none of the allowed targets.
func (in *Injector) bars(c *planRule) bool {
	return in.safeguards != nil && len(in.safeguards.Targets) > 0 &&
		!slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return glob.Meets(g, c.glob) })
}

// checkSafeguards returns an error if the safeguards are invalid, or allow none of
// the rule's targets.
func (in *Injector) checkSafeguards(c *planRule) error {
	switch {
	case in.safeguards == nil:
		return nil
	case in.safeguards.invalid != nil:
		return in.safeguards.invalid
	case in.bars(c):
		return &RuleError{Rule: c.Name, Field: "Target", Value: c.Target,
			Allowed: "a glob that meets the targets of the safeguards: " + strings.Join(in.safeguards.Targets, ", "),
			Err:     errors.New("reaches no allowed target")}
	}
	return nil
}

// safeguardState is what the safeguards of an injector have counted.
type safeguardState struct {
	Safeguards
	invalid error // the error of Check
	allowed []*glob.Glob
	born    time.Time
	calls   atomic.Uint64 // to targets with rules; counted for Share

	mu        sync.Mutex // guards what follows
	delivered uint64
	pending   uint64
	tokens    float64
	filled    time.Duration // when tokens was brought up to date, since born
	held      [safeguardCount]uint64
}

// safeguard is one of the limits.
type safeguard uint8

const (
	free safeguard = iota // no safeguard holds the fault back
	heldInvalid
	heldKill
	heldBudget
	heldShare
	heldConcurrent
	heldRate
	safeguardCount // how many there are
)

var safeguardNames = [safeguardCount]string{heldInvalid: "invalid", heldKill: "kill", heldBudget: "budget",
	heldShare:      "share",
	heldConcurrent: "concurrent", heldRate: "rate"}

func newSafeguardState(o *Safeguards, born time.Time) *safeguardState {
	if o == nil {
		return nil
	}
	g := &safeguardState{Safeguards: *o, invalid: o.Check(), born: born}
	if g.Targets = slices.Clone(o.Targets); g.invalid != nil {
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

// bucket is the capacity in tokens: one second's worth, at least one.
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

// inactive reports whether no rule is in force: the injector was disarmed, closed or
// killed.
func (in *Injector) inactive() bool { return in.state.Load() != 0 || in.killed() }

// inactive reports whether no rule is in force for the call.
func (x *injection) inactive() bool { return x.set.site.in.inactive() || x.wasDisarmed() }

// wasDisarmed reports whether the injector was disarmed during the call, even if it is
// armed again by now.
func (x *injection) wasDisarmed() bool { return x.set.site.in.disarms.Load() != x.disarms }

// reserve returns the safeguard that holds one more fault back, or free. A free
// fault is counted as pending until settle.
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

// heldBy is the first safeguard that holds a fault back; g.mu is held.
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

// unusedRules are the rules that matched a call and did nothing, for its event.
type unusedRules struct {
	held   []heldRule
	idle   *liveRule // a failure that made no error; nil: there was none
	masked []string  // the rules that it masked
	note   string    // why it made none; empty: it does not say
}

// heldRule is a rule that was held back.
type heldRule struct {
	name string
	by   safeguard // free: by its own limit or cool-down
}

// reserve reports whether a rule that matched may be injected. If not, it notes that
// the rule was held back.
func (d *decision) reserve(b *siteRule) bool {
	if !b.reserve() {
		d.noteHeldBack(b, free)
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
	d.noteHeldBack(b, why)
	return false
}

// noteHeldBack notes for the event, if there will be one, that a rule was held back.
func (d *decision) noteHeldBack(b *siteRule, by safeguard) {
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

// addTo adds the rules to the record of the call.
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
		if k.note != "" {
			r.note(k.note)
		}
	}
}

// someIdle reports whether a failure made no error.
func (k *unusedRules) someIdle() bool { return k != nil && k.idle != nil }
