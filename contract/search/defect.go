package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
)

// A kind is the groups that are one defect.
type kind struct {
	groups []*group
}

// defects merges the groups: those of one pattern at the same targets are one defect, and of the
// patterns with one target those that break one invariant alike. Those with several targets are
// not: two causes in one line would be read as one, and their targets as interchangeable.
func (e *explainer) defects() []contract.Defect {
	var kinds []*kind
	owner := map[string]*kind{}
	var rest []contract.Defect
	for _, g := range e.groups {
		if g.Smallest == nil {
			rest = append(rest, e.unexplained(g))
			continue
		}
		shape, targets := patternOf(g.Hits)
		shape = fmt.Sprintf("%q %v %v", shape, g.Sure != nil, g.Cut)
		if len(g.Hits) == 0 {
			shape += e.withoutCalls(g)
		}
		keys := []string{fmt.Sprintf("%s at %q", shape, targets), fmt.Sprintf("%s at %q", shape, targets)}
		if len(targets) <= 1 {
			keys[1] = fmt.Sprintf("%s %q %q", shape, g.Invariant, g.Reason())
		}
		k := owner[keys[0]]
		if other := owner[keys[1]]; k == nil {
			k = other
		} else if other != nil && other != k {
			k.groups = append(k.groups, other.groups...)
			kinds = slices.DeleteFunc(kinds, func(x *kind) bool { return x == other })
			for key, x := range owner {
				if x == other {
					owner[key] = k
				}
			}
		}
		if k == nil {
			k = &kind{}
			kinds = append(kinds, k)
		}
		k.groups = append(k.groups, g)
		owner[keys[0]], owner[keys[1]] = k, k
	}
	defects := make([]contract.Defect, 0, len(kinds)+len(rest))
	for _, k := range kinds {
		defects = append(defects, e.defect(k))
	}
	slices.SortStableFunc(defects, func(a, b contract.Defect) int { return cmp.Compare(b.Severity, a.Severity) })
	return append(defects, rest...)
}

// withoutFault is the sentence of what breaks in a calm run.
const withoutFault = "without any fault"

// besides says what is broken in a group's scenario besides its rules.
func (e *explainer) besides(g *group) string {
	i := slices.IndexFunc(e.matrix.Scenarios, func(s contract.Scenario) bool { return s.Name == g.scenario })
	if i >= 0 && (e.matrix.Scenarios[i].Layer != "" || e.matrix.Scenarios[i].Rewrite != nil) {
		return "without any rule, in scenario " + g.scenario
	}
	return withoutFault
}

// unexplained is the entry of cells that did not break again, or were not searched.
func (e *explainer) unexplained(g *group) contract.Defect {
	d := contract.Defect{Severity: g.severity, Cut: g.Cut, Breaks: []contract.Break{e.breakOf(g)}}
	if g.Cut {
		d.Sentence = "not searched: the budget was used up"
		return d
	}
	d.Sentence = "did not break again"
	d.Difference = cmp.Or(g.Source.Differ, g.Instead())
	d.Difference = e.secrets.Text(d.Difference)
	return d
}

func (e *explainer) breakOf(g *group) contract.Break {
	return contract.Break{Invariant: g.Invariant, Severity: g.severity, Why: e.secrets.Text(g.why), Cells: g.cells}
}

// A breach is what a defect breaks at its targets: an invariant.
type breach struct {
	invariant string
	targets   []string
	groups    []*group
}

func (p *breach) targetText() string { return strings.Join(p.targets, ", ") }

func (e *explainer) defect(k *kind) contract.Defect {
	slices.SortStableFunc(k.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity),
			cmp.Compare(slices.Index(e.groups, a), slices.Index(e.groups, b)))
	})
	breaches := breachesOf(k)
	main := mainTargets(breaches)
	inMain := func(p *breach) bool { return slices.Contains(main, p.targetText()) }
	g := breaches[slices.IndexFunc(breaches, inMain)].groups[0]
	d := contract.Defect{Severity: g.severity, Rerun: g.first.Rerun, Cut: g.Cut, Sentence: e.sentence(g, main)}
	for _, h := range g.Hits {
		d.Deliveries = append(d.Deliveries, h.Delivery)
	}
	for _, f := range commonFacts(breaches, inMain) {
		d.Facts = append(d.Facts, e.secrets.Text(f))
	}
	counted := 0
	for _, p := range breaches {
		b := e.breakOf(p.groups[0])
		b.Cells = nil
		b.ID = e.keepBreach(p, &d)
		for _, g := range p.groups {
			b.Cells = append(b.Cells, g.cells...)
		}
		counted += len(b.Cells)
		if len(main) > 1 || !inMain(p) {
			b.At = p.targets
		}
		d.Severity = max(d.Severity, b.Severity)
		d.Breaks = append(d.Breaks, b)
	}
	if counted == 0 && e.report != nil {
		d.Facts = append(d.Facts, "its cells met the faults of another defect too, and are counted there")
	}
	if c := g.Sure; c != nil {
		d.Broke, d.Runs, d.Rate, d.Unconfirmed = c.Broke, c.Runs, c.Rate(), !c.OK
		d.Difference = e.secrets.Text(g.Source.Differ)
	}
	return d
}

