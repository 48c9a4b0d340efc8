package contract

import (
	"context"
	"time"
)

// A Matrix asks every invariant in every scenario, as many times as Trials
// says. Each cell is an independent run of the agent, in a world of its own
// (Fresh) or in one that is reset before (Shared and Reset).
//
// A Matrix is read-only once it runs, and may run several times, also at once
// when its worlds are fresh.
type Matrix struct {
	_ struct{}
	// Name stands in reports.
	Name string
	// Fresh makes a world for one cell. Cells then run in parallel, and in
	// virtual time under package contracttest. Everything in the world must be
	// made inside the call; what is not, such as a package variable, is shared
	// by all cells, and no probe finds that. Exactly one of Fresh and Shared is
	// required.
	NewWorld func(ctx context.Context) (*World, error)
	// Shared is one world for all cells, which run one at a time, in real time.
	World *World
	// Reset brings the shared world back to its start; it runs before each cell.
	Reset func(ctx context.Context) error
	// Points names injection points outside the tool registry, that rules may
	// strike: wrapped functions, streams, transports.
	Points []string
	// Prompts are what the agent is asked in each cell, in order. Required
	// unless every invariant has probes.
	Prompts    []string
	Invariants []Invariant // at least one
	Scenarios  []Scenario  // at least one
	// Trials is the number of times each invariant is asked in each scenario; 0: 1.
	Trials int
	// Seed is the seed of every draw.
	Seed uint64
	// Timeout bounds one answer of the agent, in the cell's own time: virtual
	// in a bubble. 0: none but the watchdog of [RunOptions].
	Timeout time.Duration
	// Share lets all invariants of a scenario and trial judge one observation
	// per prompt list, for agents whose calls cost money. The report says so.
	ShareObservations bool
	// AskAll puts every prompt in every cell. Without it a cell whose invariant
	// broke at one prompt is not asked the later ones, which cost money and
	// decide nothing more. With Share all prompts are put in any case: other
	// invariants judge the same answers.
	AskAll bool
	// SkipStateProbe leaves out the probe that finds out whether a shared
	// world without Reset remembers. The probe sends the first prompt twice,
	// without faults, so what it does is done twice. The calm run for a
	// baseline, if there is one, is the first time.
	SkipStateProbe bool
}
