// Package contract states what must stay true of an agent whatever happens to
// its tools, and tests whether it does.
//
// # Concept
//
// An [Invariant] is a condition on what the agent answers and does: an answer
// names the order, an order is refunded once. A [Scenario] is a set of rules of
// package chaos, which inject faults into the agent's tools; it may be empty. It may
// also have worlds and prompts of its own, or put the prompts in other words. A
// [Matrix] asks every invariant in every scenario, for a number of trials.
//
// One invariant in one scenario and trial is a [Cell]. Each cell is an independent
// run of the agent in a [World] of its own, or in a shared one that is reset
// before. A run gives an [Observation] per prompt, which the invariant's Check judges.
//
//	r, err := (&contract.Matrix{
//		NewWorld: func(ctx context.Context) (*contract.World, error) {
//			return &contract.World{Agent: agent, Tools: tools}, nil
//		},
//		Prompts:    []string{"What time is it?"},
//		Invariants: []contract.Invariant{invariant.Contains("says-noon", contract.High, "noon")},
//		Scenarios: []contract.Scenario{
//			contract.Calm(),
//			{Name: "clock-down", Rules: []chaos.Rule{{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)}}},
//		},
//	}).Run(ctx, nil)
//
// The report has the cells in order, a score and a verdict: PASS, FAIL or
// INCONCLUSIVE; see package scoring. Under go test, use package contracttest,
// which makes a subtest of each cell and runs fresh worlds in virtual time.
// Package invariant has ready-made invariants; package report formats a report.
//
// # The states of a cell
//
//   - [Held] and [Broken]: the cell was decided, and counts in the score.
//   - [Inconclusive]: the reset failed, [World.Err] had an error, a baseline is missing,
//     the check could not decide ([CellReport.Undecided]), or the watchdog gave up.
//   - [Undelivered]: the scenario has rules or Rewrite, and no fault reached anything
//     that the agent uses, so the cell shows nothing.
//   - [NotRun]: the cell was left out, for example by go test -run.
//
// # User code that misbehaves
//
// A panic, a call of t.FailNow, a time-out or a hang, of the agent or of any other function
// that is passed to this package, is the result of its own cell and never ends the matrix.
// When a cell has ended, later calls of its agent get [chaos.ErrCellEnded] and reach no tool.
//
// # Repeatable runs
//
// All random numbers are functions of the seed, the scenario, the trial and the
// call. So if the agent is deterministic, a cell has the same result alone
// ([Matrix.RunCell]), among others, and with any number of workers.
//
// # Costs
//
// In real time the engine adds about ten microseconds to a cell; in a bubble about thirty. A
// report keeps some 200 bytes a cell besides its evidence; with [KeepCounts] memory is constant.
//
// A matrix calls the agent cells × prompts times, less the prompts after one that
// broke the invariant. With [Matrix.ShareObservations] there is one run per
// scenario and trial. [Report.CalmRuns] counts the runs without faults that are no cells: one
// for each prompt list that needs a baseline or [NeedCalm], and those of the state probe.
//
// Stability: stable.
package contract
