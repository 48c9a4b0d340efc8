package contract

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// tally counts the rules of one scenario by their names.
type tally map[string]*ruleTally

type ruleTally struct {
	*FaultCount         // in the report's own list
	matched     bool    // some call, also if no fault was injected
	overlaps    int     // runs in which calls overlapped that it counted
	overlap     overlap // of the first such run
	overlapIn   Cell
}

// newTallies lists every rule of every scenario in the report, also those that
// never match a call, and returns a tally per scenario.
func newTallies(r *Report, scenarios []*compiledScenario) map[*compiledScenario]tally {
	n := 0
	for _, s := range scenarios {
		n += len(s.Rules)
	}
	r.Faults = make([]FaultCount, 0, n) // its elements are pointed to: it must not grow
	tallies := make(map[*compiledScenario]tally, len(scenarios))
	for _, s := range scenarios {
		t := make(tally, len(s.Rules))
		for _, rule := range s.plan.Rules() {
			r.Faults = append(r.Faults, FaultCount{Scenario: s.Name, Rule: rule.Name, Target: rule.Target, Fault: kindOf(rule.Fault)})
			t[rule.Name] = &ruleTally{FaultCount: &r.Faults[len(r.Faults)-1]}
		}
		tallies[s] = t
	}
	return tallies
}

// kindOf is the kind that a fault declares; "" for one that declares none, whose
// events have it.
func kindOf(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return ""
}

// add counts the faults of one run of the agent.
func (t tally) add(observations []*Observation) {
	var delivered []*ruleTally
	for _, o := range observations {
		for i := range o.Events {
			delivered = t.event(&o.Events[i], delivered)
		}
	}
	for _, c := range delivered {
		c.Cells++
	}
}

// event counts one call, and adds to the rules delivered so far.
func (t tally) event(e *chaos.Event, delivered []*ruleTally) []*ruleTally {
	count := func(rule string, reached bool) {
		c := t[rule]
		if c == nil { // no rule was injected
			return
		}
		c.matched = true
		switch {
		case !reached:
			add(&c.Undelivered, 1)
		default:
			add(&c.Delivered, 1)
			if !slices.Contains(delivered, c) {
				delivered = append(delivered, c)
			}
		}
	}
	count(e.Rule, e.Delivered)
	if c := t[e.Rule]; c != nil && c.Fault == "" {
		c.Fault = e.Fault
	}
	for _, rule := range e.Also {
		count(rule, true)
	}
	for _, rule := range e.Idle {
		count(rule, false)
	}
	for _, notInjected := range [][]string{e.Masked, e.HeldBack} {
		for _, rule := range notInjected {
			if c := t[rule]; c != nil {
				c.matched = true
			}
		}
	}
	return delivered
}
