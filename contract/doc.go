// Package contract states what must stay true of an agent in every weather,
// and finds out whether it does.
//
// # Concept
//
// An [Invariant] is a promise: an answer names the order, an order is refunded
// once. A [Scenario] is weather: calm, or rules of package chaos that break the
// agent's tools. A [Matrix] asks every invariant in every scenario, some number
// of trials each; one such place is a [Cell], and each cell is an independent
// run of the agent in a [World] of its own, or in a shared one that is reset.
// What was seen there, an [Observation], is judged by the invariant's Check.
//
//	r, err := (&contract.Matrix{
//		Fresh: func(ctx context.Context) (*contract.World, error) {
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
// Package invariant has ready-made promises, package report shows a report.
//
// # What a cell can be
//
// Held or broken: then it was decided, and counts in the score. Inconclusive:
// the reset failed, a baseline is missing, the check could not tell
// ([CellReport.Undecided]), or the watchdog gave up. Undelivered: the scenario
// has rules, and no fault reached anything that the agent uses, so that nothing
// was shown. Not run: left out, by go test -run.
//
// # User code that misbehaves
//
// A panic, a call of t.FailNow, a time-out, a hang, in the agent or in any
// other function that is handed to this package, is the result of its own cell
// and never the end of the run. When a cell has ended, later calls of its agent
// get [chaos.ErrCellEnded] and reach no tool.
//
// # The same run again
//
// All draws are made from the seed, the scenario, the trial and the call, so a
// cell is the same alone ([Matrix.RunCell]), among others, and with any number
// of workers, as far as the agent is. All invariants of a trial see the same
// weather.
//
// # Costs
//
// The engine adds about ten microseconds to a cell in real time, however
// many invariants there are, and about thirty in a bubble. A report keeps some
// 300 bytes a cell besides its evidence; with [KeepCounts] a matrix of any size
// runs in constant memory. An agent's model costs what it costs: cells ×
// prompts calls of the agent, less the prompts after one that broke the
// invariant, or one per scenario and trial with [Matrix.ShareObservations], and one more
// per prompt list that needs a baseline. The statefulness probe of a shared world
// puts the first prompt twice.
package contract
