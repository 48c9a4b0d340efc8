package contract

import (
	"context"

	"github.com/shakedown-go/shakedown/chaos"
)

// An Agent is what is under test: it answers a prompt, calling tools on the
// way. The tools are those of its [World] behind the cell's faults, nil where
// the world has none. It must end when ctx does, and not call tools after it
// returned: later calls get [chaos.ErrCellEnded].
type Agent func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error)

// A World is everything one cell touches: the agent, its tools and whatever
// stands behind them.
type World struct {
	// Agent is required.
	Agent Agent
	// Tools are the agent's tools; nil when it has none that faults should reach.
	Tools chaos.ToolRegistry
	// State returns the state of the world, for invariants over effects: a
	// value that does not change when the world goes on. It is asked without
	// faults in its context. nil: not known.
	State func(ctx context.Context) (any, error)
	// Close releases the world after its cell; nil: nothing to release.
	Close func() error
}

// A Scenario is the weather of a cell: the rules in force.
type Scenario struct {
	_ struct{}
	// Name becomes part of a subtest's name: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Rules are the faults; none: calm weather.
	Rules []chaos.Rule
	// AllowUndelivered keeps the scenario from making the verdict inconclusive
	// when none of its cells saw a fault. Its undelivered cells stay out of
	// the score all the same.
	AllowUndelivered bool
}

// Calm is the scenario without faults: what an agent does on a good day.
func Calm() Scenario { return Scenario{Name: "calm"} }
