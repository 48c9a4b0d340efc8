package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
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
		if !l.ask(s, func() { found = lint.Plan(s.plan, l.options()) }) {
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

// options has the known targets only if there are no others.
func (l *ruleLinter) options() *lint.Options {
	if !l.engine.m.StrictPoints {
		return nil
	}
	return &lint.Options{Targets: l.engine.known}
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
// about more calls, such as retries. Rules of a group are not asked about.
func (l *ruleLinter) lintCalls(matched func(s *compiledScenario, rule string) bool) {
	unmet := l.engine.points.unmet(l.engine.known)
	for _, s := range l.engine.scenarios {
		for _, r := range s.plan.Rules() {
			if text := unmet[ruleKey{s.Name, r.Name}]; text != "" {
				l.finding(text)
			}
		}
		calls, ok := l.engine.calmRunsOf(s)
		if !ok {
			continue
		}
		rules := s.plan.Rules()
		var idle []string
		if !l.ask(s, func() { idle = calls.Idle(rules) }) {
			return
		}
		verb := "can never match"
		if slices.Contains(idle, "") || slices.ContainsFunc(rules, func(r chaos.Rule) bool { return matched(s, r.Name) }) {
			verb = "matched no call"
		}
		for i, r := range rules {
			key := ruleKey{s.Name, r.Name}
			if idle[i] != "" && unmet[key] == "" && r.Group == "" && !l.never[key] && !matched(s, r.Name) {
				l.finding(fmt.Sprintf("Rule %s of scenario %s %s: %s.", r.Name, s.Name, verb, idle[i]))
			}
		}
	}
}

// calmRunsOf is what the calm runs of all prompt lists of a scenario showed. ok is
// false if the calls of a list are not known.
func (e *engine) calmRunsOf(s *compiledScenario) (sum *lint.CalmRuns, ok bool) {
	if len(s.Rules) == 0 || len(s.invariants) == 0 {
		return nil, false
	}
	sum = &lint.CalmRuns{Aliases: true}
	for _, t := range e.tools {
		sum.Tools = append(sum.Tools, t.Name)
	}
	var seen []*promptList
	for _, p := range s.invariants {
		if slices.Contains(seen, p.list) {
			continue
		}
		seen = append(seen, p.list)
		if p.list.calm.calls.Runs == 0 {
			return nil, false
		}
		sum.Join(&p.list.calm.calls)
	}
	return sum, true
}

// countCalls adds the calls of a run without faults. A run whose log may not have all
// of them is left out.
func (l *promptList) countCalls(s *run) {
	if len(s.observations) < len(l.prompts) || s.partial != nil || s.undecided != nil ||
		s.leaked != "" || s.abandoned || s.unended || s.dropped > 0 || s.late > 0 {
		return
	}
	var all []chaos.Event
	for _, o := range s.observations {
		all = append(all, o.Events...)
	}
	l.calm.mu.Lock()
	defer l.calm.mu.Unlock()
	l.calm.calls.Add(all)
}

// allEnded reports whether each target has a call that ended. Only these calls are in
// the log.
func allEnded(observations []*Observation, targets []string) bool {
	ended := make(map[string]bool, len(targets))
	for _, o := range observations {
		for i := range o.Events {
			ended[o.Events[i].Target] = true
		}
	}
	return !slices.ContainsFunc(targets, func(target string) bool { return !ended[target] })
}
