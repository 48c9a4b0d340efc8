// Package scoring turns the outcomes of a test matrix into a number, a verdict
// of three values and an interval. It is pure: it reads nothing but its
// arguments, keeps nothing, and imports the standard library only. Every
// function may be called from several goroutines at once.
//
// # Concept
//
// A [Cell] is one invariant judged in one scenario. [Contract] weighs the cells
// by [Severity] and answers three separate questions:
//
//   - how much held: [ContractScore].Value, from 0 to 100, severities weighted;
//   - is it good enough: [ContractScore].Verdict, where one broken critical
//     invariant is a [Fail] whatever the number, and too little evidence is
//     [Inconclusive], never a [Pass];
//   - how sure are we: [ContractScore].Interval, the [Wilson] interval of the
//     share of decided cells that held.
//
// [Weights.Overall] joins the contract score with the scores of other kinds of
// test into one number, and says which of them really ran.
//
// # The smallest program
//
//	score, err := scoring.Contract([]scoring.Cell{
//		{Scenario: "calm", Invariant: "no-leak", Severity: scoring.Critical, State: scoring.CellHeld},
//		{Scenario: "calm", Invariant: "polite", Severity: scoring.Low, State: scoring.CellBroken},
//	})
//	fmt.Printf("%.2f %v %v", score.Value, score.Verdict, err) // 75.00 PASS <nil>
//
// # What does not count
//
// A cell that was not run, was inconclusive, or whose faults were never
// delivered says nothing about resilience: it is counted apart and is in
// neither count of the score. A matrix without a decided cell has no score:
// that is [ErrNoDecidedCell], neither 0 nor 100.
//
// # Costs
//
// [Contract] makes one pass over the cells and remembers one entry a scenario.
// Equal cells may be given as one with a [Cell].Count.
package scoring