// sentence says what breaks it: the faults of a group, at any of the targets if the pattern has
// one place.
func (e *explainer) sentence(g *group, main []string) string {
	if len(g.Hits) == 0 {
		return e.secrets.Text(e.withoutCalls(g))
	}
	_, places := patternOf(g.Hits)
	if len(places) == 1 {
		places = []string{orList(main)}
	}
	return e.secrets.Text(sentenceOf(g.Hits, places))
}

// keepBreach keeps a defect for what it breaks at its targets, and returns the id. Why it could
// not is a fact of the defect.
func (e *explainer) keepBreach(p *breach, d *contract.Defect) string {
	g := p.groups[0]
	if e.atRate(g.Invariant) {
		return "" // it may break now and then
	}
	if g.Cut || g.once || g.Sure != nil && !g.Sure.OK {
		return "" // it may not be the smallest, or may not break
	}
	id, err := e.keep(g, e.sentence(g, []string{p.targetText()}))
	if err != nil {
		fact := "not kept: " + strings.Join(strings.Fields(e.secrets.Text(err.Error())), " ")
		if !slices.Contains(d.Facts, fact) {
			d.Facts = append(d.Facts, fact)
		}
		return ""
	}
	return id
}

func (e *explainer) atRate(invariant string) bool {
	return slices.ContainsFunc(e.matrix.Invariants, func(i contract.Invariant) bool {
		return i.Name == invariant && i.IsRate()
	})
}

// withoutCalls is the sentence of a group in whose smallest run no fault was delivered.
func (e *explainer) withoutCalls(g *group) string {
	if len(g.Set) == 0 {
		return e.besides(g)
	}
	return e.ofRules(g)
}

// ofRules is the sentence of a group whose parts are whole rules that injected without a
// delivery in the end.
func (e *explainer) ofRules(g *group) string {
	var names []string
	for _, i := range g.Set {
		names = append(names, g.Source.Parts[i].Rule)
	}
	return "under the rules " + strings.Join(names, ", ")
}

// breachesOf are what the groups of a kind break, by invariant and targets.
func breachesOf(k *kind) (all []*breach) {
	for _, g := range k.groups {
		_, targets := patternOf(g.Hits)
		i := slices.IndexFunc(all, func(p *breach) bool {
			return p.invariant == g.Invariant && slices.Equal(p.targets, targets)
		})
		if i < 0 {
			i = len(all)
			all = append(all, &breach{invariant: g.Invariant, targets: targets})
		}
		all[i].groups = append(all[i].groups, g)
	}
	return all
}

// mainTargets are the targets at which every invariant breaks; where there are none, those at
// which the most severe ones do.
func mainTargets(breaches []*breach) (main []string) {
	var invariants []string
	at := map[string][]string{}
	for _, p := range breaches {
		if at[p.invariant] == nil {
			invariants = append(invariants, p.invariant)
		}
		at[p.invariant] = append(at[p.invariant], p.targetText())
	}
	main = at[invariants[0]]
	for _, name := range invariants[1:] {
		both := slices.DeleteFunc(slices.Clone(main), func(one string) bool { return !slices.Contains(at[name], one) })
		if len(both) > 0 {
			main = both
		}
	}
	return main
}

// commonFacts are the facts that all groups at the main targets share.
func commonFacts(breaches []*breach, inMain func(*breach) bool) (facts []string) {
	first := true
	for _, p := range breaches {
		if !inMain(p) {
			continue
		}
		for _, g := range p.groups {
			if first {
				facts, first = slices.Clone(g.Facts), false
				continue
			}
			facts = slices.DeleteFunc(facts, func(f string) bool { return !slices.Contains(g.Facts, f) })
		}
	}
	return facts
}
