package invariant

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// CallsAtMost holds when the agent made at most n calls, in total, to the targets that
// the glob matches. A call counts whether or not it reached its callee, and each retry
// is a call. "*" also matches the listing of the tools, see [chaos.ListTarget].
func CallsAtMost(name string, severity contract.Severity, n int, target string) contract.Invariant {
	d := newDraft("CallsAtMost", name, severity)
	d.JudgesErrors = true
	d.demand(n >= 0, "n", n, "0 or more")
	g := d.target("target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		calls := callsTo(o.Events, g)
		if len(calls) > n {
			return fmt.Errorf("%d calls to %q, at most %d are allowed: %s", len(calls), target, n, describeCalls(calls))
		}
		return checkLog(o)
	})
}

// NeverCalls holds when the agent called none of the targets that the globs
// match. A call that a fault kept from its callee also counts.
func NeverCalls(name string, severity contract.Severity, targets ...string) contract.Invariant {
	d := newDraft("NeverCalls", name, severity)
	d.JudgesErrors = true
	targets = slices.Clone(targets)
	globs := d.targets("targets", targets, 1)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		for i, g := range globs {
			if calls := callsTo(o.Events, g); len(calls) > 0 {
				return fmt.Errorf("%d calls to %q, none is allowed: %s", len(calls), targets[i], describeCalls(calls))
			}
		}
		return checkLog(o)
	})
}

// CallsBefore holds when each call that the glob then matches began after the success
// of a call that the glob first matches: for example, the agent looked up an order
// before it refunded it. It holds if there is no call to then. A call whose caller got
// an error did not succeed, whatever its callee did. Only calls of the same prompt count.
func CallsBefore(name string, severity contract.Severity, first, then string) contract.Invariant {
	d := newDraft("CallsBefore", name, severity)
	d.JudgesErrors = true
	before, after := d.target("first", first), d.target("then", then)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if err := checkLog(o); err != nil {
			return err // the earlier call may be among the dropped
		}
		var done time.Duration // the end of the earliest success among the calls so far
		succeeded := false     // there was one
		for _, e := range o.Events {
			if after.Match(e.Target) && !(succeeded && done <= e.Start) {
				return fmt.Errorf("%s was called without a successful call to %q before it: %s",
					e.Target, first, describeCalls(eventsWhere(o.Events, func(c *chaos.Event) bool {
						return before.Match(c.Target) && c.Start <= e.Start
					})))
			}
			if before.Match(e.Target) && e.Outcome == chaos.OutcomeOK && (!succeeded || e.End < done) {
				succeeded, done = true, e.End
			}
		}
		return nil
	})
}

// checkLog returns an undecided error if calls are missing from the log.
func checkLog(o *contract.Observation) error {
	if o.Dropped > 0 {
		return undecided("%d calls did not fit the log", o.Dropped)
	}
	return nil
}

// callsTo returns the calls to targets that g matches.
func callsTo(events []chaos.Event, g *glob.Glob) []chaos.Event {
	return eventsWhere(events, func(e *chaos.Event) bool { return g.Match(e.Target) })
}

// eventsWhere returns the events that keep selects.
func eventsWhere(events []chaos.Event, keep func(*chaos.Event) bool) []chaos.Event {
	var kept []chaos.Event
	for i := range events {
		if keep(&events[i]) {
			kept = append(kept, events[i])
		}
	}
	return kept
}

// describeCalls lists calls for evidence: the target of each, when it began, and how it
// ended.
func describeCalls(calls []chaos.Event) string {
	if len(calls) == 0 {
		return "no such call"
	}
	items := make([]string, len(calls))
	for i, e := range calls {
		var s strings.Builder
		fmt.Fprintf(&s, "%s at %v", e.Target, e.Start)
		if e.Attempt > 1 {
			fmt.Fprintf(&s, " (attempt %d)", e.Attempt)
		}
		if e.Outcome != chaos.OutcomeOK {
			fmt.Fprintf(&s, " %s", e.Outcome)
		}
		items[i] = s.String()
	}
	return text.JoinItems(items)
}

// defaultGrowth accepts waits that double, and for up to ten retries waits that grow by
// a constant. It rejects a constant wait, even with the small differences of real time.
const defaultGrowth = 1.1

// BackoffOptions are the settings of [BacksOff]; nil and the zero value work.
type BackoffOptions struct {
	_ struct{}
	// Target is a glob of the targets whose retries are judged; empty: all.
	Target string
	// Growth is the least factor, above 0, from each wait to the next; 0: 1.1. A
	// back-off with jitter needs a value below 1, one with full jitter close to 0.
	Growth float64
	// Cap is the wait from which on waits need not grow; 0: there is none.
	Cap time.Duration
}

// BacksOff holds when the agent waits before it retries. The wait is the time from the
// end of an attempt to the next one with the same lane, caller, target and key. It must be at
// least least, and longer than the wait before it by the factor Growth.
// [chaos.Event.Attempt] says what a further attempt is: a call that follows a failed
// one, unless the agent numbers its attempts itself.
//
// An attempt that begins while others are in progress is compared with the last one
// that has ended. If none has, it is not judged: concurrent calls are not retries of
// each other. Nor is one that middleware around the tools makes of its own
// ([chaos.Event].Habit). The invariant holds for an agent that never retries, and for one
// whose calls never fail.
func BacksOff(name string, severity contract.Severity, least time.Duration, o *BackoffOptions) contract.Invariant {
	d := newDraft("BacksOff", name, severity)
	d.JudgesErrors = true
	if o == nil {
		o = &BackoffOptions{}
	}
	rule := backoff{least: least, growth: o.Growth, limit: o.Cap}
	if rule.growth == 0 {
		rule.growth = defaultGrowth
	}
	d.demand(least > 0, "least", least, "a duration above 0")
	d.demand(rule.growth > 0 && !math.IsInf(rule.growth, 1), "Growth", o.Growth, "a finite number above 0")
	d.demand(rule.limit >= 0, "Cap", o.Cap, "0 or more")
	target := o.Target
	if target == "" {
		target = "*"
	}
	g := d.target("Target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if err := rule.judge(callsTo(o.Events, g)); err != nil {
			return err
		}
		return checkLog(o)
	})
}

// backoff has the options of [BacksOff] with their defaults.
type backoff struct {
	least  time.Duration
	growth float64
	limit  time.Duration
}

// A request identifies the attempts of one series.
type request struct {
	lane, caller, target string
	key                  uint64
}

// An attempt is one call of a series.
type attempt struct {
	call   chaos.Event
	wait   time.Duration // since the end of the last attempt that had ended
	waited bool          // there was one
}

// A series holds the attempts at one request, which are added in the order in which
// they began.
type series struct {
	last    attempt   // of those that have ended, the last to end; without a target: none has
	running []attempt // those that have not ended
}

// at advances the series to the start of a call, and returns the last attempt that had
// ended by then.
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
		if before, known := s.at(e.Start); known && e.Attempt > 1 && e.Habit == "" {
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
	return fmt.Errorf("attempt %d at %s came %v after the one before it, which had waited %v: "+
		"a wait of at least %v is expected",
		e.Attempt, e.Target, now.wait, before.wait, time.Duration(min(expected, math.MaxInt64/2)))
}
