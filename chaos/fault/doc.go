// Package fault says what happens to a call that a rule was drawn on.
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
//   - The call takes longer: [Delay], [Uniform], [Normal], [Exponential].
//   - The caller gets an error and the callee is not reached: [Fail], [Timeout],
//     [ResourceExhausted], [Partition], and [Hang], which waits for the caller to give up; [Panic] panics.
//   - The callee does its work and the caller does not learn of it: [LoseReply].
//   - The callee does its work and the caller is told something else: [Replace], [Mutate].
//   - The callee does its work twice: [Duplicate], [Repeat].
//
// The first two groups are what everyone injects; the others hurt more.
//
// Several faults may strike one call: delays add up, the first failure
// decides, changes apply in the order of their rules, a lost reply comes last.
//
// # Where they stand
//
// The coordinates of each fault, which its Describe method returns for reports.
// The layer is that of the point it strikes; all are transient: how long they
// last is the trigger's affair.
//
//	faults                                kind                 class     visibility  effect
//	Delay Uniform Normal Exponential      latency              timing    implicit    done
//	Fail                                  error                crash     explicit    none
//	ResourceExhausted                     resource_exhaustion  crash     explicit    none
//	Partition                             network_partition    crash     explicit    none
//	Panic                                 panic                crash     explicit    none
//	Timeout TimeoutWith                   timeout              timing    explicit    none
//	Hang                                  hang                 timing    explicit    none
//	LoseReply LoseReplyAfter              lost_reply           timing    explicit    done
//	Replace                               replace              value     implicit    done
//	Mutate                                mutate               value     implicit    done
//	Duplicate Repeat                      duplicate            protocol  implicit    done
//
// The effect is what the callee did when the fault was delivered and nothing
// else went wrong; what it did on one call is in that call's event.
//
// # What callers see
//
// An injected error reads as the real one would, and nothing in its text says
// that it was made up: a model may read it. It matches what a real one would
// match ([context.DeadlineExceeded], [syscall.ECONNREFUSED]) and, besides,
// [chaos.ErrInjected]; errors.As finds the [*chaos.InjectedError].
//
// Every wait ends at once when the caller's context does, and when the
// injector is disarmed, after which the call goes through. A fault that
// changed nothing, such as a replaced value equal to the real one, is not
// delivered, and its event says so.
//
// # Costs
//
// Faults are immutable and may be shared by any number of rules, plans and
// goroutines. A fault that only fails costs one small allocation a call, the
// others a few; on calls that a rule was not drawn on they cost nothing. Waits
// are timers of the standard library: the runtime rounds those under a
// millisecond up to about one, and in a testing/synctest bubble they take no time.
//
// A fault with parameters that make no sense is reported by [chaos.NewPlan]
// and [chaos.Injector.Register], as a [*chaos.ParamError] for each.
package fault
