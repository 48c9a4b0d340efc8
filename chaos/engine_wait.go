package chaos

import (
	"context"
	"math"
	"time"
)

// ruleOf is the executing rule, or the one that a context is pinned to; nil: the callee
// runs. x.mu is held.
func (x *injection) ruleOf(pinned int16) *callRule {
	at := x.current()
	if pinned > 0 {
		at = int(pinned) - 1
	}
	if at == len(x.rules) {
		return nil
	}
	return &x.rules[at]
}

// sleep waits for a rule, and counts its wait.
func (x *injection) sleep(ctx context.Context, pinned int16, d time.Duration) error {
	x.mu.Lock()
	a := x.ruleOf(pinned)
	var rule *liveRule
	if a != nil {
		rule = a.liveRule
	}
	if !x.over {
		x.more.asked += min(max(d, 0), math.MaxInt64-x.more.asked)
		if a != nil {
			a.underWay++
			a.waitsSince = time.Now()
		}
	}
	x.mu.Unlock()
	spent, err := x.wait(ctx, d, rule)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over { // whoever settled reads the rules without the lock
		return err
	}
	x.more.spent += spent
	if a != nil {
		a.underWay--
		a.slept = true
		a.spent += spent
	}
	return err
}

// stopped reports whether a wait of the rule ends at once, nil: of no rule. It does not wait
// either if the injector was disarmed during the call and is armed again.
func (x *injection) stopped(rule *liveRule) bool { return x.disarmedOrKilled() || rule.over() }

// wait waits for d on behalf of a fault and returns how long it waited. Each waiter has a
// channel of its own, made in its own bubble if it runs in one. The wait ends with the
// rule; nil: there is none.
func (x *injection) wait(ctx context.Context, d time.Duration, rule *liveRule) (spent time.Duration, err error) {
	in := x.set.site.in
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case d == 0 && x.stopped(rule):
		return 0, ErrDisarmed
	case d == 0:
		return 0, nil
	}
	stop := make(chan struct{})
	in.mu.Lock()
	if x.stopped(rule) {
		in.mu.Unlock()
		return 0, ErrDisarmed
	}
	if in.waiters == nil {
		in.waiters = make(map[chan struct{}]*liveRule)
	}
	expires := false
	if in.waiters[stop] = nil; rule != nil {
		in.waiters[stop] = rule.first
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
