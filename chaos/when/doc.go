// Package when has the triggers: which calls a rule matches.
//
// A trigger is one half of a [chaos.Rule]; package chaos/fault has the other.
// Any trigger goes with any fault:
//
//	{Target: "orders.*", When: when.Prob(0.3), Fault: fault.Fail(fault.ErrUnavailable)}
//	{Target: "refund", When: when.Nth(2), Fault: fault.LoseReply()}
//	{Target: "search", When: when.Between(0, time.Minute), Fault: fault.Hang()}
//
// [All], [Any] and [Not] combine triggers into others:
//
//	when.All(when.After(10), when.Prob(0.5))  // half of the calls after the tenth
//
// # What a trigger depends on
//
// A trigger is a pure function of the call: asked again, it answers the same. Most
// look at what a call is, not at when it comes. [Nth], [First], [After], [Every],
// [Burst], [Intermittent], [Early], [Mid], [Late], [Markov] and
// [GilbertElliott] count the calls of one lane to one target, and repeat if the lane
// is sequential; see [chaos.WithLane]. [Between], [Since] and [Flapping] look at the
// clock, and repeat in virtual time. [Stages] does one or the other. The full table,
// each row tested against its claim, is docs/reference/determinism.md.
//
// A rule of a group ([chaos.Rule.Group]) sees the calls of its lane to all
// targets of the group as one sequence: it counts those, and its triggers see
// key 0 and the position in that sequence as occurrence. A trigger that lasts,
// such as Markov or Stages, is then the state of a dependency that the targets
// share; docs/faults.md shows outages that spread and heal.
//
// # Costs
//
// No trigger here allocates, except [Args], which may have to decode JSON. [Prob] and
// the triggers that look only at the ordinal ([chaos.OrdinalWhen]) cost a third of the
// others, as long as all rules for a target have such triggers and no group.
//
// A trigger is immutable and may be shared by any number of rules, plans and
// goroutines. [chaos.NewPlan] and [chaos.Injector.Register] report each wrong
// parameter as a [*chaos.ParamError].
//
// Stability: stable.
package when
