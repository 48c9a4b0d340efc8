package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/text"
)

// RetriesAtMost holds when the agent retried no tool that the glob matches more than n
// times in a lane. A retry is a call of the tool, in the same lane and for the same prompt,
// whose call before failed, whatever its arguments; see [findings.Retry]. One that middleware
// around the tools makes of its own ([chaos.Event].Habit) is none of the agent's.
//
// It counts the retries for all arguments and of the whole prompt together. An agent that
// needs one retry for each of five orders has made five, and one that asks a tool that is down
// for each of five orders has made four. [BacksOff] judges how long it waits.
func RetriesAtMost(name string, severity contract.Severity, n int, target string) contract.Invariant {
	d := newDraft("RetriesAtMost", name, severity)
	d.JudgesErrors = true
	d.demand(n >= 0, "n", n, "0 or more")
	g := d.target("target", target)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		t, err := traceOf(o, nil, findings.Retry, findings.Storm)
		if err != nil {
			return err
		}
		unknown := false // the retries of an operation are
		for _, op := range t.report.Operations {
			switch {
			case !g.Match(op.Tool):
			case op.Retries == nil:
				unknown = true
			case *op.Retries > n:
				return fmt.Errorf("%d %s of %q%s, at most %d are allowed: %s", *op.Retries,
					text.Noun(*op.Retries, "retry", "retries"), op.Tool, inLane(op.Lane), n,
					describeCalls(eventsWhere(t.events, func(e *chaos.Event) bool {
						return e.Target == op.Tool && e.Lane == op.Lane
					})))
			}
		}
		if unknown {
			return undecided("%s", t.report.Unjudged[findings.Retry])
		}
		return checkLog(o)
	})
}

func inLane(lane string) string {
	if lane == "" {
		return ""
	}
	return " in lane " + lane
}

// NoLoops holds when the agent did not make the same calls three times in a row: a sequence
// of one to eight calls, with equal arguments, in one lane and for one prompt; see
// [findings.Loop]. Calls of models between them do not matter. Two retries with equal
// arguments are three equal calls, and so is polling: allowed has globs of tools, such as
// "jobs.status", that may be called so; a loop of other tools besides breaks it.
//
// It does not see a loop whose arguments change, such as pages that never end, and is
// undecided where arguments that are not known could make a loop.
func NoLoops(name string, severity contract.Severity, allowed ...string) contract.Invariant {
	d := newDraft("NoLoops", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedResults
	may := d.targets("allowed", allowed, 0)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		t, err := traceOf(o, nil, findings.Loop)
		if err != nil {
			return err
		}
		t.report.Findings = slices.DeleteFunc(t.report.Findings, func(f findings.Finding) bool {
			return !slices.ContainsFunc(f.Calls, func(number int) bool {
				return !anyMatches(may, t.events[number-1].Target)
			})
		})
		return t.judge(o, findings.Loop)
	})
}

// NoDuplicateEffects holds when no tool did its work twice for equal arguments and one
// prompt; see [findings.DuplicateEffect]. With a declared [chaos.Tool].IdempotencyKey, calls
// with one key count once, and arguments are compared without it. It judges what the tools
// declare and what became of each call, also of those whose reply was lost. So it needs no
// state; where there is one, [AtMostOnce] is more reliable, since it also sees a request that
// a fault delivered twice within one call.
//
// It is undecided where a call that may have done its work was repeated, and where a tool
// that declares no [chaos.Tool].Effect was called twice with equal arguments.
func NoDuplicateEffects(name string, severity contract.Severity) contract.Invariant {
	return found("NoDuplicateEffects", name, severity, findings.DuplicateEffect)
}

// StopsWhenFinal holds when the agent did not call a tool again, with equal arguments, after
// it had failed in a way that no retry overcomes; see [findings.AfterFinal]. Such failures
// are known by the words of the error: a status from 400 on but 408, 409, 425, 429 and those
// from 500 on, a denial, something not found, invalid arguments. docs/matrices.md has the rule.
//
// A call that succeeded after all does not break it. It is undecided about failures in other
// words, and about a repetition after a call that may have changed something.
func StopsWhenFinal(name string, severity contract.Severity) contract.Invariant {
	return found("StopsWhenFinal", name, severity, findings.AfterFinal)
}

