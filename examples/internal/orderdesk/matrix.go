package orderdesk

import "github.com/shakedown-go/shakedown/contract"

// DefaultSeed and DefaultTrials are the settings of [Matrix].
const (
	DefaultSeed   = 1
	DefaultTrials = 5
)

// Matrix checks every invariant of an agent with these habits in every
// scenario, each run in a world of its own.
func Matrix(h Habits) *contract.Matrix {
	return &contract.Matrix{
		Name:       "order desk",
		NewWorld:   NewWorld(h),
		Prompts:    prompts(),
		Invariants: invariants(),
		Scenarios:  scenarios(),
		Trials:     DefaultTrials,
		Seed:       DefaultSeed,
	}
}
