package contract

import (
	"context"
	"time"
)

// A Matrix asks every invariant in every scenario, as many times as Trials says.
// Each cell is an independent run of the agent, in a world of its own (NewWorld)
// or in one that is reset before (World and Reset).
//
// A Matrix must not be changed while it runs. It may run several times, also at
// once if it has NewWorld.
type Matrix struct {
	_ struct{}
	// Name appears in reports.
	Name string
	// NewWorld makes the world of one cell. Cells then run in parallel, and in
	// virtual time under package contracttest. The call must make everything in
	// the world: anything else, such as a package variable, is shared by all
	// cells, and no probe finds that. Exactly one of NewWorld and World is
	// required.
	//
	// ctx carries the cell's injector ([chaos.FromContext]), for what drops its
	// context later: bind that with the Injector field of its options. Until NewWorld
	// has returned, calls pass as if there were no injector. After the cell's last
	// answer they get [chaos.ErrCellEnded], also in World.Close. See [CellOf] too.
	NewWorld func(ctx context.Context) (*World, error)
	// World is one world for all cells, which run one at a time, in real time.
	World *World
	// Reset returns World to its initial state; it runs before each cell. Its context
	// is like that of NewWorld.
	Reset func(ctx context.Context) error
	// Points names injection points outside the tool registry, which rules may
	// target: wrapped functions, streams, transports. Such points are found out by
	// themselves when the agent calls them; see StrictPoints. Without a tool registry
	// they must be named, except those of HTTP.
	Points []string
	// StrictPoints makes it an error, before the agent is called, if the target of a
	// rule matches neither a tool nor one of Points. Without it, a target that matches
	// neither, and no point that any run called, is a warning.
	StrictPoints bool
	// Prompts are sent to the agent in each cell, in order. Required unless every
	// invariant has probes.
	Prompts    []string
	Invariants []Invariant // at least one
	Scenarios  []Scenario  // at least one
	// Trials is the number of times each invariant is asked in each scenario; 0: 1.
	Trials int
	// Seed is the seed of every random number. The seed of a [chaos.Plan] whose rules
	// are those of a scenario has no effect.
	Seed uint64
	// Timeout limits the time of one answer of the agent, in the cell's own time:
	// virtual in a bubble. 0: only the watchdog of [RunOptions] limits it.
	Timeout time.Duration
	// ShareObservations lets all invariants of a scenario and trial judge the same
	// run, one per prompt list, for agents whose calls cost money. The report says
	// so.
	ShareObservations bool
	// KeepValues keeps the arguments and results of all calls, as JSON, so that
	// reports show them. Without it they are kept for the invariants with
	// [NeedResults]. They may hold secrets: a report shows them as they are.
	KeepValues bool
	// AskAll sends every prompt in every cell. Without it, a cell whose invariant
	// broke gets no later prompts: they cost money and decide nothing more. With
	// ShareObservations all prompts are always sent, because other invariants
	// judge the same answers.
	AskAll bool
	// SkipStateProbe leaves out the probe that finds out whether a shared
	// world without Reset remembers. The probe sends the first prompt twice,
	// without faults, so the agent acts on it twice. If there is a calm run for a
	// baseline, it is the first of the two.
	SkipStateProbe bool
}
