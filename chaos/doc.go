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
// The wrapped function finds its [Injector] in its context. Without one it is inert
// and costs a few nanoseconds, so it can stay in production code; there is no global
// switch. For experiments in a live program [NewInjector] makes an injector whose
// rules come and go. [Safeguards] bound what they may do there: a kill switch, a
// budget, a rate, an allow-list.
//
// # What happens to a call
//
// The trigger of every rule for the target is asked on its own. Of the rules that
// match, all delays act first. Then the first failure, in the order of the rules,
// decides in the callee's place. If there is none, the callee runs and its result
// passes through the changes in order. A lost reply comes last ([Phase]). An error
// that a fault made matches [ErrInjected] and also what a real one would match, and
// its text is that of the real one.
//
// A fault counts as delivered only if the caller saw it. Every call that a rule was
// injected into leaves an [Event], and with [InjectorOptions].RecordAll every call
// does. The wrapper never retries, repairs or hides anything.
//
// # The same seed, the same run
//
// Chance is a pure function of a call's coordinates: seed, cell, lane, target, key,
// occurrence, name of the rule ([Call.Draw]). There is no shared random stream. So
// the draws do not depend on how concurrent calls interleave, and adding a rule or a
// call elsewhere changes none of them. Give strands of concurrent work that call the
// same target a [WithLane] each. docs/determinism.md lists what depends on order or
// time all the same.
//
// # Time
//
// Time is the standard library's: in a bubble of testing/synctest injected hours
// pass at once. Waits end with their context, and when the injector is disarmed. No
// goroutine is started, no lock is held while a fault waits.
//
// # Costs
//
// Measured figures are in BENCHMARKS.md. A call without an injection allocates
// nothing, and rules on other targets cost a call nothing. A stream is an iterator,
// which has to be allocated, and with rules for its target two small objects
// besides, whatever its number of items. Package chaos/fault has the ready-made
// faults, chaos/when the triggers. Both use only the exported interfaces of this
// package, so a fault of your own (docs/adding-a-fault.md) has the same abilities.
package chaos
