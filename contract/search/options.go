package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Budget bounds what a search may spend. A field that is 0 bounds nothing, and at
// least one must be set.
type Budget struct {
	_ struct{}
	// Runs is the number of runs of the agent. The same runs are left out at each number
	// of workers.
	Runs int
	// Time is real time. It is looked at after each round of runs, so what was found is
	// always a beginning of what would be found without it.
	Time time.Duration
	// Cost is in the unit of [Options].Cost, which it needs. What the judges of invariants
	// cost counts too, as in [contract.Budget]. No run begins when the cost so far, with the
	// mean cost of a run, would exceed it. The calm runs that some invariants need for
	// comparison are not counted.
	Cost float64
}

// Set reports whether the budget bounds anything.
func (b Budget) Set() bool { return b.Runs != 0 || b.Time != 0 || b.Cost != 0 }

// Options are the settings of a search.
type Options struct {
	_ struct{}
	// Run has the workers, the watchdog and the harness of the runs, as for
	// [contract.Matrix.Runner]. Keep and OnCell play no part.
	Run contract.RunOptions
	// Budget is required.
	Budget Budget
	// Cost returns what the agent cost in a run, 0 or more, in the unit of the judges'
	// costs. It is called once for each run, one call at a time. nil: only what judges
	// cost is counted.
	Cost func(*contract.Result) float64
	// Spec decodes and encodes the rules of kept files; nil: the ready-made faults and
	// triggers alone.
	Spec *planjson.Options
	// Dir is the folder in which [Explain] and [Sweep] keep defects, in its folder "kept";
	// "" or "-": nothing is kept.
	Dir string
	// Secrets are texts that no sentence, reason, difference or kept file may hold. What looks
	// like a secret is redacted without.
	Secrets []string
	// OnProgress is called after each round of runs; nil: not called.
	OnProgress func(Progress)
	// Habits are those that [Cure] tries, each with a name of its own; nil: [habits.All].
	Habits []*habits.Habit
	// Faults returns the faults that [Sweep] tries on a call of the tool, which is zero for
	// a point that is no tool; nil: [Usual].
	Faults func(chaos.Event, chaos.Tool) []chaos.Fault
	// Depth, 1 to 4, is how far faults of a [Sweep] build on each other: 2 for a fault on the
	// retry that another one caused. Strength, 1 or 2, is how many other faults it combines.
	// 0: 2.
	Depth, Strength int
}

// Progress is how far a search is.
type Progress struct {
	Runs int     // runs made so far
	Cost float64 // what they cost, as Options.Cost and their judges say
	Open int     // questions that are not answered yet, such as groups of broken cells
}

// A FieldError is one problem of [Options] or of a kept file.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("search")

// The bounds of Options.
const (
	maxDepth    = 4
	maxStrength = 2
)

// checked returns the options with their defaults, or all that is wrong with them and with m.
func (o *Options) checked(m *contract.Matrix) (*Options, error) {
	own := *cmp.Or(o, &Options{})
	own.Depth, own.Strength = cmp.Or(own.Depth, 2), cmp.Or(own.Strength, 2)
	p := fields.List()
	p.Demand(m != nil, "m", fielderror.Found("nil"), "a matrix")
	b := own.Budget
	p.Demand(b.Set(), "Budget", fielderror.Found("no bound"), "a number of runs, a time or a cost")
	p.Demand(b.Runs >= 0, "Budget.Runs", b.Runs, "0 or more")
	p.Demand(b.Time >= 0, "Budget.Time", b.Time, "0s or longer")
	if !(b.Cost >= 0) || math.IsInf(b.Cost, 1) {
		p.Wrong("Budget.Cost", fmt.Sprint(b.Cost), "a number of 0 or more")
	}
	p.Demand(b.Cost == 0 || own.Cost != nil, "Cost", fielderror.Found("nil beside Budget.Cost"),
		"a function that returns the cost of a run")
	p.Demand(own.Depth > 0 && own.Depth <= maxDepth, "Depth", own.Depth, fmt.Sprintf("1 to %d; 0: 2", maxDepth))
	p.Demand(own.Strength > 0 && own.Strength <= maxStrength, "Strength", own.Strength,
		fmt.Sprintf("1 or %d; 0: 2", maxStrength))
	names := map[string]bool{}
	for i, h := range own.Habits {
		at := fmt.Sprintf("Habits[%d]", i)
		if h == nil {
			p.Wrong(at, fielderror.Found("nil"), "a habit")
			continue
		}
		p.Demand(!names[h.Name], at+".Name", h.Name, "a name that no other habit has: HabitsOf finds them by it")
		names[h.Name] = true
	}
	return &own, p.Err()
}

// runner makes runs that keep all of their evidence until it was read, and what else is needed.
func (o *Options) runner(ctx context.Context, m *contract.Matrix, gather contract.Needs) (*contract.Runner, error) {
	run := o.Run
	run.Keep, run.OnCell = contract.KeepAll, nil
	run.Gather |= gather
	return m.Runner(ctx, &run)
}

// toCompare is what runs that are compared need besides: end states, and what calls returned.
const toCompare = contract.NeedState | contract.NeedResults
