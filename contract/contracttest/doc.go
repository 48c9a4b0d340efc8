// Package contracttest runs a contract matrix as ordinary go test subtests.
//
//	func TestSupportAgent(t *testing.T) {
//		contracttest.Run(t, &contract.Matrix{
//			NewWorld:   support.NewWorld,
//			Prompts:    []string{"Refund order 1042"},
//			Invariants: []contract.Invariant{invariant.Contains("names-the-order", contract.High, "1042")},
//			Scenarios:  []contract.Scenario{contract.Calm(), support.RefundsDown()},
//		}, nil)
//	}
//
// Each cell is a subtest named scenario/invariant/trial, so -run alone picks
// cells. A cell whose invariant broke fails, with the reason in a line:
//
//	--- FAIL: TestSupportAgent/refunds-down/names-the-order/1
//	    ✗ broken (high): the answer does not contain "1042"
//
// The output ends with the report. What broke for the same reason is one block, with
// the evidence of one cell; the table and the verdict come last:
//
//	BROKEN
//
//	✗ refunds-down / names-the-order (high): broken in all 5 trials
//	  why       the answer does not contain "1042"
//	  prompt    Refund order 1042
//	  answer    Something went wrong.
//	  faults    refund, call 1: error (rule refund:error), the caller got: service unavailable
//	  rerun     go test -count=1 -run '^TestSupportAgent$/^refunds-down$/^names-the-order$/^1$' example.org/support
//
//	              names-the-order
//	scenario      high             delivered
//	────────────────────────────────────────
//	calm          ✓                ·
//	refunds-down  ✗                5/5
//
// # Virtual time
//
// If the matrix has NewWorld, every cell runs in a bubble of testing/synctest, and so does
// every cell of a scenario with a NewWorld of its own. A matrix of thirty-second time-outs
// takes milliseconds. An agent that hangs is distinguished from a slow one, and goroutines
// that it leaves behind are found. docs/worlds.md lists what a bubble requires of a
// world; [Options].RealTime turns bubbles off.
//
// # Without an agent
//
// [Inject] is for a test of one function: a context under which rules are in force.
// The test fails at its end if the fault of a rule was not delivered.
//
//	down := chaos.Rule{Target: "payments.refund", Limit: 2, Fault: fault.Fail(fault.ErrUnavailable)}
//	ctx := contracttest.Inject(t, 1, down)
//
// [AuditRetries] finds out whether tools are safe to call twice.
//
// # The verdict
//
// A broken cell fails the test, and so does an inconclusive verdict: too little
// was decided. [contract.Invariant].AtLeast promises a rate: a broken trial is logged, and the
// test fails when the rate was rejected, or when there were too few trials to decide.
// [AssertPassed], [AssertHeld] and [AssertScoreAtLeast] check more of the report that Run
// returns. [AssertNoRegression] compares it with that of an earlier build, kept in a file.
//
// # Searching
//
// [Sweep] tries faults that no scenario has, [Scan] makes one fault more and more, and
// [AssertRepeatable] compares two runs without faults: docs/search.md.
//
// # The environment
//
// SHAKEDOWN_EXPLAIN is how long Run explains what broke, such as 10s. SHAKEDOWN_REPORTS is
// a folder for the reports of every Run. SHAKEDOWN_SHARD, such as 2/8, is the share of the units
// that Run makes, and SHAKEDOWN_RESUME the run file from which it goes on. With SHAKEDOWN_UPDATE=1
// AssertNoRegression writes its baseline.
//
// Stability: stable.
package contracttest
