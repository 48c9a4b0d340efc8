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

// A ruleLinter warns of rules that do not do what they seem to. Before the cells package lint
// says what it finds in the rules themselves; after them it is known which targets are the name
// of nothing. A rule whose target matches neither a tool nor a declared point may still match a
// point that the agent reaches, and perhaps only under faults.
type ruleLinter struct {
	engine *engine
	found  int

	mu    sync.Mutex                       // guards what follows
	unmet []unmetRule                      // whose targets matched no name so far
	met   map[*worldSource]map[string]bool // names of points that runs called, of each source up to maxNames
}

type unmetRule struct {
	scenario *compiledScenario
	name     string
	target   *glob.Glob
}

// maxNames bounds the names that are kept to suggest one.
const maxNames = 256

// newRuleLinter has the calls of all later runs looked at, where there are rules.
func (e *engine) newRuleLinter() *ruleLinter {
	l := &ruleLinter{engine: e, met: map[*worldSource]map[string]bool{}}
	for _, s := range e.scenarios {
		if len(s.Rules) == 0 {
			continue
		}
		s.source.linter, l.met[s.source] = l, map[string]bool{}
		for _, r := range s.plan.Rules() {
			g, err := glob.Compile(r.Target)
			if err == nil && !slices.ContainsFunc(s.source.known, g.Match) {
				l.unmet = append(l.unmet, unmetRule{s, r.Name, g})
			}
		}
	}
	return l
}

// lintRules warns of what is wrong with the rules, whatever the agent does. What the targets
// are is known only with StrictPoints. Asking a rule runs its own methods, which are user code.
func (l *ruleLinter) lintRules(ctx context.Context) {
	caller := newCaller()
	defer caller.Release()
	for _, s := range l.engine.scenarios {
		if len(s.Rules) == 0 || ctx.Err() != nil {
			continue
		}
		var o *lint.Options
		if l.engine.m.StrictPoints {
			o = &lint.Options{Targets: s.source.known}
		}
		var found []lint.Finding
		if why := callAside(&caller, l.engine.watchdog(), func() { found = lint.Plan(s.plan, o) }); why != "" {
			l.engine.warn(fmt.Sprintf("The rules of scenario %s could not be examined: %s", s.Name, why))
			return
		}
		for _, f := range found {
			l.finding(fmt.Sprintf("Rule %s of scenario %s: %s.", f.Rule, s.Name, f.Message))
		}
	}
}

func (l *ruleLinter) finding(text string) {
	switch l.found++; {
	case l.found < maxFindings:
		l.engine.warn(text)
	case l.found == maxFindings:
		l.engine.warn("There are more findings about rules; package chaos/lint lists them all.")
	}
}

// meet takes the names of the points that a run in worlds of a source called.
func (l *ruleLinter) meet(source *worldSource, observations []*Observation) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unmet) == 0 {
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
				l.unmet = slices.DeleteFunc(l.unmet, func(u unmetRule) bool {
					return u.scenario.source == source && u.target.Match(name)
				})
				if len(l.met[source]) < maxNames {
					l.met[source][name] = true
				}
			}
		}
	}
}

func (l *ruleLinter) lintTargets() {
	names := map[*worldSource][]string{}
	for source, met := range l.met {
		names[source] = slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(source.known), maps.Keys(met))))
	}
	for _, u := range l.unmet {
		nearest := ""
		if name := text.Nearest(u.target.String(), names[u.scenario.source]); name != "" {
			nearest = fmt.Sprintf("; the nearest name is %q", name)
		}
		l.finding(fmt.Sprintf("Rule %s of scenario %s: the target %q matches no tool, no declared point and no point that any run called%s.",
			u.name, u.scenario.Name, u.target, nearest))
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
