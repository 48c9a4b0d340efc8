// Package contracttest runs a contract matrix as ordinary go test subtests.
//
//	func TestSupportAgent(t *testing.T) {
//		contracttest.Run(t, &contract.Matrix{
//			Fresh:      support.NewWorld,
//			Prompts:    []string{"Refund order 1042"},
//			Invariants: []contract.Invariant{invariant.Contains("names-the-order", contract.High, "1042")},
//			Scenarios:  []contract.Scenario{contract.Calm(), support.RefundsDown()},
//		}, nil)
//	}
//
// Each cell is a subtest named scenario/invariant/trial, so -run alone picks
// cells. One whose invariant broke fails, and prints what a reader needs:
//
//	--- FAIL: TestSupportAgent/refunds-down/names-the-order/1
//	    ✗ refunds-down / names-the-order (high): broken
//	      why       the answer does not contain "1042"
//	      prompt    Refund order 1042
//	      answer    Something went wrong.
//	      faults    refund, call 1: error (rule refund:error), the caller got: service unavailable
//	      rerun     go test -count=1 -run '^TestSupportAgent$/^refunds-down$/^names-the-order$/^1$' example.org/support
//
// # Virtual time
//
// Where the matrix makes fresh worlds, every cell runs in a bubble of
// testing/synctest: a matrix of thirty-second time-outs takes milliseconds, an
// agent that hangs is told from one that is slow, and goroutines that an agent
// leaves behind are found. docs/virtual-time.md says what that asks of a world;
// [Options].RealTime does without.
//
// # The verdict
//
// Beside the cells that broke, an inconclusive verdict fails the test: too
// little was seen. The report that Run returns can be held to more with
// [AssertPassed], [AssertHeld] and [AssertScoreAtLeast].
package contracttest
