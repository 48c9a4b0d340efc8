package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// maxFindings bounds the warnings about rules, so that there is room for others.
const maxFindings = 50

// maxNames bounds the names of points that are kept to suggest one: of a run, and of all runs in worlds of a source.
const maxNames = 64

// findUnmet finds the rules whose targets match nothing that is known before the first run. A run may still call
// such a point, and perhaps only under faults: what follows from all runs is that of the fold.
func (e *engine) findUnmet() {
	for _, s := range e.scenarios {
		for _, r := range s.plan.Rules() {
			g, err := glob.Compile(r.Target)
			if err == nil && !slices.ContainsFunc(s.source.known, g.Match) {
				s.source.unmet = append(s.source.unmet, g)
			}
		}
	}
}

// pointsOf names what a run and its calm run called that was not known before, where a rule wants such a point: all
// that its target matches first, and of others some.
func (s *worldSource) pointsOf(calm, own []*Observation) (names []string) {
	if len(s.unmet) == 0 {
		return nil
	}
	met, seen := make([]bool, len(s.unmet)), map[string]bool{"": true}
	for _, o := range slices.Concat(calm, own) {
		for i := range o.Events {
			for _, name := range []string{o.Events[i].Target, o.Events[i].Alias} {
				if seen[name] || slices.Contains(s.known, name) {
					continue
				}
				seen[name] = true
				wanted := len(names) < maxNames
				for k, target := range s.unmet {
					if !met[k] && target.Match(name) {
						met[k], wanted = true, true
					}
				}
				if wanted {
					names = append(names, text.Valid(name))
				}
			}
		}
	}
	slices.Sort(names) // calls that overlap have no order of their own
	return names
}

// lintRules warns of what is wrong with the rules, whatever the agent does. Asking a rule
// runs its own methods, which are user code.
func (e *engine) lintRules(ctx context.Context) {
	caller := newCaller()
	defer caller.Release()
	findings := 0
	for _, s := range e.scenarios {
		if len(s.Rules) == 0 || ctx.Err() != nil {
			continue
		}
		var found []lint.Finding
		if why := callAside(&caller, e.watchdog(), func() { found = lint.Plan(s.plan) }); why != "" {
			e.warn(fmt.Sprintf("The rules of scenario %s could not be examined: %s", s.Name, why))
			return
		}
		for _, f := range found {
			switch findings++; {
			case findings < maxFindings:
				e.warn(fmt.Sprintf("Rule %s of scenario %s: %s.", f.Rule, s.Name, f.Message))
			case findings == maxFindings:
				e.warn("There are more findings about rules; package chaos/lint lists them all.")
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
		counts := false
		why := usercode.Failure(func() { counts = r.When != nil && lint.Counts(r.When) })
		if counts || why != "" { // what cannot be asked may count too
			names = append(names, r.Name)
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
