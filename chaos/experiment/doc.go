// Package experiment runs controlled experiments on a running system and reports
// whether it kept its steady state.
//
// # An experiment
//
// A steady-state hypothesis defines the healthy system by probes with tolerances.
// The method changes the system. Rollbacks undo that. [Run] verifies the steady
// state, runs the method, verifies again, rolls back, verifies once more, and
// returns a [Journal].
//
//	e := &experiment.Experiment{
//		Name: "orders survive a slow database",
//		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{
//			Name: "the shop answers", Run: experiment.HTTPStatus("http://localhost:8080/orders", nil),
//			Tolerance: experiment.Equal(200),
//		}}},
//		Method: []experiment.Activity{{
//			Name:  "slow database",
//			Start: experiment.Arm(injector, 0, chaos.Rule{Target: "db.*", Fault: fault.Delay(2 * time.Second)}),
//		}},
//	}
//	journal, err := experiment.Run(ctx, e, nil)
//
// If the system is not in its steady state at the start, the run has failed: the
// method does not start, and nothing is rolled back.
//
// # What is guaranteed
//
// Every activity runs on a goroutine of its own under a deadline of its own. A
// panic, a runtime.Goexit, a hang and a cancelled context are errors of that
// activity, in the journal, and the rollbacks run: last to first, each at most
// once, under fresh deadlines. An action that ignores its context is abandoned after
// a second; if it returns an undo later, that is run then. A [Guard] is polled during
// the method and aborts it. [Experiment.Secrets] never appear in a journal.
//
// [Arm] is the ready-made action; [HTTPStatus], [TCP] and [Call] are probes, [Equal], [Range] and
// [ToleranceFunc] tolerances, and [StopUnless] is a guard. A function of your own is an action or a
// probe too. Package gameday has a registry of experiments and their history. In a bubble of testing/synctest an
// experiment of hours takes no time. A journal keeps outputs up to 1 MiB each.
//
// Stability: may change.
package experiment
