package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Goal is something that must be reached in at least one cell, such as that a retry
// works under faults. A matrix in which every invariant holds says little if the
// agent never got that far. Package contract/goal has ready-made ones.
//
// A goal that no cell reached makes the verdict inconclusive, unless it is Fail. So does
// one whose function fails. Goals are not judged if cells were filtered out.
type Goal struct {
	_ struct{}
	// Name appears in reports: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Scenarios are those in whose cells the goal may be reached; none: all.
	Scenarios []string
	// Reached reports whether an answer reached the goal. The observation has what the
	// invariants of its cell need and what [RunOptions.Gather] adds, but neither Baseline
	// nor Calm. Reached must be safe for concurrent use, and must not change the
	// observation. Required.
	Reached func(o *Observation) bool
	// Err is the problem that a constructor found in its arguments; Validate reports it.
	Err error
}

// Reached reports whether the goal was reached in a cell, and its function never failed.
func (g *GoalCount) Reached() bool { return g.Cells > 0 && g.Failed == "" }

// assignGoals gives each scenario the goals that its cells may reach.
func (e *engine) assignGoals() {
	e.goalsLeft = make([]atomic.Bool, len(e.m.Goals))
	for i, g := range e.m.Goals {
		for _, s := range e.scenarios {
			if len(g.Scenarios) == 0 || slices.Contains(g.Scenarios, s.Name) {
				s.goals = append(s.goals, i)
			}
		}
	}
}

// askGoals asks the goals of a scenario about a run. A run in which an injection point
// refused a call shows nothing of the agent.
func (w *worker) askGoals(s *compiledScenario, r *run) (found []goalNote) {
	if len(s.goals) == 0 || len(r.all) == 0 || r.cancelled || r.refused != nil {
		return nil
	}
	observations := make([]Observation, len(r.observations)) // copies: a function may be left behind with them
	for i, o := range r.observations {
		observations[i] = *o
	}
	limit := w.engine.watchdog()
	for _, goal := range s.goals {
		if w.engine.goalsLeft[goal].Load() {
			continue // else each run would wait as long
		}
		reached := false
		ended := w.checkCaller.Aside(limit, func() {
			for k := range observations {
				if w.engine.m.Goals[goal].Reached(&observations[k]) {
					reached = true
					return
				}
			}
		})
		f := goalNote{Goal: goal, Failed: whyAside(ended, limit)}
		if ended.Left {
			w.engine.goalsLeft[goal].Store(true)
		} else {
			f.Reached = reached // else it may still be written
		}
		found = append(found, f)
	}
	return found
}

// judgeGoals makes the verdict inconclusive if a goal was missed.
func (r *Report) judgeGoals() {
	var missed []string
	for i := range r.Goals {
		switch g := &r.Goals[i]; {
		case g.Failed != "":
			missed = append(missed, fmt.Sprintf("goal %q failed: %s", g.Goal, g.Failed))
		case g.Cells == 0:
			missed = append(missed, fmt.Sprintf("goal %q was reached in none of %s", g.Goal, text.Plural(g.Of, "run")))
		}
	}
	if len(missed) == 0 {
		return
	}
	if r.Score.Verdict == scoring.Inconclusive {
		missed = slices.Insert(missed, 0, r.Score.Why)
	}
	r.Score.Verdict, r.Score.Why = scoring.Inconclusive, strings.Join(missed, "; ")
}
