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
	// must not change afterwards. No fault is injected into what it calls with ctx, and
	// nothing of it is recorded. nil: the state is not known.
	State func(ctx context.Context) (any, error)
	// Err reports why the answers of the agent say nothing about it, such as a recorded
	// conversation that has no answer to what was asked. It is asked after each answer,
	// also one that is an error or did not come in time. An error makes the cell
	// inconclusive, whatever the check would say, and is its Why; no later prompt is
	// sent. An invariant that an earlier answer broke stays broken.
	// In a calm run the error takes the place of the answer: no baseline. It must be
	// safe to call while the agent's goroutines run. In a shared world [Matrix.Reset]
	// must clear the error. nil: all answers count.
	Err func() error
	// Close releases the world after its cell; nil: nothing to release.
	Close func() error
}

// A Scenario is what a cell is tested with: mostly the set of rules that inject faults.
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
	// NewWorld makes the worlds of this scenario's cells, and of its first world and calm
	// runs, in place of what the matrix has; see [Matrix.NewWorld]. Their tools may be
	// others than those of other scenarios: the targets of Rules are checked against
	// them. Its cells run in parallel, also beside cells in [Matrix.World]. nil: the
	// worlds of the matrix.
	NewWorld func(ctx context.Context) (*World, error)
	// Prompts replace those of the matrix. The probes of an invariant stay. None: those
	// of the matrix.
	Prompts []string
	// Baselines are known calm answers: Baselines[i] is one to Prompts[i]. No calm run
	// is then made for a baseline of these prompts. Text in [Invariant.Baseline] takes
	// precedence; probes have calm runs of their own. None, or as many as Prompts.
	Baselines []string
	// Layer is what is broken in this scenario besides what Rules break, such as tools
	// that answer as they did in an incident. [Invariant.Applies] takes it for that of a
	// rule. Nothing is known of its delivery: without Rules and Rewrite no cell is
	// undelivered. Empty: nothing else is broken.
	Layer chaos.Layer
	// Rewrite replaces each prompt and each probe when it is sent. Calm runs send the
	// original, so a baseline is an answer to that. A prompt whose text changed counts as
	// a delivered fault, which reached the agent; a cell without any fault is
	// undelivered. If Rewrite panics or does not return, its cell is inconclusive. It
	// must depend on the text alone and be safe for concurrent use. nil: prompts are sent
	// as they are.
	Rewrite func(prompt string) string
}

// Under returns a scenario of the rules, with a copy of the list.
func Under(name string, rules ...chaos.Rule) Scenario {
	return Scenario{Name: name, Rules: slices.Clone(rules)}
}

// Calm returns the scenario "calm", which has no faults.
func Calm() Scenario { return Scenario{Name: "calm"} }
