package contract

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// tally counts the rules of one scenario, in the report's own list.
type tally map[string]*FaultCount

// newTallies lists every rule of every scenario, so that those that never
// strike are seen, and returns a tally per scenario.
func newTallies(r *Report, weathers []*weather) map[*weather]tally {
	n := 0
	for _, w := range weathers {
		n += len(w.Rules)
	}
	r.Faults = make([]FaultCount, 0, n) // its elements are pointed to: it must not grow
	tallies := make(map[*weather]tally, len(weathers))
	for _, w := range weathers {
		t := make(tally, len(w.Rules))
		for _, rule := range w.plan.Rules() {
			r.Faults = append(r.Faults, FaultCount{Scenario: w.Name, Rule: rule.Name, Target: rule.Target, Fault: kindOf(rule.Fault)})
			t[rule.Name] = &r.Faults[len(r.Faults)-1]
		}
		tallies[w] = t
	}
	return tallies
}

// kindOf is what a fault calls itself; one that does not is known by its events.
func kindOf(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return ""
}

// add counts the faults of one run of the agent.
func (t tally) add(observations []*Observation) {
	var delivered []*FaultCount
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
func (t tally) event(e *chaos.Event, delivered []*FaultCount) []*FaultCount {
	see := func(rule string, seen bool) {
		c := t[rule]
		switch {
		case c == nil: // no rule struck
		case !seen:
			add(&c.Undelivered, 1)
		default:
			add(&c.Delivered, 1)
			if !slices.Contains(delivered, c) {
				delivered = append(delivered, c)
			}
		}
	}
	see(e.Rule, e.Delivered)
	if c := t[e.Rule]; c != nil && c.Fault == "" {
		c.Fault = e.Fault
	}
	for _, rule := range e.Also {
		see(rule, true)
	}
	for _, rule := range e.Idle {
		see(rule, false)
	}
	return delivered
}
