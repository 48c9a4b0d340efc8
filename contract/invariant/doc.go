// Package invariant has ready-made promises for a contract matrix.
//
// Each constructor returns a [contract.Invariant]: an ID, a severity, and what
// is to hold. An ID is the invariant's name in reports and in names of subtests.
//
//	Invariants: []contract.Invariant{
//		invariant.Completes("answers", contract.High),
//		invariant.ExactlyOnce("one-refund", contract.Critical, support.Refunds),
//		invariant.CallsAtMost("no-storm", contract.Medium, 6, "orders.*"),
//		invariant.Contains("names-the-order", contract.High, "1042"),
//	}
//
// # What they look at
//
//   - The answer: [Contains], [ContainsAny], [Regex], [Excludes],
//     [ExcludesRegex], [NotEmpty], [ValidJSON], [NoPII], [NoLeak], [Refuses].
//   - How it came: [Completes], [Within].
//   - The answer beside something else: [BehaviorUnchanged] (a calm answer),
//     [Grounded] (what the tools said), [ClaimsMatchState] (the end state).
//   - The answer and the calls: [NoExfiltration].
//   - The calls, not the answer: [CallsAtMost], [NeverCalls], [CallsBefore], [BacksOff].
//   - The state, not the answer: [ExactlyOnce], [AtMostOnce], [StateUnchanged], [PartUnchanged].
//
// Those over calls and state, [Completes] and [ClaimsMatchState] also judge an
// answer that is an error: an agent that gave up may still have kept them. All
// others are broken by an error before they are asked. The field
// [contract.Invariant.JudgesErrors] of what a constructor returns may be set
// otherwise, as may Applies and Probes.
//
// # Arguments that make no sense
//
// Constructors do not panic and do not return errors. What is wrong with their
// arguments, all of it, stands in [contract.Invariant.Problem], which
// [contract.Matrix.Validate] reports before an agent is called; each problem is
// an [*ArgumentError].
//
// # Undecided
//
// An invariant that cannot tell returns [contract.ErrUndecided]: one that
// counts calls when some of them did not fit the log, one that reads a state of
// another type, one whose similarity function failed.
//
// # Cost
//
// Everything a constructor can prepare it prepares once. A Check takes time in
// proportion to the answer, apart from [BehaviorUnchanged], whose limit is
// stated at [WordSimilarity]. All are safe for concurrent use.
package invariant
