// Package fault has the faults: what happens to a call that a rule matched.
//
// A fault is one half of a [chaos.Rule]; package chaos/when has the other. Any
// fault goes with any trigger, on any injection point: a wrapped function, a
// tool, a dispatch function, a stream.
//
//	p, err := chaos.NewPlan(1,
//		chaos.Rule{Target: "search", Fault: fault.Delay(2 * time.Second)},
//		chaos.Rule{Target: "orders.*", When: when.Prob(0.3), Fault: fault.Fail(fault.ErrUnavailable)},
//		chaos.Rule{Target: "refund", When: when.Nth(1), Fault: fault.LoseReply()},
//	)
//
// # The faults
//
//   - The call takes longer: [Delay], [Uniform], [Normal], [Exponential], [Spike]; more and more so: [RampUp],
//     [RampUpWith].
//   - The caller gets an error and the callee is not reached: [Fail], [Timeout], [LoseRequest], [AuthExpired],
//     [ResourceExhausted], [Partition], and [Hang], which waits for the caller to give up; [Panic] panics.
//     [ToolRemoved] takes a tool out of its registry.
//   - The callee does its work and the caller does not learn of it: [LoseReply]; or not in time: [LateResult].
//   - The callee does its work and the caller is told something else: [Replace], [Mutate].
//   - The callee does its work twice: [Duplicate], [Repeat], [DeliverTwice].
//   - The callee does nothing and the caller is told that it did: [SilentNoOp].
//   - Calls change their order: [ReorderCalls]; a read does not see the write before it: [DelayedVisibility]; a
//     cancelled call goes on: [IgnoreCancel].
//   - A budget is used up: [CallBudget], [RateLimit], [TokenBudget], [CostBudget], [TimeBudget], [MemoryBudget],
//     [ConcurrencyLimit]; [DiskFull]. A quota of n calls is also [ResourceExhausted] with when.After(n).
//   - A stream is slow, stalls, breaks off, ends early, or its items are doubled, reordered or spoiled:
//     [SlowFirstItem], [SlowItems], [HangAtItem], [CutAfter], [EndAfter], [DropLastItem], [DuplicateItem],
//     [ReorderItems], [MalformItem].
//   - An approval is reused: [StaleApproval]. A hand-off between agents goes wrong: [CorruptHandoff], [Misroute],
//     [CycleHandoff].
//   - What else happens to guardrails and hand-offs happens to any callable; [As] gives it the kind and layer of
//     theirs: As("guardrail_hang", Hang()), As("forced_verdict", Replace(v)), As("handoff_dropped", SilentNoOpWith(v)).
//
// Several faults may be injected into one call: delays add up, the first failure
// decides, changes apply in the order of their rules, a lost reply comes last.
//
// [Rows] has the kind, parameters, layer, class, visibility, persistence and effect
// of each, and docs/reference/faults.md shows them. Permanent are those that no retry
// overcomes; of the others the trigger decides how long they last. The effect is
// what the callee did when nothing else went wrong.
//
// # What callers see
//
// An injected error reads like a real one, since a model may read it. It matches
// what a real one would match ([context.DeadlineExceeded], [syscall.ECONNREFUSED])
// and also [chaos.ErrInjected]; errors.As finds the [*chaos.InjectedError].
//
// Every wait ends at once when the caller's context ends, and when the injector
// is disarmed; in the latter case the call goes through. Only [IgnoreCancel]
// outlasts the context. A fault that changed nothing, such as a replaced value
// equal to the real one, is not delivered, and its event says so.
//
// # Costs
//
// Faults may be shared by any number of rules, plans and goroutines. A fault
// that remembers calls, such as a budget, does so per injector and rule, for all
// targets and lanes of the rule together, and within bounds. A fault that only fails
// costs one small allocation a call, the others a few. Waits are timers of the
// standard library; in a testing/synctest bubble they take no time.
//
// Stability: stable.
package fault
