package scenarios

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// ByPosition makes three scenarios of one rule, in which it matches early, mid or
// late: the first, second or last third of the calls to its target. The thirds are
// those of a calm run. calm has the events of that run:
// [contract.Observation.Events] of a cell of [contract.Calm].
//
// The names of the scenarios are the rule's name with "-early", "-mid" and "-late",
// so the rule needs a name. If the rule has a trigger, both the trigger and the
// third must match. If its target matches several targets, their calls count as
// one sequence: the rule gets its name as [chaos.Rule.Group], if it has none.
//
// The error joins every problem, each a [*contract.FieldError]: no name, a
// malformed target, fewer than three calls, or calls from several lanes. Lanes
// have different thirds, so narrow the calm events to one and the rule with
// when.Lane.
func ByPosition(calm []chaos.Event, r chaos.Rule) ([]contract.Scenario, error) {
	p := fields.List()
	if r.Name == "" {
		p.Wrong("ByPosition: Rule.Name", nil, "a name, which becomes part of the scenarios' names")
	}
	g, err := glob.Compile(r.Target)
	if err != nil {
		p.Because("ByPosition: Rule.Target", r.Target, err, "")
		return nil, p.Err()
	}
	calls, targets, lanes := 0, map[string]bool{}, map[string]bool{}
	for _, e := range calm {
		if g.Match(e.Target) {
			calls++
			targets[e.Target], lanes[e.Lane] = true, true
		}
	}
	if calls < 3 {
		p.Wrong("ByPosition: calm", fielderror.Found(fmt.Sprintf("%s to %q", text.Plural(calls, "call"), r.Target)),
			"at least 3: fewer have no three thirds")
	}
	if len(lanes) > 1 {
		p.Wrong("ByPosition: calm", fielderror.Found(fmt.Sprintf("calls to %q in %d lanes", r.Target, len(lanes))),
			"the events of one lane")
	}
	if p.Count() > 0 {
		return nil, p.Err()
	}
	if len(targets) > 1 && r.Group == "" {
		r.Group = r.Name
	}
	return thirds(calls, r), nil
}

func thirds(calls int, r chaos.Rule) (made []contract.Scenario) {
	for _, third := range []struct {
		name string
		when chaos.When
	}{{"early", when.Early(calls)}, {"mid", when.Mid(calls)}, {"late", when.Late(calls)}} {
		within := r
		within.When = third.when
		if r.When != nil {
			within.When = when.All(third.when, r.When)
		}
		made = append(made, contract.Scenario{Name: r.Name + "-" + third.name, Rules: []chaos.Rule{within}})
	}
	return made
}
