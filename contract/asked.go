package contract

import (
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// Unasked returns the positions of the invariants that no scenario asks, by
// [Invariant.Applies] and [Invariant.Scenarios]. It needs no worlds. A scenario whose rules
// make no plan asks none.
func (m *Matrix) Unasked() []int {
	var scenarios []*compiledScenario
	for i, s := range m.Scenarios {
		if plan, err := chaos.NewPlan(m.Seed, s.Rules...); err == nil {
			scenarios = append(scenarios, compileScenario(i, s, plan, m.Points))
		}
	}
	return m.unasked(scenarios)
}

func (m *Matrix) unasked(scenarios []*compiledScenario) (unasked []int) {
	asks := map[Applies]bool{} // those without a list of scenarios
	for _, s := range scenarios {
		for a := Always; a <= NoFault; a++ {
			asks[a] = asks[a] || s.applies(a)
		}
	}
	for i := range m.Invariants {
		inv := &m.Invariants[i]
		is := asks[inv.Applies]
		if is && len(inv.Scenarios) > 0 {
			is = slices.ContainsFunc(scenarios, func(s *compiledScenario) bool { return inv.askedIn(s) })
		}
		if !is {
			unasked = append(unasked, i)
		}
	}
	return unasked
}

// askedIn reports whether a scenario asks the invariant.
func (inv *Invariant) askedIn(s *compiledScenario) bool {
	return s.applies(inv.Applies) && inv.names(s.Name)
}

// names reports whether the list of scenarios has one of that name, or is none.
func (inv *Invariant) names(scenario string) bool {
	return len(inv.Scenarios) == 0 || slices.ContainsFunc(inv.Scenarios, func(pattern string) bool {
		g, err := glob.Compile(pattern)
		return err == nil && g.Match(scenario)
	})
}
