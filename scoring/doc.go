// Package scoring turns the outcomes of a test matrix into a number, a verdict of
// three values and an interval. It is pure: it reads only its arguments and keeps
// nothing. Every function may be called from several goroutines at once.
//
// # Concept
//
// A [Cell] is one invariant judged in one scenario. [Contract] weighs the cells by
// [Severity] and says how much held, whether that is good enough, and how sure it is:
// Value, Verdict and Interval of a [ContractScore]. One broken critical invariant is a
// [Fail], whatever the number. Too little evidence is [Inconclusive], never a [Pass].
//
// [Weights.Overall] joins the contract score with the scores of other kinds of test
// into one number, and lists which of them ran: [Chaos] for cells under faults, [Mutations]
// for prompts in other words, [Replay] for sessions.
//
// # The smallest program
//
//	score, err := scoring.Contract([]scoring.Cell{
//		{Scenario: "calm", Invariant: "no-leak", Severity: scoring.Critical, State: scoring.CellHeld},
//		{Scenario: "calm", Invariant: "polite", Severity: scoring.Low, State: scoring.CellBroken},
//	})
//	fmt.Printf("%.2f %v %v", score.Value, score.Verdict, err) // 75.00 PASS <nil>
//
// Cells that were not run, were inconclusive, or whose faults were not delivered say
// nothing about resilience. They are counted apart and are in neither count of the score.
// A matrix without a decided cell has no score, neither 0 nor 100: [ErrNoDecidedCell].
//
// # Costs
//
// Time is linear in the cells; memory is one entry for each scenario. Equal cells
// may be given as one with a [Cell].Count.
//
// Stability: stable.
package scoring
