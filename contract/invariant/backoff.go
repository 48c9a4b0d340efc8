package invariant

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// defaultGrowth takes doubling, and adding the same amount each time for up to
// ten retries; it refuses a constant wait even where real time blurs it a little.
const defaultGrowth = 1.1

// BackoffOptions are the settings of [BacksOff]; nil and the zero value work.
type BackoffOptions struct {
	_ struct{}
	// Target is a glob of the targets whose retries are judged; empty: all.
	Target string
	// Growth is the least factor, above 0, from each wait to the next; 0: 1.1. A
	// back-off with jitter needs less than 1; with full jitter, close to 0.
	Growth float64
	// Cap is the longest wait that Growth demands; 0: no limit.
	Cap time.Duration
}

// BacksOff holds when the agent lets time pass before it tries again: the wait
// from the end of an attempt to the next one with the same lane, caller, target
// and key is at least least, and each wait of such a series is longer than the
// one before it by the factor Growth. [chaos.Event.Attempt] decides what a further
// attempt is: a call that follows a failed one, unless the agent numbers its
// attempts itself.
//
// An attempt that begins while others are in progress is judged by the last one that
// had ended. If none had, it is not judged: calls made at one time are not retries
// of each other. The invariant holds for an agent that never retries, and for one
// whose calls never fail.
func BacksOff(id string, severity contract.Severity, least time.Duration, o *BackoffOptions) contract.Invariant {
	d := newDraft("BacksOff", id, severity)
	d.JudgesErrors = true
	o = cmp.Or(o, &BackoffOptions{})
	rule := backoff{least: least, growth: o.Growth, limit: o.Cap}
	rule.growth = cmp.Or(rule.growth, defaultGrowth)
	d.demand(least > 0, "least", least, "a duration above 0")
	d.demand(rule.growth > 0 && !math.IsInf(rule.growth, 1), "Growth", o.Growth, "a finite number above 0")
	d.demand(rule.limit >= 0, "Cap", o.Cap, "0 or more")
	target := o.Target
	target = cmp.Or(target, "*")
	g := d.target("Target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if err := rule.judge(matching(o.Events, g)); err != nil {
			return err
		}
		return complete(o)
	})
}

type backoff struct {
	least  time.Duration
	growth float64
	limit  time.Duration
}

// request is what attempts have in common.
type request struct {
	lane, caller, target string
	key                  uint64
}

// attempt is one call at a request.
type attempt struct {
	call   chaos.Event
	wait   time.Duration // since the last attempt that had ended
	waited bool          // there was one
}

// series is where the attempts at one request stand, in the order in which they began.
type series struct {
	last    attempt   // the last to end of those that had ended; none: call has no target
	running []attempt // those that had not
}

// at brings the series to the beginning of a call, and returns the last attempt that had ended.
func (s *series) at(start time.Duration) (before attempt, known bool) {
	s.running = slices.DeleteFunc(s.running, func(a attempt) bool {
		ended := a.call.End <= start
		if ended && (s.last.call.Target == "" || a.call.End >= s.last.call.End) {
			s.last = a
		}
		return ended
	})
	return s.last, s.last.call.Target != ""
}

func (b backoff) judge(calls []chaos.Event) error {
	open := make(map[request]*series)
	for _, e := range calls {
		r := request{e.Lane, e.Caller, e.Target, e.Key}
		s := open[r]
		if s == nil {
			s = &series{}
			open[r] = s
		}
		now := attempt{call: e}
		if before, known := s.at(e.Start); known && e.Attempt > 1 {
			now.wait, now.waited = e.Start-before.call.End, true
			if err := b.check(before, now); err != nil {
				return err
			}
		}
		s.running = append(s.running, now)
	}
	return nil
}

func (b backoff) check(before, now attempt) error {
	e := now.call
	if now.wait < b.least {
		return fmt.Errorf("attempt %d at %s came %v after the one before it, at least %v is expected",
			e.Attempt, e.Target, now.wait, b.least)
	}
	expected := float64(before.wait) * b.growth
	if !before.waited || float64(now.wait) >= expected || b.limit > 0 && now.wait >= b.limit {
		return nil
	}
	return fmt.Errorf("attempt %d at %s came %v after the one before it, which had waited %v: a wait of at least %v is expected",
		e.Attempt, e.Target, now.wait, before.wait, time.Duration(min(expected, math.MaxInt64/2)))
}
