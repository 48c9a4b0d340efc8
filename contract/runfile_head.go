package contract

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// headOf makes a head of a report that no run made. Where nothing says it, a scenario has
// faults if one was delivered in it, or was not in a cell that says so.
func headOf(r *Report) (*runHead, error) {
	h := newRunHead()
	h.Cells = len(r.Cells) > 0 || len(r.Counts) == 0
	h.Name, h.Seed, h.Trials, h.Shared = r.Name, r.Seed, r.Trials, r.SharedObservations
	h.Sequential, h.AllowInconclusive, h.Probed = r.Sequential, r.AllowInconclusive, r.StateProbed
	h.Fingerprint, h.Tools = r.Fingerprint, r.Tools
	scenarios, invariants := placesOf(r.Scenarios), placesOf(r.Invariants)
	for _, name := range r.Scenarios {
		h.Scenarios = append(h.Scenarios, headScenario{Name: name})
	}
	in := func(name string) *headScenario {
		if at, known := scenarios[name]; known {
			return &h.Scenarios[at]
		}
		return new(headScenario) // unitsOf refuses its cells
	}
	for _, f := range r.Faults {
		in(f.Scenario).Rules = append(in(f.Scenario).Rules, headRule{f.Rule, f.Target, f.Fault})
	}
	for _, c := range r.Counts {
		s := in(c.Scenario)
		s.AllowUndelivered, s.Rewrites = c.AllowUndelivered, c.HasRules && len(s.Rules) == 0
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s := in(c.Cell.Scenario)
		s.Layer = c.Layer
		if r.Counts == nil && len(s.Rules) == 0 && (c.Delivered > 0 || c.State == Undelivered) {
			s.Rewrites = true
		}
	}
	for _, name := range r.Invariants {
		h.Invariants = append(h.Invariants, headInvariant{Name: name, Severity: scoring.Low, Scenarios: []string{}})
	}
	applies := func(f Field) {
		if at, known := invariants[f.Invariant]; known && !slices.Contains(h.Invariants[at].Scenarios, f.Scenario) {
			inv := &h.Invariants[at]
			inv.Severity, inv.AtLeast, inv.Poor = f.Severity, f.AtLeast, f.Poor
			inv.Scenarios = append(inv.Scenarios, f.Scenario)
		}
	}
	for i := range r.Fields {
		applies(r.Fields[i])
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		applies(Field{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: c.Severity})
	}
	for _, g := range r.Goals {
		h.Goals = append(h.Goals, headGoal{g.Goal, g.Scenarios})
	}
	return h, nil
}

// mostFields bounds the fields of a file: they take memory, and a short head can name many.
const mostFields = 4_000_000

// check returns what is wrong with a head.
func (h *runHead) check() error {
	p := fields.ListUpTo(20)
	if h.Trials < 1 || h.Trials > maxCells {
		p.Wrong("head.trials", h.Trials, fmt.Sprintf("1 to %d", maxCells))
	}
	if n := len(h.Scenarios) * len(h.Invariants); n > mostFields {
		p.Wrong("head", fielderror.Found(fmt.Sprintf("%d fields", n)), fmt.Sprintf("at most %d", mostFields))
	}
	scenarios, invariants := map[string]int{}, map[string]int{}
	for i := range h.Scenarios {
		s := &h.Scenarios[i]
		once(p, fmt.Sprintf("head.scenarios[%d]", i), s.Name, scenarios)
		rules := map[string]int{}
		for k, r := range s.Rules {
			once(p, fmt.Sprintf("head.scenarios[%d].rules[%d]", i, k), r.Name, rules)
		}
	}
	for i := range h.Invariants {
		inv, at := &h.Invariants[i], fmt.Sprintf("head.invariants[%d]", i)
		once(p, at, inv.Name, invariants)
		if inv.Severity.Weight() == 0 {
			p.Wrong(at+".severity", inv.Severity, "low, medium, high, critical")
		}
		own := Invariant{AtLeast: inv.AtLeast, Poor: inv.Poor}
		own.checkRate(p, at)
		if inv.AtLeast == 1 || own.IsRate() && inv.Poor == 0 {
			p.Wrong(at+".atLeast", inv.AtLeast, "a rate with its poor, or none for every trial")
		}
		for k, s := range inv.Scenarios {
			if _, known := scenarios[s]; !known {
				p.Wrong(fmt.Sprintf("%s.scenarios[%d]", at, k), s, "a scenario of the head")
			}
		}
	}
	if p.Count() == 0 {
		for i, places := range h.placesOfInvariants() {
			n := len(places)
			for _, at := range places {
				if at < 0 {
					n--
				}
			}
			if q := len(h.Scenarios[i].Questions); q != 0 && q != n {
				p.Wrong(fmt.Sprintf("head.scenarios[%d].questions", i), fielderror.Found(fmt.Sprintf("%d", q)),
					fmt.Sprintf("one for each of the %d invariants that apply", n))
			}
		}
	}
	if h.Fingerprint != nil {
		p.Add(h.Fingerprint.Check())
	}
	return p.Err()
}

func once(p *fielderror.List, field, name string, seen map[string]int) {
	if _, twice := seen[name]; twice {
		p.Wrong(field, name, "each name once")
	}
	seen[name] = 1
}
