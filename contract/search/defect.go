package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search/internal/wording"
)

// A kind is the groups that are one defect.
type kind struct {
	groups []*group
}

// defects merges the groups: those of one pattern at the same targets are one defect, and
// those that break one invariant alike by one pattern.
func (e *explainer) defects() []contract.Defect {
	var kinds []*kind
	owner := map[string]*kind{}
	var rest []contract.Defect
	for _, g := range e.groups {
		if g.Smallest == nil {
			rest = append(rest, e.unexplained(g))
			continue
		}
		shape, targets := wording.Pattern(g.Hits)
		shape = fmt.Sprintf("%q %v %v", shape, g.Sure != nil, g.Cut)
		if len(g.Hits) == 0 {
			shape += e.withoutCalls(g)
		}
		keys := []string{fmt.Sprintf("%s at %q", shape, targets), fmt.Sprintf("%s %q %q", shape, g.Invariant, g.Shape)}
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

// A breach is what a defect breaks: an invariant, for reasons of one shape.
type breach struct {
	groups []*group
	at     []string // tuples of targets, as text, in order
}

// defect makes the defect of a kind.
func (e *explainer) defect(k *kind) contract.Defect {
	slices.SortStableFunc(k.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity),
			cmp.Compare(slices.Index(e.groups, a), slices.Index(e.groups, b)))
	})
	breaches, tuples := e.breaches(k)
	main := mainTuples(breaches)
	g := k.groups[slices.IndexFunc(k.groups, func(g *group) bool { return slices.Contains(main, tupleOf(g)) })]
	d := contract.Defect{Severity: g.severity, Rerun: g.first.Rerun, Cut: g.Cut}
	for _, h := range g.Hits {
		d.Deliveries = append(d.Deliveries, h.Delivery)
	}
	if len(g.Hits) > 0 {
		d.Sentence = wording.Sentence(g.Hits, placesOf(main, tuples))
	} else {
		d.Sentence = e.withoutCalls(g)
	}
	d.Sentence = e.secrets.Text(d.Sentence)
	for _, f := range commonFacts(k.groups, main) {
		d.Facts = append(d.Facts, e.secrets.Text(f))
	}
	for _, p := range breaches {
		b := e.breakOf(p.groups[0])
		b.Cells = nil
		b.ID = e.keepBreach(p, main, &d)
		for _, g := range p.groups {
			b.Cells = append(b.Cells, g.cells...)
		}
		for _, at := range p.at {
			if !slices.Contains(main, at) {
				b.Also = append(b.Also, strings.Join(tuples[at], ", "))
			}
		}
		d.Severity = max(d.Severity, b.Severity)
		d.Breaks = append(d.Breaks, b)
	}
	if c := g.Sure; c != nil {
		d.Broke, d.Runs, d.Rate, d.Unconfirmed = c.Broke, c.Runs, c.Rate(), !c.OK
		d.Difference = e.secrets.Text(g.Source.Differ)
	}
	return d
}

// keepBreach keeps a defect for what it breaks, and returns the id. Why it could not is a
// fact of the defect.
func (e *explainer) keepBreach(p *breach, main []string, d *contract.Defect) string {
	g := p.groups[0]
	for _, other := range p.groups {
		if slices.Contains(main, tupleOf(other)) {
			g = other
			break
		}
	}
	if e.atRate(g.Invariant) {
		return "" // it may break now and then
	}
	if g.Cut || g.once || g.Sure != nil && !g.Sure.OK {
		return "" // it may not be the smallest, or may not break
	}
	id, err := e.keep(g, d.Sentence)
	if err != nil {
		fact := "not kept: " + strings.Join(strings.Fields(e.secrets.Text(err.Error())), " ")
		if !slices.Contains(d.Facts, fact) {
			d.Facts = append(d.Facts, fact)
		}
		return ""
	}
	return id
}

// atRate reports whether an invariant need hold in a share of the trials only.
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

func tupleOf(g *group) string {
	_, targets := wording.Pattern(g.Hits)
	return fmt.Sprintf("%q", targets)
}

// breaches are what the groups of a kind break, and the tuples of targets by their text.
func (e *explainer) breaches(k *kind) (all []*breach, tuples map[string][]string) {
	tuples = map[string][]string{}
	byInvariant := map[string]*breach{}
	for _, g := range k.groups {
		p := byInvariant[g.Invariant]
		if p == nil {
			p = &breach{}
			byInvariant[g.Invariant] = p
			all = append(all, p)
		}
		p.groups = append(p.groups, g)
		at := tupleOf(g)
		if _, tuples[at] = wording.Pattern(g.Hits); !slices.Contains(p.at, at) {
			p.at = append(p.at, at)
		}
	}
	return all, tuples
}

// mainTuples are the targets at which every breach breaks; where there is none, those at
// which the most severe ones do.
func mainTuples(breaches []*breach) []string {
	main := breaches[0].at
	for _, p := range breaches[1:] {
		both := slices.DeleteFunc(slices.Clone(main), func(at string) bool { return !slices.Contains(p.at, at) })
		if len(both) > 0 {
			main = both
		}
	}
	return main
}

// placesOf are the targets at each place of a pattern. Where it has several places, only
// the first tuple is named: not all combinations were seen.
func placesOf(main []string, tuples map[string][]string) []string {
	first := slices.Clone(tuples[main[0]])
	if len(first) != 1 {
		return first
	}
	var names []string
	for _, at := range main {
		names = append(names, tuples[at][0])
	}
	return []string{wording.Or(names)}
}

// commonFacts are the facts that all groups at the main targets share.
func commonFacts(groups []*group, main []string) (facts []string) {
	first := true
	for _, g := range groups {
		switch {
		case !slices.Contains(main, tupleOf(g)):
		case first:
			facts, first = slices.Clone(g.Facts), false
		default:
			facts = slices.DeleteFunc(facts, func(f string) bool { return !slices.Contains(g.Facts, f) })
		}
	}
	return facts
}
