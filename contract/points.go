package contract

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// pointLearner finds the rules whose target is the name of nothing. A rule whose target
// matches neither a tool nor a declared point may still match a point that the agent
// reaches, and perhaps only under faults.
type pointLearner struct {
	mu      sync.Mutex
	unknown []unknownTarget
	names   []string // of points that were met, the first maxNames of them
}

// unknownTarget is a rule whose target matched no name so far.
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
	seen := make(map[string]bool)
	for _, o := range observations {
		for i := range o.Events {
			for _, name := range []string{o.Events[i].Target, o.Events[i].Alias} {
				if name != "" && !seen[name] {
					seen[name] = true
					l.meetName(name)
				}
			}
		}
	}
}

func (l *pointLearner) meetName(name string) {
	l.unknown = slices.DeleteFunc(l.unknown, func(u unknownTarget) bool { return u.target.Match(name) })
	if len(l.names) < maxNames && !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
	}
}

// unmet returns a sentence for each rule whose target was not met.
func (l *pointLearner) unmet(known []string) map[ruleKey]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Concat(known, l.names)
	sentences := make(map[ruleKey]string, len(l.unknown))
	for _, u := range l.unknown {
		sentence := fmt.Sprintf("Rule %s of scenario %s: the target %q matches no tool, no declared point and no point that any run called",
			u.key.rule, u.key.scenario, u.target)
		if name := text.Nearest(u.target.String(), slices.Sorted(slices.Values(names))); name != "" {
			sentence += fmt.Sprintf("; the nearest name is %q", name)
		}
		sentences[u.key] = sentence + "."
	}
	return sentences
}
