package invariant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// CallsAtMost holds when the agent made no more than n calls to the targets
// that the glob matches, all of them together. A call counts whether or not it
// reached its callee, and each retry is a call. "*" matches the listing of the
// tools too, see [chaos.ListTarget].
func CallsAtMost(id string, severity contract.Severity, n int, target string) contract.Invariant {
	d := newDraft("CallsAtMost", id, severity)
	d.JudgesErrors = true
	d.demand(n >= 0, "n", n, "0 or more")
	g := d.target("target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		calls := matching(o.Events, g)
		if len(calls) > n {
			return fmt.Errorf("%d calls to %q, at most %d are allowed: %s", len(calls), target, n, describe(calls))
		}
		return complete(o)
	})
}

// NeverCalls holds when the agent called none of the targets that the globs
// match. A call that a fault kept from its callee counts too.
func NeverCalls(id string, severity contract.Severity, targets ...string) contract.Invariant {
	d := newDraft("NeverCalls", id, severity)
	d.JudgesErrors = true
	d.demand(len(targets) > 0, "targets", nil, "at least one")
	targets = slices.Clone(targets)
	globs := make([]*glob.Glob, len(targets))
	for i, target := range targets {
		globs[i] = d.target(fmt.Sprintf("targets[%d]", i), target)
	}
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		for i, g := range globs {
			if calls := matching(o.Events, g); len(calls) > 0 {
				return fmt.Errorf("%d calls to %q, none is allowed: %s", len(calls), targets[i], describe(calls))
			}
		}
		return complete(o)
	})
}

// CallsBefore holds when each call to a target that the glob then matches began
// after the success of a call to a target that the glob first matches: for example,
// the agent looked up an order before it refunded it. It holds if there is no call
// to then. A call whose caller got an error did not succeed, whatever its callee
// did. Only calls of the same prompt count.
func CallsBefore(id string, severity contract.Severity, first, then string) contract.Invariant {
	d := newDraft("CallsBefore", id, severity)
	d.JudgesErrors = true
	before, after := d.target("first", first), d.target("then", then)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if err := complete(o); err != nil {
			return err // the call that went before may be among the dropped
		}
		var done time.Duration
		succeeded := false // the earliest success among the calls so far
		for _, e := range o.Events {
			if after.Match(e.Target) && !(succeeded && done <= e.Start) {
				return fmt.Errorf("%s was called without a successful call to %q before it: %s",
					e.Target, first, describe(earlier(o.Events, before, e)))
			}
			if before.Match(e.Target) && e.Outcome == chaos.OutcomeOK && (!succeeded || e.End < done) {
				succeeded, done = true, e.End
			}
		}
		return nil
	})
}

// complete is undecided when the log of calls is not whole.
func complete(o *contract.Observation) error {
	if o.Dropped > 0 {
		return undecided("%d calls did not fit the log", o.Dropped)
	}
	return nil
}

func matching(events []chaos.Event, g *glob.Glob) []chaos.Event {
	var calls []chaos.Event
	for _, e := range events {
		if g.Match(e.Target) {
			calls = append(calls, e)
		}
	}
	return calls
}

// earlier are the calls to g that began before e or with it.
func earlier(events []chaos.Event, g *glob.Glob, e chaos.Event) []chaos.Event {
	var calls []chaos.Event
	for _, c := range matching(events, g) {
		if c.Start <= e.Start {
			calls = append(calls, c)
		}
	}
	return calls
}

// describe lists calls for evidence: when, what, and how each ended.
func describe(calls []chaos.Event) string {
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
	return list(items)
}
