// Package chaos injects faults into an agent's world, in process and reproducibly.
//
// # Injection points and rules
//
// An injection point is a place where something may go wrong: a function wrapped by
// [Wrap], the tools of a registry ([WrapRegistry]) or of a dispatch function
// ([WrapDispatch]), a stream ([WrapStream]), a line of code ([Point]), an HTTP
// client or server (package chaos/chaoshttp). Its name is its target. A [Rule]
// states what goes wrong there (a [Fault]) and on which calls (a [When]); a [Plan]
// is a checked list of rules with a seed.
//
//	lookup := chaos.Wrap("orders.lookup", orders.Lookup) // once, in the program
//
//	plan, err := chaos.NewPlan(42, chaos.Rule{ // in the test
//		Target: "orders.*",
//		When:   when.Prob(0.3),
//		Fault:  fault.Fail(fault.ErrUnavailable),
//	})
//	in := plan.Injector("my test", nil)
//	order, err := lookup(chaos.NewContext(ctx, in), 1042)
//
// The wrapped function finds its [Injector] in its context. Without one it is inert and
// costs a few nanoseconds, so it can stay in production code. Package chaos/fault has the
// ready-made faults, chaos/when the triggers.
//
// # What users need
//
//   - points: [Wrap], [WrapWith], [WrapRegistry], [WrapDispatch], [WrapStream], [Point];
//     tools of Go functions: [Func], [NewRegistry];
//   - rules: [Rule], [NewPlan], [Plan.Injector];
//   - calls: [NewContext], and [WithLane] for strands of concurrent work;
//   - what happened: [Injector.Events], [Injector.Undelivered], [Event];
//     errors match [ErrInjected] and are an [*InjectedError];
//   - a live program: [NewInjector], [Injector.Register], [Injector.RegisterFor],
//     [Injector.Remove], [Injector.Disarm], and [Safeguards], which bound what rules
//     may do: a kill switch, a budget, an allow-list.
//
// # What happens to a call
//
// The trigger of every rule for the target is asked on its own. Those that match act in the
// order of their [Phase]: delays, the first failure or else the callee, changes of its
// result, a lost reply. An error that a fault made matches [ErrInjected] and what a real one
// would match, and reads as that. A fault counts as delivered only if the caller saw it
// ([Event.Delivered]). The wrapper never retries, repairs or hides anything.
//
// # The same seed, the same run
//
// Chance is a pure function of a call's coordinates ([Call.Draw]). So the draws do not
// depend on how concurrent calls interleave, and adding a rule or a call elsewhere changes
// none of them. docs/reference/determinism.md lists what depends on order or time all the same.
//
// Time is the standard library's: in a bubble of testing/synctest injected hours
// pass at once. Waits end with their context, and when the injector is disarmed. No
// goroutine is started, no lock is held while a fault waits, and a call without an
// injection allocates nothing (BENCHMARKS.md).
//
// # For authors of faults, triggers and wrappers
//
// A [Fault] may be a [Failer], an [ArgsFailer], [Phased], [Stateful], [Checked], [Described], or a
// [Streamer]. In its Inject it uses [Sleep], [Changed], [Note], and, where its caller
// reads the result later, [KeepOpen]. A trigger may be an [ArgsWhen], an [OrdinalWhen] or
// [Probabilistic]. docs/extending.md shows how; package chaos/chaostest checks the result.
//
// Who wraps a transport whose key and arguments are costly uses [Injector.MayAffect] and
// [Injector.Arrive] with [Crossing]. Who runs cells uses [InjectorOptions], [Injector.End],
// [Injector.Refusal], [Injector.Overlap] and [Injector.EventsSince].
//
// Stability: stable.
package chaos
