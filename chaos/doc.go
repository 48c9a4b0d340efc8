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
// switch. Package chaos/fault has the ready-made faults, chaos/when the triggers.
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
//     may do: a kill switch, a budget, a rate, an allow-list.
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
// call elsewhere changes none of them. docs/determinism.md lists what depends on
// order or time all the same.
//
// Time is the standard library's: in a bubble of testing/synctest injected hours
// pass at once. Waits end with their context, and when the injector is disarmed. No
// goroutine is started, no lock is held while a fault waits.
//
// # Costs
//
// A call without an injection allocates nothing, and rules on other targets cost a
// call nothing; BENCHMARKS.md has figures. A stream is an iterator, which has to be
// allocated, and with rules for its target two small objects besides.
//
// # For authors of faults and triggers
//
// A [Fault] may be a [Failer], an [ArgsFailer], [Phased], [Stateful], [Checked], [Described], or a
// [Streamer]. In its Inject it uses [Sleep], [Changed], [Note], and, where its caller
// reads the result later, [KeepOpen] with [BeforeEnd], [Unseen] and [UnseenWithin]. A
// fault around another fault uses [Withhold], one that keeps its call for later
// [Postponed]. A trigger may be an [ArgsWhen], an [OrdinalWhen] or [Probabilistic].
// docs/adding-a-fault.md shows how; package chaos/chaostest checks the result.
//
// # For authors of wrappers
//
// Who wraps a transport whose key and arguments are costly uses [Injector.MayAffect],
// [Injector.MayAffectPrefix], and [Injector.Arrive] with [Crossing]. [WithAttempt] tells
// which attempt a call is, [Comparer] how values compare that must not be read,
// [Exchange] what a call of a model said, [Injector.Refuse] why a point cannot work.
// Who runs cells uses [InjectorOptions], [Injector.End], [Injector.Refusal],
// [Injector.Overlap] and [Injector.EventsSince].
package chaos
