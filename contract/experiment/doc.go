// Package experiment breaks a running system on purpose, under control, and
// says whether it bore it.
//
// # An experiment
//
// A steady-state hypothesis says what all is well means: probes with
// tolerances. The method does something to the system. Rollbacks take it back.
// [Run] verifies the steady state, runs the method, verifies again, rolls back,
// verifies once more, and returns a [Journal] of all that.
//
//	e := &experiment.Experiment{
//		Name: "orders survive a slow database",
//		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{
//			Name: "the shop answers", Run: probe.HTTPStatus("http://localhost:8080/orders", nil),
//			Tolerance: tolerance.Equal(200),
//		}}},
//		Method: []experiment.Activity{{
//			Name:  "slow database",
//			Start: action.Arm(injector, 0, chaos.Rule{Target: "db.*", Fault: fault.Delay(2 * time.Second)}),
//		}},
//	}
//	journal, err := experiment.Run(ctx, e, nil)
//
// When the system is not in its steady state to begin with, the run has failed:
// the method does not start, and what was not done is not undone.
//
// # What is kept, whatever happens
//
// Every activity runs on a goroutine of its own under a deadline of its own. A
// panic, a runtime.Goexit, a hang, a cancelled context: each is that activity's error,
// in the journal, and the rollbacks run. They run last to first, each at most once, under
// fresh deadlines, also when the caller's context is cancelled. An action that
// ignores its context is left behind after a second; the undo that it returns
// when it does end is run then.
//
// # Strategies, controls, guards
//
// [Strategies] say when the hypothesis is verified (before, during, after) and
// when rollbacks run; [Dry] leaves out probes, actions or pauses. A [Control] is called
// before and after everything, a [Guard] is polled during the method and aborts
// it. [Experiment.Secrets] never appear in a journal.
//
// # Compat
//
// With [Options.Compat] a run ends as in Chaos Toolkit, so that a journal can
// be compared. The default differs in this: a missed steady state before the method
// fails the run and sets deviated, and nothing is rolled back; a miss at any time sets deviated;
// fail-fast cancels the running activity; tolerances count in the method too; all probes are
// evaluated; rollbacks run whenever the method was started, also after a failure or an interruption,
// last to first; and the steady state is verified after them.
//
// # Where things are
//
//   - contract/experiment/tolerance: what outputs are judged by
//   - contract/experiment/action, probe, guard: ready-made ones
//   - contract/experiment/toolkit: experiments as Chaos Toolkit documents
//   - contract/experiment/gameday: many experiments: registered, picked at random, run as a list, remembered
//
// # Time and costs
//
// Time is the standard library's; in a bubble of testing/synctest an
// experiment of hours takes no time. A run costs a few microseconds an activity beside
// what the activity does. A journal keeps outputs up to 1 MiB each, and the first 1,000
// checks during the method.
package experiment
