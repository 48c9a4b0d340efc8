package contract

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// maxFindings bounds the warnings about rules, so that there is room for others.
const maxFindings = 50

// A ruleLinter warns of rules that do not do what they seem to. Package lint decides
// what it finds in the rules themselves, before the cells. What the calm runs show
// about them is known after the cells.
type ruleLinter struct {
	engine *engine
	warn   func(text string)
	caller usercode.Loop // asking a rule runs its own methods, which are user code
	never  map[ruleKey]bool
	found  int
	failed bool
}

type ruleKey struct{ scenario, rule string }

// lintRules warns of what is wrong with the rules, whatever the agent does.
func (l *ruleLinter) lintRules(ctx context.Context) {
	for _, s := range l.engine.scenarios {
		if len(s.Rules) == 0 || ctx.Err() != nil {
			continue
		}
		var found []lint.Finding
		if !l.ask(s, func() { found = lint.Plan(s.plan, &lint.Options{Targets: l.engine.known}) }) {
			return
		}
		for _, f := range found {
			if f.Code == lint.Never {
				l.never[ruleKey{s.Name, f.Rule}] = true
			}
			l.finding(fmt.Sprintf("Rule %s of scenario %s: %s.", f.Rule, s.Name, f.Message))
		}
	}
}

// ask runs fn under the watchdog. It returns false if fn failed; nothing is asked
// after that.
func (l *ruleLinter) ask(s *compiledScenario, fn func()) bool {
	if l.failed {
		return false
	}
	if why := callAside(&l.caller, l.engine.watchdog(), fn); why != "" {
		l.failed = true
		l.warn(fmt.Sprintf("The rules of scenario %s could not be examined: %s", s.Name, why))
		return false
	}
	return true
}

// finding warns of one rule.
func (l *ruleLinter) finding(text string) {
	switch l.found++; {
	case l.found < maxFindings:
		l.warn(text)
	case l.found == maxFindings:
		l.warn("There are more findings about rules; package chaos/lint lists them all.")
	}
}

// lintCalls warns of rules that matched no call, and that match none without
// faults either: there the agent makes too few calls. matched reports whether a
// rule matched some call in a cell.
//
// If that is so of all rules of a scenario, none of them can match: until the
// first one does, a cell is a calm run. If another rule matches, its fault may bring
// about more calls, such as retries.
func (l *ruleLinter) lintCalls(matched func(s *compiledScenario, rule string) bool) {
	for _, s := range l.engine.scenarios {
		calls, ok := l.engine.calmCallsOf(s)
		if !ok {
			continue
		}
		rules := s.plan.Rules()
		idle := make([]string, len(rules)) // how few calls there are; empty: enough, or not known
		if !l.ask(s, func() {
			for i, r := range rules {
				idle[i] = l.tooFew(r, &calls)
			}
		}) {
			return
		}
		verb := "can never match"
		if slices.Contains(idle, "") || slices.ContainsFunc(rules, func(r chaos.Rule) bool { return matched(s, r.Name) }) {
			verb = "matched no call"
		}
		for i, r := range rules {
			if idle[i] != "" && !l.never[ruleKey{s.Name, r.Name}] && !matched(s, r.Name) {
				l.finding(fmt.Sprintf("Rule %s of scenario %s %s: in %s the agent %s.", r.Name, s.Name, verb, calmRunsText(calls.runs), idle[i]))
			}
		}
	}
}

// calmCallsOf is what the calm runs of all prompt lists of a scenario showed. ok is
// false if those of a list are not known.
func (e *engine) calmCallsOf(s *compiledScenario) (sum calmCalls, ok bool) {
	if len(s.Rules) == 0 || len(s.invariants) == 0 {
		return sum, false
	}
	var seen []*promptList
	for _, p := range s.invariants {
		if slices.Contains(seen, p.list) {
			continue
		}
		seen = append(seen, p.list)
		c := &p.list.calm.calls
		if c.runs == 0 {
			return sum, false
		}
		sum.join(c)
	}
	return sum, true
}

// tooFew says how few calls the agent makes for the rule to match one; "" if it may
// match one, or if that is not known. The calls of a group count together, over all
// its targets, and are not known.
func (l *ruleLinter) tooFew(r chaos.Rule, calls *calmCalls) string {
	g, err := glob.Compile(r.Target)
	if err != nil || r.Group != "" {
		return ""
	}
	t, ok := calls.of(g, func(name string) bool {
		return slices.ContainsFunc(l.engine.tools, func(tool chaos.Tool) bool { return tool.Name == name })
	})
	name, literal := g.Literal()
	if !literal {
		name = "any one target of " + r.Target
	}
	switch {
	case !ok || t.most > 0 && !neverWithin(r, t.most):
		return ""
	case t.most == 0 && literal:
		return "did not call " + name
	case t.most == 0:
		return "called no target of " + r.Target
	}
	text := "called " + name + " " + times(t.most) + " at most"
	if t.lanes {
		text += " in one lane"
	}
	return text
}

// neverWithin reports whether the rule matches none of the first n calls, n above 0,
// of a lane to a target, whatever else is true of them. Package lint is asked about
// the rule restricted to these calls.
func neverWithin(r chaos.Rule, n int) bool {
	if r.When == nil {
		return false
	}
	restricted := chaos.Rule{Name: r.Name, Target: r.Target, Fault: r.Fault, When: when.All(r.When, when.First(n))}
	return slices.ContainsFunc(lint.Rules([]chaos.Rule{restricted}, nil), func(f lint.Finding) bool { return f.Code == lint.Never })
}

func times(n int) string {
	return cmp.Or(map[int]string{1: "once", 2: "twice"}[n], fmt.Sprintf("%d times", n))
}

func calmRunsText(n int) string {
	if n == 1 {
		return "1 calm run"
	}
	return fmt.Sprintf("%d calm runs", n)
}
