package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// maxFindings bounds the warnings about rules, so that there is room for others.
const maxFindings = 50

// A ruleLinter warns of rules that do not do what they seem to. Package lint decides
// what it finds in the rules themselves, before the cells. Which targets are the name of
// nothing is known after the cells.
type ruleLinter struct {
	engine *engine
	caller usercode.Loop // asking a rule runs its own methods, which are user code
	found  int
	failed bool
}

type ruleKey struct{ scenario, rule string }

// newRuleLinter has the calls of all later runs looked at, where there are rules.
func (e *engine) newRuleLinter() *ruleLinter {
	for _, s := range e.scenarios {
		if len(s.Rules) > 0 {
			s.source.linted = true
			s.source.points.expect(s, s.source.known)
		}
	}
	return &ruleLinter{engine: e}
}

// lintRules warns of what is wrong with the rules, whatever the agent does. What the targets
// are is known only with StrictPoints.
func (l *ruleLinter) lintRules(ctx context.Context) {
	for _, s := range l.engine.scenarios {
		if len(s.Rules) == 0 || ctx.Err() != nil {
			continue
		}
		var o *lint.Options
		if l.engine.m.StrictPoints {
			o = &lint.Options{Targets: s.source.known}
		}
		var found []lint.Finding
		if !l.examine(s, func() { found = lint.Plan(s.plan, o) }) {
			return
		}
		for _, f := range found {
			l.finding(fmt.Sprintf("Rule %s of scenario %s: %s.", f.Rule, s.Name, f.Message))
		}
	}
}

// examine runs fn under the watchdog. It returns false if fn failed; nothing is asked
// after that.
func (l *ruleLinter) examine(s *compiledScenario, fn func()) bool {
	if l.failed {
		return false
	}
	if why := callAside(&l.caller, l.engine.watchdog(), fn); why != "" {
		l.failed = true
		l.engine.warn(fmt.Sprintf("The rules of scenario %s could not be examined: %s", s.Name, why))
	}
	return !l.failed
}

// finding warns of one rule.
func (l *ruleLinter) finding(text string) {
	switch l.found++; {
	case l.found < maxFindings:
		l.engine.warn(text)
	case l.found == maxFindings:
		l.engine.warn("There are more findings about rules; package chaos/lint lists them all.")
	}
}

// lintTargets warns of rules whose target no run met.
func (l *ruleLinter) lintTargets() {
	unmet := map[ruleKey]string{}
	for _, s := range l.engine.sources {
		maps.Copy(unmet, s.points.unmet(s.known))
	}
	for _, s := range l.engine.scenarios {
		for _, r := range s.plan.Rules() {
			if why := unmet[ruleKey{s.Name, r.Name}]; why != "" {
				l.finding(why)
			}
		}
	}
}

// overlap is a pair of calls of which a rule that counts matched one, and could have
// matched the other.
type overlap struct {
	Rule      string `json:"rule"`
	Lane      string `json:"lane,omitempty"`
	Target    string `json:"target"` // of the call that it matched, and its number in lane and target
	Call      uint64 `json:"call,string"`
	Other     string `json:"other"` // those of the other
	OtherCall uint64 `json:"otherCall,string"`
}

// countingRules are the names of the rules whose triggers count calls.
func countingRules(plan *chaos.Plan) (names []string) {
	for _, r := range plan.Rules() {
		if r.When == nil {
			continue
		}
		counts := false
		if why := usercode.Failure(func() { counts = lint.Counts(r.When) }); counts || why != "" {
			names = append(names, r.Name) // what cannot be asked may count too
		}
	}
	return names
}

// overlaps looks for calls that overlapped where a rule counted them.
func (s *compiledScenario) overlaps(in *chaos.Injector) (found []overlap) {
	for _, rule := range s.counting {
		if matched, other, ok := in.Overlap(rule); ok {
			found = append(found, overlap{text.Valid(rule), text.Valid(matched.Lane), text.Valid(matched.Target),
				matched.Ordinal, text.Valid(other.Target), other.Ordinal})
		}
	}
	return found
}

// pointLearner finds the rules whose target is the name of nothing. A rule whose target
// matches neither a tool nor a declared point may still match a point that the agent
// reaches, and perhaps only under faults.
type pointLearner struct {
	mu      sync.Mutex
	unknown []unknownTarget // of rules, that matched no name so far
	names   []string        // of points that were met, the first maxNames of them
}

type unknownTarget struct {
	key    ruleKey
	target *glob.Glob
}

// maxNames bounds the names that are kept to suggest one.
const maxNames = 256

// expect adds the rules of a scenario whose targets match none of the known names.
func (l *pointLearner) expect(s *compiledScenario, known []string) {
	for _, r := range s.plan.Rules() {
		g, err := glob.Compile(r.Target)
		if err == nil && !slices.ContainsFunc(known, g.Match) {
			l.unknown = append(l.unknown, unknownTarget{ruleKey{s.Name, r.Name}, g})
		}
	}
}

// meet takes the names of the points that a run called.
func (l *pointLearner) meet(observations []*Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unknown) == 0 {
		return
	}
	seen := map[string]bool{"": true}
	for _, o := range observations {
		for i := range o.Events {
			for _, name := range []string{o.Events[i].Target, o.Events[i].Alias} {
				if seen[name] {
					continue
				}
				seen[name] = true
				l.unknown = slices.DeleteFunc(l.unknown, func(u unknownTarget) bool { return u.target.Match(name) })
				if len(l.names) < maxNames && !slices.Contains(l.names, name) {
					l.names = append(l.names, name)
				}
			}
		}
	}
}

// unmet returns a sentence for each rule whose target was not met.
func (l *pointLearner) unmet(known []string) map[ruleKey]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Sorted(slices.Values(slices.Concat(known, l.names)))
	sentences := make(map[ruleKey]string, len(l.unknown))
	for _, u := range l.unknown {
		nearest := ""
		if name := text.Nearest(u.target.String(), names); name != "" {
			nearest = fmt.Sprintf("; the nearest name is %q", name)
		}
		sentences[u.key] = fmt.Sprintf("Rule %s of scenario %s: the target %q matches no tool, no declared point and no point that any run called%s.",
			u.key.rule, u.key.scenario, u.target, nearest)
	}
	return sentences
}