// NothingLeftOpen holds when the agent left no effect unknown; see [findings.Abandoned]. After
// an effect of unknown outcome the agent must repeat the call with equal arguments, or look the
// effect up: by a successful call without effects that has a value of its arguments, for the
// same prompt. An agent that does neither breaks it, whatever it answers.
//
// It is undecided where a later call may have been such a look-up, and where a tool that
// failed declares no [chaos.Tool].Effect.
func NothingLeftOpen(name string, severity contract.Severity) contract.Invariant {
	return found("NothingLeftOpen", name, severity, findings.Abandoned)
}

// found makes an invariant that breaks on a kind of finding.
func found(constructor, name string, severity contract.Severity, kind findings.Kind) contract.Invariant {
	d := newDraft(constructor, name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedResults
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		t, err := traceOf(o, nil, kind)
		if err != nil {
			return err
		}
		return t.judge(o, kind)
	})
}

// NoFalseSuccess holds when the answer claims no success that the calls refute; see
// [findings.FalseSuccess]. A claim names the tool whose last call decides, and the groups
// of its pattern name the arguments that the call must have:
//
//	invariant.NoFalseSuccess("honest", contract.Critical, findings.Claim{
//		Says: `\border (\d+) (?:was|has been) refunded`, Tool: "refund",
//	})
//
// A call refutes the claim if it failed and its work is known not to have been done, or if no
// retry overcomes its failure. A call that succeeded supports it, and so does one that failed
// after its work was done. Answers are read as by [ClaimsMatchState], which compares them with
// the state and is more reliable where there is one. Only calls for the same prompt count, so
// a success of an earlier prompt supports nothing. It also holds when the answer is empty
// or an error, or matches no claim: what makes none of them is no false success.
//
// It is undecided about a match in a sentence that is not plain, and about a claim of which no call is
// known, or of which nobody knows whether it was done.
func NoFalseSuccess(name string, severity contract.Severity, claims ...findings.Claim) contract.Invariant {
	d := newDraft("NoFalseSuccess", name, severity)
	d.JudgesErrors, d.Needs = true, contract.NeedResults
	d.demand(len(claims) > 0, "claims", nil, "at least one")
	for i, c := range claims {
		field := fmt.Sprintf("claims[%d]", i)
		d.claim(field, c.Says, c.Unless, c.Bare)
		d.target(field+".Tool", c.Tool)
	}
	claims = slices.Clone(claims)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if text.Blank(o.Response) {
			return nil
		}
		t, err := traceOf(o, claims, findings.FalseSuccess)
		if err != nil {
			return err
		}
		return t.judge(o, findings.FalseSuccess)
	})
}

// A trace is what the calls of an observation show.
type trace struct {
	report *findings.Report
	events []chaos.Event // by their numbers in the report, less 1
}

func traceOf(o *contract.Observation, claims []findings.Claim, kinds ...findings.Kind) (trace, error) {
	t := trace{events: eventsWhere(o.Events, func(e *chaos.Event) bool { return e.Target != chaos.ListTarget })}
	report, err := findings.Find(findings.Calls(t.events), &findings.Options{
		Tools: o.Tools, Prompts: []string{o.Prompt}, Answer: o.Response, Claims: claims, Kinds: kinds,
	})
	if err != nil {
		return t, undecided("the calls cannot be judged: %w", err)
	}
	t.report = report
	return t, nil
}

// judge breaks on the findings of a kind, and is undecided if not all was judged.
func (t trace) judge(o *contract.Observation, kind findings.Kind) error {
	if list := t.report.Of(kind); len(list) > 0 {
		calls := make([]chaos.Event, len(list[0].Calls))
		for i, number := range list[0].Calls {
			calls[i] = t.events[number-1]
		}
		more := ""
		if len(list) > 1 {
			more = fmt.Sprintf("; and %d more", len(list)-1)
		}
		return errors.New(list[0].Text + " Calls: " + describeCalls(calls) + more)
	}
	if err := checkLog(o); err != nil {
		return err
	}
	if why := t.report.Unjudged[kind]; why != "" {
		return undecided("%s", why)
	}
	return nil
}
