package contract

import (
	"context"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// An Agent is what is under test: it answers a prompt and may call tools to do
// so. The tools are those of its [World], wrapped with the cell's faults; nil if
// the world has none. The agent must return when ctx ends. It must not call tools
// after it returned; when the cell has ended such calls get [chaos.ErrCellEnded].
// An error that is not its doing should match [ErrNotTheAgent].
type Agent func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error)

// A World is everything that one cell touches: the agent, its tools, and the
// systems that the tools use.
type World struct {
	// Agent is required.
	Agent Agent
	// Tools are the agent's tools; nil when it has none that faults should reach.
	Tools chaos.ToolRegistry
	// State returns the state of the world, for invariants over effects. The value
	// must not change afterwards. No fault is injected into what it calls, unless
	// that is bound to the cell's injector. nil: the state is not known.
	State func(ctx context.Context) (any, error)
	// Close releases the world after its cell; nil: nothing to release.
	Close func() error
}

// A Scenario is the set of rules that inject faults in a cell.
type Scenario struct {
	_ struct{}
	// Name becomes part of a subtest's name: letters, digits, '.', '_' and '-'. Required.
	Name string
	// Rules decide which calls get which fault; none: a calm scenario, without faults.
	// Of a [chaos.Plan] only its rules count: the seed is [Matrix.Seed].
	Rules []chaos.Rule
	// AllowUndelivered keeps the scenario from making the verdict inconclusive
	// when no fault was delivered in any of its cells. Its undelivered cells do not
	// count in the score either way.
	AllowUndelivered bool
}

// Under returns a scenario of the rules, with a copy of the list.
func Under(name string, rules ...chaos.Rule) Scenario {
	return Scenario{Name: name, Rules: slices.Clone(rules)}
}

// Calm returns the scenario "calm", which has no faults.
func Calm() Scenario { return Scenario{Name: "calm"} }
